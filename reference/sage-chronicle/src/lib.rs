//! Chronicles: append-only memory of agents, one NDJSON file each.
//!
//! Others are judged beside this crate, so it is written to be read: the rules for paths, events and ids touch no
//! disk, and everything that does is behind [`Chronicle`]. Calls block, and no clock is read except for the lock
//! timeout; a caller that must not block uses a thread.
//!
//! An append opens the file, takes its lock, reads its end, and makes one write. There is no other state on the disk,
//! so nothing needs repair after a crash. In memory there are open files and the lines last written to them. Both are
//! trusted only if, under the lock, the path still leads to that file and the file still ends in that line.
//!
//! `proofmark show sage.chronicle` lists the promises that it keeps.
//!
//! Decided here: a last line without a newline that is a whole object counts, because no part of an object is one. A
//! line that no Rust string or number can hold (half a surrogate pair, `1e400`) is skipped like a corrupt one. A
//! failed append removes what it wrote.
//!
//! Left open: which of two waiting processes gets the lock first (threads of one process get it in order); what a
//! reader sees of an append in progress; whether a created folder stays when the append then fails; the order of keys
//! in a line.

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

/// Default number of events of `tail`.
pub const DEFAULT_TAIL: u64 = 10;
/// Default timeout for the lock, in milliseconds.
pub const DEFAULT_LOCK_TIMEOUT_MS: u64 = 2000;

/// The operations of every chronicle, on a disk or in memory.
pub trait EventLog: Send + Sync {
    /// Appends `event` with its computed `eventId`, unless the chronicle already ends with it.
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

    /// Appends `event` with its given `eventId`, always.
    ///
    /// # Errors
    /// As [`Self::append_event`].
    fn append_event_with_id(
        &self,
        path: &str,
        event: &Value,
        lock_timeout_ms: Option<u64>,
    ) -> Result<(), SageError>;

    /// Every event, in order; empty if there is no chronicle.
    ///
    /// # Errors
    /// `EVALIDATION` for the path, `EPERMISSION`, `EIO`. Content is never an error.
    fn read(&self, path: &str) -> Result<Vec<Event>, SageError>;

    /// The last `n` events, in order; [`DEFAULT_TAIL`] without an `n`.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn tail(&self, path: &str, n: Option<u64>) -> Result<Vec<Event>, SageError>;
}
