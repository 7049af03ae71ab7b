//! The call in progress. Tools and providers outlive a call, and the contract's traits have no parameter for it, so it is
//! found through the task that the call runs in.

use std::cell::RefCell;

use futures::FutureExt as _;
use futures::future::join_all;
use proofmark_protocol::{Context, Failure};
use sage_utils::{BoxFuture, TypedError, err};
use serde_json::{Map, Value};

use proofmark_room::Session;

struct Call {
    context: Context<Session>,
    /// The harness could not play its part. That is nobody's contract error, and ends the call.
    broken: RefCell<Option<Failure>>,
    /// What was told where nobody could wait, and is yet to be confirmed.
    sent: RefCell<Vec<BoxFuture<'static, Result<Value, Failure>>>>,
}

tokio::task_local! {
    static CALL: Call;
}

/// Carries a call out. It is answered when everything that was told in it is confirmed.
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
        // All of them, whatever comes of one.
        let confirmed = join_all(sent).await;
        if let Some(broken) = CALL.with(|call| call.broken.take()) {
            return Err(broken);
        }
        let value = outcome?;
        // An error of the contract has nobody left to go to. A harness that cannot be told is no success.
        let mut failures = confirmed.into_iter().filter_map(Result::err);
        let broken = failures.find(|failure| !matches!(failure, Failure::Contract(_)));
        broken.map_or(Ok(value), Err)
    })
    .await
}

/// The way to the harness.
///
/// # Errors
/// Outside of a call there is none.
pub fn context() -> Result<Context<Session>, TypedError> {
    let outside = |_| err("EIO", "the harness is asked outside of a call", None);
    CALL.try_with(|call| call.context.clone()).map_err(outside)
}

/// A collaborator's value, or the error of the contract that it fails with. Any other failure breaks the call.
pub async fn ask(fake: &str, method: &str, args: Value) -> Result<Value, TypedError> {
    context()?.ask(fake, method, args).await.map_err(thrown)
}

/// Tells a fake something at once, without waiting: the end of the call waits for the answer. Outside of a call there
/// is nobody to tell.
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

/// A failure as the contract's traits know it. If it is no error of the contract the call ends in it, whatever
/// anybody makes of the error that is given back.
pub fn thrown(failure: Failure) -> TypedError {
    match failure {
        Failure::Contract(members) => typed(members),
        broken => {
            let _outside = CALL.try_with(|call| *call.broken.borrow_mut() = Some(broken));
            err("EIO", "the harness did not play its part", None)
        }
    }
}

/// An error as it came over the wire.
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
