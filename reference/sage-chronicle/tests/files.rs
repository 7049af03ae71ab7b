//! Chronicles on a real disk: what stands in the way, links, the lock, and threads.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;

use proptest::prelude::*;
use rstest::rstest;
use sage_chronicle::{Chronicle, Event, EventLog, Options, event_id};
use sage_errors::SageError;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A workspace with a folder `outside` beside it.
struct Lab {
    folder: TempDir,
    chronicle: Chronicle,
}

impl Lab {
    fn new() -> Self {
        Self::with(Options { durable: false, ..Options::default() })
    }

    fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let chronicle = Chronicle::open(folder.path().join("workspace"), options).unwrap();
        Self { folder, chronicle }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    fn append(&self, path: &str, event: &Value) -> Result<(), SageError> {
        self.chronicle.append_event(path, event, None)
    }

    fn read(&self, path: &str) -> Vec<Value> {
        self.chronicle.read(path).unwrap().iter().map(Event::to_json).collect()
    }
}

fn event(n: u64) -> Value {
    json!({
        "type": "NOTE",
        "timestamp": "2024-01-01T12:00:00.000Z",
        "actor": { "agent": "sage", "id": "sage-1" },
        "n": n,
    })
}

fn stored(mut event: Value) -> Value {
    event["eventId"] = json!(event_id(&event));
    event
}

/// Every file and folder below, with what the files hold.
fn tree(folder: &Path) -> BTreeSet<(String, Option<String>)> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        found.insert((entry.path().display().to_string(), fs::read_to_string(entry.path()).ok()));
        if entry.file_type().unwrap().is_dir() {
            found.extend(tree(&entry.path()));
        }
    }
    found
}

#[rstest]
fn missing_folders_are_made(
    #[values("a.sage", ".sage/warden.dev.sage", "a/b/./c/d.sage")] path: &str,
    #[values(false, true)] durable: bool,
) {
    let lab = Lab::with(Options { durable, ..Options::default() });
    lab.append(path, &event(1)).unwrap();
    lab.append(path, &event(2)).unwrap();
    assert_eq!(lab.read(path), [stored(event(1)), stored(event(2))]);
}

#[test]
fn a_missing_chronicle_reads_as_empty_and_is_not_made() {
    let lab = Lab::new();
    let before = tree(lab.folder.path());
    assert_eq!(lab.chronicle.read("x/a.sage"), Ok(vec![]));
    assert_eq!(lab.chronicle.tail("x/a.sage", None), Ok(vec![]));
    assert_eq!(tree(lab.folder.path()), before);
}

#[rstest]
#[case("x/a.sage", json!({}))]
#[case("x/a.txt", event(1))]
#[case("../outside/a.sage", event(1))]
fn a_refused_append_makes_nothing(#[case] path: &str, #[case] event: Value) {
    let lab = Lab::new();
    let before = tree(lab.folder.path());
    assert_eq!(lab.append(path, &event).unwrap_err().code(), "EVALIDATION");
    let error = lab.chronicle.append_event_with_id(path, &event, None).unwrap_err();
    assert_eq!(error.code(), "EVALIDATION");
    assert_eq!(tree(lab.folder.path()), before);
}

#[test]
fn a_malformed_event_is_refused_before_the_lock_is_asked_for() {
    let lab = Lab::new();
    let _guard = lab.chronicle.hold_lock("a.sage").unwrap();
    let error = lab.chronicle.append_event("a.sage", &json!({}), Some(0)).unwrap_err();
    assert_eq!(error.code(), "EVALIDATION");
}

fn a_folder(path: &Path) {
    fs::create_dir(path).unwrap();
}

fn a_pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn a_loop(path: &Path) {
    symlink("a.sage", path).unwrap();
}

#[rstest]
#[case::folder(a_folder, "a.sage", Some("EISDIR"))]
#[case::pipe(a_pipe, "a.sage", None)]
#[case::link_to_itself(a_loop, "a.sage", Some("ELOOP"))]
#[case::file_for_a_folder(|path: &Path| fs::write(path, "").unwrap(), "a.sage/b.sage", Some("ENOTDIR"))]
#[case::long_name(|_: &Path| {}, &format!("{}.sage", "x".repeat(300)), Some("ENAMETOOLONG"))]
fn non_regular_files_are_io_errors(
    #[case] make: fn(&Path),
    #[case] path: &str,
    #[case] system_code: Option<&str>,
) {
    let lab = Lab::new();
    make(&lab.path("a.sage"));
    let write = lab.append(path, &event(1)).unwrap_err();
    let read = lab.chronicle.read(path).unwrap_err();
    let tail = lab.chronicle.tail(path, None).unwrap_err();
    for (error, operation) in [(write, "write"), (read, "read"), (tail, "read")] {
        let SageError::Io(error) = error else { panic!("{error}") };
        assert_eq!((error.path.as_deref(), error.operation.as_str()), (Some(path), operation));
        assert_eq!(error.system_code(), system_code);
    }
}

#[rstest]
#[case::file("a.sage", "../outside/b.sage", "a.sage")]
#[case::dangling_file("a.sage", "../outside/none.sage", "a.sage")]
#[case::folder("link", "../outside", "link/b.sage")]
#[case::folder_new_file("link", "../outside", "link/c.sage")]
#[case::folder_new_folder("link", "../outside", "link/x/c.sage")]
#[case::dangling_folder("link", "../outside/none", "link/c.sage")]
#[case::absolute("link", "/tmp", "link/proofmark-must-not-exist.sage")]
fn a_link_that_leads_out_is_forbidden(#[case] link: &str, #[case] to: &str, #[case] path: &str) {
    let lab = Lab::new();
    fs::write(lab.folder.path().join("outside/b.sage"), "{\"secret\":1}\n").unwrap();
    symlink(to, lab.path(link)).unwrap();
    let before = tree(&lab.folder.path().join("outside"));

    let write = lab.append(path, &event(1)).unwrap_err();
    let lock = lab.chronicle.hold_lock(path).unwrap_err();
    let read = lab.chronicle.read(path).unwrap_err();
    let tail = lab.chronicle.tail(path, Some(1)).unwrap_err();
    for (error, operation) in [(write, "write"), (lock, "write"), (read, "read"), (tail, "read")] {
        let SageError::Permission(error) = error else { panic!("{error}") };
        assert_eq!((error.resource.as_str(), error.operation.as_str()), (path, operation));
        assert!(error.policy.is_some());
    }
    assert_eq!(tree(&lab.folder.path().join("outside")), before);
    assert!(!Path::new("/tmp/proofmark-must-not-exist.sage").exists());
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let lab = Lab::new();
    fs::create_dir(lab.path("real")).unwrap();
    symlink("real", lab.path("link")).unwrap();
    symlink("real/a.sage", lab.path("b.sage")).unwrap();
    lab.append("b.sage", &event(1)).unwrap();
    lab.append("link/a.sage", &event(2)).unwrap();
    assert_eq!(lab.read("real/a.sage"), [stored(event(1)), stored(event(2))]);
    assert!(lab.path("b.sage").is_symlink());
}

#[test]
fn a_held_lock_keeps_appends_out_and_nothing_else() {
    let lab = Lab::new();
    lab.append("a.sage", &event(1)).unwrap();
    let guard = lab.chronicle.hold_lock("a.sage").unwrap();

    // Another chronicle on the same workspace, and another name of the same file, are kept out too.
    let other = Chronicle::open(lab.path(""), Options::default()).unwrap();
    symlink("a.sage", lab.path("same.sage")).unwrap();
    for (chronicle, path) in
        [(&lab.chronicle, "a.sage"), (&other, "./a.sage"), (&lab.chronicle, "same.sage")]
    {
        let error = chronicle.append_event(path, &event(2), Some(1)).unwrap_err();
        let mut expect = json!({ "path": path, "timeoutMs": 1 });
        if cfg!(target_os = "linux") {
            expect["holder"] = json!(format!("pid {}", std::process::id()));
        }
        assert_eq!(error.code(), "ELOCK_TIMEOUT");
        assert_eq!(Value::Object(error.properties()), expect);
    }
    assert_eq!(lab.read("a.sage"), [stored(event(1))]);
    assert_eq!(lab.chronicle.tail("a.sage", None).unwrap().len(), 1);
    lab.chronicle.append_event("b.sage", &event(2), Some(0)).unwrap();

    drop(guard);
    lab.chronicle.append_event("a.sage", &event(2), Some(0)).unwrap();
    assert_eq!(lab.read("a.sage"), [stored(event(1)), stored(event(2))]);
}

#[test]
fn the_lock_can_be_released_by_another_thread() {
    let lab = Lab::new();
    let guard = lab.chronicle.hold_lock("a.sage").unwrap();
    thread::spawn(move || drop(guard)).join().unwrap();
    lab.chronicle.append_event("a.sage", &event(1), Some(0)).unwrap();
}

#[test]
fn concurrent_appends_of_threads_are_each_kept_once() {
    const THREADS: u64 = 16;
    const EACH: u64 = 50;
    let lab = Lab::new();
    // Half of them through a chronicle of their own, so that the queue and the file lock both matter.
    let other = Chronicle::open(lab.path(""), Options { durable: false, ..Options::default() });
    let other = other.unwrap();
    thread::scope(|scope| {
        for t in 0..THREADS {
            let chronicle = if t % 2 == 0 { &lab.chronicle } else { &other };
            scope.spawn(move || {
                for i in 0..EACH {
                    let path = if i % 5 == 0 { "b.sage" } else { "a.sage" };
                    chronicle.append_event(path, &event(t * EACH + i), Some(u64::MAX)).unwrap();
                }
            });
        }
    });
    let mut all = Vec::new();
    for path in ["a.sage", "b.sage"] {
        let text = fs::read_to_string(lab.path(path)).unwrap();
        let numbers: Vec<u64> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["n"].as_u64().unwrap())
            .collect();
        for t in 0..THREADS {
            let own = numbers.iter().filter(|n| **n / EACH == t);
            assert!(own.is_sorted(), "the appends of thread {t} are in its order");
        }
        all.extend(numbers);
    }
    all.sort_unstable();
    assert_eq!(all, (0..THREADS * EACH).collect::<Vec<_>>());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no other", |n| n.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

prop_compose! {
    fn any_event()(
        further in prop::collection::vec(("x[a-z\u{0}-\u{ff}]{0,8}", any_json()), 0..6),
        kind in ".+",
        agent in any::<String>(),
        id in any::<String>(),
        tags in prop::option::of(prop::collection::vec(any::<String>(), 0..3)),
    ) -> Value {
        let mut event = json!({ "timestamp": "2024-01-01T12:00:00.000Z", "type": kind });
        for (name, value) in further {
            event[name] = value;
        }
        event["actor"] = json!({ "agent": agent, "id": id });
        if let Some(tags) = tags {
            event["tags"] = json!(tags);
        }
        event
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn appended_events_are_read_back(events in prop::collection::vec(any_event(), 1..6)) {
        let lab = Lab::new();
        let mut expect: Vec<Value> = Vec::new();
        for event in events {
            lab.append("a.sage", &event).unwrap();
            if expect.last() != Some(&stored(event.clone())) {
                expect.push(stored(event));
            }
        }
        // As text too: two objects are equal in any order of their keys.
        let (read, expect_text) = (lab.read("a.sage"), json!(expect).to_string());
        prop_assert_eq!(json!(read).to_string(), expect_text);
    }

    #[test]
    fn after_any_bytes_an_event_is_appended_and_read_back(
        before in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            "(\\{\"a\":[0-9]{1,3}\\}\n?|\\{\"|\n){0,200}".prop_map(String::into_bytes),
            any_event().prop_flat_map(|event| {
                let line = stored(event).to_string().into_bytes();
                (0..=line.len()).prop_map(move |cut| line[..cut].to_vec())
            }),
        ],
        event in any_event(),
    ) {
        let lab = Lab::new();
        fs::write(lab.path("a.sage"), &before).unwrap();
        let mut expect = lab.read("a.sage");
        lab.append("a.sage", &event).unwrap();
        if expect.last() != Some(&stored(event.clone())) {
            expect.push(stored(event));
        }
        prop_assert_eq!(lab.read("a.sage"), expect.clone());
        prop_assert_eq!(lab.chronicle.tail("a.sage", Some(1)).unwrap()[0].to_json(), expect[expect.len() - 1].clone());
        prop_assert!(fs::read(lab.path("a.sage")).unwrap().starts_with(&before));
    }
}
