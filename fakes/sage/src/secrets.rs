//! Secrets in memory, with scripted errors.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use proofmark_fakes::host::{Fake, FakeKind, Released, Response};
use sage_utils::{BoxFuture, SecretProvider, TypedError};
use serde::Deserialize;
use serde_json::Value;

use crate::fault::fault;

/// The fake `secrets`. Its script is `{"values": {key: secret}, "faults": {key: [error]}}`.
pub static SECRETS: FakeKind = FakeKind {
    name: "secrets",
    make: |script| Ok(Box::new(MemorySecrets::from_script(script)?)),
    releases: &[],
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretsScript {
    #[serde(default)]
    values: BTreeMap<String, String>,
    /// The errors of the first calls for a key, in order.
    #[serde(default)]
    faults: BTreeMap<String, Vec<Value>>,
}

/// A secret provider with a fixed set of secrets. It records the keys that it was asked for.
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

    /// The secrets and errors of a script.
    ///
    /// # Errors
    /// The script is wrong; the message names the place.
    pub fn from_script(script: &Value) -> Result<Self, String> {
        let script = SecretsScript::deserialize(script).map_err(|error| error.to_string())?;
        let mut secrets = Self::new(script.values);
        for (key, faults) in script.faults {
            for (at, value) in faults.iter().enumerate() {
                let fault = fault(&format!("faults.{key}[{at}]"), value)?;
                secrets = secrets.failing(key.clone(), fault);
            }
        }
        Ok(secrets)
    }

    /// Adds an error for `key`. The first calls for a key fail with its errors, in order; later calls
    /// succeed.
    #[must_use]
    pub fn failing(self, key: impl Into<String>, fault: TypedError) -> Self {
        self.state().faults.entry(key.into()).or_default().push_back(fault);
        self
    }

    /// The keys that were asked for, in order, including those that failed or were not found.
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
        // No panic can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SecretProvider for MemorySecrets {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, TypedError>> {
        Box::pin(async move { self.answer(key) })
    }
}

impl Fake for MemorySecrets {
    fn call(
        &mut self,
        _ticket: u64,
        method: &str,
        args: &Value,
        _released: &mut Released,
    ) -> Result<Response, String> {
        if method != "get" {
            return Err(format!("the fake `secrets` has no method `{method}`; it has `get`"));
        }
        let Some(key) = args["key"].as_str() else {
            return Err(format!("`secrets.get` takes {{\"key\": string}}, not {args}"));
        };
        let secret = self.answer(key).map(Value::from).map_err(|error| error.to_json());
        Ok(Response::recorded(secret))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use sage_utils::err;
    use serde_json::json;

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

    #[test]
    fn scripted_errors_come_first_and_then_the_value() {
        let fault = json!({"code": "EIO", "message": "vault sealed", "operation": "read"});
        let script = json!({"values": {"K": "v"}, "faults": {"K": [fault]}});
        let mut secrets = (SECRETS.make)(&script).expect("a good script");
        let mut get =
            |key: &str| match secrets.call(0, "get", &json!({"key": key}), &mut Released::new()) {
                Ok(Response::Now { reply, recorded: true }) => reply,
                other => panic!("{other:?}"),
            };
        let error = get("K").unwrap_err();
        assert_eq!((&error["code"], &error["operation"]), (&json!("EIO"), &json!("read")));
        assert_eq!(get("K"), Ok(json!("v")));
        assert_eq!(get("absent"), Ok(Value::Null));
    }

    #[test]
    fn an_unknown_member_of_the_script_is_refused() {
        let problem = MemorySecrets::from_script(&json!({"valeus": {}})).err().expect("refused");
        assert!(problem.contains("unknown field `valeus`"), "{problem}");
    }
}
