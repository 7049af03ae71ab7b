//! Scripted errors as errors of the sage contracts.

use proofmark_fakes::script::ScriptedFault;
use sage_utils::{TypedError, err};
use serde_json::Value;

/// The error at `place` of a script: `{"code", "message"}`, with optional `name`, `cause` and properties.
pub(crate) fn fault(place: &str, value: &Value) -> Result<TypedError, String> {
    let ScriptedFault { name, code, message, cause, properties } =
        ScriptedFault::read(place, value)?;
    let mut error = err(code, message, cause);
    if let Some(name) = name {
        error = error.named(name);
    }
    error.with_properties(properties).map_err(|refusal| format!("`{place}`: {}", refusal.message()))
}
