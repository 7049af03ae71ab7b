//! Read and Write.

use sage_errors::SageError;
use sage_utils::BoxFuture;
use serde_json::{Value, json};

use super::{access, blocking, file_schema, text};
use crate::workspace::Change;
use crate::{Access, Tool, ToolContext, ToolResult};

/// `{file}` → `{content}`.
pub struct Read {
    schema: Value,
}

impl Default for Read {
    fn default() -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "file": file_schema() },
            "required": ["file"],
            "additionalProperties": false,
        });
        Self { schema }
    }
}

impl Tool for Read {
    fn name(&self) -> &str {
        "Read"
    }

    fn description(&self) -> Option<&str> {
        Some("Reads a text file of the workspace.")
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let file = text(&input, "file");
            let read = blocking(context, move |workspace| {
                let content = workspace.read(&file)?;
                String::from_utf8(content).map_err(|fault| {
                    let reason = format!("the file is not UTF-8: {}", fault.utf8_error());
                    let fault = std::io::Error::new(std::io::ErrorKind::InvalidData, reason);
                    SageError::io("read", file, &fault)
                })
            });
            read.await.map(|content| json!({ "content": content })).into()
        })
    }
}

/// `{file, content}` → `{bytes}`.
pub struct Write {
    schema: Value,
}

impl Default for Write {
    fn default() -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "file": file_schema(), "content": { "type": "string" } },
            "required": ["file", "content"],
            "additionalProperties": false,
        });
        Self { schema }
    }
}

impl Tool for Write {
    fn name(&self) -> &str {
        "Write"
    }

    fn description(&self) -> Option<&str> {
        Some("Writes a text file of the workspace; an existing one is replaced.")
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn needs_permission(&self, input: &Value) -> Option<Access> {
        Some(access(input, "file", "write"))
    }

    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let (file, content) = (text(&input, "file"), text(&input, "content"));
            let dry_run = context.dry_run;
            let written = blocking(context, move |workspace| {
                let change = Change::Write(content.as_bytes());
                if dry_run {
                    workspace.check(&file, change)?;
                } else {
                    workspace.change(&file, change)?;
                }
                Ok(json!({ "bytes": content.len() }))
            });
            written.await.into()
        })
    }
}
