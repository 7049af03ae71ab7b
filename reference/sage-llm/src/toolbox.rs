//! The declared tools of a request, and the refusals of calls that do not run.

use std::collections::HashMap;

use sage_errors::{Detail, SageError};
use sage_tools::InputSchema;
use serde_json::Value;

use crate::ToolSchema;
use crate::calls::Call;

/// The declared tools, with their schemas compiled.
pub(crate) struct Toolbox {
    schemas: HashMap<String, InputSchema>,
}

impl Toolbox {
    /// # Errors
    /// `EVALIDATION` with the faults of every invalid schema, as `tools.0.parameters`.
    pub(crate) fn new(tools: &[ToolSchema]) -> Result<Self, SageError> {
        let mut schemas = HashMap::with_capacity(tools.len());
        let mut faults = Vec::new();
        for (index, tool) in tools.iter().enumerate() {
            match InputSchema::compile(&Value::Object(tool.parameters.clone())) {
                Ok(schema) => drop(schemas.insert(tool.name.clone(), schema)),
                Err(fault) => faults.push(
                    Detail::new(format!("tools.{index}.parameters"), fault.message())
                        .expected("a JSON Schema"),
                ),
            }
        }
        SageError::validation_of(faults).map_or(Ok(Self { schemas }), Err)
    }

    /// Whether `call` may run.
    ///
    /// # Errors
    /// `EVALIDATION` when no such tool is declared, or with the faults of the arguments.
    pub(crate) fn check(&self, call: &Call) -> Result<(), SageError> {
        match self.schemas.get(&call.tool) {
            Some(schema) => schema.check(&call.arguments),
            None => {
                let mut names: Vec<_> = self.schemas.keys().map(String::as_str).collect();
                names.sort_unstable();
                Err(SageError::validation(
                    Detail::new("toolName", "is no tool of this request")
                        .received(call.tool.as_str())
                        .expected(names),
                ))
            }
        }
    }
}

/// The refusal if there is no tool runner.
pub(crate) fn nobody(call: &Call) -> SageError {
    let policy = "no tool is run without a tool runner".to_owned();
    SageError::permission(&call.tool, "execute", Some(policy))
}
