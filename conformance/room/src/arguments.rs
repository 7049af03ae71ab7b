//! Converts arguments and errors between the protocol and a reference crate.

use proofmark_protocol::Failure;
use serde_json::Value;

/// A string argument. A wrong type is a mistake of the harness, not a contract error.
///
/// # Errors
/// If the argument is missing or not a string.
pub fn string<'a>(args: &'a Value, name: &str) -> Result<&'a str, Failure> {
    args[name].as_str().ok_or_else(|| {
        Failure::broken(format!("the argument `{name}` must be a string, not {}", args[name]))
    })
}

/// A contract error in its flat JSON form.
pub fn contract_error(error: Value) -> Failure {
    match error {
        Value::Object(members) => Failure::Contract(members),
        other => Failure::broken(format!("an error must be an object, not {other}")),
    }
}
