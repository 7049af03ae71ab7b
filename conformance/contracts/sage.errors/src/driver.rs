//! The operations of `sage.errors`.

use proofmark_protocol::Failure;
use proofmark_room::Subject;
use proofmark_room::arguments::{contract_error, string};
use sage_errors::SageError;
use serde_json::{Map, Value};

use crate::CONTRACT;

/// Converts an error of the taxonomy to the wire format.
pub fn refused(error: &SageError) -> Failure {
    contract_error(error.to_json())
}

pub(crate) fn operations(subject: Subject) -> Subject {
    subject.claims(CONTRACT).on("errors.raise", async |_, args| Err(raise(&args)?))
}

/// The requested error, or the one that says why it cannot be built.
fn raise(args: &Value) -> Result<Failure, Failure> {
    let properties = match args.get("properties") {
        Some(Value::Object(properties)) => properties.clone(),
        None => Map::new(),
        Some(other) => {
            return Err(Failure::broken(format!("`properties` must be an object, not {other}")));
        }
    };
    let built = SageError::from_parts(
        string(args, "code")?,
        string(args, "message")?,
        properties,
        args.get("cause").cloned(),
    );
    Ok(refused(&built.unwrap_or_else(|fault| fault)))
}
