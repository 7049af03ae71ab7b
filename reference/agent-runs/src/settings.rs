//! Settings from the caller.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::{Policy, Provider, Rules};

pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
pub type Ids = Arc<dyn Fn() -> Uuid + Send + Sync>;

/// When an event counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flush {
    /// When it is on the disk: it survives a power loss.
    #[default]
    Disk,
    /// When the system has it: it survives the process.
    System,
}

/// Limits of everything that clients can create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub runs: usize,
    pub nodes: usize,
    pub edges: usize,
    /// Inputs that wait for one node.
    pub inbox: usize,
    /// Bytes of text in the deltas of one turn; a provider that exceeds them has failed.
    pub turn_text: usize,
    /// Handoffs of one turn.
    pub handoffs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            runs: 100_000,
            nodes: 10_000,
            edges: 100_000,
            inbox: 1_000,
            turn_text: 16 << 20,
            handoffs: 1_000,
        }
    }
}

/// How an engine behaves, and its collaborators.
#[derive(Clone)]
pub struct Settings {
    pub clock: Clock,
    pub ids: Ids,
    pub provider: Arc<dyn Provider>,
    pub policy: Arc<dyn Policy>,
    pub flush: Flush,
    pub limits: Limits,
}

impl Settings {
    /// The contract's rules, random ids, every event on the disk.
    #[must_use]
    pub fn new(provider: Arc<dyn Provider>, clock: Clock) -> Self {
        Self {
            clock,
            ids: Arc::new(Uuid::new_v4),
            provider,
            policy: Arc::new(Rules),
            flush: Flush::default(),
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("flush", &self.flush)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
