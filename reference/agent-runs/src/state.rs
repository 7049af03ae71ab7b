//! What there is: runs, nodes, edges, artifacts and messages, in the shapes of the contract.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::Id;

/// The one version of the contract that is spoken here.
pub const CONTRACT_VERSION: &str = "1";

/// How far a run is. `queued` belongs to the contract; nothing here waits in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Queued,
    Running,
    Paused,
    Completed,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    Boot,
    Execute,
    Verify,
    DocsSync,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Mode {
    Auto,
    Interactive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GlobalMode {
    Planning,
    Implementation,
}

/// A run with all that is in it. Nodes, edges and artifacts stand in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunState {
    pub id: Id,
    pub contract_version: String,
    pub status: RunStatus,
    pub phase: Phase,
    pub mode: Mode,
    pub global_mode: GlobalMode,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When a member of the run itself changed last.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    pub nodes: IndexMap<Id, NodeState>,
    pub edges: IndexMap<Id, EdgeState>,
    pub artifacts: IndexMap<Id, Artifact>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    Codex,
    Claude,
    Gemini,
    Custom,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatus {
    /// A turn begins when something is in the inbox.
    Idle,
    /// A turn is under way.
    Running,
    /// It stalled, and waits until its run is set to `running` again.
    Blocked,
    /// Its provider failed. A new session sets it right.
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    pub spawn_nodes: bool,
    pub write_code: bool,
    pub write_docs: bool,
    pub run_commands: bool,
    pub delegate_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionsMode {
    Skip,
    Gated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    pub cli_permissions_mode: PermissionsMode,
    pub spawn_requires_approval: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub session_id: String,
    pub reset_commands: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionStatus {
    Connected,
    Idle,
    Disconnected,
}

/// Whether the provider is at work for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    pub status: ConnectionStatus,
    pub streaming: bool,
}

impl Connection {
    pub(crate) const AT_WORK: Self = Self { status: ConnectionStatus::Connected, streaming: true };
    pub(crate) const AT_REST: Self = Self { status: ConnectionStatus::Idle, streaming: false };
    pub(crate) const LOST: Self = Self { status: ConnectionStatus::Disconnected, streaming: false };
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeState {
    pub id: Id,
    pub run_id: Id,
    pub label: String,
    pub role_template: String,
    pub provider: ProviderKind,
    pub status: NodeStatus,
    pub summary: String,
    #[schema(value_type = String, format = DateTime)]
    pub last_activity_at: Timestamp,
    pub capabilities: Capabilities,
    pub permissions: Permissions,
    pub session: Session,
    pub connection: Connection,
    pub inbox_count: usize,
}

impl NodeState {
    /// The role that makes a node an orchestrator.
    pub const ORCHESTRATOR: &str = "orchestrator";

    #[must_use]
    pub fn is_orchestrator(&self) -> bool {
        self.role_template == Self::ORCHESTRATOR
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EdgeType {
    Handoff,
    Report,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EdgeState {
    pub id: Id,
    pub from: Id,
    pub to: Id,
    pub bidirectional: bool,
    #[serde(rename = "type")]
    pub kind: EdgeType,
    pub label: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactKind {
    Diff,
    Prompt,
    Log,
    Transcript,
    Contextpack,
    Report,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    pub id: Id,
    pub run_id: Id,
    pub node_id: Id,
    pub kind: ArtifactKind,
    pub name: String,
    /// Absolute.
    pub path: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// What a diff touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffMetadata {
    pub files_changed: Vec<String>,
    pub summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
    System,
}

/// A message as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub id: Id,
    pub run_id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub node_id: Option<Id>,
    pub role: Role,
    pub content: String,
    pub interrupt: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// A tool as its provider proposes it, or as it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The provider's own.
    pub id: String,
    pub name: String,
    pub args: Value,
}

impl Tool {
    /// The tool that makes a node.
    pub const SPAWN: &str = "spawn_node";

    #[must_use]
    pub fn is_spawn(&self) -> bool {
        self.name == Self::SPAWN
    }
}

/// How a tool ended, with whatever else its provider says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolResult {
    pub ok: bool,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub rest: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToolFault {
    pub message: String,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub rest: Map<String, Value>,
}

/// An approval that waits for its user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    pub approval_id: Id,
    pub run_id: Id,
    pub node_id: Id,
    pub tool: Tool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub context: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResolutionStatus {
    Approved,
    Denied,
    Modified,
}

/// What the user said to an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    pub status: ResolutionStatus,
    /// What the tool is to run with instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub modified_args: Option<Map<String, Value>>,
}

/// Whether all went well, and if not, why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HandoffStatus {
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArtifactRef {
    #[serde(rename = "type")]
    pub kind: ArtifactKind,
    /// `artifact://<artifactId>`
    #[serde(rename = "ref")]
    pub reference: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Payload {
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub structured: Option<Value>,
    pub artifacts: Vec<ArtifactRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<HandoffStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnvelopeKind {
    Handoff,
}

/// What one node hands to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    pub kind: EnvelopeKind,
    pub id: Id,
    pub from_node_id: Id,
    pub to_node_id: Id,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    pub payload: Payload,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub context_ref: Option<String>,
}
