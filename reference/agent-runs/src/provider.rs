//! The provider interface: who performs the turns of nodes.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Id;
use crate::state::{HandoffStatus, ProviderKind, ResolutionStatus, Tool, ToolFault, ToolResult};

/// A provider of turns. Its calls may take any time. Dropping a future of `next` does not stop a turn; `stop` does.
pub trait Provider: Send + Sync {
    /// Begins a turn and returns its id.
    fn turn(&self, ask: TurnAsk) -> BoxFuture<'_, Result<String, ProviderFault>>;

    /// The next item of a turn. Called one at a time, and not while a tool waits for approval.
    fn next<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<Item, ProviderFault>>;

    /// Reports what happened to a tool that it proposed.
    fn resolve<'a>(
        &'a self,
        turn: &'a str,
        forward: Forward,
    ) -> BoxFuture<'a, Result<(), ProviderFault>>;

    /// Stops the turn.
    fn stop<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<(), ProviderFault>>;
}

/// The provider failed. The message becomes the node's summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProviderFault(pub String);

/// A request for a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnAsk {
    pub run_id: Id,
    pub node_id: Id,
    pub label: String,
    pub provider: ProviderKind,
    pub prompt: Prompt,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prompt {
    pub kind: PromptKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptKind {
    /// The full prompt, for a provider without a session.
    Full,
    /// Only the inputs of this turn, for a provider with a session.
    Delta,
}

/// What the provider learns about a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forward {
    pub tool_id: String,
    pub status: ResolutionStatus,
    /// The tool's arguments; absent if it must not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
}

/// A piece of a turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Item {
    Delta(String),
    Progress(String),
    Tool(Tool),
    ToolCompleted(ToolEnd),
    Handoff(Handoff),
    Done(Done),
    /// The answer to a `next` that was pending when the turn was stopped.
    Stopped(bool),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolEnd {
    pub tool_id: String,
    pub result: ToolResult,
    #[serde(default)]
    pub error: Option<ToolFault>,
}

/// Work for another node, sent when the turn is over.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Handoff {
    /// The id of a node, or its label.
    pub to: String,
    pub message: String,
    #[serde(default)]
    pub structured: Option<Value>,
    #[serde(default)]
    pub status: Option<HandoffStatus>,
    #[serde(default)]
    pub context_ref: Option<String>,
    /// Whether it refers to the diff of the turn.
    #[serde(default)]
    pub attach_diff: bool,
}

/// The end of a turn.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Done {
    /// The whole text; if absent, the joined deltas.
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub diff: Option<String>,
    #[serde(default)]
    pub files_changed: Option<Vec<String>>,
    #[serde(default)]
    pub verification: Option<Verification>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    pub ok: bool,
    pub output: String,
}
