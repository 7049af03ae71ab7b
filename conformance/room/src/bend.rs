//! Tools to modify the reference: wrap its operations, and remember what it did.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proofmark_protocol::adapter::Inner;
use proofmark_protocol::{Context, Failure};
use serde_json::Value;

use crate::session::{Session, Subject};

pub type Call = Context<Session>;
pub type Next = Inner<Session>;
/// The result of an operation.
pub type Reply = Result<Value, Failure>;

/// Wraps each of these operations.
pub fn around<F>(
    subject: Subject,
    operations: &[&str],
    wrap: impl Fn(Call, Value, Next) -> F + Copy + Send + Sync + 'static,
) -> Subject
where
    F: Future<Output = Reply> + Send + 'static,
{
    operations.iter().fold(subject, |subject, operation| subject.around(operation, wrap))
}

/// Wraps every operation whose name begins with `prefix`.
pub fn around_all<F>(
    subject: Subject,
    prefix: &str,
    wrap: impl Fn(Call, Value, Next) -> F + Copy + Send + Sync + 'static,
) -> Subject
where
    F: Future<Output = Reply> + Send + 'static,
{
    let names = subject.operations();
    let wanted: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| name.starts_with(prefix)).collect();
    around(subject, &wanted, wrap)
}

/// A value for each file of each session. A session is in one process, so this is the view of that process.
pub struct Memory<T>(Mutex<BTreeMap<(String, String), T>>);

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Memory<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Reads, sets or takes the value for `what`.
    pub fn of<R>(&self, call: &Call, what: &str, act: impl FnOnce(&mut Option<T>) -> R) -> R {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (call.session().to_owned(), what.to_owned());
        let mut one = all.remove(&key);
        let result = act(&mut one);
        if let Some(one) = one {
            all.insert(key, one);
        }
        result
    }
}

/// The calls of one session on one thing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calls {
    under_way: usize,
    /// All calls since the last time that none was in flight.
    begun: usize,
}

/// A call's number among the concurrent calls of its session on one thing.
pub struct Turn {
    calls: &'static Memory<Calls>,
    call: Call,
    what: String,
    /// 1 for the first.
    pub number: usize,
}

impl Turn {
    pub fn take(calls: &'static Memory<Calls>, call: &Call, what: &str) -> Self {
        let number = calls.of(call, what, |calls| {
            let calls = calls.get_or_insert_default();
            calls.under_way += 1;
            calls.begun += 1;
            calls.under_way
        });
        Self { calls, call: call.clone(), what: what.to_owned(), number }
    }

    /// The number of calls that came together with this one. Concurrent calls may be read one by one, and a fast one
    /// may end before the next is read, so this waits until no more have begun for a while.
    pub async fn total(&self) -> usize {
        let (mut begun, mut quiet) = (0, 0);
        while quiet < 10 {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let now = self.calls.of(&self.call, &self.what, |calls| calls.map_or(0, |it| it.begun));
            quiet = if now > begun { 0 } else { quiet + 1 };
            begun = now;
        }
        begun
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.calls.of(&self.call, &self.what, |calls| {
            if let Some(left) = calls.as_mut() {
                left.under_way = left.under_way.saturating_sub(1);
            }
            *calls = calls.filter(|left| left.under_way > 0);
        });
    }
}

/// Waits for a condition, for at most three seconds. Returns whether it holds.
pub async fn until(so: impl Fn() -> bool) -> bool {
    for _ in 0..600 {
        if so() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    so()
}

/// The session's workspace.
pub fn root(call: &Call) -> PathBuf {
    PathBuf::from(call.state().script().workspace.as_deref().unwrap_or_default())
}

/// An error of the saboteur's own code.
pub fn own_fault(fault: io::Error) -> Failure {
    Failure::broken(format!("the saboteur's own work failed: {fault}"))
}
