//! Secrets in memory, with faults that come when the script says so.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sage_utils::{BoxFuture, SecretProvider, TypedError};

/// A secret provider that knows what it was told, and remembers what it was asked.
///
/// It has no `Debug`: secrets do not belong in a log, not even a fake's.
#[derive(Default)]
pub struct MemorySecrets {
    values: BTreeMap<String, String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    faults: BTreeMap<String, VecDeque<TypedError>>,
    asked: Vec<String>,
}

impl MemorySecrets {
    /// A provider of these secrets.
    pub fn new<K: Into<String>, V: Into<String>>(values: impl IntoIterator<Item = (K, V)>) -> Self {
        let values = values.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self { values, state: Mutex::default() }
    }

    /// The next call for `key` that has no fault yet fails with `fault`; the one after it is
    /// answered again, unless it too is given a fault.
    #[must_use]
    pub fn failing(self, key: impl Into<String>, fault: TypedError) -> Self {
        self.state().faults.entry(key.into()).or_default().push_back(fault);
        self
    }

    /// The keys that were asked for, in order, with those that failed or were not found.
    pub fn asked(&self) -> Vec<String> {
        self.state().asked.clone()
    }

    fn answer(&self, key: &str) -> Result<Option<String>, TypedError> {
        let mut state = self.state();
        state.asked.push(key.to_owned());
        match state.faults.get_mut(key).and_then(VecDeque::pop_front) {
            Some(fault) => Err(fault),
            None => Ok(self.values.get(key).cloned()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing between locking and unlocking can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SecretProvider for MemorySecrets {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, TypedError>> {
        Box::pin(async move { self.answer(key) })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use sage_utils::err;

    use super::*;

    #[track_caller]
    fn check(secrets: &MemorySecrets, key: &str, expect: Result<Option<&str>, &str>) {
        let got = secrets.get(key).now_or_never().expect("it answers at once");
        let got = got.as_ref().map(Option::as_deref).map_err(TypedError::message);
        assert_eq!(got, expect, "key: {key}");
    }

    #[test]
    fn a_secret_is_given_unchanged_and_a_missing_one_is_none() {
        let secrets = MemorySecrets::new([("KEY", "value\n"), ("EMPTY", "")]);
        check(&secrets, "KEY", Ok(Some("value\n")));
        check(&secrets, "EMPTY", Ok(Some("")));
        check(&secrets, "key", Ok(None));
        check(&secrets, "", Ok(None));
        assert_eq!(secrets.asked(), ["KEY", "EMPTY", "key", ""]);
    }

    #[test]
    fn faults_come_in_order_and_then_the_value() {
        let secrets = MemorySecrets::new([("KEY", "value"), ("OTHER", "other")])
            .failing("KEY", err("EIO", "first", None))
            .failing("KEY", err("ETIMEOUT", "second", None))
            .failing("GONE", err("EIO", "third", None));
        check(&secrets, "OTHER", Ok(Some("other")));
        check(&secrets, "KEY", Err("first"));
        check(&secrets, "GONE", Err("third"));
        check(&secrets, "KEY", Err("second"));
        check(&secrets, "KEY", Ok(Some("value")));
        check(&secrets, "GONE", Ok(None));
        assert_eq!(secrets.asked(), ["OTHER", "KEY", "GONE", "KEY", "KEY", "GONE"]);
    }

    #[test]
    fn a_future_that_is_dropped_asks_nothing() {
        let secrets = MemorySecrets::new([("KEY", "value")]);
        drop(secrets.get("KEY"));
        assert!(secrets.asked().is_empty());
    }
}
