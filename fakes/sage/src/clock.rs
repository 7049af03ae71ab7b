//! The scripted clock as the `Clock` of the sage contracts.

use proofmark_fakes::clock::ScriptedClock;
use sage_utils::{Clock, Iso8601};

/// A scripted clock that the reference crates can read.
#[derive(Debug)]
pub struct SageClock(pub ScriptedClock);

impl Clock for SageClock {
    fn now(&self) -> Iso8601 {
        self.0.now()
    }
}
