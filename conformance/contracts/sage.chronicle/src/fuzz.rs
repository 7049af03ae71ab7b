//! Fuzzes chronicles with any bytes.

use std::fs;
use std::path::Path;

use proofmark_room::fuzz::{FuzzTarget, all_cases, short};
use sage_chronicle::{Chronicle, Event, EventLog as _, Options, event_id};
use serde_json::{Value, json};

/// The targets of this contract, for `cargo xtask fuzz`.
pub(crate) const TARGETS: &[FuzzTarget] =
    &[FuzzTarget { name: "chronicle", check: chronicle, seeds: chronicles }];

/// Reading any bytes returns events and no error; a tail returns the last of them; an append goes to the end.
fn chronicle(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("a.sage");
    fs::write(&file, bytes).expect("a file can be written");
    let options = Options { durable: false, ..Options::default() };
    let chronicle = Chronicle::open(folder.path(), options).expect("the folder is there");

    let before = chronicle.read("a.sage").expect("content is never an error");
    let counts = [0, 1, 2, 3, before.len() / 2, before.len(), before.len() + 1];
    for n in counts {
        let tail = chronicle.tail("a.sage", Some(n as u64)).expect("content is never an error");
        assert_eq!(tail, before[before.len().saturating_sub(n)..], "the last {n}");
    }

    let event = json!({
        "type": "FOUND",
        "timestamp": "2024-01-01T12:00:00.000Z",
        "actor": { "agent": "fuzz", "id": "fuzz-1" },
    });
    chronicle.append_event("a.sage", &event, None).expect("an append needs nothing of the content");
    let after = chronicle.read("a.sage").expect("content is never an error");
    assert_eq!(after[..before.len()], before);
    let last =
        after.last().map(Event::members).expect("there is at least the event that was appended");
    if after.len() == before.len() {
        // The append was dropped, which is right if the last event has the same id, whatever else it contains.
        assert_eq!(last.get("eventId"), Some(&json!(event_id(&event))));
    } else {
        assert_eq!(after.len(), before.len() + 1);
        let has = |(name, value): (&String, &Value)| last.get(name) == Some(value);
        assert!(event.as_object().is_some_and(|event| event.iter().all(has)), "{last:?}");
    }
    let kept = fs::read(&file).expect("the file is there");
    assert!(kept.starts_with(bytes), "bytes that were there are changed");
}

/// Every chronicle that a case begins with.
fn chronicles(top: &Path) -> Vec<Vec<u8>> {
    let mut seeds = vec![Vec::new()];
    for case in all_cases(top) {
        let files = case["given"]["files"].as_object();
        let texts = files.into_iter().flatten().filter_map(|(_, file)| file["text"].as_str());
        seeds.extend(texts.map(|text| text.as_bytes().to_vec()));
    }
    short(seeds)
}
