//! The call in progress. Tools and providers outlive a call, and the contract's traits have no parameter for it, so a
//! task-local holds it.

use std::cell::RefCell;

use futures::FutureExt as _;
use futures::future::join_all;
use proofmark_protocol::{Context, Failure};
use sage_utils::{BoxFuture, TypedError, err};
use serde_json::{Map, Value};

use proofmark_room::Session;

struct Call {
    context: Context<Session>,
    /// The harness failed to play its part. That is not an error of the contract, and ends the call.
    broken: RefCell<Option<Failure>>,
    /// Notifications sent without waiting, not yet confirmed.
    sent: RefCell<Vec<BoxFuture<'static, Result<Value, Failure>>>>,
}

tokio::task_local! {
    static CALL: Call;
}

/// Runs a call. It is answered once all its notifications are confirmed.
pub async fn during<F>(
    context: Context<Session>,
    work: impl FnOnce(Context<Session>) -> F,
) -> Result<Value, Failure>
where
    F: Future<Output = Result<Value, Failure>>,
{
    let call =
        Call { context: context.clone(), broken: RefCell::default(), sent: RefCell::default() };
    let work = work(context);
    CALL.scope(call, async {
        let outcome = work.await;
        let sent = CALL.with(|call| call.sent.take());
        // Waits for all of them, whatever one returns.
        let confirmed = join_all(sent).await;
        if let Some(broken) = CALL.with(|call| call.broken.take()) {
            return Err(broken);
        }
        let value = outcome?;
        // Nobody is left to receive a contract error. But a harness that cannot be reached is no success.
        let mut failures = confirmed.into_iter().filter_map(Result::err);
        let broken = failures.find(|failure| !matches!(failure, Failure::Contract(_)));
        broken.map_or(Ok(value), Err)
    })
    .await
}

/// The connection to the harness.
///
/// # Errors
/// Fails outside of a call.
pub fn context() -> Result<Context<Session>, TypedError> {
    let outside = |_| err("EIO", "the harness was called outside of a call", None);
    CALL.try_with(|call| call.context.clone()).map_err(outside)
}

/// A collaborator's value, or the contract error that it fails with. Any other failure breaks the call.
pub async fn ask(fake: &str, method: &str, args: Value) -> Result<Value, TypedError> {
    context()?.ask(fake, method, args).await.map_err(thrown)
}

/// Notifies a fake at once, without waiting; the end of the call waits for the answer. Does nothing outside of a
/// call.
pub fn tell(fake: &'static str, method: &'static str, args: Value) {
    let Ok(context) = context() else { return };
    let mut telling = async move { context.ask(fake, method, args).await }.boxed();
    // The first poll sends it.
    let sent = match (&mut telling).now_or_never() {
        Some(answer) => std::future::ready(answer).boxed(),
        None => telling,
    };
    CALL.with(|call| call.sent.borrow_mut().push(sent));
}

/// Converts a failure for the contract's traits. If it is not an error of the contract, the call ends in it, whatever
/// callers do with the returned error.
pub fn thrown(failure: Failure) -> TypedError {
    match failure {
        Failure::Contract(members) => typed(members),
        broken => {
            let _outside = CALL.try_with(|call| *call.broken.borrow_mut() = Some(broken));
            err("EIO", "the harness failed to answer", None)
        }
    }
}

/// An error as received over the wire.
fn typed(mut members: Map<String, Value>) -> TypedError {
    let mut text = |name: &str| match members.shift_remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (code, message) = (text("code").unwrap_or_default(), text("message").unwrap_or_default());
    let name = text("name").unwrap_or_else(|| "TypedError".to_owned());
    let cause = members.shift_remove("cause");
    let error = err(code, message, cause).named(name).with_properties(members);
    error.unwrap_or_else(|refusal| refusal)
}
