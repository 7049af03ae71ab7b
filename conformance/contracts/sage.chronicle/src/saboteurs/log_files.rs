//! Helpers of these saboteurs: the chronicle's files, and who holds a lock.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use proofmark_protocol::Failure;
use proofmark_room::Subject;
use proofmark_room::arguments::contract_error;
use proofmark_room::bend::{Call, Memory, Next, Reply, around, own_fault, root};
use sage_chronicle::{Chronicle, Entry, EventLog as _, IdRule, Options};
use sage_errors::SageError;
use serde_json::{Value, json};

pub(crate) const APPENDS: &[&str] = &["chronicle.appendEvent", "chronicle.appendEventWithId"];
pub(crate) const READS: &[&str] = &["chronicle.readChronicle", "chronicle.tailChronicle"];
pub(super) const HOLD: &[&str] = &["chronicle.holdLock"];
pub(super) const RELEASE: &[&str] = &["chronicle.releaseLock"];

pub(crate) fn path(args: &Value) -> &str {
    args["path"].as_str().unwrap_or_default()
}

/// The file of a call.
pub(crate) fn file(call: &Call, args: &Value) -> PathBuf {
    root(call).join(path(args))
}

/// A file next to another.
pub(crate) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The content of a file; empty if it cannot be read.
pub(crate) fn bytes(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_default()
}

/// The whole lines of a file that are JSON objects.
pub(super) fn events(file: &Path) -> Vec<Value> {
    let bytes = bytes(file);
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).filter(Value::is_object).collect()
}

pub(crate) fn put(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(file, bytes).map_err(own_fault)
}

/// Appends without taking a lock.
pub(super) fn add(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let opened = File::options().append(true).create(true).open(file);
    opened.and_then(|mut file| file.write_all(bytes)).map_err(own_fault)
}

/// The line that the reference would write.
pub(super) fn line(args: &Value) -> String {
    let event = &args["event"];
    let entry = Entry::new(event, IdRule::Given).or_else(|_| Entry::new(event, IdRule::Computed));
    entry.map(|entry| entry.line().to_owned()).unwrap_or_default()
}

/// Appends through the reference, with an id of the saboteur's choice.
pub(crate) async fn append_as(call: Call, mut args: Value, id: String) -> Reply {
    args["event"]["eventId"] = id.into();
    let root = root(&call);
    let work = move || {
        let chronicle = Chronicle::open(root, Options::default())?;
        let patience = args["lockTimeoutMs"].as_u64();
        chronicle.append_event_with_id(path(&args), &args["event"], patience)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(())) => Ok(Value::Null),
        Ok(Err(error)) => Err(refusal(&error)),
        Err(panic) => Err(Failure::broken(panic.to_string())),
    }
}

pub(crate) fn refusal(error: &SageError) -> Failure {
    contract_error(error.to_json())
}

/// The reference's error for a lock timeout.
pub(crate) fn lock_timeout(args: &Value) -> Failure {
    contract_error(json!({
        "name": "LockTimeoutError", "code": "ELOCK_TIMEOUT", "message": "the lock is held",
        "path": path(args), "timeoutMs": args["lockTimeoutMs"].as_u64().unwrap_or(2000),
    }))
}

/// The code of a refusal.
pub(super) fn code(answer: &Reply) -> Option<&str> {
    match answer {
        Err(Failure::Contract(error)) => error.get("code").and_then(Value::as_str),
        _ => None,
    }
}

/// Whether the event was refused, rather than another argument.
pub(super) fn refuses_event(answer: &Reply) -> bool {
    let Err(Failure::Contract(error)) = answer else { return false };
    error["code"] == "EVALIDATION"
        && error["details"].as_array().is_some_and(|details| {
            details.iter().all(|one| one["field"] != "path" && one["field"] != "lockTimeoutMs")
        })
}

/// Locks that the hook holds. Each has a marker file beside the chronicle, which is locked as long as the lock is
/// held.
static HELD: Memory<File> = Memory::new();

/// Keeps track of the hook's locks, for [`is_held`].
pub(super) fn watch_locks(subject: Subject) -> Subject {
    let subject = around(subject, HOLD, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        if answer.is_ok() {
            let mark = File::create(beside(&file(&call, &args), ".held")).map_err(own_fault)?;
            mark.lock().map_err(own_fault)?;
            HELD.of(&call, path(&args), |held| *held = Some(mark));
        }
        answer
    });
    around(subject, RELEASE, async |call, args, inner: Next| {
        if let Some(mark) = HELD.of(&call, path(&args), Option::take) {
            // Before the unlock: a marker without a lock means a dead holder.
            fs::remove_file(beside(&file(&call, &args), ".held")).map_err(own_fault)?;
            drop(mark);
        }
        inner.call(call, args).await
    })
}

/// Whether a living process holds the lock through the hook.
pub(super) fn is_held(file: &Path) -> bool {
    File::open(beside(file, ".held")).is_ok_and(|mark| mark.try_lock().is_err())
}

/// Whether a process died while it held the lock.
pub(super) fn is_left_by_the_dead(file: &Path) -> bool {
    let name = beside(file, ".held");
    File::open(&name).is_ok_and(|mark| mark.try_lock().is_ok()) && name.exists()
}

/// Whether this process holds the lock.
pub(super) fn is_held_here(call: &Call, path: &str) -> bool {
    HELD.of(call, path, |held| held.is_some())
}
