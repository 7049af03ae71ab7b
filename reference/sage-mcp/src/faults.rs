//! What can go wrong with a server, as errors of the taxonomy: `EIO` with operation, path and cause.

use std::error::Error as _;

use reqwest::StatusCode;
use sage_errors::{Common, IoError, SageError};
use sage_llm::Error;
use serde_json::{Map, Value, json};

use crate::chunks::ChunkFault;

pub(crate) const READ: &str = "read";

/// The connection failed. The system's code is kept where there is one.
pub(crate) fn lost(url: &str, fault: &reqwest::Error) -> Error {
    let operation = if fault.is_connect() { "connect" } else { READ };
    let mut reasons = Vec::new();
    let mut system = None;
    let mut inner = fault.source();
    while let Some(reason) = inner {
        reasons.push(reason.to_string());
        system = reason.downcast_ref::<std::io::Error>().or(system);
        inner = reason.source();
    }
    let reason = if reasons.is_empty() { fault.to_string() } else { reasons.join(": ") };
    let mut cause = Map::new();
    if let Some(system) = system {
        let error_with_code = SageError::io(operation, url, system);
        if let Some(Value::Object(code)) = error_with_code.cause() {
            cause.extend(code.clone());
        }
    }
    cause.insert("reason".to_owned(), reason.clone().into());
    io(operation, url, &reason, Value::Object(cause))
}

/// The server answered, and not with success.
pub(crate) fn refused(
    url: &str,
    status: StatusCode,
    retry_after: Option<String>,
    body: String,
) -> Error {
    let mut cause = Map::new();
    cause.insert("status".to_owned(), status.as_u16().into());
    if let Some(after) = retry_after {
        cause.insert("retryAfter".to_owned(), after.into());
    }
    cause.insert("body".to_owned(), body.into());
    io(READ, url, &format!("the server answered {status}"), Value::Object(cause))
}

/// The server's answer is not in the language that was expected.
pub(crate) fn garbled(url: &str, what: impl std::fmt::Display) -> Error {
    let reason = format!("the server sent {what}");
    io(READ, url, &reason, json!({ "reason": reason }))
}

pub(crate) fn of_chunk(url: &str, fault: ChunkFault) -> Error {
    match fault {
        ChunkFault::Garbage(what) => garbled(url, what),
        ChunkFault::Error(error) => {
            let message = error.get("message").unwrap_or(&error);
            let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
            let reason = format!("the server broke off: {}", shortened(&message));
            io(READ, url, &reason, json!({ "error": error }))
        }
    }
}

fn io(operation: &str, url: &str, reason: &str, cause: Value) -> Error {
    let common = Common::new(format!("`{operation}` of `{url}` failed: {reason}"));
    let (path, operation) = (Some(url.to_owned()), operation.to_owned());
    SageError::Io(Box::new(IoError { path, operation, common })).with_cause(cause).into()
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(400)]
}
