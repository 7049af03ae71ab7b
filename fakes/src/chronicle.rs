//! Chronicles in memory.
//!
//! The rules for paths, events and ids are the reference's own, so the two cannot drift apart; the
//! same tests run against both. There are no files, so nothing can be torn, denied or in the way,
//! and no append ever waits: a lock's time limit is taken and means nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sage_chronicle::{ChroniclePath, DEFAULT_TAIL, Entry, Event, EventLog, IdRule, check_append};
use sage_errors::SageError;
use serde_json::Value;

/// All chronicles of one workspace that never was on a disk.
#[derive(Debug, Default)]
pub struct MemoryChronicle {
    entries: Mutex<BTreeMap<String, Vec<Entry>>>,
}

impl MemoryChronicle {
    /// A workspace without a chronicle.
    pub fn new() -> Self {
        Self::default()
    }

    /// The paths that have a chronicle, in order.
    pub fn paths(&self) -> Vec<String> {
        self.entries().keys().cloned().collect()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Entry>>> {
        // A list is whole after every single step, so a panic elsewhere does not spoil it.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, path: &str, event: &Value, rule: IdRule) -> Result<(), SageError> {
        let (path, entry) = check_append(path, event, rule)?;
        let mut entries = self.entries();
        let entries = entries.entry(path.normal().to_owned()).or_default();
        let is_repeat = entries.last().is_some_and(|last| last.id() == entry.id());
        if rule == IdRule::Given || !is_repeat {
            entries.push(entry);
        }
        Ok(())
    }

    fn last(&self, path: &str, n: u64) -> Result<Vec<Event>, SageError> {
        let path = ChroniclePath::parse(path)?;
        let entries = self.entries();
        let entries = entries.get(path.normal()).map_or(&[][..], Vec::as_slice);
        let skipped = entries.len().saturating_sub(usize::try_from(n).unwrap_or(usize::MAX));
        Ok(entries[skipped..].iter().map(Event::from).collect())
    }
}

impl EventLog for MemoryChronicle {
    fn append_event(
        &self,
        path: &str,
        event: &Value,
        _lock_timeout_ms: Option<u64>,
    ) -> Result<(), SageError> {
        self.append(path, event, IdRule::Computed)
    }

    fn append_event_with_id(
        &self,
        path: &str,
        event: &Value,
        _lock_timeout_ms: Option<u64>,
    ) -> Result<(), SageError> {
        self.append(path, event, IdRule::Given)
    }

    fn read(&self, path: &str) -> Result<Vec<Event>, SageError> {
        self.last(path, u64::MAX)
    }

    fn tail(&self, path: &str, n: Option<u64>) -> Result<Vec<Event>, SageError> {
        self.last(path, n.unwrap_or(DEFAULT_TAIL))
    }
}
