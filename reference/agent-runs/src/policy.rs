//! The rules of the contract, one by one.
//!
//! Each rule is in exactly one method. So a saboteur replaces one method and breaks one promise.

use std::net::Ipv6Addr;
use std::path::Path;

use serde_json::{Map, Value};

use crate::fold::Input;
use crate::log::Line;
use crate::prompt::{Blocks, task};
use crate::provider::{Done, Forward, Prompt, PromptKind};
use crate::state::{
    Capabilities, EdgeState, EdgeType, NodeState, NodeStatus, Permissions, PermissionsMode,
    Resolution, ResolutionStatus, RunState, RunStatus, Tool,
};
use crate::{Id, stall};

/// The contract's rules. Every method has the right default.
pub trait Policy: Send + Sync {
    /// Whether the tool needs the user's approval.
    fn needs_approval(&self, node: &NodeState, tool: &Tool) -> bool {
        if tool.is_spawn() {
            !node.is_orchestrator() || node.permissions.spawn_requires_approval
        } else {
            node.permissions.cli_permissions_mode == PermissionsMode::Gated
        }
    }

    /// Whether the node can spawn others.
    fn may_spawn(&self, node: &NodeState) -> bool {
        node.capabilities.spawn_nodes
    }

    /// Whether a tool runs after this resolution.
    fn starts_tool(&self, resolution: &Resolution) -> bool {
        resolution.status != ResolutionStatus::Denied
    }

    /// The arguments of a tool.
    fn args_to_run_with(&self, tool: &Tool, resolution: &Resolution) -> Value {
        resolution.modified_args.clone().map_or_else(|| tool.args.clone(), Value::Object)
    }

    /// Whether a turn waits for the user's answer.
    fn waits_for_answer(&self, _tool: &Tool) -> bool {
        true
    }

    /// What to forward to the provider about a tool, with `resolution` if there was an approval. The provider runs
    /// its tools itself and gets nothing if it need not wait. The server performs a spawn, so its result is always
    /// forwarded.
    fn forwards(&self, tool: &Tool, resolution: Option<&Resolution>) -> Option<Forward> {
        let approved = Resolution { status: ResolutionStatus::Approved, modified_args: None };
        let resolution = resolution.or_else(|| tool.is_spawn().then_some(&approved))?;
        let runs = resolution.status != ResolutionStatus::Denied;
        Some(Forward {
            tool_id: tool.id.clone(),
            status: resolution.status,
            args: runs.then(|| self.args_to_run_with(tool, resolution)),
        })
    }

    /// Whether a turn of the node may begin, if its inbox is not empty.
    fn begins_turns(&self, run: &RunState, node: &NodeState) -> bool {
        self.run_goes_on(run) && node.status == NodeStatus::Idle
    }

    /// Whether turns begin in this run.
    fn run_goes_on(&self, run: &RunState) -> bool {
        run.status == RunStatus::Running
    }

    /// The recipient of a message for the node `to`; `from` is the node that hands it over.
    fn inbox_of(&self, _run: &RunState, _from: Option<Id>, to: Id) -> Option<Id> {
        Some(to)
    }

    /// The inputs that a turn takes from the inbox, in order.
    fn takes(&self, inbox: &[Input]) -> Vec<Input> {
        inbox.to_vec()
    }

    /// How many inputs stay in the inbox when a turn begins.
    fn leaves(&self, _inbox: &[Input]) -> usize {
        0
    }

    /// Whether an interrupting message goes to the front of the inbox.
    fn interrupt_goes_first(&self) -> bool {
        true
    }

    /// Whether a message ends the current turn.
    fn ends_turn(&self, _content: &str, interrupt: bool) -> bool {
        interrupt
    }

    /// Whether a message starts a new session, instead of being an input.
    fn is_reset(&self, node: &NodeState, content: &str) -> bool {
        node.session.reset_commands.iter().any(|command| command == content)
    }

    /// Whether another provider means another session.
    fn provider_change_starts_session(&self) -> bool {
        true
    }

    /// The recipient of a message that names no node.
    fn default_recipient(&self, run: &RunState) -> Option<Id> {
        run.nodes.values().find(|node| node.is_orchestrator()).map(|node| node.id)
    }

    /// The kind of a turn's prompt.
    fn prompt_kind(&self, first_of_session: bool) -> PromptKind {
        if first_of_session { PromptKind::Full } else { PromptKind::Delta }
    }

    /// The request to the node's provider.
    fn prompt(
        &self,
        _node: &NodeState,
        first_of_session: bool,
        blocks: &Blocks,
        inputs: &[Input],
    ) -> Prompt {
        let kind = self.prompt_kind(first_of_session);
        let text = match kind {
            PromptKind::Full => blocks.full(),
            PromptKind::Delta => task(inputs),
        };
        Prompt { kind, text }
    }

    /// The prompt artifacts of a turn (names and texts), whatever is sent.
    fn prompt_artifacts(&self, _sent: PromptKind, blocks: &Blocks) -> Vec<(&'static str, String)> {
        let json = serde_json::to_string_pretty(blocks).expect("strings are JSON");
        vec![("prompt.full.txt", blocks.full()), ("prompt.blocks.json", json)]
    }

    /// The text of the diff artifact of a completed turn, if there is one.
    fn diff_artifact(&self, diff: Option<&str>) -> Option<String> {
        Some(diff.filter(|diff| !diff.is_empty()).unwrap_or("no changes").to_owned())
    }

    /// The path of a node's artifact in events.
    fn told_path(&self, _node: &NodeState, path: &Path) -> String {
        path.to_string_lossy().into_owned()
    }

    /// The text of a turn: the provider's final text, or its joined deltas.
    fn final_text(&self, given: Option<String>, deltas: String) -> String {
        given.unwrap_or(deltas)
    }

    /// The key under which repetitions of this node are counted.
    fn counted(&self, node: &NodeState) -> Id {
        node.id
    }

    /// How many equal turns in a row are a stall.
    fn turns_to_stall(&self) -> u32 {
        stall::TURNS
    }

    /// The counted parts of a completed turn: its output, a diff with changes, a failed verification.
    fn watched<'a>(&self, output: &'a str, done: &'a Done) -> [Option<&'a str>; 3] {
        let diff = done.diff.as_deref().filter(|diff| !diff.is_empty());
        let failed = done.verification.as_ref().filter(|verification| !verification.ok);
        [Some(output), diff, failed.map(|verification| verification.output.as_str())]
    }

    /// The evidence of a stall: what was repeated, and how often.
    fn evidence(&self, found: Map<String, Value>) -> Map<String, Value> {
        found
    }

    /// The status of a stalled node.
    fn after_stall(&self) -> NodeStatus {
        NodeStatus::Blocked
    }

    /// The status of a node whose provider failed.
    fn after_failure(&self) -> NodeStatus {
        NodeStatus::Failed
    }

    /// Whether a stall pauses the run.
    fn stall_pauses(&self) -> bool {
        true
    }

    /// Whether resuming a run resets the counts.
    fn resuming_forgets_counts(&self) -> bool {
        true
    }

    /// The status of a node when its run resumes.
    fn resumed(&self, status: NodeStatus) -> NodeStatus {
        if status == NodeStatus::Blocked { NodeStatus::Idle } else { status }
    }

    /// The edges that a request to delete this one deletes.
    fn deletes(&self, _run: &RunState, edge: Id) -> Vec<Id> {
        vec![edge]
    }

    /// Whether a handoff may use this edge in this direction.
    fn leads(&self, edge: &EdgeState, from: Id, to: Id) -> bool {
        (edge.from == from && edge.to == to)
            || (edge.bidirectional && edge.from == to && edge.to == from)
    }

    /// The default type of an edge.
    fn edge_type(&self, _from: &NodeState, to: &NodeState) -> EdgeType {
        if to.is_orchestrator() { EdgeType::Report } else { EdgeType::Handoff }
    }

    /// The default label of an edge.
    fn edge_label(&self, kind: EdgeType) -> &'static str {
        match kind {
            EdgeType::Report => "report",
            EdgeType::Handoff => "task",
        }
    }

    /// Whether an edge is bidirectional by default.
    fn edge_is_bidirectional(&self) -> bool {
        true
    }

    fn default_capabilities(&self) -> Capabilities {
        Capabilities {
            spawn_nodes: false,
            write_code: true,
            write_docs: true,
            run_commands: true,
            delegate_only: false,
        }
    }

    fn default_permissions(&self) -> Permissions {
        Permissions { cli_permissions_mode: PermissionsMode::Skip, spawn_requires_approval: true }
    }

    fn default_reset_commands(&self) -> Vec<String> {
        vec!["/new".to_owned(), "/clear".to_owned()]
    }

    /// The reference to an artifact.
    fn artifact_reference(&self, artifact: Id) -> String {
        format!("artifact://{artifact}")
    }

    /// The status of a node after a restart, which no turn survives.
    fn recovered(&self, status: NodeStatus) -> NodeStatus {
        if status == NodeStatus::Running { NodeStatus::Idle } else { status }
    }

    /// The approval that an answer to `given` resolves, if there is one.
    fn resolves(&self, given: Id, waiting: &[Id]) -> Option<Id> {
        waiting.contains(&given).then_some(given)
    }

    /// Whether an approval can be resolved again.
    fn resolves_twice(&self) -> bool {
        false
    }

    /// Whether a request may name this host: a loopback name or address, with or without a port.
    fn allows_host(&self, host: &str) -> bool {
        is_loopback(host)
    }

    /// Whether pages of this origin may send requests.
    fn allows_origin(&self, origin: &str) -> bool {
        ["http://", "https://"]
            .iter()
            .any(|scheme| origin.strip_prefix(scheme).is_some_and(is_loopback))
    }

    /// Whether to record a message to a missing node.
    fn records_refused(&self) -> bool {
        false
    }

    /// Whether to append to the log, rather than replace it.
    fn adds_to_log(&self) -> bool {
        true
    }

    /// The lines that are written to the log.
    fn logged(&self, lines: Vec<Line>) -> Vec<Line> {
        lines
    }

    /// The events that `GET events` answers with, or that a stream sends next.
    fn served(&self, _to: Served, events: Vec<Line>) -> Vec<Line> {
        events
    }
}

/// The readers of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// `GET events`.
    Answer,
    /// `GET events` after an event.
    Rest,
    /// A stream, events that were there when it was opened.
    Past,
    /// A stream that goes on after an event, events that were there when it was opened.
    Missed,
    /// A stream, events that were written since.
    Live,
}

/// The contract's own rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules;

impl Policy for Rules {}

/// `localhost`, an address in 127.0.0.0/8, or `[::1]`, and perhaps a port.
fn is_loopback(authority: &str) -> bool {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inside, rest)) => {
            let v6 = inside.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
            if !v6 {
                return false;
            }
            ("localhost", rest)
        }
        None => authority.find(':').map_or((authority, ""), |colon| authority.split_at(colon)),
    };
    let right_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| {
            digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok()
        });
    let right_host = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    right_host && right_port
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("localhost", true)]
    #[case("LOCALHOST:80", true)]
    #[case("127.0.0.1:43117", true)]
    #[case("127.8.8.8", true)]
    #[case("[::1]", true)]
    #[case("[::1]:8080", true)]
    #[case("", false)]
    #[case("example.org", false)]
    #[case("localhost.example.org", false)]
    #[case("127.0.0.1.example.org", false)]
    #[case("127.0.0.1:80:80", false)]
    #[case("127.0.0.1:99999", false)]
    #[case("localhost:", false)]
    #[case("localhost@example.org", false)]
    #[case("127.0.0.1@example.org", false)]
    #[case("[::2]", false)]
    #[case("[::1]x", false)]
    #[case("0.0.0.0", false)]
    #[case("10.0.0.1", false)]
    #[case("2130706433", false)]
    fn only_loopback_is_this_machine(#[case] host: &str, #[case] right: bool) {
        assert_eq!(Rules.allows_host(host), right);
        assert_eq!(Rules.allows_origin(&format!("http://{host}")), right);
    }

    #[rstest]
    #[case("null")]
    #[case("file://localhost")]
    #[case("localhost")]
    #[case("http://localhost/path")]
    fn only_a_page_is_an_origin(#[case] origin: &str) {
        assert!(!Rules.allows_origin(origin));
    }
}
