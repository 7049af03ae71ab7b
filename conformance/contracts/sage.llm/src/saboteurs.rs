//! Streams of a language model that are paired, forwarded, stopped or cached wrongly.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use sage_utils::canonical_json;
use serde_json::{Value, json};

use proofmark_room::bend::{Call, Memory, Next, Reply, around};
use proofmark_room::{Adversary, Subject};

use crate::bent::{CHAT, changing, held, is};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "mixes-results-up",
        "a good result goes to the call before it",
        &["LLM-024", "LLM-025"],
        mixes_results_up,
    ),
    Adversary::saboteur(
        "tells-results-twice",
        "every result is sent twice",
        &["LLM-024", "LLM-026"],
        |subject| {
            changing(subject, |item| match is(&item, "tool_result") {
                true => vec![item.clone(), item],
                false => vec![item],
            })
        },
    ),
    Adversary::saboteur(
        "tells-results-first",
        "a result is sent before its call",
        &["LLM-024", "LLM-026"],
        tells_results_first,
    ),
    Adversary::saboteur(
        "leaves-calls-open",
        "a call that nobody ran has no result",
        &["LLM-024"],
        leaves_calls_open,
    ),
    Adversary::saboteur(
        "tells-of-another-provider",
        "the models of the provider that is set, whichever was named",
        &["LLM-003"],
        |subject| {
            around(subject, &["llm.listModels"], async |call, mut args: Value, inner: Next| {
                if let Value::Object(args) = &mut args {
                    args.remove("providerName");
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::saboteur(
        "runs-what-it-refused",
        "a call that is refused is executed all the same",
        &["LLM-031", "LLM-034", "LLM-035", "LLM-037"],
        |subject| runs_what_it_refused(subject, |_| true),
    ),
    Adversary::saboteur(
        "gathers-until-the-end",
        "items are passed on when the stream is over, whether or not anybody is left",
        &["LLM-011", "LLM-054"],
        gathers_until_the_end,
    )
    .slow(),
    Adversary::saboteur(
        "lets-the-provider-run",
        "a provider is never asked to stop",
        &["LLM-050", "LLM-054"],
        |subject| {
            around(subject, CHAT, async |call, args, inner: Next| {
                inner.call(call.answering(never_stops), args).await
            })
        },
    ),
    Adversary::saboteur(
        "ignores-limits-of-time",
        "a stream that stalls stalls for ever",
        &["LLM-049"],
        ignores_limits_of_time,
    )
    .slow(),
    Adversary::saboteur(
        "goes-round-for-ever",
        "the bound on rounds is not looked at",
        &["LLM-044"],
        |subject| {
            around(subject, CHAT, async |call, mut args: Value, inner: Next| {
                args["maxRounds"] = json!(1000);
                inner.call(call, args).await
            })
        },
    ),
    Adversary::saboteur(
        "always-caches",
        "the prompt cache is on without being asked for",
        &["LLM-056", "LLM-072"],
        |subject| {
            around(subject, CHAT, async |call, mut args: Value, inner: Next| {
                args["cache"] = json!(true);
                inner.call(call, args).await
            })
        },
    ),
    Adversary::saboteur(
        "caches-across-temperatures",
        "the prompt cache answers a question that was put at another temperature",
        &["LLM-057"],
        |subject| {
            caches_by(subject, |options| key(options, &["temperature", "requestId", "timeoutMs"]))
        },
    ),
    Adversary::saboteur(
        "caches-by-request",
        "the prompt cache takes another request id for another question",
        &["LLM-059"],
        |subject| caches_by(subject, |options| key(options, &[])),
    ),
    Adversary::saboteur(
        "caches-what-failed",
        "the prompt cache keeps the beginning of a stream that failed",
        &["LLM-062"],
        caches_what_failed,
    ),
    Adversary::saboteur(
        "answers-otherwise-the-next-time",
        "the same request gives another stream when it is made again",
        &["LLM-064"],
        answers_otherwise,
    ),
];

/// The options without these members.
fn without_members(options: &Value, names: &[&str]) -> Value {
    let mut options = options.clone();
    if let Value::Object(options) = &mut options {
        options.retain(|name, _| !names.contains(&name.as_str()));
    }
    options
}

fn ignores_limits_of_time(subject: Subject) -> Subject {
    around(subject, CHAT, async |call, mut args: Value, inner: Next| {
        // A refused call stays.
        if args["options"]["timeoutMs"].as_u64().is_some_and(|limit| limit > 0) {
            args["options"] = without_members(&args["options"], &["timeoutMs"]);
        }
        inner.call(call, args).await
    })
}

fn never_stops(fake: &str, method: &str, _: &Value) -> Option<Reply> {
    (fake == "llm" && method == "stop").then_some(Ok(Value::Null))
}

fn mixes_results_up(subject: Subject) -> Subject {
    around(subject, CHAT, async |call, args, inner: Next| {
        let before = Mutex::new(None);
        let call = call.changing_items(move |mut item| {
            if is(&item, "tool_result") && item["result"]["ok"] == true {
                let own = item["callId"].clone();
                if let Some(other) = held(&before).replace(own) {
                    item["callId"] = other;
                }
            }
            vec![item]
        });
        inner.call(call, args).await
    })
}

fn tells_results_first(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let calls: Arc<Mutex<Vec<Value>>> = Arc::default();
        let held_back = Arc::clone(&calls);
        let watched = call.clone().changing_items(move |item| {
            let mut calls = held(&held_back);
            if is(&item, "tool_call") {
                calls.push(item);
                return vec![];
            }
            let own = calls.iter().position(|call| call["callId"] == item["callId"]);
            match own.filter(|_| is(&item, "tool_result")) {
                Some(place) => vec![item, calls.remove(place)],
                None => vec![item],
            }
        });
        let answer = inner.call(watched, args).await;
        // A call without a result is still sent.
        std::mem::take(&mut *held(&calls)).into_iter().for_each(|item| call.emit(item));
        answer
    })
}

fn leaves_calls_open(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args: Value, inner: Next| {
        let nobody = args.get("tools").is_none();
        let call = call.changing_items(move |item| {
            let refused = is(&item, "tool_result") && item["result"]["ok"] == false;
            if nobody && refused { vec![] } else { vec![item] }
        });
        inner.call(call, args).await
    })
}

/// Runs refused calls that meet the condition.
pub(crate) fn runs_what_it_refused(subject: Subject, when: fn(&Value) -> bool) -> Subject {
    around(subject, CHAT, move |call: Call, args: Value, inner: Next| async move {
        let refused: Arc<Mutex<Vec<Value>>> = Arc::default();
        let noted = Arc::clone(&refused);
        let calls = Mutex::new(BTreeMap::new());
        let watched = call.clone().changing_items(move |item| {
            let id = item["callId"].to_string();
            if is(&item, "tool_call") {
                let call = json!({ "name": item["toolName"], "input": item["arguments"] });
                held(&calls).insert(id, call);
            } else if item["result"]["error"]["code"] == "EVALIDATION" {
                held(&noted).extend(held(&calls).remove(&id));
            }
            vec![item]
        });
        // Not a tool that ran and then refused.
        let ran: Arc<Mutex<Vec<Value>>> = Arc::default();
        let seen = Arc::clone(&ran);
        let watched = watched.answering(move |fake, _, asked| {
            if fake == "tools" {
                held(&seen).push(asked.clone());
            }
            None
        });
        let runs = args["tools"] == "fake";
        let answer = inner.call(watched, args).await;
        let (refused, ran) = (std::mem::take(&mut *held(&refused)), held(&ran).clone());
        for asked in refused.into_iter().filter(|it| runs && when(it) && !ran.contains(it)) {
            // Its result does not matter.
            let _result = call.ask("tools", "execute", asked).await;
        }
        answer
    })
}

fn gathers_until_the_end(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
        let take = args["take"].as_u64().and_then(|take| usize::try_from(take).ok());
        if let Value::Object(args) = &mut args {
            args.remove("take");
        }
        let gathered: Arc<Mutex<Vec<Value>>> = Arc::default();
        let kept = Arc::clone(&gathered);
        let silent = call.clone().changing_items(move |item| {
            held(&kept).push(item);
            vec![]
        });
        let answer = inner.call(silent, args).await;
        let gathered = std::mem::take(&mut *held(&gathered));
        gathered.into_iter().take(take.unwrap_or(usize::MAX)).for_each(|item| call.emit(item));
        answer
    })
}

/// The options as a cache key, without these members.
fn key(options: &Value, passed_over: &[&str]) -> String {
    canonical_json(&without_members(options, passed_over))
}

/// Caches streams by this key of their options.
pub(crate) fn caches_by(subject: Subject, key: fn(&Value) -> String) -> Subject {
    caches(subject, true, key)
}

/// As [`caches_by`]. Whether each provider has a cache of its own is not in the text's key.
pub(crate) fn caches(subject: Subject, each_provider: bool, key: fn(&Value) -> String) -> Subject {
    static KEPT: Memory<Vec<Value>> = Memory::new();
    static PROVIDER: Memory<String> = Memory::new();
    let subject =
        around(subject, &["llm.setProvider"], async |call: Call, args: Value, inner: Next| {
            PROVIDER.of(&call, "", |name| *name = Some(args["name"].to_string()));
            inner.call(call, args).await
        });
    around(subject, CHAT, move |call: Call, mut args: Value, inner: Next| async move {
        if args["cache"] != true {
            return inner.call(call, args).await;
        }
        args["cache"] = json!(false);
        let question = key(&args["options"]);
        let provider = PROVIDER.of(&call, "", |name| name.clone()).filter(|_| each_provider);
        let provider = provider.unwrap_or_default();
        let question = format!("{provider} {question}");
        if let Some(items) = KEPT.of(&call, &question, |kept| kept.clone()) {
            items.into_iter().for_each(|item| call.emit(item));
            return Ok(Value::Null);
        }
        let (answer, items) = recorded(&call, args, &inner).await;
        if answer.is_ok() && items.last().is_some_and(|item| is(item, "end")) {
            KEPT.of(&call, &question, |kept| *kept = Some(items));
        }
        answer
    })
}

fn caches_what_failed(subject: Subject) -> Subject {
    static KEPT: Memory<Vec<Value>> = Memory::new();
    around(subject, CHAT, async |call: Call, args: Value, inner: Next| {
        if args["cache"] != true {
            return inner.call(call, args).await;
        }
        let question = key(&args["options"], &["requestId", "timeoutMs"]);
        if let Some(items) = KEPT.of(&call, &question, |kept| kept.clone()) {
            items.into_iter().for_each(|item| call.emit(item));
            return Ok(Value::Null);
        }
        let (answer, items) = recorded(&call, args, &inner).await;
        if answer.is_err() && !items.is_empty() {
            KEPT.of(&call, &question, |kept| *kept = Some(items));
        }
        answer
    })
}

/// Performs the call and returns what it streamed.
async fn recorded(call: &Call, args: Value, inner: &Next) -> (Reply, Vec<Value>) {
    let items: Arc<Mutex<Vec<Value>>> = Arc::default();
    let noted = Arc::clone(&items);
    let watched = call.clone().changing_items(move |item| {
        held(&noted).push(item.clone());
        vec![item]
    });
    let answer = inner.call(watched, args).await;
    let items = std::mem::take(&mut *held(&items));
    (answer, items)
}

fn answers_otherwise(subject: Subject) -> Subject {
    static ASKED: Memory<()> = Memory::new();
    around(subject, CHAT, async |call: Call, args: Value, inner: Next| {
        // Only if the request determines the answer.
        let whole =
            ["temperature", "max_tokens"].iter().all(|name| args["options"].get(name).is_some());
        let again = whole
            && args["cache"] != true
            && ASKED.of(&call, &args.to_string(), |asked| asked.replace(()).is_some());
        let call = call.changing_items(move |mut item| {
            if let (true, "text", Some(text)) =
                (again, item["type"].as_str().unwrap_or_default(), item["value"].as_str())
            {
                item["value"] = text.to_uppercase().into();
            }
            vec![item]
        });
        inner.call(call, args).await
    })
}
