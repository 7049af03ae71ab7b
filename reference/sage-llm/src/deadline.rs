//! The timeout of a whole stream.

use std::pin::Pin;
use std::time::Duration;

use sage_errors::SageError;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::Error;

/// When a stream must be over.
pub(crate) struct Deadline {
    timeout_ms: u64,
    began: Instant,
    at: Instant,
    /// Created at the first wait, so that a stream can be created outside a runtime.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    /// From now on. A timeout beyond the clock's range is none.
    pub(crate) fn starting_now(timeout_ms: u64) -> Option<Self> {
        let began = Instant::now();
        let at = began.checked_add(Duration::from_millis(timeout_ms))?;
        Some(Self { timeout_ms, began, at, alarm: None })
    }

    /// The result of `work`, if it is in time.
    ///
    /// # Errors
    /// `ETIMEOUT`; `work` is dropped then.
    pub(crate) async fn limit<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Error> {
        // Check the clock itself, because a provider that is always ready would starve the timer.
        if Instant::now() >= self.at {
            return Err(self.missed());
        }
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(self.at)));
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = alarm => Err(self.missed()),
        }
    }

    fn missed(&self) -> Error {
        let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let elapsed = elapsed.max(self.timeout_ms);
        SageError::timeout("createChatStream", self.timeout_ms, elapsed).into()
    }
}
