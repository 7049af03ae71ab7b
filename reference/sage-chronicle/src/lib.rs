//! Chronicles: append-only memory of agents, one NDJSON file each.
//!
//! Others are judged beside this crate, so it is written to be read: the rules for paths, events and
//! ids touch no disk, and what does touch it stands behind [`Chronicle`]. Calls block and no clock is
//! read, but for the time limit of a lock; a caller that must not wait uses a thread.
//!
//! An append opens the file, takes its lock, looks at its end, and makes one write. There is no
//! other state on the disk, so nothing has to be repaired after a crash. In memory there are the
//! files that were opened before and the lines that were last written to them; both are believed
//! only when, under the lock, the path still leads to that file and the file still ends in that line.
//!
//! # Contract
//! - CHRONICLE-001 What was appended is read back, with its `eventId`.
//! - CHRONICLE-002 Members of any name and kind are kept.
//! - CHRONICLE-003 So are the optional ones, and none is invented.
//! - CHRONICLE-004 An append returns nothing.
//! - CHRONICLE-005 Events are read in the order of their appends.
//! - CHRONICLE-006 Bytes that are there stay as they are.
//! - CHRONICLE-007 An event is one line of JSON with a newline at its end.
//! - CHRONICLE-008 What was acknowledged survives `kill -9`.
//! - CHRONICLE-009 Processes on one workspace see each other's events.
//! - CHRONICLE-010 Each path is a chronicle of its own.
//! - CHRONICLE-011 The id is the SHA-256 of the canonical JSON without `eventId`.
//! - CHRONICLE-012 The order of keys does not change the id.
//! - CHRONICLE-013 `append_event` replaces an id that it is given.
//! - CHRONICLE-014 `append_event_with_id` keeps it.
//! - CHRONICLE-015 `append_event_with_id` refuses an event without a valid one: 64 lower-case
//!   hexadecimal digits, which need not be the event's hash.
//! - CHRONICLE-016 `append_event` leaves out what the chronicle already ends with.
//! - CHRONICLE-017 A repeat with others in between is appended.
//! - CHRONICLE-018 A torn last line is passed over.
//! - CHRONICLE-019 The next append closes it and starts a line of its own.
//! - CHRONICLE-020 So is any other line that is not a JSON object.
//! - CHRONICLE-021 A missing chronicle is empty, and reading does not make it.
//! - CHRONICLE-022 A line may be any spelling of its JSON.
//! - CHRONICLE-023 Reading changes nothing.
//! - CHRONICLE-024 `tail` gives the last `n` events, oldest first.
//! - CHRONICLE-025 If there are fewer, it gives all.
//! - CHRONICLE-026 It counts whole events only.
//! - CHRONICLE-027 Without `n` it gives 10.
//! - CHRONICLE-028 With 0 it gives none.
//! - CHRONICLE-029 A negative `n` is refused.
//! - CHRONICLE-030 So is one that is no integer.
//! - CHRONICLE-031 Appends of many threads stand there once and whole.
//! - CHRONICLE-032 So do those of many processes.
//! - CHRONICLE-033 Different chronicles do not disturb each other.
//! - CHRONICLE-034 A lock that stays taken is `ELOCK_TIMEOUT`, with the holder where the system tells.
//! - CHRONICLE-035 The lock works among processes as among threads.
//! - CHRONICLE-036 It is the lock of one chronicle.
//! - CHRONICLE-037 After its release an append succeeds.
//! - CHRONICLE-038 An append waits for it as long as the caller says.
//! - CHRONICLE-039 An append that ran out of time writes nothing, ever.
//! - CHRONICLE-040 The error tells the time limit of the call.
//! - CHRONICLE-041 That is 2000 ms unless the caller says otherwise.
//! - CHRONICLE-042 Reading needs no lock.
//! - CHRONICLE-043 A dead process holds no lock.
//! - CHRONICLE-044 A time limit is a non-negative integer; 0 is one try.
//! - CHRONICLE-045 An event has a `type`: a string, and not an empty one.
//! - CHRONICLE-046 It has a `timestamp`: a string, in ISO 8601.
//! - CHRONICLE-047 It has an `actor`: an object.
//! - CHRONICLE-048 The actor has an `agent`: a string.
//! - CHRONICLE-049 The actor has an `id`: a string.
//! - CHRONICLE-050 An event is an object.
//! - CHRONICLE-051 A refusal names every fault: `actor.agent`, `tags.0`.
//! - CHRONICLE-052 It comes before anything is touched.
//! - CHRONICLE-053 So neither a lock nor a disk can hide it.
//! - CHRONICLE-054 A path ends in `.sage`, with a name before it.
//! - CHRONICLE-055 It is relative to the workspace.
//! - CHRONICLE-056 Dots and folders are legal: `.sage/warden.dev.sage`.
//! - CHRONICLE-057 `..` is not, nor is an empty segment.
//! - CHRONICLE-058 A link that leads out of the workspace is `EPERMISSION`; one that stays inside is
//!   followed.
//! - CHRONICLE-059 Any character but NUL and the backslash may stand in a name.
//! - CHRONICLE-060 Missing folders are made by an append.
//! - CHRONICLE-061 What the system refuses is `EIO`, with the operation: `read` or `write`.
//! - CHRONICLE-062 It carries the path as the caller wrote it.
//! - CHRONICLE-063 With [`Options::durable`] an event is acknowledged when it is on the disk.
//! - CHRONICLE-064 Nothing but these operations touches the disk.
//!
//! Decided here: a last line without a newline that is a whole object counts, since no part of an
//! object is one. A line that no Rust string or number can hold (half a surrogate pair, `1e400`) is
//! passed over as a corrupt one is. An append that fails takes back what it wrote.
//!
//! Left open: which of two processes that wait gets the lock first (threads of one process do so in
//! the order of asking); what a reader sees of an append that is under way; whether a folder that
//! was made stays when the append then fails; the order of keys in a line.

mod append;
mod args;
mod event;
mod file;
mod kept;
mod lines;
mod lock;
mod path;
mod rules;
mod scan;
mod timestamp;

pub use args::{AppendArgs, ReadArgs, TailArgs, check_append};
pub use event::{Entry, Event, IdRule, event_id};
pub use file::{Chronicle, LockGuard, Options};
pub use path::ChroniclePath;

use sage_errors::SageError;
use serde_json::Value;

/// How many events `tail` gives when the caller does not say.
pub const DEFAULT_TAIL: u64 = 10;
/// How long an append waits for the lock when the caller does not say, in milliseconds.
pub const DEFAULT_LOCK_TIMEOUT_MS: u64 = 2000;

/// What every chronicle can do, be it on a disk or in memory.
pub trait EventLog: Send + Sync {
    /// Appends `event` with the `eventId` that its content has, unless it is what the chronicle
    /// already ends with.
    ///
    /// # Errors
    /// `EVALIDATION`, before anything is touched; `EPERMISSION` when the path leads out of the
    /// workspace; `ELOCK_TIMEOUT`; `EIO`. After an error nothing has been appended.
    fn append_event(
        &self,
        path: &str,
        event: &Value,
        lock_timeout_ms: Option<u64>,
    ) -> Result<(), SageError>;

    /// Appends `event` with the `eventId` that it brings, always.
    ///
    /// # Errors
    /// As [`Self::append_event`].
    fn append_event_with_id(
        &self,
        path: &str,
        event: &Value,
        lock_timeout_ms: Option<u64>,
    ) -> Result<(), SageError>;

    /// Every event, in order; none where there is no chronicle.
    ///
    /// # Errors
    /// `EVALIDATION` for the path, `EPERMISSION`, `EIO`. The content never is one.
    fn read(&self, path: &str) -> Result<Vec<Event>, SageError>;

    /// The last `n` events, in order; [`DEFAULT_TAIL`] without an `n`.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn tail(&self, path: &str, n: Option<u64>) -> Result<Vec<Event>, SageError>;
}
