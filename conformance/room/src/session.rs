//! The reference's session: how the harness opened it, and each room's state.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use proofmark_protocol::{Adapter, Failure, Open};

/// The reference behind the subject protocol, original or modified.
pub type Subject = Adapter<Session>;

/// A room's state for one session: a chronicle, a registry, a clock.
pub trait State: Send + Sync + Sized + 'static {
    /// Creates it from the session's script.
    ///
    /// # Errors
    /// If the script is invalid: a missing workspace, or a clock that is not a time.
    fn open(open: &Open) -> Result<Self, Failure>;
}

/// One session of the reference. Rooms add their own [`State`] when a call first needs it.
pub struct Session {
    open: Open,
    states: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Session {
    pub fn new(open: &Open) -> Self {
        Self { open: open.clone(), states: Mutex::default() }
    }

    /// How the harness opened the session.
    pub fn script(&self) -> &Open {
        &self.open
    }

    /// The room's state, created on first use and dropped with the session.
    ///
    /// # Errors
    /// Those of [`State::open`].
    pub fn state<T: State>(&self) -> Result<Arc<T>, Failure> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match states.get(&TypeId::of::<T>()) {
            Some(kept) => Arc::clone(kept),
            None => {
                let made: Arc<dyn Any + Send + Sync> = Arc::new(T::open(&self.open)?);
                states.insert(TypeId::of::<T>(), Arc::clone(&made));
                made
            }
        };
        kept.downcast().map_err(|_| Failure::broken("a room's state has another type"))
    }
}

/// The workspace in the script of a session.
///
/// # Errors
/// If the session has none.
pub fn workspace_of(open: &Open) -> Result<&str, Failure> {
    open.workspace.as_deref().ok_or_else(|| Failure::broken("this session has no workspace"))
}
