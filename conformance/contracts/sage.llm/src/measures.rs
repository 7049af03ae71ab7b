//! Streams that are right for small things, and for the first question.

use std::collections::VecDeque;
use std::sync::Mutex;

use sage_utils::canonical_json;
use serde_json::{Value, json};

use proofmark_room::bend::{Call, Memory, Next, around};
use proofmark_room::{Adversary, Subject};

use crate::bent::{CHAT, held, is};
use crate::saboteurs::caches_by;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "pairs-by-order",
        "where nobody runs tools, a result belongs to the first call that has none",
        &["LLM-025"],
        pairs_by_order,
    ),
    Adversary::saboteur(
        "keeps-the-first-schema",
        "the parameters of a tool are those that the first question had",
        &["LLM-023", "LLM-031"],
        keeps_the_first_schema,
    ),
    Adversary::saboteur(
        "loses-the-last-letter",
        "a text of one letter more than 1024, 2048 or 4096 loses it",
        &["LLM-013"],
        loses_the_last_letter,
    ),
    Adversary::saboteur(
        "streams-a-thousand-items",
        "items after the thousandth are dropped",
        &["LLM-008"],
        streams_a_thousand_items,
    ),
    Adversary::saboteur(
        "tells-the-last-hundred-messages",
        "the provider gets the last 100 messages",
        &["LLM-071"],
        |subject| {
            around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
                if let Value::Array(messages) = &mut args["options"]["messages"] {
                    messages.drain(..messages.len().saturating_sub(100));
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::saboteur(
        "cuts-its-cache-key",
        "the prompt cache compares the first 4096 letters of the canonical JSON",
        &["LLM-057"],
        |subject| caches_by(subject, |options| key(options).chars().take(4096).collect()),
    ),
];

/// The options that the text names, as a cache key.
pub(crate) fn key(options: &Value) -> String {
    let mut options = options.clone();
    if let Value::Object(options) = &mut options {
        options.retain(|name, _| !["requestId", "timeoutMs"].contains(&name.as_str()));
    }
    canonical_json(&options)
}

fn pairs_by_order(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args: Value, inner: Next| {
        let nobody = args.get("tools").is_none();
        let open = Mutex::new(VecDeque::new());
        let call = call.changing_items(move |mut item| {
            if is(&item, "tool_call") {
                held(&open).push_back(item["callId"].clone());
            } else if nobody
                && is(&item, "tool_result")
                && let Some(id) = held(&open).pop_front()
            {
                item["callId"] = id;
            }
            vec![item]
        });
        inner.call(call, args).await
    })
}

fn keeps_the_first_schema(subject: Subject) -> Subject {
    static FIRST: Memory<Value> = Memory::new();
    around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
        // The cache key has the schemas of the question.
        if args["cache"] == true {
            return inner.call(call, args).await;
        }
        let tools = args.pointer_mut("/options/tools").and_then(Value::as_array_mut);
        for tool in tools.into_iter().flatten() {
            let name = tool["name"].to_string();
            let own = tool["parameters"].clone();
            tool["parameters"] = FIRST.of(&call, &name, |first| first.get_or_insert(own).clone());
        }
        inner.call(call, args).await
    })
}

fn loses_the_last_letter(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let told = Mutex::new(0);
        let call = call.changing_items(move |mut item| {
            if let Some(text) = item["value"].as_str().filter(|_| is(&item, "text")) {
                let mut told = held(&told);
                *told += text.len();
                if [1025, 2049, 4097].contains(&*told) {
                    item["value"] = json!(&text[..text.len() - 1]);
                }
            }
            vec![item]
        });
        inner.call(call, args).await
    })
}

fn streams_a_thousand_items(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let seen = Mutex::new(0);
        let call = call.changing_items(move |item| {
            let mut seen = held(&seen);
            *seen += 1;
            if *seen > 1000 && is(&item, "text") { vec![] } else { vec![item] }
        });
        inner.call(call, args).await
    })
}
