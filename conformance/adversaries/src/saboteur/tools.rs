//! What saboteurs are made of.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proofmark_protocol::adapter::Inner;
use proofmark_protocol::{Adapter, Context, Failure};
use proofmark_reference::Session;
use sage_chronicle::{Chronicle, Entry, EventLog as _, IdRule, Options};
use sage_errors::SageError;
use serde_json::{Value, json};

pub(super) type Subject = Adapter<Session>;
pub(super) type Call = Context<Session>;
pub(super) type Next = Inner<Session>;
pub(super) type Answer = Result<Value, Failure>;

pub(super) const APPENDS: &[&str] = &["chronicle.appendEvent", "chronicle.appendEventWithId"];
pub(super) const READS: &[&str] = &["chronicle.readChronicle", "chronicle.tailChronicle"];
pub(super) const HOLD: &[&str] = &["chronicle.holdLock"];
pub(super) const RELEASE: &[&str] = &["chronicle.releaseLock"];

/// Puts `wrap` around each of these operations.
pub(super) fn around<F>(
    subject: Subject,
    operations: &[&str],
    wrap: impl Fn(Call, Value, Next) -> F + Copy + Send + Sync + 'static,
) -> Subject
where
    F: Future<Output = Answer> + Send + 'static,
{
    operations.iter().fold(subject, |subject, operation| subject.around(operation, wrap))
}

/// Puts `wrap` around every operation whose name begins so.
pub(super) fn around_all<F>(
    subject: Subject,
    prefix: &str,
    wrap: impl Fn(Call, Value, Next) -> F + Copy + Send + Sync + 'static,
) -> Subject
where
    F: Future<Output = Answer> + Send + 'static,
{
    let names = subject.operations();
    let wanted: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| name.starts_with(prefix)).collect();
    around(subject, &wanted, wrap)
}

/// Something for each file of each session. A session is in one process only, so this is what that
/// process believes.
pub(super) struct Memory<T>(Mutex<BTreeMap<(String, String), T>>);

impl<T> Memory<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Looks at, puts or takes what is remembered of `what`.
    pub(super) fn of<R>(
        &self,
        call: &Call,
        what: &str,
        act: impl FnOnce(&mut Option<T>) -> R,
    ) -> R {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (call.session().to_owned(), what.to_owned());
        let mut one = all.remove(&key);
        let result = act(&mut one);
        if let Some(one) = one {
            all.insert(key, one);
        }
        result
    }
}

/// A call's place among those of its session that are under way on one thing. Requests that are sent
/// together begin together, so the places are the same in every run.
pub(super) struct Place {
    calls: &'static Memory<usize>,
    call: Call,
    what: String,
    /// 1 for the first.
    pub(super) number: usize,
}

impl Place {
    pub(super) fn take(calls: &'static Memory<usize>, call: &Call, what: &str) -> Self {
        let number = calls.of(call, what, |count| {
            *count = Some(count.unwrap_or(0) + 1);
            count.unwrap_or(0)
        });
        Self { calls, call: call.clone(), what: what.to_owned(), number }
    }

    /// How many are under way, once those that came with this one have begun.
    pub(super) async fn total(&self) -> usize {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.calls.of(&self.call, &self.what, |count| count.unwrap_or(0))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.calls.of(&self.call, &self.what, |count| {
            *count = count.map(|count| count.saturating_sub(1)).filter(|count| *count > 0);
        });
    }
}

/// Waits until something is so, for three seconds at most, and tells whether it is.
pub(super) async fn until(so: impl Fn() -> bool) -> bool {
    for _ in 0..600 {
        if so() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    so()
}

pub(super) fn path(args: &Value) -> &str {
    args["path"].as_str().unwrap_or_default()
}

/// The file that a call speaks of.
pub(super) fn file(call: &Call, args: &Value) -> PathBuf {
    root(call).join(path(args))
}

pub(super) fn root(call: &Call) -> PathBuf {
    PathBuf::from(call.state().script().workspace.as_deref().unwrap_or_default())
}

/// A file beside another.
pub(super) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// What is in a file; nothing if it cannot be read.
pub(super) fn bytes(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_default()
}

/// The whole lines of a file that are JSON objects.
pub(super) fn events(file: &Path) -> Vec<Value> {
    let bytes = bytes(file);
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).filter(Value::is_object).collect()
}

pub(super) fn put(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(file, bytes).map_err(broken)
}

/// Appends without a look at any lock.
pub(super) fn add(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let opened = File::options().append(true).create(true).open(file);
    opened.and_then(|mut file| file.write_all(bytes)).map_err(broken)
}

pub(super) fn broken(fault: io::Error) -> Failure {
    Failure::broken(format!("the saboteur's own work failed: {fault}"))
}

/// The line that the reference would write.
pub(super) fn line(args: &Value) -> String {
    let event = &args["event"];
    let entry = Entry::new(event, IdRule::Given).or_else(|_| Entry::new(event, IdRule::Computed));
    entry.map(|entry| entry.line().to_owned()).unwrap_or_default()
}

/// Appends with an id of the saboteur's choice, in the reference's own good manner.
pub(super) async fn append_as(call: Call, mut args: Value, id: String) -> Answer {
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

pub(super) fn refusal(error: &SageError) -> Failure {
    contract(error.to_json())
}

pub(super) fn contract(error: Value) -> Failure {
    match error {
        Value::Object(members) => Failure::Contract(members),
        other => Failure::broken(format!("no error: {other}")),
    }
}

/// A lock that would not come free, as the reference tells it.
pub(super) fn lock_timeout(args: &Value) -> Failure {
    contract(json!({
        "name": "LockTimeoutError", "code": "ELOCK_TIMEOUT", "message": "the lock is held",
        "path": path(args), "timeoutMs": args["lockTimeoutMs"].as_u64().unwrap_or(2000),
    }))
}

/// The code of a refusal.
pub(super) fn code(answer: &Answer) -> Option<&str> {
    match answer {
        Err(Failure::Contract(error)) => error.get("code").and_then(Value::as_str),
        _ => None,
    }
}

/// Whether the event, and not another argument, was refused.
pub(super) fn refuses_event(answer: &Answer) -> bool {
    let Err(Failure::Contract(error)) = answer else { return false };
    error["code"] == "EVALIDATION"
        && error["details"].as_array().is_some_and(|details| {
            details.iter().all(|one| one["field"] != "path" && one["field"] != "lockTimeoutMs")
        })
}

/// Locks that the hook holds, told by a file beside the chronicle that is locked as long as they are.
static HELD: Memory<File> = Memory::new();

/// Keeps track of what the hook holds, for [`is_held`].
pub(super) fn watch_locks(subject: Subject) -> Subject {
    let subject = around(subject, HOLD, async |call, args, inner: Next| {
        let answer = inner.call(call.clone(), args.clone()).await;
        if answer.is_ok() {
            let mark = File::create(beside(&file(&call, &args), ".held")).map_err(broken)?;
            mark.lock().map_err(broken)?;
            HELD.of(&call, path(&args), |held| *held = Some(mark));
        }
        answer
    });
    around(subject, RELEASE, async |call, args, inner: Next| {
        if let Some(mark) = HELD.of(&call, path(&args), Option::take) {
            // Before it is unlocked: who finds a mark without its lock has found a dead holder's.
            fs::remove_file(beside(&file(&call, &args), ".held")).map_err(broken)?;
            drop(mark);
        }
        inner.call(call, args).await
    })
}

/// Whether a living process holds the lock through the hook.
pub(super) fn is_held(file: &Path) -> bool {
    File::open(beside(file, ".held")).is_ok_and(|mark| mark.try_lock().is_err())
}

/// Whether a dead process held it when it died.
pub(super) fn is_left_by_the_dead(file: &Path) -> bool {
    let name = beside(file, ".held");
    File::open(&name).is_ok_and(|mark| mark.try_lock().is_ok()) && name.exists()
}

/// Whether it is this process that holds it.
pub(super) fn is_held_here(call: &Call, path: &str) -> bool {
    HELD.of(call, path, |held| held.is_some())
}
