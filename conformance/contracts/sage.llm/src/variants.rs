//! The reference, changed in what the contract leaves free.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use proofmark_protocol::Failure;
use proofmark_room::bend::{Call, Next, around};
use proofmark_room::{Adversary, Subject};

use crate::CONTRACT;
use crate::bent::{CHAT, changing, held, is};
use crate::measures::key;
use crate::saboteurs::caches;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::variant(
        CONTRACT,
        "has-an-error-event-of-its-own",
        "arguments that do not match give a `tool_validation_error`, and no tool_result",
        "The text says `on failure emit an error event`, and not which.",
        has_an_error_event,
    ),
    Adversary::variant(
        CONTRACT,
        "cuts-texts-at-every-character",
        "every text item has one character",
        "The text does not say where a text is cut.",
        |subject| changing(subject, letters),
    ),
    Adversary::variant(
        CONTRACT,
        "has-no-cache",
        "there is no prompt cache and no tool registry",
        "`Prompt cache is optional`.",
        Subject::without_hooks,
    ),
    Adversary::variant(
        CONTRACT,
        "adds-a-system-message",
        "every request begins with one more message",
        "The text does not say that the provider gets nothing else.",
        |subject| {
            around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
                if let Value::Array(messages) = &mut args["options"]["messages"] {
                    messages.insert(0, json!({ "role": "system", "content": "Be helpful." }));
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "tells-results-last",
        "the results of a stream come after everything else, before its `end`",
        "The text asks for a `tool_result` with matching `callId`, and not when it comes.",
        tells_results_last,
    ),
    Adversary::variant(
        CONTRACT,
        "asks-the-provider-once",
        "the tools are run and their results sent, and then the stream ends: the caller asks again",
        "The text pairs calls with results, and does not say who tells the model.",
        asks_the_provider_once,
    ),
    Adversary::variant(
        CONTRACT,
        "has-options-of-its-own",
        "a temperature, max_tokens and a requestId are added if the caller gives none",
        "The text does not say that the provider gets the options unchanged.",
        |subject| {
            around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
                if let Value::Object(options) = &mut args["options"] {
                    for (name, value) in [
                        ("temperature", json!(0.7)),
                        ("max_tokens", json!(4096)),
                        ("requestId", json!("r-1")),
                    ] {
                        options.entry(name).or_insert(value);
                    }
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "has-one-cache-for-all-providers",
        "a request that another provider answered is answered from the prompt cache",
        "`must key on (model,messages,tools,temperature,max_tokens)`: the provider is not among them.",
        |subject| caches(subject, false, key),
    ),
    Adversary::variant(
        CONTRACT,
        "joins-texts",
        "texts that come within a few milliseconds are one item",
        "The text does not say where a text is cut.",
        joins_texts,
    ),
    Adversary::variant(
        CONTRACT,
        "counts-tokens-itself",
        "an `end` without usage gets one",
        "`usage?` is optional, and the text does not say who counts.",
        |subject| {
            changing(subject, |mut item| {
                if is(&item, "end") && item.get("usage").is_none() {
                    item["usage"] = json!({ "prompt": 1, "completion": 0.5 });
                }
                vec![item]
            })
        },
    ),
    Adversary::variant(
        CONTRACT,
        "measures-time-by-another-clock",
        "`elapsedMs` of an ETIMEOUT is not that of the session's clock, and the error has more members",
        "The text has `elapsedMs: number`, and no clock for it; an error may have additional properties.",
        measures_otherwise,
    ),
];

fn letters(item: Value) -> Vec<Value> {
    match item["value"].as_str().filter(|_| is(&item, "text")) {
        Some(text) => {
            let letter = |letter: char| json!({ "type": "text", "value": letter.to_string() });
            text.chars().map(letter).collect()
        }
        None => vec![item],
    }
}

fn has_an_error_event(subject: Subject) -> Subject {
    changing(subject, |item| {
        let error = &item["result"]["error"];
        if !is(&item, "tool_result") || error["code"] != "EVALIDATION" {
            return vec![item];
        }
        let reasons = &error["details"];
        vec![json!({ "type": "tool_validation_error", "errors": reasons, "recoverable": true })]
    })
}

fn asks_the_provider_once(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
        if args.get("tools").is_some() {
            args["maxRounds"] = json!(1);
        }
        let answer = inner.call(call.clone(), args).await;
        match answer {
            Err(Failure::Contract(error)) if error.get("code") == Some(&json!("EHALT")) => {
                call.emit(json!({ "type": "end" }));
                Ok(Value::Null)
            }
            other => other,
        }
    })
}

fn tells_results_last(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let results: Arc<Mutex<Vec<Value>>> = Arc::default();
        let held_back = Arc::clone(&results);
        let watched = call.clone().changing_items(move |item| {
            let mut results = held(&held_back);
            if is(&item, "tool_result") {
                results.push(item);
                return vec![];
            }
            if is(&item, "end") {
                results.push(item);
                return std::mem::take(&mut *results);
            }
            vec![item]
        });
        let answer = inner.call(watched, args).await;
        // A stream that failed has no `end`.
        std::mem::take(&mut *held(&results)).into_iter().for_each(|item| call.emit(item));
        answer
    })
}

fn measures_otherwise(subject: Subject) -> Subject {
    around(subject, CHAT, async |call, args, inner: Next| {
        inner.call(call, args).await.map_err(|failure| match failure {
            Failure::Contract(mut error) if error.get("code") == Some(&json!("ETIMEOUT")) => {
                error.insert("elapsedMs".to_owned(), json!(0.25));
                error.insert("provider".to_owned(), json!("it did not answer"));
                Failure::Contract(error)
            }
            other => other,
        })
    })
}

fn joins_texts(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
        // Counts the joined items.
        let mut left = args["take"].as_u64();
        if let Value::Object(args) = &mut args {
            args.remove("take");
        }
        let waiting: Arc<Mutex<Vec<Value>>> = Arc::default();
        let joined = Arc::clone(&waiting);
        let watched = call.clone().changing_items(move |item| {
            join(&mut held(&joined), item);
            vec![]
        });
        let mut work = pin!(inner.call(watched, args));
        while left != Some(0) {
            let answer = tokio::time::timeout(Duration::from_millis(5), &mut work).await;
            for item in std::mem::take(&mut *held(&waiting)) {
                if left == Some(0) {
                    break;
                }
                left = left.map(|left| left - 1);
                call.emit(item);
            }
            if let Ok(answer) = answer {
                return answer;
            }
        }
        Ok(Value::Null)
    })
}

fn join(items: &mut Vec<Value>, item: Value) {
    if let (Some(last), true) = (items.last_mut(), is(&item, "text"))
        && let ("text", Some(before), Some(more)) = (
            last["type"].as_str().unwrap_or_default(),
            last["value"].as_str(),
            item["value"].as_str(),
        )
    {
        last["value"] = format!("{before}{more}").into();
        return;
    }
    items.push(item);
}
