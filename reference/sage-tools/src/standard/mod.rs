//! The tools that every registry has.

mod bash;
mod edit;
mod files;
mod graph_query;

pub use bash::Bash;
pub use edit::Edit;
pub use files::{Read, Write};
pub use graph_query::{Graph, GraphQuery};

use std::sync::Arc;

use sage_errors::SageError;
use serde_json::{Value, json};

use crate::{Access, ToolContext, Workspace};

/// A path in an input.
fn file_schema() -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "pattern": "^[^\\u0000]*$",
        "description": "A POSIX path relative to the workspace",
    })
}

/// A string of a validated input.
fn text(input: &Value, name: &str) -> String {
    input[name].as_str().unwrap_or_default().to_owned()
}

/// The action on the resource named by the member `name`, as given.
fn access(input: &Value, name: &str, operation: &'static str) -> Access {
    Access { resource: text(input, name), operation }
}

/// File access blocks a thread, so this runs on a blocking thread.
async fn blocking<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&Workspace) -> Result<T, SageError> + Send + 'static,
) -> Result<T, SageError> {
    let workspace = Arc::clone(&context.workspace);
    match tokio::task::spawn_blocking(move || work(&workspace)).await {
        Ok(done) => done,
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        Err(ended) => Err(SageError::io("wait", ".", &std::io::Error::other(ended))),
    }
}
