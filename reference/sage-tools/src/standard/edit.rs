//! Edit: a unified diff applied to one file.

use sage_errors::{Detail, SageError};
use sage_utils::BoxFuture;
use serde_json::{Value, json};

use super::{access, blocking, file_schema, text};
use crate::patch::{Kind, Patch};
use crate::workspace::{Change, Held};
use crate::{Access, Tool, ToolContext, ToolResult};

/// How often a patch is retried while other processes change the file.
const MOST_TRIES: usize = 100;

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
                // Check the path first: without write access, the patch does not matter.
                workspace.check(&file, Change::Write(b""))?;
                let patch = Patch::parse(&patch).map_err(|reason| malformed(&reason))?;
                for _ in 0..MOST_TRIES {
                    let held = workspace.hold(&file)?;
                    match attempt(&held, &patch, &file, touches)? {
                        Attempt::Done(diff) => return Ok(json!({ "patched": true, "diff": diff })),
                        Attempt::Misfit(_) if checks_only => {
                            return Ok(json!({ "patched": false }));
                        }
                        Attempt::Misfit(reason) => return Err(malformed(&reason)),
                        Attempt::Overtaken => {}
                    }
                }
                let reason = "another process keeps changing the file";
                Err(SageError::io("write", file, &std::io::Error::other(reason)))
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

enum Attempt {
    /// With the diff.
    Done(String),
    /// The patch does not fit, and why.
    Misfit(String),
    /// Another process has changed the file meanwhile.
    Overtaken,
}

/// Reads the file, applies `patch`, and replaces the file if it is still the one that was read.
fn attempt(
    held: &Held<'_>,
    patch: &Patch,
    file: &str,
    touches: bool,
) -> Result<Attempt, SageError> {
    let seen = match (patch.kind, held.read()) {
        (Kind::Create, Ok(_)) => {
            let reason = "does not fit: it makes a new file, but there is one";
            return Ok(Attempt::Misfit(reason.to_owned()));
        }
        (Kind::Create, Err(error)) if is(&error, "ENOENT") => None,
        (_, read) => Some(read?),
    };
    let old = seen.as_ref().map_or(&[][..], |seen| &seen.content);
    let applied = match patch.apply(old, file) {
        Ok(applied) => applied,
        Err(reason) => return Ok(Attempt::Misfit(reason)),
    };
    let change = match patch.kind {
        Kind::Change => Change::Write(&applied.content),
        Kind::Create => Change::Create(&applied.content),
        Kind::Delete => Change::Delete,
    };
    let is_done = if touches { held.change(change, seen.as_ref()) } else { held.check(change) };
    match is_done {
        Ok(true) => Ok(Attempt::Done(applied.diff)),
        Ok(false) => Ok(Attempt::Overtaken),
        // It was there, or was not, when it was read.
        Err(error) if is(&error, "EEXIST") || is(&error, "ENOENT") => Ok(Attempt::Overtaken),
        Err(error) => Err(error),
    }
}

fn is(error: &SageError, system_code: &str) -> bool {
    matches!(error, SageError::Io(error) if error.system_code() == Some(system_code))
}
