//! Bash: a program, its arguments, and all that it starts.

use std::time::Duration;

use sage_errors::SageError;
use sage_utils::BoxFuture;
use serde_json::{Value, json};

use super::{access, text};
use crate::process::{Ended, Program};
use crate::{Access, Tool, ToolContext, ToolResult};

/// Default timeout of a program.
const DEFAULT_TIMEOUT_MS: u64 = 600_000;

/// `{command, args?, timeoutMs?}` → `{code, stdout, stderr}`.
///
/// Despite the name there is no shell: `command` is a program and gets `args` unchanged.
pub struct Bash {
    schema: Value,
}

impl Default for Bash {
    fn default() -> Self {
        let no_nul = "^[^\\u0000]*$";
        let schema = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "minLength": 1, "pattern": no_nul },
                "args": { "type": "array", "items": { "type": "string", "pattern": no_nul } },
                "timeoutMs": { "type": "integer", "minimum": 1 },
            },
            "required": ["command"],
            "additionalProperties": false,
        });
        Self { schema }
    }
}

impl Tool for Bash {
    fn name(&self) -> &str {
        "Bash"
    }

    fn description(&self) -> Option<&str> {
        Some("Runs a program in the workspace, without a shell.")
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn needs_permission(&self, input: &Value) -> Option<Access> {
        Some(access(input, "command", "execute"))
    }

    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { execute(&input, context).await.into() })
    }
}

async fn execute(input: &Value, context: &ToolContext) -> Result<Value, SageError> {
    let command = text(input, "command");
    let args = input["args"].as_array().into_iter().flatten();
    let args: Vec<_> = args.filter_map(Value::as_str).map(str::to_owned).collect();
    // A number beyond 64 bits means no timeout.
    let timeout_ms = match &input["timeoutMs"] {
        Value::Null => DEFAULT_TIMEOUT_MS,
        given => given.as_u64().or_else(|| whole(given.as_f64()?)).unwrap_or(u64::MAX),
    };
    let program = Program::find(&command, args, &context.env, context.workspace.path())
        .await
        .map_err(|error| SageError::io("execute", command.as_str(), &error))?;
    if context.dry_run {
        let preview = format!("dry run, not started: {}\n", program.shown());
        return Ok(json!({ "code": 0, "stdout": preview, "stderr": "" }));
    }
    let ended = program.run(Duration::from_millis(timeout_ms), &context.redactor).await;
    match ended.map_err(|error| SageError::io("execute", command.as_str(), &error))? {
        Ended::Late { elapsed } => {
            let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
            Err(SageError::timeout("execute", timeout_ms, elapsed_ms.max(timeout_ms)))
        }
        Ended::Exited { code, stdout, stderr } => {
            Ok(json!({ "code": code, "stdout": stdout, "stderr": stderr }))
        }
    }
}

/// `2.0` is an integer to JSON Schema.
fn whole(number: f64) -> Option<u64> {
    format!("{number:.0}").parse().ok()
}
