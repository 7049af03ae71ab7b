//! Edit: a unified diff applied to one file.

use sage_errors::{Detail, SageError};
use sage_utils::BoxFuture;
use serde_json::{Value, json};

use super::{access, blocking, file_schema, text};
use crate::patch::{Applied, Kind, Patch};
use crate::workspace::Change;
use crate::{Access, Tool, ToolContext, ToolResult, Workspace};

/// `{file, patch, strategy?}` → `{patched, diff?}`.
pub struct Edit {
    schema: Value,
}

impl Default for Edit {
    fn default() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "file": file_schema(),
                "patch": { "type": "string", "description": "A unified diff of this one file" },
                "strategy": {
                    "enum": ["apply", "check"],
                    "description": "`check` only tells whether the patch fits",
                },
            },
            "required": ["file", "patch"],
            "additionalProperties": false,
        });
        Self { schema }
    }
}

impl Tool for Edit {
    fn name(&self) -> &str {
        "Edit"
    }

    fn description(&self) -> Option<&str> {
        Some("Applies a unified diff to a file of the workspace: all hunks or none.")
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn needs_permission(&self, input: &Value) -> Option<Access> {
        Some(access(input, "file", "write"))
    }

    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let (file, patch) = (text(&input, "file"), text(&input, "patch"));
            let checks_only = input["strategy"] == "check";
            let touches = !checks_only && !context.dry_run;
            let edited = blocking(context, move |workspace| {
                // The path first: where nothing may be written, it does not matter what.
                workspace.check(&file, Change::Write(b""))?;
                let patch = Patch::parse(&patch).map_err(|reason| malformed(&reason))?;
                let kind = patch.kind;
                let old = read_old(workspace, &file, kind)?;
                match patch.apply(&old, &file) {
                    Ok(applied) => {
                        change(workspace, &file, kind, &applied, touches)?;
                        Ok(json!({ "patched": true, "diff": applied.diff }))
                    }
                    Err(_) if checks_only => Ok(json!({ "patched": false })),
                    Err(reason) => Err(malformed(&reason)),
                }
            });
            edited.await.into()
        })
    }
}

fn malformed(reason: &str) -> SageError {
    SageError::validation(
        Detail::new("patch", reason).expected("a unified diff that fits the file"),
    )
}

/// The content before the patch.
fn read_old(workspace: &Workspace, file: &str, kind: Kind) -> Result<Vec<u8>, SageError> {
    match (kind, workspace.read(file)) {
        (Kind::Create, Ok(_)) => {
            Err(malformed("does not fit: it makes a new file, but there is one"))
        }
        (Kind::Create, Err(SageError::Io(error))) if error.system_code() == Some("ENOENT") => {
            Ok(Vec::new())
        }
        (_, read) => read,
    }
}

fn change(
    workspace: &Workspace,
    file: &str,
    kind: Kind,
    applied: &Applied,
    touches: bool,
) -> Result<(), SageError> {
    let change = match kind {
        Kind::Change => Change::Write(&applied.content),
        Kind::Create => Change::Create(&applied.content),
        Kind::Delete => Change::Delete,
    };
    if touches { workspace.change(file, change) } else { workspace.check(file, change) }
}
