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
//! `proofmark show sage.chronicle` lists the promises that it keeps.
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
