//! What an event is, its id, and the line that it becomes. Nothing here looks at a disk.

use std::borrow::Cow;

use sage_errors::SageError;
use sage_utils::{sha256, write_canonical};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::rules::{check, member};
use crate::scan::AnyObject;

/// An event as it is read back: the checked text of a JSON object, with its members in the order of the line.
///
/// It stays text until it is inspected: a tree would take many times the memory, and building trees would dominate
/// the time of reading a long chronicle.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Event(Box<str>);

impl Event {
    /// The event on a line; `None` for a torn or corrupt line, for one that is not UTF-8, and for
    /// one that is JSON but no object. A proper part of an object's text, cut off at the end, is
    /// never itself an object, so a line that is still being written is not taken for an event.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let text = str::from_utf8(line).ok()?;
        serde_json::from_str::<AnyObject>(text).ok()?;
        Some(Self(text.into()))
    }

    /// The line, without its end.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The members. If a line names one twice, the last counts.
    pub fn members(&self) -> Map<String, Value> {
        serde_json::from_str(&self.0).expect("`parse` accepts what this does")
    }

    /// The event as a JSON value.
    pub fn to_json(&self) -> Value {
        Value::Object(self.members())
    }

    /// Whether the event's `eventId` is `id`.
    pub(crate) fn has_id(&self, id: &str) -> bool {
        /// Enough for nearly every event.
        #[derive(Deserialize)]
        struct Identified<'a> {
            #[serde(rename = "eventId", borrow)]
            event_id: Option<Cow<'a, str>>,
        }
        match serde_json::from_str::<Identified<'_>>(&self.0) {
            Ok(found) => found.event_id.as_deref() == Some(id),
            Err(_) => self.members().get("eventId").and_then(Value::as_str) == Some(id),
        }
    }
}

impl From<&Entry> for Event {
    /// The event that will be read back once the entry is written.
    fn from(entry: &Entry) -> Self {
        Self(entry.line.trim_end().into())
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.members().serialize(serializer)
    }
}

/// Where the `eventId` comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdRule {
    /// The library: `appendEvent`. An id that the caller gives is replaced.
    Computed,
    /// The caller: `appendEventWithId`. It is required and must look like a SHA-256.
    Given,
}

pub(crate) const EVENT_ID: &str = "eventId";

/// A valid event, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    id: String,
    line: String,
}

impl Entry {
    /// # Errors
    /// `EVALIDATION` with a detail for every fault.
    pub fn new(event: &Value, rule: IdRule) -> Result<Self, SageError> {
        if let Some(error) = SageError::validation_of(check(event, rule)) {
            return Err(error);
        }
        let given = event.as_object().and_then(|members| member(members, EVENT_ID));
        let id = match (rule, given) {
            (IdRule::Given, Some(Value::String(id))) => id.clone(),
            (_, None) => hash(event),
            _ => event_id(event),
        };
        let mut line = Vec::with_capacity(512);
        serde_json::to_writer(&mut line, &Payload(event)).expect("a JSON value can be written");
        // Replaces the last brace; a valid event has members, so the id follows a comma.
        line.pop();
        for part in [",\"eventId\":\"", &id, "\"}\n"] {
            line.extend_from_slice(part.as_bytes());
        }
        let line = String::from_utf8(line).expect("JSON is UTF-8");
        Ok(Self { id, line })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The members in the caller's order, `eventId` last, and one newline, at the end.
    pub fn line(&self) -> &str {
        &self.line
    }
}

/// The id that `appendEvent` gives to `event`: the SHA-256 of the canonical JSON of all its members
/// but `eventId`.
pub fn event_id(event: &Value) -> String {
    match event {
        Value::Object(members) if members.contains_key(EVENT_ID) => {
            let mut members = members.clone();
            members.shift_remove(EVENT_ID);
            hash(&Value::Object(members))
        }
        _ => hash(event),
    }
}

fn hash(payload: &Value) -> String {
    let mut canonical = Vec::with_capacity(512);
    write_canonical(payload, &mut canonical);
    sha256(&canonical)
}

/// An event without its id, serialized without a copy.
struct Payload<'a>(&'a Value);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.0.as_object().into_iter().flatten();
        serializer.collect_map(members.filter(|(name, _)| *name != EVENT_ID))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn event() -> Value {
        json!({
            "type": "FUNCTION_ADDED",
            "timestamp": "2024-01-01T12:00:00.000Z",
            "actor": { "agent": "sage", "id": "sage-1" },
            "name": "é",
            "n": 1,
        })
    }

    /// `printf '%s' '{"actor":{"agent":"sage","id":"sage-1"},"n":1,"name":"é",…}' | sha256sum`
    const ID: &str = "072eae2ad97fa0b37b3672a8fa6274cf59fe052adbfe024a5a561f84244cca25";

    fn with(field: &str, value: Value) -> Value {
        let mut event = event();
        event[field] = value;
        event
    }

    fn without(field: &str) -> Value {
        let mut event = event();
        event.as_object_mut().unwrap().shift_remove(field);
        event
    }

    #[rstest]
    #[case::plain(event())]
    #[case::id_replaced(with("eventId", json!("anything")))]
    fn the_id_is_the_hash_of_the_rest(#[case] event: Value) {
        let entry = Entry::new(&event, IdRule::Computed).unwrap();
        assert_eq!((entry.id(), event_id(&event)), (ID, ID.to_owned()));
    }

    #[test]
    fn the_line_keeps_the_order_and_ends_with_the_id() {
        let mut event = with("eventId", json!("anything"));
        event["last"] = json!("a\nb");
        let entry = Entry::new(&event, IdRule::Computed).unwrap();
        let expect = format!(
            r#"{{"type":"FUNCTION_ADDED","timestamp":"2024-01-01T12:00:00.000Z","actor":{{"agent":"sage","id":"sage-1"}},"name":"é","n":1,"last":"a\nb","eventId":"{}"}}"#,
            entry.id()
        );
        assert_eq!(entry.line(), expect + "\n");
    }

    #[test]
    fn a_given_id_is_kept() {
        let id = "0123456789abcdef".repeat(4);
        let entry = Entry::new(&with("eventId", json!(id)), IdRule::Given).unwrap();
        assert_eq!(entry.id(), id);
        assert!(entry.line().ends_with(&format!(",\"eventId\":\"{id}\"}}\n")));
    }

    #[rstest]
    #[case::empty_strings_elsewhere(with("actor", json!({ "agent": "", "id": "" })))]
    #[case::more_about_the_actor(with("actor", json!({ "agent": "a", "id": "b", "mood": [] })))]
    #[case::optional(with("planHash", json!("abc123def456")))]
    #[case::tags(with("tags", json!(["refactor", "typescript"])))]
    #[case::no_tags(with("tags", json!([])))]
    #[case::anything_else(with("x", json!({ "eventId": 1, "tags": 2, "type": null })))]
    fn a_legal_event(#[case] event: Value) {
        Entry::new(&event, IdRule::Computed).unwrap();
    }

    #[rstest]
    #[case(json!(null), &["event"])]
    #[case(json!([]), &["event"])]
    #[case(json!("x"), &["event"])]
    #[case(json!({}), &["type", "timestamp", "actor"])]
    #[case(without("type"), &["type"])]
    #[case(with("type", json!(1)), &["type"])]
    #[case(with("type", json!("")), &["type"])]
    #[case(with("type", json!(null)), &["type"])]
    #[case(without("timestamp"), &["timestamp"])]
    #[case(with("timestamp", json!(1_704_110_400)), &["timestamp"])]
    #[case(with("timestamp", json!("noon")), &["timestamp"])]
    #[case(without("actor"), &["actor"])]
    #[case(with("actor", json!("sage")), &["actor"])]
    #[case(with("actor", json!(["sage", "sage-1"])), &["actor"])]
    #[case(with("actor", json!({ "agent": 1 })), &["actor.agent", "actor.id"])]
    #[case(with("eventId", json!(1)), &["eventId"])]
    #[case(with("planHash", json!(1)), &["planHash"])]
    #[case(with("graphCommit", json!(null)), &["graphCommit"])]
    #[case(with("prevEventId", json!({})), &["prevEventId"])]
    #[case(with("tags", json!("refactor")), &["tags"])]
    #[case(with("tags", json!(["a", 1, "b", null])), &["tags.1", "tags.3"])]
    fn an_illegal_event(#[case] event: Value, #[case] fields: &[&str]) {
        check_faults(&event, IdRule::Computed, fields);
    }

    #[rstest]
    #[case(without("eventId"))]
    #[case(with("eventId", json!(1)))]
    #[case(with("eventId", json!("")))]
    #[case(with("eventId", json!("a".repeat(63))))]
    #[case(with("eventId", json!("a".repeat(65))))]
    #[case(with("eventId", json!("A".repeat(64))))]
    #[case(with("eventId", json!("g".repeat(64))))]
    #[case(with("eventId", json!("é".repeat(32))))]
    fn an_illegal_given_id(#[case] event: Value) {
        check_faults(&event, IdRule::Given, &["eventId"]);
    }

    #[track_caller]
    fn check_faults(event: &Value, rule: IdRule, fields: &[&str]) {
        let error = Entry::new(event, rule).unwrap_err();
        let SageError::Validation(error) = error else { panic!("{error}") };
        let reported: Vec<_> = error.details().iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(reported, fields);
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!([]), |inner, _| json!([inner]))
    }

    #[test]
    fn the_deepest_event_can_be_read_back() {
        let entry = Entry::new(&with("x", nested(126)), IdRule::Computed).unwrap();
        let read = Event::parse(entry.line().as_bytes()).unwrap();
        assert_eq!(read.members()["x"], nested(126));
        check_faults(&with("x", nested(127)), IdRule::Computed, &["x"]);
    }
}
