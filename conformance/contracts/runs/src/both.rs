//! Two changes of the rules in one subject.

use std::path::Path;
use std::sync::Arc;

use agent_runs::{
    Blocks, Capabilities, Done, EdgeState, EdgeType, Forward, Id, Input, Line, NodeState,
    NodeStatus, Permissions, Policy, Prompt, PromptKind, Resolution, Rules, RunState, Served, Tool,
};
use serde_json::{Map, Value};

/// The rules with the changes of both.
pub(crate) struct Both(pub(crate) Arc<dyn Policy>, pub(crate) Arc<dyn Policy>);

impl Both {
    /// The answer that differs from the contract's own; the first one's, if both differ. Each is asked once, because
    /// some count how often they are asked.
    fn changed<'a, T: PartialEq>(&'a self, ask: impl Fn(&'a dyn Policy) -> T) -> T {
        let (one, other) = (ask(&*self.0), ask(&*self.1));
        if one == ask(&Rules) { other } else { one }
    }
}

/// Each of these rules is that of the policy that changes it.
macro_rules! each {
    ($(fn $rule:ident($($arg:ident: $of:ty),*) -> $answer:ty;)*) => {
        // A rule that is not passed on here would hide its changes.
        #[warn(clippy::missing_trait_methods)]
        impl Policy for Both {
            $(fn $rule(&self, $($arg: $of),*) -> $answer {
                self.changed(|policy| policy.$rule($(Clone::clone(&$arg)),*))
            })*

            fn watched<'a>(&self, output: &'a str, done: &'a Done) -> [Option<&'a str>; 3] {
                let (one, other) = (self.0.watched(output, done), self.1.watched(output, done));
                if one == Rules.watched(output, done) { other } else { one }
            }

            // These change what they are given, so one takes what the other made.

            fn evidence(&self, found: Map<String, Value>) -> Map<String, Value> {
                self.1.evidence(self.0.evidence(found))
            }

            fn logged(&self, lines: Vec<Line>) -> Vec<Line> {
                self.1.logged(self.0.logged(lines))
            }

            fn served(&self, to: Served, events: Vec<Line>) -> Vec<Line> {
                self.1.served(to, self.0.served(to, events))
            }
        }
    };
}

each! {
    fn needs_approval(node: &NodeState, tool: &Tool) -> bool;
    fn may_spawn(node: &NodeState) -> bool;
    fn starts_tool(resolution: &Resolution) -> bool;
    fn args_to_run_with(tool: &Tool, resolution: &Resolution) -> Value;
    fn waits_for_answer(tool: &Tool) -> bool;
    fn forwards(tool: &Tool, resolution: Option<&Resolution>) -> Option<Forward>;
    fn begins_turns(run: &RunState, node: &NodeState) -> bool;
    fn run_goes_on(run: &RunState) -> bool;
    fn inbox_of(run: &RunState, from: Option<Id>, to: Id) -> Option<Id>;
    fn takes(inbox: &[Input]) -> Vec<Input>;
    fn leaves(inbox: &[Input]) -> usize;
    fn interrupt_goes_first() -> bool;
    fn ends_turn(content: &str, interrupt: bool) -> bool;
    fn is_reset(node: &NodeState, content: &str) -> bool;
    fn provider_change_starts_session() -> bool;
    fn default_recipient(run: &RunState) -> Option<Id>;
    fn prompt_kind(first_of_session: bool) -> PromptKind;
    fn prompt(node: &NodeState, first: bool, blocks: &Blocks, inputs: &[Input]) -> Prompt;
    fn prompt_artifacts(sent: PromptKind, blocks: &Blocks) -> Vec<(&'static str, String)>;
    fn diff_artifact(diff: Option<&str>) -> Option<String>;
    fn told_path(node: &NodeState, path: &Path) -> String;
    fn final_text(given: Option<String>, deltas: String) -> String;
    fn counted(node: &NodeState) -> Id;
    fn turns_to_stall() -> u32;
    fn after_stall() -> NodeStatus;
    fn after_failure() -> NodeStatus;
    fn stall_pauses() -> bool;
    fn resuming_forgets_counts() -> bool;
    fn resumed(status: NodeStatus) -> NodeStatus;
    fn deletes(run: &RunState, edge: Id) -> Vec<Id>;
    fn leads(edge: &EdgeState, from: Id, to: Id) -> bool;
    fn edge_type(from: &NodeState, to: &NodeState) -> EdgeType;
    fn edge_label(kind: EdgeType) -> &'static str;
    fn edge_is_bidirectional() -> bool;
    fn default_capabilities() -> Capabilities;
    fn default_permissions() -> Permissions;
    fn default_reset_commands() -> Vec<String>;
    fn artifact_reference(artifact: Id) -> String;
    fn recovered(status: NodeStatus) -> NodeStatus;
    fn resolves(given: Id, waiting: &[Id]) -> Option<Id>;
    fn resolves_twice() -> bool;
    fn allows_host(host: &str) -> bool;
    fn allows_origin(origin: &str) -> bool;
    fn records_refused() -> bool;
    fn adds_to_log() -> bool;
}
