//! The operations of `sage.chronicle`, and the test hook `chronicle.lock`.

use std::sync::Arc;

use proofmark_protocol::{Adapter, Context, Failure};
use sage_chronicle::{AppendArgs, Event, EventLog as _, IdRule, ReadArgs, TailArgs};
use sage_errors::SageError;
use serde_json::Value;

use crate::Session;
use crate::arguments::refused;

pub(crate) fn operations(adapter: Adapter<Session>) -> Adapter<Session> {
    adapter
        .claims("sage.chronicle")
        .has_hook("chronicle.lock")
        .on("chronicle.appendEvent", |context, args| {
            blocking(context, move |session| {
                let args = AppendArgs::from_json(&args, IdRule::Computed)
                    .map_err(|fault| refused(&fault))?;
                let done = session.chronicle()?.append_event(
                    &args.path,
                    &args.event,
                    args.lock_timeout_ms,
                );
                answered(done.map(|()| Value::Null))
            })
        })
        .on("chronicle.appendEventWithId", |context, args| {
            blocking(context, move |session| {
                let args =
                    AppendArgs::from_json(&args, IdRule::Given).map_err(|fault| refused(&fault))?;
                let done = session.chronicle()?.append_event_with_id(
                    &args.path,
                    &args.event,
                    args.lock_timeout_ms,
                );
                answered(done.map(|()| Value::Null))
            })
        })
        .on("chronicle.readChronicle", |context, args| {
            blocking(context, move |session| {
                let args = ReadArgs::from_json(&args).map_err(|fault| refused(&fault))?;
                answered(session.chronicle()?.read(&args.path).map(events))
            })
        })
        .on("chronicle.tailChronicle", |context, args| {
            blocking(context, move |session| {
                let args = TailArgs::from_json(&args).map_err(|fault| refused(&fault))?;
                answered(session.chronicle()?.tail(&args.path, args.n).map(events))
            })
        })
        .on("chronicle.holdLock", |context, args| {
            blocking(context, move |session| {
                let args = ReadArgs::from_json(&args).map_err(|fault| refused(&fault))?;
                let guard =
                    session.chronicle()?.hold_lock(&args.path).map_err(|fault| refused(&fault))?;
                session.held().insert(args.path, guard);
                Ok(Value::Null)
            })
        })
        .on("chronicle.releaseLock", |context, args| {
            blocking(context, move |session| {
                let args = ReadArgs::from_json(&args).map_err(|fault| refused(&fault))?;
                match session.held().remove(&args.path) {
                    Some(_) => Ok(Value::Null),
                    None => Err(Failure::broken(format!("no lock is held on `{}`", args.path))),
                }
            })
        })
}

/// Files and locks make a thread wait; the adapter goes on meanwhile.
async fn blocking(
    context: Context<Session>,
    work: impl FnOnce(&Session) -> Result<Value, Failure> + Send + 'static,
) -> Result<Value, Failure> {
    let session = Arc::clone(context.state());
    tokio::task::spawn_blocking(move || work(&session))
        .await
        .unwrap_or_else(|panic| Err(Failure::broken(format!("the operation broke: {panic}"))))
}

fn answered(outcome: Result<Value, SageError>) -> Result<Value, Failure> {
    outcome.map_err(|fault| refused(&fault))
}

fn events(events: Vec<Event>) -> Value {
    events.iter().map(Event::to_json).collect()
}
