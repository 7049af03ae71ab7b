//! The state of a run as the fold of its log.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::event::{Event, NodePatch, RunPatch, What};
use crate::state::{CONTRACT_VERSION, EdgeState, NodeState, NodeStatus, RunState};
use crate::{Id, Policy};

/// Something for a node to work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The id of the message or of the handoff.
    pub id: Id,
    pub text: String,
}

/// Why an event cannot follow those before it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("the first event of a run is a `run.patch` with every member of the run")]
    NoBeginning,
    #[error("the event is of the run `{0}`")]
    OtherRun(Id),
    #[error(
        "the log is of contract version `{0}`; this program reads version `{CONTRACT_VERSION}`"
    )]
    Version(String),
    #[error("the event is about the node `{0}`, which there is not")]
    NoNode(Id),
    #[error("the event is about a node and does not say which")]
    NodeUnnamed,
    #[error("the event is about the edge `{0}`, which there is not")]
    NoEdge(Id),
    #[error("the event has the node `{0}` under another id")]
    OtherNode(Id),
}

/// The state of a run, derived only from its log.
pub(crate) struct Fold {
    pub(crate) run: RunState,
    /// How many runs were created before.
    pub(crate) ordinal: u64,
    inboxes: HashMap<Id, VecDeque<Input>>,
    /// Nodes whose session has had no turn.
    fresh: HashSet<Id>,
    /// Approvals that were resolved.
    resolved: HashSet<Id>,
    policy: Arc<dyn Policy>,
}

impl Fold {
    /// The fold of the first event of the run `id`.
    pub(crate) fn begin(id: Id, event: Event, policy: Arc<dyn Policy>) -> Result<Self, Misfit> {
        let What::RunPatch { patch, ordinal } = event.what else { return Err(Misfit::NoBeginning) };
        if let Some(version) = patch.contract_version.as_ref().filter(|v| *v != CONTRACT_VERSION) {
            return Err(Misfit::Version(version.clone()));
        }
        let run = patch.into_whole().ok_or(Misfit::NoBeginning)?;
        if event.run_id != id || run.id != id {
            return Err(Misfit::OtherRun(run.id));
        }
        under_their_ids(&run.nodes)?;
        Ok(Self {
            run,
            ordinal: ordinal.unwrap_or(0),
            inboxes: HashMap::new(),
            fresh: HashSet::new(),
            resolved: HashSet::new(),
            policy,
        })
    }

    /// Applies the next event. After an error nothing has changed.
    pub(crate) fn apply(&mut self, event: Event) -> Result<(), Misfit> {
        if event.run_id != self.run.id {
            return Err(Misfit::OtherRun(event.run_id));
        }
        match event.what {
            What::RunPatch { patch, .. } => self.patch_run(patch)?,
            What::NodePatch { patch } => {
                self.patch_node(event.node_id.ok_or(Misfit::NodeUnnamed)?, patch)?;
            }
            What::EdgeCreated { edge } => self.add_edge(edge)?,
            What::EdgeDeleted { edge_id } => {
                self.run.edges.shift_remove(&edge_id).ok_or(Misfit::NoEdge(edge_id))?;
            }
            What::ArtifactCreated { artifact, .. } => {
                self.run.artifacts.insert(artifact.id, artifact);
            }
            What::MessageUser { message } => {
                if let Some(node) = message.node_id {
                    let reset = self.policy.is_reset(self.node(node)?, &message.content);
                    let first = message.interrupt && self.policy.interrupt_goes_first();
                    let inbox = self.policy.inbox_of(&self.run, None, node);
                    if let Some(node) = inbox.filter(|_| !reset) {
                        self.put(node, Input { id: message.id, text: message.content }, first);
                    }
                }
            }
            What::HandoffSent { envelope } => {
                self.node(envelope.to_node_id)?;
                let input = Input { id: envelope.id, text: envelope.payload.message };
                let from = Some(envelope.from_node_id);
                if let Some(node) = self.policy.inbox_of(&self.run, from, envelope.to_node_id) {
                    self.put(node, input, false);
                }
            }
            What::ApprovalResolved { approval_id, .. } => {
                self.resolved.insert(approval_id);
            }
            What::RunPhase { .. }
            | What::RunMode { .. }
            | What::RunStalled { .. }
            | What::NodeProgress { .. }
            | What::MessageDelta { .. }
            | What::MessageFinal { .. }
            | What::ToolProposed { .. }
            | What::ToolStarted { .. }
            | What::ToolCompleted { .. }
            | What::ApprovalRequested { .. } => {}
        }
        Ok(())
    }

    pub(crate) fn node(&self, id: Id) -> Result<&NodeState, Misfit> {
        self.run.nodes.get(&id).ok_or(Misfit::NoNode(id))
    }

    /// The node's inbox, in order.
    pub(crate) fn inbox(&self, node: Id) -> Vec<Input> {
        self.inboxes.get(&node).into_iter().flatten().cloned().collect()
    }

    pub(crate) fn waiting(&self, node: Id) -> usize {
        self.inboxes.get(&node).map_or(0, VecDeque::len)
    }

    /// Whether the node's next turn is the first of its session.
    pub(crate) fn is_fresh(&self, node: Id) -> bool {
        self.fresh.contains(&node)
    }

    pub(crate) fn is_resolved(&self, approval: Id) -> bool {
        self.resolved.contains(&approval)
    }

    fn patch_run(&mut self, patch: RunPatch) -> Result<(), Misfit> {
        if let Some(version) = patch.contract_version.as_ref().filter(|v| *v != CONTRACT_VERSION) {
            return Err(Misfit::Version(version.clone()));
        }
        if let Some(other) = patch.id.filter(|id| *id != self.run.id) {
            return Err(Misfit::OtherRun(other));
        }
        patch.nodes.as_ref().map_or(Ok(()), under_their_ids)?;
        patch.apply(&mut self.run);
        Ok(())
    }

    fn patch_node(&mut self, id: Id, patch: NodePatch) -> Result<(), Misfit> {
        if let Some(other) = patch.id.filter(|own| *own != id) {
            return Err(Misfit::OtherNode(other));
        }
        let Some(node) = self.run.nodes.get_mut(&id) else {
            let node = patch.into_whole().ok_or(Misfit::NoNode(id))?;
            self.fresh.insert(id);
            self.run.nodes.insert(id, node);
            return Ok(());
        };
        let session = node.session.session_id.clone();
        let (begins, left) = (patch.status == Some(NodeStatus::Running), patch.inbox_count);
        patch.apply(node);
        let renewed = node.session.session_id != session;
        if begins {
            self.fresh.remove(&id);
        }
        if renewed {
            self.fresh.insert(id);
        }
        // A lower count shows how much of the inbox a turn left.
        if let (Some(inbox), Some(left)) = (self.inboxes.get_mut(&id), left) {
            inbox.drain(..inbox.len().saturating_sub(left));
        }
        Ok(())
    }

    fn add_edge(&mut self, edge: EdgeState) -> Result<(), Misfit> {
        self.node(edge.from)?;
        self.node(edge.to)?;
        self.run.edges.insert(edge.id, edge);
        Ok(())
    }

    fn put(&mut self, node: Id, input: Input, first: bool) {
        let inbox = self.inboxes.entry(node).or_default();
        if first { inbox.push_front(input) } else { inbox.push_back(input) }
    }
}

/// A node stored under another id could never be found.
fn under_their_ids(nodes: &IndexMap<Id, NodeState>) -> Result<(), Misfit> {
    match nodes.iter().find(|(id, node)| node.id != **id) {
        Some((_, node)) => Err(Misfit::OtherNode(node.id)),
        None => Ok(()),
    }
}
