//! The operations of `sage.chronicle`, and the test hook `chronicle.lock`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use proofmark_protocol::{Context, Failure, Open};
use proofmark_room::{Session, State, Subject, workspace_of};
use room_sage_errors::driver::refused;
use sage_chronicle::{
    AppendArgs, Chronicle, Event, EventLog as _, IdRule, LockGuard, Options, ReadArgs, TailArgs,
};
use sage_errors::SageError;
use serde_json::Value;

use crate::CONTRACT;

/// The session's chronicle, and the locks that the test hook holds.
struct Log {
    chronicle: Chronicle,
    held: Mutex<BTreeMap<String, LockGuard>>,
}

impl State for Log {
    fn open(open: &Open) -> Result<Self, Failure> {
        let chronicle = Chronicle::open(workspace_of(open)?, Options::default())
            .map_err(|fault| Failure::broken(fault.to_string()))?;
        Ok(Self { chronicle, held: Mutex::default() })
    }
}

impl Log {
    /// By path. Released at the end of the session at the latest.
    fn held(&self) -> MutexGuard<'_, BTreeMap<String, LockGuard>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn operations(subject: Subject) -> Subject {
    subject
        .claims(CONTRACT)
        .has_hook("chronicle.lock")
        .on("chronicle.appendEvent", |context, args| {
            blocking(context, move |log| {
                let args = AppendArgs::from_json(&args, IdRule::Computed)
                    .map_err(|fault| refused(&fault))?;
                let done =
                    log.chronicle.append_event(&args.path, &args.event, args.lock_timeout_ms);
                answered(done.map(|()| Value::Null))
            })
        })
        .on("chronicle.appendEventWithId", |context, args| {
            blocking(context, move |log| {
                let args =
                    AppendArgs::from_json(&args, IdRule::Given).map_err(|fault| refused(&fault))?;
                let done = log.chronicle.append_event_with_id(
                    &args.path,
                    &args.event,
                    args.lock_timeout_ms,
                );
                answered(done.map(|()| Value::Null))
            })
        })
        .on("chronicle.readChronicle", |context, args| {
            blocking(context, move |log| {
                let args = ReadArgs::from_json(&args).map_err(|fault| refused(&fault))?;
                answered(log.chronicle.read(&args.path).map(events))
            })
        })
        .on("chronicle.tailChronicle", |context, args| {
            blocking(context, move |log| {
                let args = TailArgs::from_json(&args).map_err(|fault| refused(&fault))?;
                answered(log.chronicle.tail(&args.path, args.n).map(events))
            })
        })
        .on("chronicle.holdLock", |context, args| {
            blocking(context, move |log| {
                let args = ReadArgs::from_json(&args).map_err(|fault| refused(&fault))?;
                let guard = log.chronicle.hold_lock(&args.path).map_err(|fault| refused(&fault))?;
                log.held().insert(args.path, guard);
                Ok(Value::Null)
            })
        })
        .on("chronicle.releaseLock", |context, args| {
            blocking(context, move |log| {
                let args = ReadArgs::from_json(&args).map_err(|fault| refused(&fault))?;
                match log.held().remove(&args.path) {
                    Some(_) => Ok(Value::Null),
                    None => Err(Failure::broken(format!("no lock is held on `{}`", args.path))),
                }
            })
        })
}

/// Runs file and lock operations on a blocking thread, so that the adapter stays responsive.
async fn blocking(
    context: Context<Session>,
    work: impl FnOnce(&Log) -> Result<Value, Failure> + Send + 'static,
) -> Result<Value, Failure> {
    let log = context.state().state::<Log>()?;
    tokio::task::spawn_blocking(move || work(&log))
        .await
        .unwrap_or_else(|panic| Err(Failure::broken(format!("the operation panicked: {panic}"))))
}

fn answered(outcome: Result<Value, SageError>) -> Result<Value, Failure> {
    outcome.map_err(|fault| refused(&fault))
}

fn events(events: Vec<Event>) -> Value {
    events.iter().map(Event::to_json).collect()
}
