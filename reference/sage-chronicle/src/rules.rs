//! Validates events. Nothing here touches the disk.

use sage_errors::Detail;
use serde_json::{Map, Value};

use crate::event::{EVENT_ID, IdRule};
use crate::timestamp::is_iso8601;

/// The members that have rules. They are found in one pass, because looking each of them up would take longer than
/// all the rules.
#[derive(Default)]
struct Known<'a> {
    kind: Option<&'a Value>,
    timestamp: Option<&'a Value>,
    actor: Option<&'a Value>,
    plan_hash: Option<&'a Value>,
    graph_commit: Option<&'a Value>,
    prev_event_id: Option<&'a Value>,
    event_id: Option<&'a Value>,
    tags: Option<&'a Value>,
}

impl<'a> Known<'a> {
    fn among(members: &'a Map<String, Value>) -> Self {
        let mut known = Self::default();
        for (name, value) in members {
            let place = match name.as_str() {
                "type" => &mut known.kind,
                "timestamp" => &mut known.timestamp,
                "actor" => &mut known.actor,
                "planHash" => &mut known.plan_hash,
                "graphCommit" => &mut known.graph_commit,
                "prevEventId" => &mut known.prev_event_id,
                EVENT_ID => &mut known.event_id,
                "tags" => &mut known.tags,
                _ => continue,
            };
            *place = Some(value);
        }
        known
    }
}

/// Every fault of `event`.
pub(crate) fn check(event: &Value, rule: IdRule) -> Vec<Detail> {
    let Value::Object(members) = event else {
        return vec![wrong("event", "is not an object", Some(event), "an object")];
    };
    let known = Known::among(members);
    let mut faults = Vec::new();

    if string(known.kind, "type", &mut faults) == Some("") {
        faults.push(wrong("type", "is empty", known.kind, "a non-empty string"));
    }
    if string(known.timestamp, "timestamp", &mut faults).is_some_and(|t| !is_iso8601(t)) {
        let expected = "an ISO 8601 time such as 2024-01-01T12:00:00.000Z";
        faults.push(wrong("timestamp", "is not an ISO 8601 time", known.timestamp, expected));
    }
    match known.actor {
        Some(Value::Object(actor)) => {
            string(member(actor, "agent"), "actor.agent", &mut faults);
            string(member(actor, "id"), "actor.id", &mut faults);
        }
        Some(other) => faults.push(wrong("actor", "is not an object", Some(other), "an object")),
        None => faults.push(wrong("actor", "is missing", None, "an object")),
    }
    for (value, name) in [
        (known.plan_hash, "planHash"),
        (known.graph_commit, "graphCommit"),
        (known.prev_event_id, "prevEventId"),
    ] {
        if value.is_some() {
            string(value, name, &mut faults);
        }
    }
    check_id(known.event_id, rule, &mut faults);
    check_tags(known.tags, &mut faults);
    check_depth(members, &mut faults);
    faults
}

fn check_id(given: Option<&Value>, rule: IdRule, faults: &mut Vec<Detail>) {
    if rule == IdRule::Computed && given.is_none() {
        return;
    }
    let id = string(given, EVENT_ID, faults);
    let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    if let (IdRule::Given, Some(id)) = (rule, id)
        && !(id.len() == 64 && id.bytes().all(is_hex))
    {
        let expected = "64 lower-case hexadecimal digits";
        faults.push(wrong(EVENT_ID, "is not a SHA-256", given, expected));
    }
}

fn check_tags(tags: Option<&Value>, faults: &mut Vec<Detail>) {
    match tags {
        None => {}
        Some(Value::Array(tags)) => {
            for (index, tag) in tags.iter().enumerate().filter(|(_, tag)| !tag.is_string()) {
                faults.push(wrong(
                    &format!("tags.{index}"),
                    "is not a string",
                    Some(tag),
                    "a string",
                ));
            }
        }
        Some(other) => {
            faults.push(wrong("tags", "is not an array", Some(other), "an array of strings"))
        }
    }
}

/// Deeper nesting could be written, but no reader with this parser could read it.
const DEEPEST: usize = 127;

fn check_depth(members: &Map<String, Value>, faults: &mut Vec<Detail>) {
    fn fits(value: &Value, levels: usize) -> bool {
        match value {
            Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
            Value::Object(members) => {
                levels > 0 && members.values().all(|item| fits(item, levels - 1))
            }
            _ => true,
        }
    }
    for (name, value) in members {
        if !fits(value, DEEPEST - 1) {
            // The detail omits the value, which would nest the error as deeply.
            faults.push(wrong(
                name,
                "is nested too deeply",
                None,
                "at most 127 levels of arrays and objects",
            ));
        }
    }
}

/// The member of that name. Objects here are small, so a linear search is faster than hashing.
pub(crate) fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The member as text; a fault when it is missing or something else.
fn string<'a>(value: Option<&'a Value>, field: &str, faults: &mut Vec<Detail>) -> Option<&'a str> {
    match value {
        Some(Value::String(text)) => return Some(text),
        Some(other) => faults.push(wrong(field, "is not a string", Some(other), "a string")),
        None => faults.push(wrong(field, "is missing", None, "a string")),
    }
    None
}

fn wrong(field: &str, reason: &str, received: Option<&Value>, expected: &str) -> Detail {
    let detail = Detail::new(field, reason).expected(expected);
    match received {
        Some(value) => detail.received(value.clone()),
        None => detail,
    }
}
