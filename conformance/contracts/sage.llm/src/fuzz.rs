//! Fuzzes stream items, model requests, and server responses.

use std::path::Path;

use proofmark_room::fuzz::{FuzzTarget, all_cases, short};
use sage_llm::{ChatOptions, StreamEvent};
use sage_utils::{TypedError, canonical_json};
use serde_json::{Value, json};

/// The targets of this contract, for `cargo xtask fuzz`.
pub(crate) const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "events", check: events, seeds: items },
    FuzzTarget { name: "sse", check: sse, seeds: answers },
];

/// A valid stream item or request round-trips; an invalid one gives a short error.
fn events(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    match StreamEvent::from_json(value.clone()) {
        Ok(event) => assert_eq!(serde_json::to_value(&event).expect("it can be written"), value),
        Err(error) => {
            assert_eq!(error.code(), "EIO");
            assert!(error.message().len() < 1000, "{error}");
        }
    }
    match ChatOptions::from_json(&value) {
        Ok(options) => {
            let written = serde_json::to_value(&options).expect("they can be written");
            // `1.0` is written as `1`, which is the same number.
            assert_eq!(canonical_json(&written), canonical_json(&value));
            assert_eq!(ChatOptions::from_json(&written), Ok(options));
        }
        Err(refusal) => {
            let found = TypedError::from(refusal).to_json();
            assert_eq!(found["code"], "EVALIDATION");
            assert!(found["details"].as_array().is_some_and(|details| !details.is_empty()));
        }
    }
}

/// The first byte is the chunk size, the rest a server's response. Chunking must not change the result.
fn sse(bytes: &[u8]) {
    let [step, body @ ..] = bytes else { return };
    let whole = sage_mcp::events_of([body]);
    for step in [usize::from(*step).max(1), 1] {
        assert_eq!(sage_mcp::events_of(body.chunks(step)), whole, "{step} bytes at a time");
    }
    let (events, fault) = whole;
    // The stream ends exactly when the server says so.
    let ends = events.iter().filter(|event| matches!(event, StreamEvent::End { .. })).count();
    let ends_last = matches!(events.last(), Some(StreamEvent::End { .. }));
    assert_eq!((ends, ends_last), (usize::from(fault.is_none()), fault.is_none()), "{fault:?}");
    for event in events {
        let written = serde_json::to_value(&event).expect("it can be written");
        assert_eq!(StreamEvent::from_json(written).ok(), Some(event));
    }
}

/// Every item and request in the cases.
fn items(top: &Path) -> Vec<Vec<u8>> {
    fn gather(value: &Value, seeds: &mut Vec<Vec<u8>>) {
        match value {
            Value::Object(members) => {
                if members.contains_key("type") || members.contains_key("messages") {
                    seeds.push(value.to_string().into_bytes());
                }
                members.values().for_each(|member| gather(member, seeds));
            }
            Value::Array(items) => items.iter().for_each(|item| gather(item, seeds)),
            _ => {}
        }
    }
    let mut seeds = Vec::new();
    all_cases(top).iter().for_each(|case| gather(case, &mut seeds));
    short(seeds)
}

/// Valid and invalid server responses.
fn answers(_: &Path) -> Vec<Vec<u8>> {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let call = |index: u64, id: &str, name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        let piece = json!({ "index": index, "id": id, "function": function });
        chunk(json!({ "tool_calls": [piece] }), Value::Null)
    };
    let text = |text: &str| chunk(json!({ "content": text }), Value::Null);
    let stop = chunk(json!({}), json!("stop"));
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 2 } });
    let done = "data: [DONE]\n\n";
    let said = [
        format!("\u{feff}: hello\n\n{}{}{stop}data: {usage}\n\n{done}", text("żółć"), text(" 🦀")),
        format!("{}{}{stop}{done}", call(0, "c1", "Read", "{\"fi"), call(0, "", "", "le\":1}")),
        format!("{}{}{done}", call(1, "b", "B", "{}"), call(0, "a", "A", "")),
        format!("{}{stop}", text("no last word")),
        text("cut off"),
        format!("{}{done}{}", text("a"), text("after the end")),
        "data: {\"error\": {\"message\": \"out of memory\"}}\n\n".to_owned(),
        "event: x\r\ndata: {\"choices\":\rdata: []}\r\n\r\ndata: [DONE]\r\r".to_owned(),
        "data: no JSON\n\n".to_owned(),
        String::new(),
    ];
    let paces = [2, 7, 64];
    said.iter()
        .zip(paces.iter().cycle())
        .map(|(said, pace)| [&[*pace], said.as_bytes()].concat())
        .collect()
}
