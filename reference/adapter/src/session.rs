//! What a session keeps: its scripted clock and tape, its chronicle, the locks that hooks hold, its tools and providers.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use proofmark_fakes::clock::ScriptedClock;
use proofmark_fakes::random::RandomTape;
use proofmark_protocol::{Failure, Open};
use sage_chronicle::{Chronicle, LockGuard, Options};
use sage_llm::Llm;
use sage_tools::{Registry, Workspace};
use tokio::sync::oneshot;

use crate::tools::HarnessGraph;

/// What every session begins with. To compile the schemas of the standard tools takes longer than most cases.
static STANDARD: LazyLock<Registry> = LazyLock::new(|| Registry::standard(Arc::new(HarnessGraph)));

pub struct Session {
    open: Open,
    pub(crate) clock: ScriptedClock,
    pub(crate) random: RandomTape,
    chronicle: Option<Chronicle>,
    held: Mutex<BTreeMap<String, LockGuard>>,
    pub(crate) llm: Llm,
    workspace: Option<Arc<Workspace>>,
    registry: Mutex<Registry>,
    /// Ends the session's server when it is dropped.
    serving: Mutex<Option<oneshot::Sender<()>>>,
}

impl Session {
    pub(crate) fn new(open: &Open) -> Result<Self, String> {
        let chronicle =
            open.workspace.as_ref().map(|root| Chronicle::open(root, Options::default()));
        let workspace = open.workspace.as_ref().map(Workspace::open);
        Ok(Self {
            open: open.clone(),
            clock: ScriptedClock::new(&open.clock.start, open.clock.step_ms)
                .map_err(|fault| fault.to_string())?,
            random: RandomTape::new(open.random.ints.clone(), open.random.floats.clone())
                .map_err(|fault| fault.to_string())?,
            chronicle: chronicle.transpose().map_err(|fault| fault.to_string())?,
            held: Mutex::default(),
            llm: Llm::new(),
            workspace: workspace.transpose().map_err(|fault| fault.to_string())?.map(Arc::new),
            registry: Mutex::new(STANDARD.clone()),
            serving: Mutex::default(),
        })
    }

    /// What the harness opened the session with.
    pub fn script(&self) -> &Open {
        &self.open
    }

    pub(crate) fn chronicle(&self) -> Result<&Chronicle, Failure> {
        self.chronicle.as_ref().ok_or_else(|| Failure::broken("this session has no workspace"))
    }

    /// Locks that the test hook holds, by path; dropped with the session.
    pub(crate) fn held(&self) -> MutexGuard<'_, BTreeMap<String, LockGuard>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session's server serves until this is dropped with the session.
    pub(crate) fn keep_serving(&self, serving: oneshot::Sender<()>) {
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner) = Some(serving);
    }

    pub(crate) fn workspace(&self) -> Result<Arc<Workspace>, Failure> {
        self.workspace.clone().ok_or_else(|| Failure::broken("this session has no workspace"))
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
