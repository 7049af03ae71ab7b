//! Streams and requests from which something is left out that no rule of the contract leaves out.

use std::collections::BTreeSet;
use std::sync::Mutex;

use sage_utils::canonical_json;
use serde_json::{Value, json};

use proofmark_room::bend::{Call, Memory, Next, around};
use proofmark_room::{Adversary, Subject};

use crate::bent::{CHAT, held, is};
use crate::saboteurs::caches_by;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "drops-the-eleventh-call",
        "from the eleventh call of a session on, no tool runs, and nobody hears of it",
        &["LLM-023"],
        drops_the_eleventh_call,
    ),
    Adversary::saboteur(
        "skips-suspicious-arguments",
        "a call whose arguments contain certain words is not run and has no result",
        &["LLM-023", "LLM-024"],
        skips_suspicious_arguments,
    ),
    Adversary::saboteur(
        "leaves-the-second-call-open",
        "only the first call of a stream has a result",
        &["LLM-024", "LLM-025"],
        leaves_the_second_call_open,
    ),
    Adversary::saboteur(
        "cuts-long-messages",
        "the provider gets the first 4,000 characters of each message",
        &["LLM-071"],
        |subject| {
            around(subject, CHAT, async |call: Call, mut args: Value, inner: Next| {
                if let Value::Array(messages) = &mut args["options"]["messages"] {
                    messages.iter_mut().for_each(cut);
                }
                inner.call(call, args).await
            })
        },
    ),
    Adversary::saboteur(
        "joins-its-cache-key",
        "the prompt cache joins the parts of its key, so that letters move from one to the next",
        &["LLM-057"],
        |subject| caches_by(subject, joined_key),
    ),
];

fn cut(message: &mut Value) {
    if let Some(content) = message["content"].as_str() {
        message["content"] = content.chars().take(4000).collect::<String>().into();
    }
}

/// The texts of messages and the values of options, one after the other.
fn joined_key(options: &Value) -> String {
    let messages = options["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let part = |value: &Value| value.as_str().map_or_else(|| canonical_json(value), str::to_owned);
    let of_each =
        |name: &str| messages.iter().map(|message| part(&message[name])).collect::<String>();
    let rest = ["temperature", "max_tokens"].map(|name| part(&options[name])).concat();
    let about = format!(
        "{} {} {}",
        of_each("role"),
        of_each("tool_call_id"),
        canonical_json(&options["tools"])
    );
    format!("{about} {}{} {rest}", part(&options["model"]), of_each("content"))
}

fn drops_the_eleventh_call(subject: Subject) -> Subject {
    static RUN: Memory<usize> = Memory::new();
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let session = call.clone();
        let call = call.answering(move |fake, _, _| {
            let run = RUN.of(&session, "", |run| {
                let run = run.get_or_insert_default();
                *run += usize::from(fake == "tools");
                *run
            });
            (fake == "tools" && run > 10).then(|| Ok(json!({ "ok": true, "data": 1 })))
        });
        inner.call(call, args).await
    })
}

fn skips_suspicious_arguments(subject: Subject) -> Subject {
    let suspicious = |arguments: &Value| {
        let text = arguments.to_string();
        ["shell", "system", "command", "../"].iter().any(|word| text.contains(word))
    };
    around(subject, CHAT, move |call: Call, args: Value, inner: Next| async move {
        if args["tools"] != "fake" {
            return inner.call(call, args).await;
        }
        let skipped = Mutex::new(BTreeSet::new());
        let call = call
            .answering(move |fake, _, args| {
                let skips = fake == "tools" && suspicious(&args["input"]);
                skips.then(|| Ok(json!({ "ok": true, "data": 1 })))
            })
            .changing_items(move |item| {
                let id = item["callId"].to_string();
                if is(&item, "tool_call") && suspicious(&item["arguments"]) {
                    held(&skipped).insert(id);
                } else if is(&item, "tool_result") && held(&skipped).contains(&id) {
                    return vec![];
                }
                vec![item]
            });
        inner.call(call, args).await
    })
}

fn leaves_the_second_call_open(subject: Subject) -> Subject {
    around(subject, CHAT, async |call: Call, args, inner: Next| {
        let first = Mutex::new(None);
        let call = call.changing_items(move |item| {
            let mut first = held(&first);
            if is(&item, "tool_call") {
                first.get_or_insert_with(|| item["callId"].clone());
            }
            let later = first.as_ref().is_some_and(|first| *first != item["callId"]);
            if is(&item, "tool_result") && later { vec![] } else { vec![item] }
        });
        inner.call(call, args).await
    })
}
