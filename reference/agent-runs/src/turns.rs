//! The desk's part in turns: how one begins, what its items become, how it ends.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use crate::Id;
use crate::desk::{Desk, Effect, LiveTurn};
use crate::event::{NodePatch, RunPatch, What};
use crate::log::NewFile;
use crate::prompt::Blocks;
use crate::provider::{Done, Forward, Handoff, Item, TurnAsk};
use crate::state::{
    Artifact, ArtifactKind, ArtifactRef, Connection, DiffMetadata, Envelope, EnvelopeKind, Message,
    NodeStatus, Payload, Role, RunStatus,
};

/// What the task of a turn does next.
pub(crate) enum Step {
    /// Ask for the next item.
    Next,
    /// Forward to the provider, then ask for the next item.
    Forward(Forward),
    /// Wait for the approval, then forward it and ask for the next item. An answer that never comes means that the
    /// turn is interrupted.
    Wait(oneshot::Receiver<Option<Forward>>),
    /// The turn is interrupted: stop the provider.
    Stop,
    /// The provider has ended the turn.
    Over,
    /// The provider broke the rules and must be stopped.
    Fail(String),
}

/// The most characters of a provider's fault that become a node's summary.
const MOST_OF_A_FAULT: usize = 200;

impl Desk {
    /// Begins a turn of every node that is ready for one.
    pub(crate) fn begin_turns(&mut self) {
        let policy = self.policy();
        let ready = |desk: &Self, id: &Id| {
            desk.fold.waiting(*id) > 0
                && !desk.turns.contains_key(id)
                && policy.begins_turns(&desk.fold.run, &desk.fold.run.nodes[id])
        };
        let nodes: Vec<Id> = self.fold.run.nodes.keys().copied().collect();
        for id in nodes.into_iter().filter(|id| ready(self, id)).collect::<Vec<_>>() {
            self.begin_turn(id);
        }
    }

    fn begin_turn(&mut self, id: Id) {
        let policy = self.policy();
        let inbox = self.fold.inbox(id);
        let inputs = policy.takes(&inbox);
        let first_of_session = self.fold.is_fresh(id);
        self.patch_node(
            id,
            NodePatch {
                status: Some(NodeStatus::Running),
                inbox_count: Some(policy.leaves(&inbox)),
                connection: Some(Connection::AT_WORK),
                last_activity_at: Some(self.shared.now()),
                ..NodePatch::default()
            },
        );
        let node = &self.fold.run.nodes[&id];
        let blocks = Blocks::of(&self.fold.run, node, &inputs);
        let ask = TurnAsk {
            run_id: self.fold.run.id,
            node_id: id,
            label: node.label.clone(),
            provider: node.provider,
            prompt: policy.prompt(node, first_of_session, &blocks, &inputs),
        };
        for (name, text) in policy.prompt_artifacts(ask.prompt.kind, &blocks) {
            self.create_artifact(id, ArtifactKind::Prompt, name, text, None);
        }
        self.turns_begun += 1;
        let (number, interrupt) = (self.turns_begun, Arc::new(Notify::new()));
        self.turns.insert(
            id,
            LiveTurn {
                number,
                text: String::new(),
                handoffs: Vec::new(),
                waiting: None,
                interrupted: false,
                interrupt: Arc::clone(&interrupt),
            },
        );
        self.staged.effects.push(Effect::Begin { ask, number, interrupt });
    }

    /// Stops reporting the current turn. Its end is reported when its provider has stopped.
    pub(crate) fn interrupt(&mut self, id: Id) {
        if let Some(turn) = self.turns.get_mut(&id) {
            turn.interrupted = true;
            turn.waiting = None;
            self.staged.effects.push(Effect::Interrupt(Arc::clone(&turn.interrupt)));
        }
    }

    /// Handles an item of the turn `number`.
    pub(crate) fn take_item(&mut self, id: Id, number: u64, item: Item) -> Step {
        let limits = self.shared.settings.limits;
        let Some(turn) = self.turns.get_mut(&id).filter(|turn| turn.number == number) else {
            return Step::Stop;
        };
        if turn.interrupted {
            return Step::Stop;
        }
        match item {
            Item::Delta(delta) => {
                if turn.text.len() + delta.len() > limits.turn_text {
                    return Step::Fail(format!("a turn of more than {} bytes", limits.turn_text));
                }
                turn.text.push_str(&delta);
                self.emit(Some(id), What::MessageDelta { delta });
            }
            Item::Progress(summary) => {
                let patch = NodePatch {
                    summary: Some(summary.clone()),
                    last_activity_at: Some(self.shared.now()),
                    ..NodePatch::default()
                };
                self.patch_node(id, patch);
                self.emit(Some(id), What::NodeProgress { summary });
            }
            Item::Tool(tool) => return self.propose(id, tool),
            Item::ToolCompleted(end) => {
                let what = What::ToolCompleted {
                    tool_id: end.tool_id,
                    result: end.result,
                    error: end.error,
                };
                self.emit(Some(id), what);
            }
            Item::Handoff(handoff) => {
                if turn.handoffs.len() >= limits.handoffs {
                    return Step::Fail(format!("a turn of more than {} handoffs", limits.handoffs));
                }
                turn.handoffs.push(handoff);
            }
            Item::Done(done) => {
                self.complete(id, done);
                return Step::Over;
            }
            Item::Stopped(_) => return Step::Fail("the provider stopped unasked".to_owned()),
        }
        Step::Next
    }

    fn complete(&mut self, id: Id, done: Done) {
        let policy = self.policy();
        let Some(turn) = self.turns.remove(&id) else { return };
        let text = policy.final_text(done.message.clone(), turn.text);
        let message = Message {
            id: self.shared.id(),
            run_id: self.fold.run.id,
            node_id: Some(id),
            role: Role::Assistant,
            content: text.clone(),
            interrupt: false,
            created_at: self.shared.now(),
        };
        self.emit(Some(id), What::MessageFinal { message });
        let metadata = done.files_changed.as_ref().map(|files| DiffMetadata {
            files_changed: files.clone(),
            summary: format!("{} changed", plural(files.len(), "file")),
        });
        let diff = policy
            .diff_artifact(done.diff.as_deref())
            .map(|diff| self.create_artifact(id, ArtifactKind::Diff, "diff.patch", diff, metadata));
        for handoff in turn.handoffs {
            self.hand_off(id, handoff, diff);
        }
        let counted = policy.counted(&self.fold.run.nodes[&id]);
        let seen = policy.watched(&text, &done);
        let stalled = self.repeats.count(counted, seen, policy.turns_to_stall());
        let status = if stalled.is_some() { policy.after_stall() } else { NodeStatus::Idle };
        if let Some(mut evidence) = stalled {
            if policy.stall_pauses() && self.fold.run.status == RunStatus::Running {
                let status = Some(RunStatus::Paused);
                self.patch_run(RunPatch { status, ..RunPatch::default() });
            }
            evidence.insert("nodeId".to_owned(), Value::String(id.to_string()));
            let evidence = policy.evidence(evidence);
            self.emit(Some(id), What::RunStalled { evidence });
        }
        self.rest(id, status, None);
    }

    /// The provider has stopped a turn that was interrupted.
    pub(crate) fn interrupted(&mut self, id: Id, number: u64) {
        if self.forget_turn(id, number) {
            self.rest(id, NodeStatus::Idle, None);
        }
    }

    /// The provider has failed.
    pub(crate) fn failed(&mut self, id: Id, number: u64, fault: &str) {
        if self.forget_turn(id, number) {
            let summary = fault.chars().take(MOST_OF_A_FAULT).collect();
            self.rest(id, self.policy().after_failure(), Some(summary));
        }
    }

    fn forget_turn(&mut self, id: Id, number: u64) -> bool {
        let is_this = self.turns.get(&id).is_some_and(|turn| turn.number == number);
        is_this && self.turns.remove(&id).is_some()
    }

    fn rest(&mut self, id: Id, status: NodeStatus, summary: Option<String>) {
        self.patch_node(
            id,
            NodePatch {
                status: Some(status),
                summary,
                connection: Some(Connection::AT_REST),
                last_activity_at: Some(self.shared.now()),
                ..NodePatch::default()
            },
        );
        self.begin_turns();
    }

    /// Sends a handoff, if there is an edge and space in the inbox.
    fn hand_off(&mut self, from: Id, handoff: Handoff, diff: Option<Id>) {
        let policy = self.policy();
        let run = &self.fold.run;
        let leads = |to: Id| run.edges.values().any(|edge| policy.leads(edge, from, to));
        let named = |id: Id, label: &str| handoff.to == id.to_string() || handoff.to == label;
        let found = run.nodes.values().find(|node| named(node.id, &node.label) && leads(node.id));
        let Some(to) = found.map(|node| node.id) else { return };
        if self.fold.waiting(to) >= self.shared.settings.limits.inbox {
            return;
        }
        let attached = diff.filter(|_| handoff.attach_diff);
        let reference = |diff| ArtifactRef {
            kind: ArtifactKind::Diff,
            reference: policy.artifact_reference(diff),
        };
        let envelope = Envelope {
            kind: EnvelopeKind::Handoff,
            id: self.shared.id(),
            from_node_id: from,
            to_node_id: to,
            created_at: self.shared.now(),
            payload: Payload {
                message: handoff.message,
                structured: handoff.structured,
                artifacts: attached.map(reference).into_iter().collect(),
                status: handoff.status,
            },
            context_ref: handoff.context_ref,
        };
        self.emit(Some(from), What::HandoffSent { envelope });
        self.tell_inbox(to);
    }

    fn create_artifact(
        &mut self,
        node: Id,
        kind: ArtifactKind,
        name: &str,
        text: String,
        metadata: Option<DiffMetadata>,
    ) -> Id {
        let id = self.shared.id();
        let path: PathBuf = self.files.artifact_path(id, name);
        let artifact = Artifact {
            id,
            run_id: self.fold.run.id,
            node_id: node,
            kind,
            name: name.to_owned(),
            path: self.policy().told_path(&self.fold.run.nodes[&node], &path),
            created_at: self.shared.now(),
        };
        self.staged.files.push(NewFile { path, text });
        self.emit(Some(node), What::ArtifactCreated { artifact, metadata });
        id
    }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicU64;

    use futures::future::BoxFuture;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::desk::Shared;
    use crate::log::RunFiles;
    use crate::provider::{Provider, ProviderFault};
    use crate::settings::{Flush, Settings};

    /// A desk asks no provider.
    struct Nobody;

    impl Provider for Nobody {
        fn turn(&self, _: TurnAsk) -> BoxFuture<'_, Result<String, ProviderFault>> {
            unreachable!("a desk asks no provider")
        }

        fn next<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Item, ProviderFault>> {
            unreachable!("a desk asks no provider")
        }

        fn resolve<'a>(
            &'a self,
            _: &'a str,
            _: Forward,
        ) -> BoxFuture<'a, Result<(), ProviderFault>> {
            unreachable!("a desk asks no provider")
        }

        fn stop<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), ProviderFault>> {
            unreachable!("a desk asks no provider")
        }
    }

    fn desk_with_a_turn() -> (Desk, Id) {
        let settings = Settings::new(Arc::new(Nobody), Arc::new(|| jiff::Timestamp::UNIX_EPOCH));
        let shared = Arc::new(Shared { settings, approvals: AtomicU64::new(0) });
        let id = shared.id();
        let files = RunFiles::new(Path::new("nowhere"), id, Flush::System);
        let body = serde_json::from_value(json!({})).unwrap();
        let mut desk = Desk::create(id, 0, &body, shared, files);
        let body = json!({ "label": "A", "roleTemplate": "x", "provider": "custom" });
        let node = desk.create_node(&serde_json::from_value(body).unwrap()).unwrap().id;
        say(&mut desk, node, false);
        (desk, node)
    }

    fn say(desk: &mut Desk, node: Id, interrupt: bool) {
        let body = json!({ "content": "x", "nodeId": node, "interrupt": interrupt });
        desk.chat(serde_json::from_value(body).unwrap()).unwrap();
    }

    /// The provider's item and the interrupt may come at the same time.
    #[rstest]
    #[case(json!({ "delta": "late" }))]
    #[case(json!({ "tool": { "id": "t", "name": "command", "args": {} } }))]
    #[case(json!({ "done": {} }))]
    fn nothing_of_an_interrupted_turn_is_told(#[case] item: Value) {
        let (mut desk, node) = desk_with_a_turn();
        say(&mut desk, node, true);
        let before = desk.staged.lines.len();
        let step = desk.take_item(node, 1, serde_json::from_value(item).unwrap());
        assert!(matches!(step, Step::Stop));
        assert_eq!(desk.staged.lines.len(), before);
        desk.interrupted(node, 1);
        assert_eq!(desk.turns[&node].number, 2);
    }
}
