//! Files stay open between appends. Whatever others do to them meanwhile, an append does what it
//! would do if it were the first.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rstest::rstest;
use sage_chronicle::{Chronicle, Event, EventLog, Options, event_id};
use sage_errors::SageError;
use serde_json::{Value, json};
use tempfile::TempDir;

const PATH: &str = "x/a.sage";

/// A workspace in which [`event`] 1 has been appended to [`PATH`], with a folder `outside` beside it.
struct Lab {
    folder: TempDir,
    chronicle: Chronicle,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let lab = Self { chronicle: open(&folder.path().join("workspace")), folder };
        lab.append(1).unwrap();
        lab
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    /// Without waiting: a file that is no longer at its path must not cost any patience.
    fn append(&self, n: u64) -> Result<(), SageError> {
        self.chronicle.append_event(PATH, &event(n), Some(0))
    }
}

fn open(folder: &Path) -> Chronicle {
    Chronicle::open(folder, Options { durable: false, ..Options::default() }).unwrap()
}

fn event(n: u64) -> Value {
    let actor = json!({ "agent": "sage", "id": "sage-1" });
    json!({ "type": "NOTE", "timestamp": "2024-01-01", "actor": actor, "n": n })
}

fn line(n: u64) -> String {
    let mut event = event(n);
    event["eventId"] = json!(event_id(&event));
    format!("{event}\n")
}

fn write(path: PathBuf, bytes: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes.as_bytes()).unwrap();
}

fn deleted(lab: &Lab) {
    fs::remove_file(lab.at(PATH)).unwrap();
}

fn deleted_with_its_folder(lab: &Lab) {
    fs::remove_dir_all(lab.at("x")).unwrap();
}

fn moved_away(lab: &Lab) {
    fs::rename(lab.at(PATH), lab.at("old.sage")).unwrap();
}

fn moved_away_and_locked_there(lab: &Lab) {
    moved_away(lab);
    // Never dropped, so that it stays locked.
    std::mem::forget(open(&lab.at("")).hold_lock("old.sage").unwrap());
}

fn folder_moved_away(lab: &Lab) {
    fs::rename(lab.at("x"), lab.at("old")).unwrap();
}

fn replaced(lab: &Lab) {
    fs::write(lab.at("new"), line(2)).unwrap();
    fs::rename(lab.at("new"), lab.at(PATH)).unwrap();
}

fn emptied(lab: &Lab) {
    File::create(lab.at(PATH)).unwrap();
}

fn cut_short(lab: &Lab) {
    OpenOptions::new().write(true).open(lab.at(PATH)).unwrap().set_len(20).unwrap();
}

fn appended_to(lab: &Lab) {
    open(&lab.at("")).append_event(PATH, &event(2), None).unwrap();
}

fn appended_to_by_a_writer_that_died(lab: &Lab) {
    write(lab.at(PATH), &line(2)[..20]);
}

fn rewritten_at_the_same_length(lab: &Lab) {
    assert_eq!(line(1).len(), line(2).len());
    fs::write(lab.at(PATH), line(2)).unwrap();
}

fn garbled_at_the_same_length(lab: &Lab) {
    fs::write(lab.at(PATH), "x".repeat(line(1).len())).unwrap();
}

fn garbled_before(lab: &Lab) {
    fs::write(lab.at(PATH), format!("x{}", line(1))).unwrap();
}

fn untouched(_: &Lab) {}

#[rstest]
#[case(untouched, line(1))]
#[case(deleted, line(1))]
#[case(deleted_with_its_folder, line(1))]
#[case(moved_away, line(1))]
#[case(moved_away_and_locked_there, line(1))]
#[case(folder_moved_away, line(1))]
#[case(replaced, line(2) + &line(1))]
#[case(emptied, line(1))]
#[case(cut_short, format!("{}\n{}", &line(1)[..20], line(1)))]
#[case(appended_to, line(1) + &line(2) + &line(1))]
#[case(appended_to_by_a_writer_that_died, line(1) + &line(2)[..20] + "\n")]
#[case(rewritten_at_the_same_length, line(2) + &line(1))]
#[case(garbled_at_the_same_length, format!("{}\n{}", "x".repeat(line(1).len()), line(1)))]
#[case(garbled_before, format!("x{}{}", line(1), line(1)))]
fn the_same_event_again(#[case] meanwhile: fn(&Lab), #[case] expect: String) {
    let lab = Lab::new();
    meanwhile(&lab);
    lab.append(1).unwrap();
    assert_eq!(fs::read_to_string(lab.at(PATH)).unwrap(), expect);
}

#[rstest]
#[case(untouched, line(1) + &line(2))]
#[case(deleted, line(2))]
#[case(moved_away, line(2))]
#[case(replaced, line(2))]
#[case(emptied, line(2))]
#[case(cut_short, format!("{}\n{}", &line(1)[..20], line(2)))]
#[case(appended_to, line(1) + &line(2))]
#[case(appended_to_by_a_writer_that_died, format!("{}{}\n{}", line(1), &line(2)[..20], line(2)))]
#[case(rewritten_at_the_same_length, line(2))]
#[case(garbled_at_the_same_length, format!("{}\n{}", "x".repeat(line(1).len()), line(2)))]
fn another_event(#[case] meanwhile: fn(&Lab), #[case] expect: String) {
    let lab = Lab::new();
    meanwhile(&lab);
    lab.append(2).unwrap();
    assert_eq!(fs::read_to_string(lab.at(PATH)).unwrap(), expect);
}

#[rstest]
#[case(moved_away, "old.sage")]
#[case(folder_moved_away, "old/a.sage")]
fn moved_files_are_not_written(#[case] meanwhile: fn(&Lab), #[case] old: &str) {
    let lab = Lab::new();
    meanwhile(&lab);
    lab.append(2).unwrap();
    assert_eq!(fs::read_to_string(lab.at(old)).unwrap(), line(1));
}

/// The very file that is open, under a name outside.
fn linked_outside(lab: &Lab) {
    fs::hard_link(lab.at(PATH), lab.at("../outside/a.sage")).unwrap();
    fs::remove_file(lab.at(PATH)).unwrap();
    symlink("../../outside/a.sage", lab.at(PATH)).unwrap();
}

fn folder_linked_outside(lab: &Lab) {
    fs::rename(lab.at("x"), lab.at("../outside/x")).unwrap();
    symlink("../outside/x", lab.at("x")).unwrap();
}

fn folder_linked_outside_absolutely(lab: &Lab) {
    let outside = lab.folder.path().join("outside/x");
    fs::rename(lab.at("x"), &outside).unwrap();
    symlink(outside, lab.at("x")).unwrap();
}

#[rstest]
#[case(linked_outside, "a.sage")]
#[case(folder_linked_outside, "x/a.sage")]
#[case(folder_linked_outside_absolutely, "x/a.sage")]
fn an_open_file_that_left_the_workspace_is_out_of_reach(
    #[case] meanwhile: fn(&Lab),
    #[case] outside: &str,
) {
    let lab = Lab::new();
    meanwhile(&lab);
    // Once for the file that was open, and once without it.
    for _ in 0..2 {
        let error = lab.append(2).unwrap_err();
        assert_eq!(error.code(), "EPERMISSION", "{error}");
    }
    let outside = lab.folder.path().join("outside").join(outside);
    assert_eq!(fs::read_to_string(outside).unwrap(), line(1));
}

#[test]
fn a_folder_that_became_a_link_inside_is_followed() {
    let lab = Lab::new();
    folder_moved_away(&lab);
    symlink("old", lab.at("x")).unwrap();
    lab.append(2).unwrap();
    lab.append(3).unwrap();
    assert_eq!(fs::read_to_string(lab.at("old/a.sage")).unwrap(), line(1) + &line(2) + &line(3));
}

#[test]
fn a_folder_in_place_of_an_open_file_is_an_io_error() {
    let lab = Lab::new();
    deleted(&lab);
    fs::create_dir(lab.at(PATH)).unwrap();
    let SageError::Io(error) = lab.append(2).unwrap_err() else { panic!("no EIO") };
    assert_eq!(error.system_code(), Some("EISDIR"));
}

#[test]
fn an_open_file_is_locked_and_released_as_any_other() {
    let lab = Lab::new();
    let other = open(&lab.at(""));
    let guard = other.hold_lock(PATH).unwrap();
    assert_eq!(lab.append(2).unwrap_err().code(), "ELOCK_TIMEOUT");
    drop(guard);
    lab.append(2).unwrap();
    other.append_event(PATH, &event(3), Some(0)).unwrap();
    lab.append(4).unwrap();
    let read: Vec<_> = lab.chronicle.read(PATH).unwrap().iter().map(Event::to_json).collect();
    assert_eq!(read.iter().map(|event| &event["n"]).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

/// Each has its own file; more of them than stay open.
#[test]
fn a_hundred_chronicles_take_turns() {
    let lab = Lab::new();
    for n in 0..300 {
        let path = format!("{}.sage", n % 100);
        lab.chronicle.append_event(&path, &event(n), Some(0)).unwrap();
    }
    for n in 0..100 {
        let text = fs::read_to_string(lab.at(&format!("{n}.sage"))).unwrap();
        assert_eq!(text, line(n) + &line(n + 100) + &line(n + 200));
    }
}
