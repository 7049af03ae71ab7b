//! Events: what the log of a run is made of.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::Id;
use crate::state::{
    Artifact, Capabilities, Connection, DiffMetadata, EdgeState, Envelope, GlobalMode, Message,
    Mode, NodeState, NodeStatus, Permissions, Phase, ProviderKind, Resolution, RunState, RunStatus,
    Session, Tool, ToolFault, ToolResult,
};

/// One line of a log, and one message of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub id: Id,
    pub run_id: Id,
    #[schema(value_type = String, format = DateTime)]
    pub ts: Timestamp,
    /// The node that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub node_id: Option<Id>,
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type")]
pub enum What {
    #[serde(rename = "run.patch", rename_all = "camelCase")]
    RunPatch {
        patch: RunPatch,
        /// In the first event: how many runs were created before. Clocks may stand still, and runs are listed oldest
        /// first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        ordinal: Option<u64>,
    },
    #[serde(rename = "run.phase", rename_all = "camelCase")]
    RunPhase { phase: Phase },
    #[serde(rename = "run.mode", rename_all = "camelCase")]
    RunMode { mode: Mode, global_mode: GlobalMode },
    #[serde(rename = "run.stalled", rename_all = "camelCase")]
    RunStalled {
        #[schema(value_type = Object)]
        evidence: Map<String, Value>,
    },
    #[serde(rename = "node.patch", rename_all = "camelCase")]
    NodePatch { patch: NodePatch },
    #[serde(rename = "node.progress", rename_all = "camelCase")]
    NodeProgress { summary: String },
    #[serde(rename = "edge.created", rename_all = "camelCase")]
    EdgeCreated { edge: EdgeState },
    #[serde(rename = "edge.deleted", rename_all = "camelCase")]
    EdgeDeleted { edge_id: Id },
    #[serde(rename = "handoff.sent", rename_all = "camelCase")]
    HandoffSent { envelope: Envelope },
    #[serde(rename = "message.user", rename_all = "camelCase")]
    MessageUser { message: Message },
    #[serde(rename = "message.assistant.delta", rename_all = "camelCase")]
    MessageDelta { delta: String },
    #[serde(rename = "message.assistant.final", rename_all = "camelCase")]
    MessageFinal { message: Message },
    #[serde(rename = "tool.proposed", rename_all = "camelCase")]
    ToolProposed { tool: Tool },
    #[serde(rename = "tool.started", rename_all = "camelCase")]
    ToolStarted { tool: Tool },
    #[serde(rename = "tool.completed", rename_all = "camelCase")]
    ToolCompleted {
        tool_id: String,
        result: ToolResult,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        error: Option<ToolFault>,
    },
    #[serde(rename = "approval.requested", rename_all = "camelCase")]
    ApprovalRequested {
        approval_id: Id,
        tool: Tool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        context: Option<String>,
    },
    #[serde(rename = "approval.resolved", rename_all = "camelCase")]
    ApprovalResolved { approval_id: Id, resolution: Resolution },
    #[serde(rename = "artifact.created", rename_all = "camelCase")]
    ArtifactCreated {
        artifact: Artifact,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        metadata: Option<DiffMetadata>,
    },
}

/// Declares a patch: its struct, how it changes a state, and the patch of a whole state.
macro_rules! patch {
    ($(#[$doc:meta])* $patch:ident of $state:ident { $($(#[$attr:meta])* $member:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $patch {
            $($(#[$attr])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(nullable = false)]
            pub $member: Option<$kind>,)*
        }

        impl $patch {
            /// Every member of `state`.
            #[must_use]
            pub fn whole(state: &$state) -> Self {
                Self { $($member: Some(state.$member.clone()),)* }
            }

            /// The state from a patch with every member.
            #[must_use]
            pub fn into_whole(self) -> Option<$state> {
                Some($state { $($member: self.$member?,)* })
            }

            /// Sets the members that this patch has.
            pub fn apply(self, state: &mut $state) {
                $(if let Some(value) = self.$member { state.$member = value; })*
            }

            /// Removes the members that equal those of `state`.
            pub fn keep_changes(&mut self, state: &$state) {
                $(if self.$member.as_ref() == Some(&state.$member) { self.$member = None; })*
            }
        }
    };
}

patch! {
    /// Members of a run that changed.
    RunPatch of RunState {
        id: Id,
        contract_version: String,
        status: RunStatus,
        phase: Phase,
        mode: Mode,
        global_mode: GlobalMode,
        #[schema(value_type = Option<String>, format = DateTime)]
        created_at: Timestamp,
        #[schema(value_type = Option<String>, format = DateTime)]
        updated_at: Timestamp,
        nodes: IndexMap<Id, NodeState>,
        edges: IndexMap<Id, EdgeState>,
        artifacts: IndexMap<Id, Artifact>,
    }
}

patch! {
    /// Members of a node that changed. Objects inside are whole.
    NodePatch of NodeState {
        id: Id,
        run_id: Id,
        label: String,
        role_template: String,
        provider: ProviderKind,
        status: NodeStatus,
        summary: String,
        #[schema(value_type = Option<String>, format = DateTime)]
        last_activity_at: Timestamp,
        capabilities: Capabilities,
        permissions: Permissions,
        session: Session,
        connection: Connection,
        inbox_count: usize,
    }
}
