//! Chronicles: append-only memory of agents, one NDJSON file each.
//!
//! Others are judged beside this crate, so it is written to be read: the rules for events and paths
//! touch no disk, and everything that does stands in [`Chronicle`].
//!
//! # Contract
//!
//! Left open: .

mod append;
mod args;
mod event;
mod file;
mod lines;
mod lock;
mod path;
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
