//! Arguments that the adapter itself understands. A wrong one is the harness's mistake, not the contract's.

use proofmark_protocol::Failure;
use sage_errors::SageError;
use serde_json::Value;

/// A string argument.
pub(crate) fn string<'a>(args: &'a Value, name: &str) -> Result<&'a str, Failure> {
    args[name].as_str().ok_or_else(|| {
        Failure::broken(format!("the argument `{name}` must be a string, not {}", args[name]))
    })
}

/// An error of the taxonomy, on its way over the wire.
pub(crate) fn refused(error: &SageError) -> Failure {
    contract(error.to_json())
}

/// A contract error in its flat JSON form.
pub(crate) fn contract(error: Value) -> Failure {
    match error {
        Value::Object(members) => Failure::Contract(members),
        other => Failure::broken(format!("an error must be an object, not {other}")),
    }
}
