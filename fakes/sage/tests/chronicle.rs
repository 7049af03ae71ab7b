//! The fake chronicle must behave like the real one: every test runs against both.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

use std::thread;

use proofmark_fakes_sage::chronicle::MemoryChronicle;
use proptest::prelude::*;
use rstest::rstest;
use sage_chronicle::{Chronicle, Event, EventLog, Options, event_id};
use sage_errors::SageError;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Subject {
    log: Box<dyn EventLog>,
    _folder: Option<TempDir>,
}

fn memory() -> Subject {
    Subject { log: Box::new(MemoryChronicle::new()), _folder: None }
}

fn disk() -> Subject {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { durable: false, ..Options::default() };
    let log = Box::new(Chronicle::open(folder.path(), options).unwrap());
    Subject { log, _folder: Some(folder) }
}

impl Subject {
    fn append(&self, path: &str, event: &Value) -> Result<(), SageError> {
        self.log.append_event(path, event, None)
    }

    /// The numbers of all events.
    fn read(&self, path: &str) -> Vec<u64> {
        numbers(&self.log.read(path).unwrap())
    }
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.members()["n"].as_u64().unwrap()).collect()
}

fn event(n: u64) -> Value {
    json!({
        "type": "NOTE",
        "timestamp": "2024-01-01T12:00:00.000Z",
        "actor": { "agent": "sage", "id": "sage-1" },
        "n": n,
    })
}

fn with_id(n: u64, id: &str) -> Value {
    let mut event = event(n);
    event["eventId"] = json!(id);
    event
}

#[rstest]
fn an_event_is_read_back_with_its_id(#[values(memory, disk)] new: fn() -> Subject) {
    let subject = new();
    let mut given = json!({ "z": [1.5, null], "a": "\n\u{1F600}" });
    given.as_object_mut().unwrap().extend(event(1).as_object().unwrap().clone());
    subject.append("a.sage", &given).unwrap();
    let read = subject.log.read("a.sage").unwrap();
    given["eventId"] = json!(event_id(&given));
    assert_eq!(read[0].text(), given.to_string());
    assert_eq!(read.len(), 1);
}

#[rstest]
fn each_path_is_a_chronicle_of_its_own(#[values(memory, disk)] new: fn() -> Subject) {
    let subject = new();
    subject.append("a.sage", &event(1)).unwrap();
    subject.append("x/a.sage", &event(2)).unwrap();
    subject.append("./x/./a.sage", &event(3)).unwrap();
    assert_eq!(subject.read("a.sage"), [1]);
    assert_eq!(subject.read("x/a.sage"), [2, 3]);
    assert_eq!(subject.read("none.sage"), [0_u64; 0]);
}

#[rstest]
#[case::in_a_row(&[1, 1, 1], &[1])]
#[case::another_between(&[1, 2, 1, 1], &[1, 2, 1])]
fn a_repeat_in_a_row_is_left_out(
    #[values(memory, disk)] new: fn() -> Subject,
    #[case] appended: &[u64],
    #[case] expect: &[u64],
) {
    let subject = new();
    for n in appended {
        subject.append("a.sage", &event(*n)).unwrap();
    }
    assert_eq!(subject.read("a.sage"), expect);
}

#[rstest]
fn a_given_id_is_kept_and_never_a_repeat(#[values(memory, disk)] new: fn() -> Subject) {
    let subject = new();
    let id = "ab".repeat(32);
    for n in [1, 2, 2] {
        subject.log.append_event_with_id("a.sage", &with_id(n, &id), None).unwrap();
    }
    assert_eq!(subject.read("a.sage"), [1, 2, 2]);
    for event in subject.log.read("a.sage").unwrap() {
        assert_eq!(event.members()["eventId"], id);
    }
}

/// A computed id counts as a repeat of a given one.
#[rstest]
fn an_event_whose_id_was_given_before_is_left_out(#[values(memory, disk)] new: fn() -> Subject) {
    let subject = new();
    let id = event_id(&event(1));
    subject.log.append_event_with_id("a.sage", &with_id(7, &id), None).unwrap();
    subject.append("a.sage", &event(1)).unwrap();
    assert_eq!(subject.read("a.sage"), [7]);
}

#[rstest]
#[case::default(None, &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11])]
#[case::none(Some(0), &[])]
#[case::one(Some(1), &[11])]
#[case::three(Some(3), &[9, 10, 11])]
#[case::all(Some(12), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])]
#[case::more(Some(u64::MAX), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])]
fn the_tail_is_the_last_of_them(
    #[values(memory, disk)] new: fn() -> Subject,
    #[case] n: Option<u64>,
    #[case] expect: &[u64],
) {
    let subject = new();
    for n in 0..12 {
        subject.append("a.sage", &event(n)).unwrap();
    }
    assert_eq!(numbers(&subject.log.tail("a.sage", n).unwrap()), expect);
}

#[rstest]
#[case("a.txt", event(1), &["path"])]
#[case("/a.sage", event(1), &["path"])]
#[case("x/../a.sage", event(1), &["path"])]
#[case("a.sage", json!([]), &["event"])]
#[case("a.sage", json!({ "type": 1, "timestamp": "", "actor": {} }), &["type", "timestamp", "actor.agent", "actor.id"])]
#[case("a", json!({}), &["path", "type", "timestamp", "actor"])]
fn every_fault_is_reported(
    #[values(memory, disk)] new: fn() -> Subject,
    #[case] path: &str,
    #[case] event: Value,
    #[case] fields: &[&str],
) {
    let subject = new();
    let error = subject.append(path, &event).unwrap_err();
    let SageError::Validation(error) = error else { panic!("{error}") };
    let found: Vec<_> = error.details().iter().map(|detail| detail.field.as_str()).collect();
    assert_eq!(found, fields);
    assert_eq!(subject.read("a.sage"), [0_u64; 0]);
}

#[rstest]
fn reading_refuses_a_bad_path(#[values(memory, disk)] new: fn() -> Subject) {
    let subject = new();
    assert_eq!(subject.log.read("a.txt").unwrap_err().code(), "EVALIDATION");
    assert_eq!(subject.log.tail("../a.sage", Some(1)).unwrap_err().code(), "EVALIDATION");
}

#[rstest]
fn concurrent_appends_are_each_kept_once(#[values(memory, disk)] new: fn() -> Subject) {
    let subject = new();
    thread::scope(|scope| {
        for t in 0..8 {
            let log = &subject.log;
            scope.spawn(move || {
                for i in 0..20 {
                    log.append_event("a.sage", &event(t * 20 + i), Some(u64::MAX)).unwrap();
                }
            });
        }
    });
    let mut numbers = subject.read("a.sage");
    numbers.sort_unstable();
    assert_eq!(numbers, (0..160).collect::<Vec<_>>());
}

#[derive(Debug, Clone)]
enum Act {
    Append(&'static str, u64),
    AppendWithId(&'static str, u64, &'static str),
    Read(&'static str),
    Tail(&'static str, Option<u64>),
}

fn any_act() -> impl Strategy<Value = Act> {
    const ID: &str = "0000000000000000000000000000000000000000000000000000000000000000";
    let path = || prop::sample::select(vec!["a.sage", "./a.sage", "x/b.sage", "../a.sage", "a"]);
    let id = prop::sample::select(vec![ID, "", "no id"]);
    prop_oneof![
        (path(), 0..3_u64).prop_map(|(path, n)| Act::Append(path, n)),
        (path(), 0..3_u64, id).prop_map(|(path, n, id)| Act::AppendWithId(path, n, id)),
        path().prop_map(Act::Read),
        (path(), prop::option::of(0..5_u64)).prop_map(|(path, n)| Act::Tail(path, n)),
    ]
}

impl Act {
    fn on(&self, log: &dyn EventLog) -> Result<Vec<Event>, SageError> {
        match self {
            Self::Append(path, n) => log.append_event(path, &event(*n), None).map(|()| vec![]),
            Self::AppendWithId(path, n, id) => {
                log.append_event_with_id(path, &with_id(*n, id), None).map(|()| vec![])
            }
            Self::Read(path) => log.read(path),
            Self::Tail(path, n) => log.tail(path, *n),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_give_the_same_answers(acts in prop::collection::vec(any_act(), 1..30)) {
        let (memory, disk) = (memory(), disk());
        for act in acts {
            prop_assert_eq!(act.on(&*memory.log), act.on(&*disk.log), "{:?}", act);
        }
    }
}
