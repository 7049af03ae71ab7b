//! Ways to change the errors that `errors.raise` raises.

use proofmark_protocol::Failure;
use serde_json::{Map, Value};

use proofmark_room::Subject;
use proofmark_room::bend::{Next, Reply, around};

/// Changes the answer's error, if it is one of the contract.
pub(crate) fn change(answer: Reply, act: impl FnOnce(&mut Map<String, Value>)) -> Reply {
    match answer {
        Err(Failure::Contract(mut error)) => {
            act(&mut error);
            Err(Failure::Contract(error))
        }
        other => other,
    }
}

/// Changes every error. The function also gets the arguments.
pub(crate) fn edits(subject: Subject, edit: fn(&Value, &mut Map<String, Value>)) -> Subject {
    around(subject, &["errors.raise"], move |call, args, inner: Next| async move {
        change(inner.call(call, args.clone()).await, |error| edit(&args, error))
    })
}

/// Drops properties, chosen by the error's code and their name.
pub(crate) fn loses(subject: Subject, lost: fn(&str, &str) -> bool) -> Subject {
    around(subject, &["errors.raise"], move |call, args, inner: Next| async move {
        change(inner.call(call, args).await, |error| {
            let code = error["code"].as_str().unwrap_or_default().to_owned();
            error.retain(|name, _| !lost(&code, name));
        })
    })
}
