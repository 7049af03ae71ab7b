//! Chronicles that several processes share, and processes that die.
//!
//! The processes are this very program, started again to run the one test `child`.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rstest::rstest;
use sage_chronicle::{Chronicle, EventLog, Options, event_id};
use sage_errors::SageError;
use serde_json::{Value, json};

const ROLE: &str = "CHRONICLE_TEST_ROLE";
const FOLDER: &str = "CHRONICLE_TEST_FOLDER";
const WRITER: &str = "CHRONICLE_TEST_WRITER";
const PATH: &str = "a.sage";

/// The beginning of every line, which occurs nowhere else in it.
const BEGINNING: &str = r#"{"type":"NOTE","#;

fn event(writer: &str, n: u64) -> Value {
    json!({
        "type": "NOTE",
        "timestamp": "2024-01-01T12:00:00.000Z",
        "actor": { "agent": "writer", "id": writer },
        "n": n,
        // Of many lengths, some beyond a page, so that a torn write would show.
        "text": "x".repeat((n as usize * 977) % 9000),
    })
}

fn open(folder: &Path, durable: bool) -> Chronicle {
    Chronicle::open(folder, Options { durable, ..Options::default() }).unwrap()
}

#[test]
#[ignore = "the other side of the tests in this file"]
fn child() {
    let (Ok(role), Ok(folder)) = (std::env::var(ROLE), std::env::var(FOLDER)) else { return };
    let writer = std::env::var(WRITER).unwrap_or_default();
    let folder = Path::new(&folder);
    match role.as_str() {
        "append 100" => {
            let chronicle = open(folder, false);
            for n in 0..100 {
                chronicle.append_event(PATH, &event(&writer, n), Some(u64::MAX)).unwrap();
            }
        }
        "append until killed" | "append durably until killed" => {
            let chronicle = open(folder, role.contains("durably"));
            for n in 0.. {
                let event = event(&writer, n);
                chronicle.append_event(PATH, &event, Some(u64::MAX)).unwrap();
                say(&event_id(&event));
            }
        }
        "append until it fails" => {
            let chronicle = open(folder, false);
            for n in 0..1000 {
                let event = event(&writer, n);
                match chronicle.append_event(PATH, &event, None) {
                    Ok(()) => say(&event_id(&event)),
                    Err(error) => say(&error.to_json().to_string()),
                }
            }
        }
        "hold the lock" => {
            let _guard = open(folder, false).hold_lock(PATH).unwrap();
            say("held");
            // Until the other side is gone or kills us.
            io::stdin().read_line(&mut String::new()).unwrap();
        }
        other => panic!("no such role: {other}"),
    }
}

/// Past the test harness, which keeps what `println` prints.
fn say(line: &str) {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "\nsaid {line}").unwrap();
    stdout.flush().unwrap();
}

fn command(role: &str, folder: &Path, writer: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    as_child(&mut command, role, folder, writer);
    command
}

fn as_child(command: &mut Command, role: &str, folder: &Path, writer: &str) {
    command.args(["--ignored", "--exact", "child", "--test-threads=1"]);
    command.env(ROLE, role).env(FOLDER, folder).env(WRITER, writer);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
}

/// The output of a child. A truncated last line does not count.
fn said(stdout: ChildStdout) -> impl Iterator<Item = String> {
    let mut stdout = BufReader::new(stdout);
    std::iter::from_fn(move || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        line.ends_with('\n').then_some(line)
    })
    .filter_map(|line| Some(line.trim_end().strip_prefix("said ")?.to_owned()))
}

fn start(role: &str, folder: &Path, writer: &str) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = command(role, folder, writer).spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    (child, said(stdout))
}

/// How often each id stands in the chronicle. A line that is not whole must be the beginning of one
/// event that its writer's death cut off, and nothing else.
fn count_ids(folder: &Path) -> HashMap<String, u32> {
    let text = fs::read_to_string(folder.join(PATH)).unwrap();
    let mut counts = HashMap::new();
    for line in text.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            let begins = line.starts_with(BEGINNING) || BEGINNING.starts_with(line);
            assert!(
                begins && line.matches(BEGINNING).count() <= 1,
                "more than a torn line: {line}"
            );
            continue;
        };
        assert_eq!(event["eventId"], event_id(&event));
        *counts.entry(event_id(&event)).or_default() += 1;
    }
    counts
}

#[test]
fn concurrent_appends_of_processes_are_each_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let writers = ["a", "b", "c", "d"];
    let children =
        writers.map(|writer| command("append 100", folder.path(), writer).spawn().unwrap());
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let counts = count_ids(folder.path());
    assert_eq!(counts.len(), 400);
    for (writer, n) in writers.into_iter().flat_map(|w| (0..100).map(move |n| (w, n))) {
        assert_eq!(counts.get(&event_id(&event(writer, n))), Some(&1), "{writer} {n}");
    }
}

/// Two writers at a time, so that the one is killed while the other waits for it or writes.
#[rstest]
#[case("append until killed")]
#[case("append durably until killed")]
fn an_acknowledged_event_survives_the_death_of_its_writer(#[case] role: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..12 {
        let mut pair =
            ["a", "b"].map(|writer| start(role, folder.path(), &format!("{writer}{round}")));
        // The number of events before the kill differs, and so does the moment.
        acknowledged.extend(pair[0].1.by_ref().take(1 + round * 7 % 40));
        for (child, _) in &mut pair {
            child.kill().unwrap();
        }
        for (mut child, said) in pair {
            acknowledged.extend(said);
            child.wait().unwrap();
        }
        // The lock died with its holder, and whatever was torn is closed.
        let chronicle = open(folder.path(), false);
        let own = event("parent", round as u64);
        chronicle.append_event(PATH, &own, Some(0)).unwrap();
        acknowledged.push(event_id(&own));
    }
    let counts = count_ids(folder.path());
    for id in &acknowledged {
        assert_eq!(counts.get(id), Some(&1), "{id}");
    }
}

#[test]
fn a_lock_names_its_holder_and_dies_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut said) = start("hold the lock", folder.path(), "");
    assert_eq!(said.next().as_deref(), Some("held"));

    let chronicle = open(folder.path(), false);
    let error = chronicle.append_event(PATH, &event("parent", 1), Some(0)).unwrap_err();
    let SageError::LockTimeout(error) = error else { panic!("{error}") };
    if cfg!(target_os = "linux") {
        assert_eq!(error.holder, Some(format!("pid {}", child.id())));
    }
    assert_eq!(chronicle.read(PATH), Ok(vec![]));

    child.kill().unwrap();
    child.wait().unwrap();
    chronicle.append_event(PATH, &event("parent", 1), Some(0)).unwrap();
    assert_eq!(count_ids(folder.path()).len(), 1);
}

/// The system's limit on the size of a file stands in for a full disk: it cuts a write short.
#[test]
fn a_write_that_is_cut_short_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    // Without the trap the limit's signal would kill the child.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\""]);
    shell.arg(std::env::current_exe().unwrap());
    as_child(&mut shell, "append until it fails", folder.path(), "a");
    let mut child = shell.spawn().unwrap();
    let (errors, acknowledged): (Vec<_>, Vec<_>) =
        said(child.stdout.take().unwrap()).partition(|line| line.starts_with('{'));
    assert!(child.wait().unwrap().success());

    assert!(!errors.is_empty() && !acknowledged.is_empty());
    for error in errors {
        let error: Value = serde_json::from_str(&error).unwrap();
        assert_eq!([&error["code"], &error["path"], &error["operation"]], ["EIO", PATH, "write"]);
    }
    let text = fs::read_to_string(folder.path().join(PATH)).unwrap();
    assert!(text.ends_with('\n'));
    let ids: Vec<String> =
        text.lines().map(|line| event_id(&serde_json::from_str::<Value>(line).unwrap())).collect();
    assert_eq!(ids, acknowledged);
}
