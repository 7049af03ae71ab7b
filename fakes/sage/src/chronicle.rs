//! Chronicles in memory.
//!
//! The rules for paths, events and ids are the reference's own, so the two cannot drift apart; the
//! same tests run against both. There are no files, so no I/O error can happen, and no append ever waits:
//! the timeout of a lock is accepted and ignored.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use proofmark_fakes::host::{Fake, FakeKind, Released, Response};
use sage_chronicle::{
    AppendArgs, ChroniclePath, DEFAULT_TAIL, Entry, Event, EventLog, IdRule, ReadArgs, check_append,
};
use sage_errors::SageError;
use serde::Deserialize;
use serde_json::Value;

/// The fake `chronicle`. Its script is `{}`.
pub static CHRONICLE: FakeKind = FakeKind {
    name: "chronicle",
    make: |script| {
        let NoScript {} = NoScript::deserialize(script).map_err(|error| error.to_string())?;
        Ok(Box::new(MemoryChronicle::new()))
    },
    releases: &[],
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoScript {}

/// All chronicles of one workspace.
#[derive(Debug, Default)]
pub struct MemoryChronicle {
    entries: Mutex<BTreeMap<String, Vec<Entry>>>,
}

impl MemoryChronicle {
    /// A workspace without chronicles.
    pub fn new() -> Self {
        Self::default()
    }

    /// The paths that have a chronicle, sorted.
    pub fn paths(&self) -> Vec<String> {
        self.entries().keys().cloned().collect()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Entry>>> {
        // No panic can leave the lists half changed.
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

impl Fake for MemoryChronicle {
    fn call(
        &mut self,
        _ticket: u64,
        method: &str,
        args: &Value,
        _released: &mut Released,
    ) -> Result<Response, String> {
        let reply = match method {
            "append" => append(self, args),
            "read" => read(self, args),
            _ => {
                return Err(format!(
                    "the fake `chronicle` has no method `{method}`; it has `append` and `read`"
                ));
            }
        };
        Ok(Response::recorded(reply.map_err(|error| error.to_json())))
    }
}

/// Takes the arguments of `ChronicleAdapter.append`: `{"path", "event"}`.
fn append(chronicle: &MemoryChronicle, args: &Value) -> Result<Value, SageError> {
    let args = AppendArgs::from_json(args, IdRule::Computed)?;
    chronicle.append_event(&args.path, &args.event, args.lock_timeout_ms)?;
    Ok(Value::Null)
}

/// Takes the arguments of `ChronicleAdapter.read`: `{"path"}`.
fn read(chronicle: &MemoryChronicle, args: &Value) -> Result<Value, SageError> {
    let args = ReadArgs::from_json(args)?;
    Ok(chronicle.read(&args.path)?.iter().map(Event::to_json).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_of_one_session_see_the_same_chronicle() {
        let mut chronicle = (CHRONICLE.make)(&json!({})).expect("it needs no script");
        let event = json!({"type": "A", "timestamp": "2024-01-01T00:00:00.000Z", "actor": {"agent": "sage", "id": "1"}});
        let mut call = |method: &str, args: Value| match chronicle
            .call(0, method, &args, &mut Released::new())
            .expect("a good call")
        {
            Response::Now { reply, recorded: true } => reply,
            other => panic!("{other:?}"),
        };
        assert_eq!(call("append", json!({"path": "a.sage", "event": event})), Ok(Value::Null));
        let events = call("read", json!({"path": "a.sage"})).unwrap();
        assert_eq!(events[0]["type"], "A");
        let refused = call("append", json!({"path": "a.sage", "event": {}}));
        assert_eq!(refused.unwrap_err()["code"], "EVALIDATION");
    }
}
