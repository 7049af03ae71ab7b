//! Laws of `sage.chronicle`.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Map, Value, json};

use super::Law;
use super::values::{canonical, key, literal, sha256, shuffled, text, value};

const APPEND: &str = "chronicle.appendEvent";
const READ: &str = "chronicle.readChronicle";
const TAIL: &str = "chronicle.tailChronicle";
const IDS: &str = "oracle: the crates serde_json_canonicalizer and sha2";

pub(super) const LAWS: &[Law] = &[
    Law {
        name: "any-event-is-read-back",
        contract: "sage.chronicle",
        why: "A memory that changes some events cannot be trusted with any.",
        shows: &[
            "CHRONICLE-001",
            "CHRONICLE-002",
            "CHRONICLE-003",
            "CHRONICLE-005",
            "CHRONICLE-007",
            "CHRONICLE-011",
        ],
        origin: IDS,
        operations: &[APPEND, READ],
        inputs: || {
            events(1..4).prop_map(|events| {
            let mut steps: Vec<Value> = events.iter().map(|event| append(event, "a")).collect();
            let whole: Vec<Value> = events.iter().map(with_id).collect();
            steps.push(read(json!(literals(&whole))));
            json!({ "steps": steps, "leaves": { "a.sage": { "ndjson": literals(&whole) } } })
        }).boxed()
        },
    },
    Law {
        name: "key-order-does-not-change-the-id",
        contract: "sage.chronicle",
        why: "One fact must have one id, in whatever order its keys were given.",
        shows: &["CHRONICLE-012"],
        origin: IDS,
        operations: &[APPEND, READ],
        inputs: || {
            (events(1..2), any::<u64>()).prop_map(|(events, order)| {
            let other = shuffled(&events[0], order);
            json!({ "steps": [append(&other, "a"), read(json!(literals(&[with_id(&events[0])])))] })
        }).boxed()
        },
    },
    Law {
        name: "any-interleaving-is-some-order",
        contract: "sage.chronicle",
        why: "Agents that write at the same time must not lose or mix each other's memory.",
        shows: &["CHRONICLE-031"],
        origin: IDS,
        operations: &[APPEND, READ],
        inputs: || events(2..8).prop_map(|events| at_once(&events, |_| "a")).boxed(),
    },
    Law {
        name: "any-interleaving-of-processes-is-some-order",
        contract: "sage.chronicle",
        why: "Processes that write at the same time must not lose or mix each other's memory.",
        shows: &["CHRONICLE-032"],
        origin: IDS,
        operations: &[APPEND, READ],
        inputs: || {
            events(2..8)
                .prop_map(|events| at_once(&events, |index| if index % 2 == 0 { "a" } else { "b" }))
                .boxed()
        },
    },
    Law {
        name: "a-torn-tail-hides-nothing",
        contract: "sage.chronicle",
        why: "Wherever a crash cut the last line off, the memory before it must be readable.",
        shows: &["CHRONICLE-018", "CHRONICLE-023", "CHRONICLE-026"],
        origin: IDS,
        operations: &[READ, TAIL],
        inputs: || {
            torn()
                .prop_map(|Torn { before, bytes, .. }| {
                    let last = before
                        .last()
                        .map(|event| literals(std::slice::from_ref(event)))
                        .unwrap_or_default();
                    json!({
                        "given": { "files": { "a.sage": { "hex": hex::encode(&bytes) } } },
                        "steps": [
                            read(json!(literals(&before))),
                            { "call": TAIL, "args": { "path": "a.sage", "n": 1 }, "returns": last },
                            read(json!(literals(&before))),
                        ],
                    })
                })
                .boxed()
        },
    },
    Law {
        name: "memory-goes-on-after-a-torn-tail",
        contract: "sage.chronicle",
        why: "Wherever a crash cut the last line off, what is appended next must be readable.",
        shows: &["CHRONICLE-019"],
        origin: IDS,
        operations: &[APPEND, READ],
        inputs: || {
            torn()
                .prop_map(|Torn { before, bytes, next }| {
                    let mut after = literals(&before);
                    after.push(literal(with_id(&next)));
                    json!({
                        "given": { "files": { "a.sage": { "hex": hex::encode(&bytes) } } },
                        "steps": [append(&next, "a"), read(json!(after))],
                    })
                })
                .boxed()
        },
    },
    Law {
        name: "the-tail-is-the-end-of-the-whole",
        contract: "sage.chronicle",
        why: "An agent that reads only the end must see the same memory as one that reads all.",
        shows: &["CHRONICLE-024", "CHRONICLE-025"],
        origin: "contract",
        operations: &[TAIL],
        inputs: || {
            (events(0..12), 1..15_usize).prop_map(|(events, n)| {
            let whole: Vec<Value> = events.iter().map(with_id).collect();
            let last = &whole[whole.len().saturating_sub(n)..];
            json!({
                "given": { "files": { "a.sage": { "text": lines(&whole) } } },
                "steps": [{ "call": TAIL, "args": { "path": "a.sage", "n": n }, "returns": literals(last) }],
            })
        }).boxed()
        },
    },
];

/// Legal events, no two of them equal.
fn events(count: std::ops::Range<usize>) -> BoxedStrategy<Vec<Value>> {
    let number = |events: Vec<Map<String, Value>>| {
        let numbered = events.into_iter().enumerate().map(|(index, mut event)| {
            event.insert("number".to_owned(), Value::from(index));
            Value::Object(event)
        });
        numbered.collect()
    };
    proptest::collection::vec(event(), count).prop_map(number).boxed()
}

const BASE: &[&str] = &[
    "type",
    "timestamp",
    "actor",
    "eventId",
    "planHash",
    "graphCommit",
    "prevEventId",
    "tags",
    "number",
];

fn event() -> impl Strategy<Value = Map<String, Value>> {
    let word = || "[A-Za-z][A-Za-z0-9_-]{0,8}";
    let optional = |name: &'static str| {
        proptest::option::of(text())
            .prop_map(move |text| Some((name.to_owned(), Value::from(text?))))
    };
    let tags = proptest::option::of(proptest::collection::vec(text(), 0..3))
        .prop_map(|tags| Some(("tags".to_owned(), Value::from(tags?))));
    let further = proptest::collection::vec((key(), value()), 0..4);
    let when = (0..1440_u32)
        .prop_map(|minute| format!("2024-01-01T{:02}:{:02}:00.000Z", minute / 60, minute % 60));
    let base = (word(), when, word(), word());
    let links = (optional("planHash"), optional("graphCommit"), optional("prevEventId"), tags);
    (base, links, further, any::<u64>()).prop_map(
        |((kind, when, agent, id), links, further, order)| {
            let mut event = Map::new();
            event.insert("type".to_owned(), Value::from(kind));
            event.insert("timestamp".to_owned(), Value::from(when));
            event.insert("actor".to_owned(), json!({ "agent": agent, "id": id }));
            event.extend([links.0, links.1, links.2, links.3].into_iter().flatten());
            event.extend(further.into_iter().filter(|(key, _)| !BASE.contains(&key.as_str())));
            match shuffled(&Value::Object(event), order) {
                Value::Object(event) => event,
                _ => Map::new(),
            }
        },
    )
}

/// As a chronicle keeps it.
fn with_id(event: &Value) -> Value {
    let mut event = event.clone();
    event["eventId"] = Value::from(sha256(canonical(&event)));
    event
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn literals(values: &[Value]) -> Vec<Value> {
    values.iter().cloned().map(literal).collect()
}

fn append(event: &Value, process: &str) -> Value {
    json!({ "call": APPEND, "args": { "path": "a.sage", "event": literal(event.clone()) }, "process": process, "returns": null })
}

fn read(returns: Value) -> Value {
    json!({ "call": READ, "args": { "path": "a.sage" }, "returns": returns })
}

fn at_once(events: &[Value], process: impl Fn(usize) -> &'static str) -> Value {
    let together: Vec<Value> =
        events.iter().enumerate().map(|(index, event)| append(event, process(index))).collect();
    let whole: Vec<Value> = events.iter().map(with_id).collect();
    json!({ "steps": [{ "together": together }, read(json!({ "$unordered": literals(&whole) }))] })
}

/// A chronicle whose last line was cut off somewhere, perhaps within a character.
#[derive(Debug)]
struct Torn {
    before: Vec<Value>,
    bytes: Vec<u8>,
    next: Value,
}

fn torn() -> impl Strategy<Value = Torn> {
    (events(2..6), any::<proptest::sample::Index>()).prop_map(|(mut events, cut)| {
        // Two are left over: the one that was cut off, and the one that comes after.
        let (next, lost) = (events.pop().unwrap_or_default(), events.pop().unwrap_or_default());
        let before: Vec<Value> = events.iter().map(with_id).collect();
        let lost = with_id(&lost).to_string().into_bytes();
        let mut bytes = lines(&before).into_bytes();
        // At least one byte is there and one is missing: it is no whole JSON.
        bytes.extend_from_slice(&lost[..1 + cut.index(lost.len() - 1)]);
        Torn { before, bytes, next }
    })
}
