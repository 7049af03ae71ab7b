//! Laws of `sage.chronicle`.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Map, Value, json};

use proofmark_judge::law::Law;
use proofmark_judge::law::values::{canonical, key, literal, sha256, shuffled, text, value};

const APPEND: &str = "chronicle.appendEvent";
const READ: &str = "chronicle.readChronicle";
const TAIL: &str = "chronicle.tailChronicle";
/// Long enough for a busy machine: no law is about time.
const PATIENT: u32 = 9000;
const IDS: &str = "oracle: the crates serde_json_canonicalizer and sha2";

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "any-event-is-read-back",
        contract: "sage.chronicle",
        why: "A memory that changes some events cannot be trusted with any.",
        shows: &["CHRONICLE-001"],
        origin: "contract",
        operations: &[APPEND, READ],
        inputs: || {
            events(1..2)
                .prop_map(|events| {
                    let members = events[0].as_object().cloned().unwrap_or_default();
                    let mut whole: Map<String, Value> =
                        members.into_iter().map(|(key, value)| (key, literal(value))).collect();
                    // Another law checks the id.
                    whole
                        .insert("eventId".to_owned(), json!({ "$optional": { "$any": "string" } }));
                    let append = accepted(append(&events[0], "a"));
                    json!({ "steps": [append, read(json!([whole]))] })
                })
                .boxed()
        },
    },
    Law {
        name: "any-further-member-is-kept",
        contract: "sage.chronicle",
        why: "A memory that changes some events cannot be trusted with any.",
        shows: &["CHRONICLE-002"],
        origin: "contract",
        operations: &[APPEND, READ],
        inputs: || {
            further()
                .prop_map(|further| {
                    let mut event = plain(0);
                    event.extend(further.clone());
                    let kept = further.into_iter().map(|(key, value)| (key, literal(value)));
                    let kept: Map<String, Value> = kept.collect();
                    let steps = json!([
                        append(&Value::Object(event), "a"),
                        read(json!([{ "$open": kept }]))
                    ]);
                    json!({ "setup": appends_work("a"), "steps": steps })
                })
                .boxed()
        },
    },
    Law {
        name: "any-event-has-its-id",
        contract: "sage.chronicle",
        why: "An id that differs for some events breaks every link to them.",
        shows: &["CHRONICLE-011"],
        origin: IDS,
        operations: &[APPEND, READ],
        inputs: || {
            events(1..2)
                .prop_map(|events| {
                    let event = lettered(&events[0]);
                    let id = read_id(json!(id(&event)));
                    json!({ "setup": [append(&event, "a")], "steps": [id] })
                })
                .boxed()
        },
    },
    Law {
        name: "key-order-does-not-change-the-id",
        contract: "sage.chronicle",
        why: "One fact must have one id, in whatever order its keys were given.",
        shows: &["CHRONICLE-012"],
        origin: "contract",
        operations: &[APPEND, READ],
        inputs: || {
            (events(1..2), any::<u64>())
                .prop_map(|(events, order)| {
                    let other = shuffled(&events[0], order);
                    let mut second = append(&other, "a");
                    second["args"]["path"] = json!("b.sage");
                    let mut first = read(json!([{ "$open": { "eventId": { "$any": "string" } } }]));
                    first["as"] = json!("first");
                    let mut same = read_id(json!({ "$ref": "first/0/eventId" }));
                    same["args"]["path"] = json!("b.sage");
                    json!({ "setup": [append(&events[0], "a"), second, first], "steps": [same] })
                })
                .boxed()
        },
    },
    Law {
        name: "any-events-are-read-in-order",
        contract: "sage.chronicle",
        why: "A chronicle in another order tells another story.",
        shows: &["CHRONICLE-005"],
        origin: "contract",
        operations: &[APPEND, READ],
        inputs: || {
            events(2..8)
                .prop_map(|events| {
                    let setup: Vec<Value> = events.iter().map(|event| append(event, "a")).collect();
                    let mut read = read(json!(numbers(&events)));
                    read["assumes"] = json!({ "returns": in_any_order(&events) });
                    json!({ "setup": setup, "steps": [read] })
                })
                .boxed()
        },
    },
    Law {
        name: "any-interleaving-is-some-order",
        contract: "sage.chronicle",
        why: "Agents that write at the same time must not lose or mix each other's memory.",
        shows: &["CHRONICLE-031"],
        origin: "contract",
        operations: &[APPEND, READ],
        inputs: || events(2..8).prop_map(|events| at_once(&events, |_| "a")).boxed(),
    },
    Law {
        name: "any-interleaving-of-processes-is-some-order",
        contract: "sage.chronicle",
        why: "Processes that write at the same time must not lose or mix each other's memory.",
        shows: &["CHRONICLE-032"],
        origin: "contract",
        operations: &[APPEND, READ],
        // One event in each; another law checks appends within one process.
        inputs: || {
            events(2..3)
                .prop_map(|events| at_once(&events, |index| if index % 2 == 0 { "a" } else { "b" }))
                .boxed()
        },
    },
    Law {
        name: "a-torn-tail-hides-nothing",
        contract: "sage.chronicle",
        why: "Wherever a crash cut the last line off, the memory before it must be readable.",
        shows: &["CHRONICLE-018"],
        origin: "contract",
        operations: &[READ],
        inputs: || {
            torn()
                .prop_map(|Torn { before, bytes, .. }| {
                    let mut whole = read(in_any_order(&before));
                    whole["args"]["path"] = json!("whole.sage");
                    json!({
                        "given": with_whole(torn_and_whole(&bytes), &before),
                        "setup": [works(READ), whole],
                        "steps": [read(in_any_order(&before))],
                    })
                })
                .boxed()
        },
    },
    Law {
        name: "a-torn-tail-is-not-counted",
        contract: "sage.chronicle",
        why: "Wherever a crash cut the last line off, the last event is the one before it.",
        shows: &["CHRONICLE-026"],
        origin: "contract",
        operations: &[TAIL],
        inputs: || {
            torn()
                .prop_map(|Torn { before, bytes, .. }| {
                    let tail = |path: &str| json!({ "call": TAIL, "args": { "path": path, "n": before.len().max(1) }, "returns": in_any_order(&before) });
                    json!({
                        "given": with_whole(torn_and_whole(&bytes), &before),
                        "setup": [works(TAIL), tail("whole.sage")],
                        "steps": [tail("a.sage")],
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
        origin: "contract",
        operations: &[APPEND, READ],
        inputs: || {
            torn()
                .prop_map(|Torn { mut before, bytes, next }| {
                    let append = accepted(append(&next, "a"));
                    let mut setup = appends_work("a");
                    setup.push(read(in_any_order(&before)));
                    before.push(next);
                    let mut whole = read(in_any_order(&before));
                    whole["args"]["path"] = json!("whole.sage");
                    setup.push(whole);
                    let files = json!({ "files": { "a.sage": { "hex": hex::encode(&bytes) } } });
                    json!({
                        "given": with_whole(files, &before),
                        "setup": setup,
                        "steps": [append, read(in_any_order(&before))],
                    })
                })
                .boxed()
        },
    },
    Law {
        name: "the-tail-is-the-end-of-the-whole",
        contract: "sage.chronicle",
        why: "An agent that reads only the end must see the same memory as one that reads all.",
        shows: &["CHRONICLE-024"],
        origin: "contract",
        operations: &[TAIL],
        inputs: || {
            (events(2..12), any::<proptest::sample::Index>())
                .prop_map(|(events, cut)| {
                    let n = 1 + cut.index(events.len());
                    tail(&events, n, numbers(&events[events.len() - n..]).into())
                })
                .boxed()
        },
    },
    Law {
        name: "a-long-tail-is-the-whole",
        contract: "sage.chronicle",
        why: "An agent that asks for more than there is must get what there is.",
        shows: &["CHRONICLE-025"],
        origin: "contract",
        operations: &[TAIL],
        inputs: || {
            (events(0..8), 1..20_usize)
                .prop_map(|(events, more)| {
                    let mut law = tail(&events, events.len() + more, in_any_order(&events));
                    if !events.is_empty() {
                        // That its events are found at all is another requirement.
                        let mut all = law["steps"][0].clone();
                        all["args"]["n"] = json!(events.len());
                        law["setup"]
                            .as_array_mut()
                            .into_iter()
                            .for_each(|setup| setup.push(all.clone()));
                    }
                    law
                })
                .boxed()
        },
    },
];

fn tail(events: &[Value], n: usize, last: Value) -> Value {
    let whole: Vec<Value> = events.iter().map(with_id).collect();
    json!({
        "given": torn_and_whole(lines(&whole).as_bytes()),
        "setup": [works(TAIL)],
        "steps": [{ "call": TAIL, "args": { "path": "a.sage", "n": n }, "returns": last }],
    })
}

/// Identifies events by their numbers. Other laws check the rest.
fn numbers(events: &[Value]) -> Vec<Value> {
    events.iter().map(|event| json!({ "$open": { "number": event["number"] } })).collect()
}

fn in_any_order(events: &[Value]) -> Value {
    if events.is_empty() { json!([]) } else { json!({ "$unordered": numbers(events) }) }
}

/// Valid events, all different.
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
    // The text does not say whether an empty string is malformed.
    let text = || text().prop_map(|text| if text.is_empty() { "x".to_owned() } else { text });
    let optional = |name: &'static str| {
        proptest::option::of(text())
            .prop_map(move |text| Some((name.to_owned(), Value::from(text?))))
    };
    let tags = proptest::option::of(proptest::collection::vec(text(), 0..3))
        .prop_map(|tags| Some(("tags".to_owned(), Value::from(tags?))));
    let when = (0..1440_u32)
        .prop_map(|minute| format!("2024-01-01T{:02}:{:02}:00.000Z", minute / 60, minute % 60));
    let base = (word(), when, word(), word());
    let links = (optional("planHash"), optional("graphCommit"), optional("prevEventId"), tags);
    (base, links, further(), any::<u64>()).prop_map(
        |((kind, when, agent, id), links, further, order)| {
            let mut event = Map::new();
            event.insert("type".to_owned(), Value::from(kind));
            event.insert("timestamp".to_owned(), Value::from(when));
            event.insert("actor".to_owned(), json!({ "agent": agent, "id": id }));
            event.extend([links.0, links.1, links.2, links.3].into_iter().flatten());
            event.extend(further);
            match shuffled(&Value::Object(event), order) {
                Value::Object(event) => event,
                _ => Map::new(),
            }
        },
    )
}

/// The event with small letters as further keys, at every depth: how others are sorted is an interpretation of
/// `sage.utils`.
fn lettered(event: &Value) -> Value {
    let members = event.as_object().into_iter().flatten().map(|(key, value)| {
        let base = BASE.contains(&key.as_str());
        let key = if base { key.clone() } else { format!("x{}", letters(key)) };
        (key, with_letters(value))
    });
    Value::Object(members.collect())
}

fn with_letters(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(with_letters).collect(),
        Value::Object(members) => Value::Object(
            members.iter().map(|(key, value)| (letters(key), with_letters(value))).collect(),
        ),
        other => other.clone(),
    }
}

fn letters(key: &str) -> String {
    key.chars()
        .filter(char::is_ascii_alphabetic)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// Members beyond the base fields.
fn further() -> impl Strategy<Value = Map<String, Value>> {
    proptest::collection::vec((key(), value()), 1..4).prop_map(|members| {
        members.into_iter().filter(|(key, _)| !BASE.contains(&key.as_str())).collect()
    })
}

/// An event with nothing special.
fn plain(number: usize) -> Map<String, Value> {
    Map::from_iter([
        ("type".to_owned(), json!("NOTE")),
        ("timestamp".to_owned(), json!("2024-01-01T12:00:00.000Z")),
        ("actor".to_owned(), json!({ "agent": "sage", "id": "sage-1" })),
        ("number".to_owned(), json!(number)),
    ])
}

fn id(event: &Value) -> String {
    sha256(canonical(event))
}

/// The event as a chronicle stores it.
fn with_id(event: &Value) -> Value {
    let mut event = event.clone();
    event["eventId"] = Value::from(id(&event));
    event
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn append(event: &Value, process: &str) -> Value {
    json!({ "call": APPEND, "args": { "path": "a.sage", "event": literal(event.clone()), "lockTimeoutMs": PATIENT }, "process": process, "returns": { "$any": "value" } })
}

fn read(returns: Value) -> Value {
    json!({ "call": READ, "args": { "path": "a.sage" }, "returns": returns })
}

fn at_once(events: &[Value], process: impl Fn(usize) -> &'static str) -> Value {
    let together: Vec<Value> = events
        .iter()
        .enumerate()
        .map(|(index, event)| accepted(append(event, process(index))))
        .collect();
    let mut setup = appends_work("a");
    if (0..events.len()).any(|index| process(index) == "b") {
        setup.extend(appends_work("b"));
    }
    let mut whole = read(in_any_order(events));
    whole["args"]["path"] = json!("whole.sage");
    setup.push(whole);
    json!({
        "given": with_whole(json!({ "files": {} }), events),
        "setup": setup,
        "steps": [{ "together": together }, read(in_any_order(events))],
    })
}

/// Assumes that the event is accepted: other requirements say which are.
fn accepted(mut append: Value) -> Value {
    let returns = append["returns"].take();
    append["assumes"] = json!({ "returns": returns });
    append.as_object_mut().map(|append| append.shift_remove("returns"));
    append
}

/// Steps that show that an append and a read work at all in this process.
fn appends_work(process: &str) -> Vec<Value> {
    let path = format!("control-{process}.sage");
    let args = json!({ "path": path, "event": plain(0), "lockTimeoutMs": PATIENT });
    vec![
        json!({ "call": APPEND, "args": args, "process": process, "returns": { "$any": "value" } }),
        json!({ "call": READ, "args": { "path": path }, "process": process, "returns": [{ "$open": { "number": 0 } }] }),
    ]
}

/// A chronicle with these bytes, and another with one event.
fn torn_and_whole(bytes: &[u8]) -> Value {
    let other = lines(&[Value::Object(plain(0))]);
    json!({ "files": { "a.sage": { "hex": hex::encode(bytes) }, "other.sage": { "text": other } } })
}

/// The same files, and one with whole lines of these events: without it, a reader that cannot read one of them would
/// seem to break another promise.
fn with_whole(mut given: Value, events: &[Value]) -> Value {
    let whole: Vec<Value> = events.iter().map(with_id).collect();
    given["files"]["whole.sage"] = json!({ "text": lines(&whole) });
    given
}

/// A step that shows that this way of reading works at all.
fn works(operation: &str) -> Value {
    let args = if operation == TAIL {
        json!({ "path": "other.sage", "n": 1 })
    } else {
        json!({ "path": "other.sage" })
    };
    json!({ "call": operation, "args": args, "returns": [{ "$open": { "number": 0 } }] })
}

/// Reads the one event, whose id must be this. Other laws check that there is an id.
fn read_id(id: Value) -> Value {
    let mut read = read(json!([{ "$open": { "eventId": id } }]));
    read["assumes"] = json!({ "returns": [{ "$open": { "eventId": { "$any": "string" } } }] });
    read
}

/// A chronicle whose last line is truncated, perhaps within a character.
#[derive(Debug)]
struct Torn {
    before: Vec<Value>,
    bytes: Vec<u8>,
    next: Value,
}

fn torn() -> impl Strategy<Value = Torn> {
    (events(2..6), any::<proptest::sample::Index>()).prop_map(|(mut events, cut)| {
        // Two more events: the truncated one, and one to append.
        let (next, lost) = (events.pop().unwrap_or_default(), events.pop().unwrap_or_default());
        let lost = with_id(&lost).to_string().into_bytes();
        let whole: Vec<Value> = events.iter().map(with_id).collect();
        let mut bytes = lines(&whole).into_bytes();
        // At least one byte is present and one is missing, so the line is not valid JSON.
        bytes.extend_from_slice(&lost[..1 + cut.index(lost.len() - 1)]);
        Torn { before: events, bytes, next }
    })
}
