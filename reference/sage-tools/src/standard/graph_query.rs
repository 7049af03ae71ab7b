//! GraphQuery: queries the code graph, which the caller provides.

use std::sync::Arc;

use sage_utils::{BoxFuture, TypedError};
use serde_json::{Value, json};

use super::text;
use crate::{Tool, ToolContext, ToolResult};

/// Where rows come from.
pub trait Graph: Send + Sync {
    /// The rows that answer `query`, as of `commit` if one is given.
    fn query<'a>(
        &'a self,
        query: &'a str,
        params: Option<&'a Value>,
        commit: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<Value>, TypedError>>;
}

/// `{query, params?, commit?}` → `{rows}`.
pub struct GraphQuery {
    schema: Value,
    graph: Arc<dyn Graph>,
}

impl GraphQuery {
    pub fn new(graph: Arc<dyn Graph>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "params": { "type": "object", "additionalProperties": true },
                "commit": { "type": "string" },
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        Self { schema, graph }
    }
}

impl Tool for GraphQuery {
    fn name(&self) -> &str {
        "GraphQuery"
    }

    fn description(&self) -> Option<&str> {
        Some("Asks the code graph. Read-only.")
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn execute<'a>(&'a self, input: Value, _context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let query = text(&input, "query");
            let commit = input["commit"].as_str();
            match self.graph.query(&query, input.get("params"), commit).await {
                Ok(rows) => ToolResult::done(json!({ "rows": rows })),
                Err(error) => ToolResult::failed(error),
            }
        })
    }
}
