//! Arguments and errors on their way between the protocol and a reference crate.

use proofmark_protocol::Failure;
use serde_json::Value;

/// A string argument. A wrong one is the harness's mistake, not the contract's.
///
/// # Errors
/// When the argument is missing or is not a string.
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
