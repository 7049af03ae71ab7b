//! The desk of one run: turns every request into events. It never waits or touches the disk; it stages what to write,
//! and what to do after the write.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use tokio::sync::{Notify, oneshot};

use crate::bodies::{Chat, NewEdge, NewNode, NewRun, NodeChange, RunChange};
use crate::event::{Event, NodePatch, RunPatch, What};
use crate::fold::Fold;
use crate::log::{Line, NewFile, RunFiles};
use crate::provider::{Forward, Handoff, TurnAsk};
use crate::stall::Repeats;
use crate::state::{
    Approval, CONTRACT_VERSION, Connection, EdgeState, GlobalMode, Message, Mode, NodeState,
    NodeStatus, Phase, Role, RunState, RunStatus, Session,
};
use crate::{Id, Policy, Refusal, Settings};

/// Shared by an engine and its runs.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    /// Orders the approvals of all runs.
    pub(crate) approvals: AtomicU64,
}

impl Shared {
    pub(crate) fn now(&self) -> Timestamp {
        (self.settings.clock)()
    }

    pub(crate) fn id(&self) -> Id {
        (self.settings.ids)().into()
    }

    pub(crate) fn next_approval(&self) -> u64 {
        self.approvals.fetch_add(1, Ordering::Relaxed)
    }
}

/// Actions for when the preceding events are on the disk.
pub(crate) enum Effect {
    Begin {
        ask: TurnAsk,
        number: u64,
        interrupt: Arc<Notify>,
    },
    Interrupt(Arc<Notify>),
    /// Resumes a turn that waited for an approval.
    Resolve(oneshot::Sender<Option<Forward>>, Option<Forward>),
}

#[derive(Default)]
pub(crate) struct Staged {
    pub(crate) files: Vec<NewFile>,
    pub(crate) lines: Vec<Line>,
    pub(crate) effects: Vec<Effect>,
}

/// A turn in progress.
pub(crate) struct LiveTurn {
    pub(crate) number: u64,
    pub(crate) text: String,
    pub(crate) handoffs: Vec<Handoff>,
    pub(crate) waiting: Option<Waiting>,
    pub(crate) interrupted: bool,
    pub(crate) interrupt: Arc<Notify>,
}

/// A tool that waits for its approval.
pub(crate) struct Waiting {
    pub(crate) approval: Approval,
    pub(crate) order: u64,
    pub(crate) answer: oneshot::Sender<Option<Forward>>,
}

pub(crate) struct Desk {
    pub(crate) fold: Fold,
    pub(crate) turns: HashMap<Id, LiveTurn>,
    pub(crate) turns_begun: u64,
    pub(crate) repeats: Repeats,
    pub(crate) staged: Staged,
    pub(crate) shared: Arc<Shared>,
    pub(crate) files: RunFiles,
}

impl Desk {
    /// A new run, whose first event is staged.
    pub(crate) fn create(
        id: Id,
        ordinal: u64,
        body: &NewRun,
        shared: Arc<Shared>,
        files: RunFiles,
    ) -> Self {
        let now = shared.now();
        let run = RunState {
            id,
            contract_version: CONTRACT_VERSION.to_owned(),
            status: RunStatus::Running,
            phase: Phase::Boot,
            mode: body.mode.unwrap_or(Mode::Auto),
            global_mode: body.global_mode.unwrap_or(GlobalMode::Implementation),
            created_at: now,
            updated_at: now,
            nodes: Default::default(),
            edges: Default::default(),
            artifacts: Default::default(),
        };
        let what = What::RunPatch { patch: RunPatch::whole(&run), ordinal: Some(ordinal) };
        let event = Event { id: shared.id(), run_id: id, ts: now, node_id: None, what };
        let line = line(&event);
        let fold = Fold::begin(id, event, Arc::clone(&shared.settings.policy))
            .expect("the event has every member of the run");
        let mut desk = Self::new(fold, shared, files);
        desk.staged.lines.push(line);
        desk
    }

    pub(crate) fn new(fold: Fold, shared: Arc<Shared>, files: RunFiles) -> Self {
        Self {
            fold,
            turns: HashMap::new(),
            turns_begun: 0,
            repeats: Repeats::default(),
            staged: Staged::default(),
            shared,
            files,
        }
    }

    /// After a restart: ends the lost turns, and completes partial writes.
    pub(crate) fn recover(&mut self) -> Result<(), Refusal> {
        for (id, status) in
            self.fold.run.nodes.iter().map(|(id, node)| (*id, node.status)).collect::<Vec<_>>()
        {
            self.patch_node(
                id,
                NodePatch {
                    status: Some(self.policy().recovered(status)),
                    connection: Some(Connection::LOST).filter(|_| status == NodeStatus::Running),
                    inbox_count: Some(self.fold.waiting(id)),
                    ..NodePatch::default()
                },
            );
        }
        self.begin_turns();
        Ok(())
    }

    pub(crate) fn policy(&self) -> Arc<dyn Policy> {
        Arc::clone(&self.shared.settings.policy)
    }

    pub(crate) fn change_run(&mut self, change: &RunChange) -> RunState {
        let before = self.fold.run.status;
        let mut patch = RunPatch {
            status: change.status,
            phase: change.phase,
            mode: change.mode,
            global_mode: change.global_mode,
            ..RunPatch::default()
        };
        patch.keep_changes(&self.fold.run);
        self.patch_run(patch);
        if before != RunStatus::Running && self.fold.run.status == RunStatus::Running {
            self.go_on();
        }
        self.begin_turns();
        self.fold.run.clone()
    }

    pub(crate) fn patch_run(&mut self, mut patch: RunPatch) {
        if patch == RunPatch::default() {
            return;
        }
        let phase = patch.phase;
        let mode = patch.mode.is_some() || patch.global_mode.is_some();
        patch.updated_at = Some(self.shared.now());
        self.emit(None, What::RunPatch { patch, ordinal: None });
        if let Some(phase) = phase {
            self.emit(None, What::RunPhase { phase });
        }
        if mode {
            let RunState { mode, global_mode, .. } = self.fold.run;
            self.emit(None, What::RunMode { mode, global_mode });
        }
    }

    /// Resumes the run.
    fn go_on(&mut self) {
        if self.policy().resuming_forgets_counts() {
            self.repeats.forget();
        }
        for (id, status) in
            self.fold.run.nodes.values().map(|n| (n.id, n.status)).collect::<Vec<_>>()
        {
            let status = Some(self.policy().resumed(status));
            self.patch_node(id, NodePatch { status, ..NodePatch::default() });
        }
    }

    pub(crate) fn create_node(&mut self, body: &NewNode) -> Result<NodeState, Refusal> {
        let most = self.shared.settings.limits.nodes;
        if self.fold.run.nodes.len() >= most {
            return Err(Refusal::TooMany { what: "nodes in this run", most });
        }
        let policy = self.policy();
        let commands = body.session.as_ref().and_then(|session| session.reset_commands.clone());
        let capabilities = policy.default_capabilities();
        let permissions = policy.default_permissions();
        let node = NodeState {
            id: self.shared.id(),
            run_id: self.fold.run.id,
            label: body.label.clone(),
            role_template: body.role_template.clone(),
            provider: body.provider,
            status: NodeStatus::Idle,
            summary: String::new(),
            last_activity_at: self.shared.now(),
            capabilities: body.capabilities.as_ref().map_or(capabilities, |c| c.of(capabilities)),
            permissions: body.permissions.as_ref().map_or(permissions, |p| p.of(permissions)),
            session: Session {
                session_id: self.shared.id().to_string(),
                reset_commands: commands.unwrap_or_else(|| policy.default_reset_commands()),
            },
            connection: Connection::AT_REST,
            inbox_count: 0,
        };
        self.emit(Some(node.id), What::NodePatch { patch: NodePatch::whole(&node) });
        Ok(node)
    }

    pub(crate) fn change_node(&mut self, id: Id, change: NodeChange) -> Result<NodeState, Refusal> {
        let node = self.node(id)?.clone();
        let mut session = node.session.clone();
        if let Some(commands) = change.session.and_then(|session| session.reset_commands) {
            session.reset_commands = commands;
        }
        let switched = change.provider.is_some_and(|provider| provider != node.provider);
        self.patch_node(
            id,
            NodePatch {
                label: change.label,
                role_template: change.role_template,
                provider: change.provider,
                capabilities: change.capabilities.map(|given| given.of(node.capabilities)),
                permissions: change.permissions.map(|given| given.of(node.permissions)),
                session: Some(session),
                ..NodePatch::default()
            },
        );
        if switched && self.policy().provider_change_starts_session() {
            self.start_session(id);
        }
        self.begin_turns();
        Ok(self.node(id)?.clone())
    }

    /// A new session of the node, which also resets a node whose provider failed.
    fn start_session(&mut self, id: Id) {
        let node = &self.fold.run.nodes[&id];
        let reset_commands = node.session.reset_commands.clone();
        let revived = (node.status == NodeStatus::Failed).then_some(NodeStatus::Idle);
        let session = Session { session_id: self.shared.id().to_string(), reset_commands };
        self.patch_node(
            id,
            NodePatch { session: Some(session), status: revived, ..NodePatch::default() },
        );
    }

    pub(crate) fn create_edge(&mut self, body: &NewEdge) -> Result<EdgeState, Refusal> {
        let (from, to) = (self.node(body.from)?, self.node(body.to)?);
        let most = self.shared.settings.limits.edges;
        if self.fold.run.edges.len() >= most {
            return Err(Refusal::TooMany { what: "edges in this run", most });
        }
        let policy = self.policy();
        let kind = body.kind.unwrap_or_else(|| policy.edge_type(from, to));
        let edge = EdgeState {
            id: self.shared.id(),
            from: body.from,
            to: body.to,
            bidirectional: body.bidirectional.unwrap_or_else(|| policy.edge_is_bidirectional()),
            kind,
            label: body.label.clone().unwrap_or_else(|| policy.edge_label(kind).to_owned()),
        };
        self.emit(None, What::EdgeCreated { edge: edge.clone() });
        Ok(edge)
    }

    pub(crate) fn delete_edge(&mut self, id: Id) -> Result<(), Refusal> {
        if !self.fold.run.edges.contains_key(&id) {
            return Err(Refusal::Unknown { what: "edge", id });
        }
        for edge_id in self.policy().deletes(&self.fold.run, id) {
            self.emit(None, What::EdgeDeleted { edge_id });
        }
        Ok(())
    }

    pub(crate) fn chat(&mut self, said: Chat) -> Result<Message, Refusal> {
        let policy = self.policy();
        let interrupt = said.interrupt.unwrap_or(false);
        let recipient = said.node_id.or_else(|| policy.default_recipient(&self.fold.run));
        let mut reset = false;
        if let Some(id) = recipient {
            if self.node(id).is_err() && policy.records_refused() {
                let message = self.message(None, said.content.clone(), interrupt);
                self.emit(None, What::MessageUser { message });
            }
            reset = policy.is_reset(self.node(id)?, &said.content);
            let most = self.shared.settings.limits.inbox;
            if !reset && self.fold.waiting(id) >= most {
                return Err(Refusal::InboxFull { node: id, most });
            }
        }
        let message = self.message(recipient, said.content, interrupt);
        self.emit(recipient, What::MessageUser { message: message.clone() });
        if let Some(id) = recipient {
            if reset {
                self.start_session(id);
            } else {
                self.tell_inbox(id);
            }
            if policy.ends_turn(&message.content, interrupt) {
                self.interrupt(id);
            }
        }
        self.begin_turns();
        Ok(message)
    }

    fn message(&self, node_id: Option<Id>, content: String, interrupt: bool) -> Message {
        Message {
            id: self.shared.id(),
            run_id: self.fold.run.id,
            node_id,
            role: Role::User,
            content,
            interrupt,
            created_at: self.shared.now(),
        }
    }

    pub(crate) fn node(&self, id: Id) -> Result<&NodeState, Refusal> {
        self.fold.run.nodes.get(&id).ok_or(Refusal::Unknown { what: "node", id })
    }

    pub(crate) fn tell_inbox(&mut self, id: Id) {
        let inbox_count = Some(self.fold.waiting(id));
        self.patch_node(id, NodePatch { inbox_count, ..NodePatch::default() });
    }

    /// Records the members of `patch` that differ, if any.
    pub(crate) fn patch_node(&mut self, id: Id, mut patch: NodePatch) {
        patch.keep_changes(&self.fold.run.nodes[&id]);
        if patch != NodePatch::default() {
            self.emit(Some(id), What::NodePatch { patch });
        }
    }

    pub(crate) fn emit(&mut self, node_id: Option<Id>, what: What) {
        let (id, ts) = (self.shared.id(), self.shared.now());
        let event = Event { id, run_id: self.fold.run.id, ts, node_id, what };
        self.staged.lines.push(line(&event));
        self.fold.apply(event).expect("an event is made from the state that it changes");
    }
}

fn line(event: &Event) -> Line {
    let json = serde_json::to_string(event).expect("an event has string keys alone");
    Line { id: event.id, json: json.into() }
}
