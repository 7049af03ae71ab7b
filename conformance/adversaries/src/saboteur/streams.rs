//! Streams of a language model that are paired, passed on, stopped or kept wrongly.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::tools::{Answer, Call, Memory, Next, Subject, around};
use crate::Adversary;

const CHAT: &[&str] = &["llm.createChatStream"];

pub(super) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "mixes-results-up",
        "the result of a call goes to the call before it",
        &["LLM-025"],
        mixes_results_up,
    ),
    Adversary::saboteur("repeats-results", "a result comes twice", &["LLM-027"], repeats_results),
    Adversary::saboteur("never-says-end", "a stream has no end", &["LLM-010"], never_says_end),
    Adversary::saboteur(
        "runs-what-it-refused",
        "a call that is refused is executed all the same",
        &["LLM-031"],
        runs_what_it_refused,
    ),
    Adversary::saboteur(
        "gathers-until-the-end",
        "items are passed on when the stream is over",
        &["LLM-011"],
        gathers_until_the_end,
    ),
    Adversary::saboteur(
        "lets-the-provider-run",
        "a provider is never told to stop",
        &["LLM-050"],
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
        |subject| without(subject, "timeoutMs"),
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
        "reads-on-alone",
        "whatever the provider has is fetched, though the reader left",
        &["LLM-055"],
        reads_on_alone,
    ),
    Adversary::saboteur(
        "always-caches",
        "the prompt cache is on without being asked for",
        &["LLM-056"],
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
            caches_by(subject, |options| *options = without_members(options, &["temperature"]))
        },
    ),
    Adversary::saboteur(
        "caches-by-request",
        "the prompt cache takes another request id for another question",
        &["LLM-059"],
        |subject| caches_by(subject, |_| ()),
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

/// Members of options that are there no more.
fn without_members(options: &Value, names: &[&str]) -> Value {
    let mut options = options.clone();
    if let Value::Object(options) = &mut options {
        options.retain(|name, _| !names.contains(&name.as_str()));
    }
    options
}

fn without(subject: Subject, option: &'static str) -> Subject {
    around(subject, CHAT, move |call, mut args: Value, inner: Next| async move {
        args["options"] = without_members(&args["options"], &[option]);
        inner.call(call, args).await
    })
}

fn never_stops(fake: &str, method: &str, _: &Value) -> Option<Answer> {
    (fake == "llm" && method == "stop").then_some(Ok(Value::Null))
}

fn is(item: &Value, kind: &str) -> bool {
    item["type"] == kind
}

fn mixes_results_up(subject: Subject) -> Subject {
    around(subject, CHAT, async |call, args, inner: Next| {
        let before = Mutex::new(None);
        let call = call.changing_items(move |mut item| {
            if is(&item, "tool_result") {
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

fn repeats_results(subject: Subject) -> Subject {
    around(subject, CHAT, async |call, args, inner: Next| {
        let call = call.changing_items(|item| {
            let times = if is(&item, "tool_result") { 2 } else { 1 };
            vec![item; times]
        });
        inner.call(call, args).await
    })
}

fn never_says_end(subject: Subject) -> Subject {
    around(subject, CHAT, async |call, args, inner: Next| {
        let call = call.changing_items(|item| if is(&item, "end") { vec![] } else { vec![item] });
        inner.call(call, args).await
    })
}

fn runs_what_it_refused(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args: Value, inner: Next| {
        let refused: Arc<Mutex<Vec<Value>>> = Arc::default();
        let noted = Arc::clone(&refused);
        let calls = Mutex::new(BTreeMap::new());
        let watched = call.clone().changing_items(move |item| {
            let id = item["callId"].to_string();
            if is(&item, "tool_call") {
                let told = json!({ "name": item["toolName"], "input": item["arguments"] });
                held(&calls).insert(id, told);
            } else if item["result"]["error"]["code"] == "EVALIDATION" {
                held(&noted).extend(held(&calls).remove(&id));
            }
            vec![item]
        });
        let runs = args["tools"] == "fake";
        let answer = inner.call(watched, args).await;
        let refused = std::mem::take(&mut *held(&refused));
        for asked in refused.into_iter().filter(|_| runs) {
            // What comes of it is of no interest to anybody.
            let _result = call.ask("tools", "execute", asked).await;
        }
        answer
    })
}

fn gathers_until_the_end(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let gathered: Arc<Mutex<Vec<Value>>> = Arc::default();
        let kept = Arc::clone(&gathered);
        let silent = call.clone().changing_items(move |item| {
            held(&kept).push(item);
            vec![]
        });
        let answer = inner.call(silent, args).await;
        if answer.is_ok() {
            let gathered = std::mem::take(&mut *held(&gathered));
            gathered.into_iter().for_each(|item| call.emit(item));
        }
        answer
    })
}

fn reads_on_alone(subject: Subject) -> Subject {
    around(subject, CHAT, async |call, mut args: Value, inner: Next| {
        let Some(take) = args["take"].as_u64() else { return inner.call(call, args).await };
        if let Value::Object(args) = &mut args {
            args.remove("take");
        }
        let left = Mutex::new(take);
        let call = call.changing_items(move |item| {
            let mut left = held(&left);
            let wanted = *left > 0;
            *left = left.saturating_sub(1);
            if wanted { vec![item] } else { vec![] }
        });
        inner.call(call, args).await
    })
}

/// What was streamed for a question, as far as `key` tells questions apart.
fn caches_by(subject: Subject, key: fn(&mut Value)) -> Subject {
    static KEPT: Memory<Vec<Value>> = Memory::new();
    around(subject, CHAT, move |call: Call, mut args: Value, inner: Next| async move {
        if args["cache"] != true {
            return inner.call(call, args).await;
        }
        args["cache"] = json!(false);
        let mut question = args["options"].clone();
        key(&mut question);
        question.sort_all_objects();
        let question = question.to_string();
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
        let mut question = without_members(&args["options"], &["requestId", "timeoutMs"]);
        question.sort_all_objects();
        let question = question.to_string();
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

/// Carries the call out, and tells what it streamed.
async fn recorded(call: &Call, args: Value, inner: &Next) -> (Answer, Vec<Value>) {
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
        let again = ASKED.of(&call, &args.to_string(), |asked| asked.replace(()).is_some());
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

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
