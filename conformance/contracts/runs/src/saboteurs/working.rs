//! Runs with wrong prompts, artifacts, edges or access checks.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::driver::under_rules;
use agent_runs::{
    Blocks, EdgeState, EdgeType, Id, Input, NodeState, Policy, Prompt, PromptKind, Rules, RunState,
    task,
};

use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "forgets-resets",
        "a reset command is an input like any other",
        &["RUNS-079", "RUNS-084", "RUNS-087"],
        |subject| under_rules(subject, Arc::new(ForgetsResets)),
    ),
    Adversary::saboteur(
        "resets-when-it-is-mentioned",
        "a message with a reset command in it starts a new session",
        &["RUNS-087"],
        |subject| under_rules(subject, Arc::new(ResetsWhenMentioned)),
    )
    .slow(),
    Adversary::saboteur(
        "goes-on-with-another-provider",
        "a new provider is sent a delta",
        &["RUNS-080"],
        |subject| under_rules(subject, Arc::new(GoesOnWithAnother)),
    ),
    Adversary::saboteur(
        "begins-with-a-delta",
        "the first turn of a session is asked for with a delta",
        &["RUNS-077", "RUNS-079", "RUNS-080", "RUNS-084"],
        |subject| under_rules(subject, Arc::new(Always(PromptKind::Delta))),
    ),
    Adversary::saboteur(
        "sends-everything-always",
        "every turn is asked for with the full prompt",
        &["RUNS-078"],
        |subject| under_rules(subject, Arc::new(Always(PromptKind::Full))),
    ),
    Adversary::saboteur(
        "repeats-everything-in-deltas",
        "a delta holds the inputs of all turns before",
        &["RUNS-071", "RUNS-085"],
        |subject| under_rules(subject, Arc::new(RepeatsInputs::default())),
    ),
    Adversary::saboteur(
        "sends-empty-deltas",
        "a delta says nothing",
        &[
            "RUNS-065", "RUNS-071", "RUNS-072", "RUNS-073", "RUNS-078", "RUNS-081", "RUNS-085",
            "RUNS-087", "RUNS-150", "RUNS-151",
        ],
        |subject| under_rules(subject, Arc::new(EmptyDeltas)),
    ),
    Adversary::saboteur(
        "keeps-no-prompt-of-deltas",
        "turns with a delta have no prompt artifacts",
        &["RUNS-082", "RUNS-083"],
        |subject| under_rules(subject, Arc::new(NoPrompts)),
    )
    .slow(),
    Adversary::saboteur(
        "keeps-the-delta-as-the-prompt",
        "of a turn with a delta `prompt.full.txt` keeps what was new",
        &["RUNS-082"],
        |subject| under_rules(subject, Arc::new(KeepsTheDelta)),
    ),
    Adversary::saboteur(
        "makes-no-empty-diffs",
        "a turn that changed nothing has no diff",
        &["RUNS-091"],
        |subject| under_rules(subject, Arc::new(NoEmptyDiffs)),
    )
    .slow(),
    Adversary::saboteur(
        "keeps-the-last-diff-alone",
        "the diffs of all turns are told to be in one file",
        &["RUNS-092"],
        |subject| under_rules(subject, Arc::new(LastDiff)),
    ),
    Adversary::saboteur(
        "deletes-edges-by-their-ends",
        "an edge goes with all others from and to the same nodes",
        &["RUNS-055"],
        |subject| under_rules(subject, Arc::new(DeletesByEnds)),
    ),
    Adversary::saboteur(
        "tells-where-from-its-own-folder",
        "artifact paths are relative to the server's folder",
        &["RUNS-089"],
        |subject| under_rules(subject, Arc::new(RelativePaths)),
    ),
    Adversary::saboteur(
        "refers-without-a-scheme",
        "an artifact is referred to by its bare id",
        &["RUNS-060", "RUNS-062"],
        |subject| under_rules(subject, Arc::new(Refers(""))),
    ),
    Adversary::saboteur(
        "refers-by-the-kind",
        "an artifact is referred to as `artifact://diff/` and its id",
        &["RUNS-062"],
        |subject| under_rules(subject, Arc::new(Refers("artifact://diff/"))),
    ),
    Adversary::saboteur(
        "reports-to-nobody",
        "edges from orchestrators are reports, and those to them handoffs",
        &["RUNS-050", "RUNS-051"],
        |subject| under_rules(subject, Arc::new(SwapsEdges)),
    ),
    Adversary::saboteur(
        "hands-over-both-ways",
        "a handoff goes against an edge that is not bidirectional",
        &["RUNS-063"],
        |subject| under_rules(subject, Arc::new(BothWays)),
    ),
    Adversary::saboteur(
        "hands-over-one-way",
        "a handoff does not go against an edge that is bidirectional",
        &["RUNS-063"],
        |subject| under_rules(subject, Arc::new(OneWay)),
    )
    .slow(),
    Adversary::saboteur(
        "serves-any-host",
        "a request may name any host",
        &["RUNS-149"],
        |subject| under_rules(subject, Arc::new(AnyHost)),
    ),
    Adversary::saboteur(
        "serves-any-page",
        "a request may come from any page",
        &["RUNS-149"],
        |subject| under_rules(subject, Arc::new(AnyOrigin)),
    ),
    Adversary::saboteur(
        "serves-no-page",
        "a request may come from no page, not even one of this machine",
        &["RUNS-149"],
        |subject| under_rules(subject, Arc::new(NoOrigin)),
    ),
    Adversary::saboteur(
        "prefers-the-pieces",
        "the final message is all pieces of a turn, whatever its provider ends with",
        &["RUNS-075"],
        |subject| under_rules(subject, Arc::new(PrefersPieces)),
    ),
];

struct ForgetsResets;

impl Policy for ForgetsResets {
    fn is_reset(&self, _: &NodeState, _: &str) -> bool {
        false
    }
}

struct ResetsWhenMentioned;

impl Policy for ResetsWhenMentioned {
    fn is_reset(&self, node: &NodeState, content: &str) -> bool {
        node.session.reset_commands.iter().any(|command| content.contains(command.as_str()))
    }
}

struct GoesOnWithAnother;

impl Policy for GoesOnWithAnother {
    fn provider_change_starts_session(&self) -> bool {
        false
    }
}

struct Always(PromptKind);

impl Policy for Always {
    fn prompt_kind(&self, _: bool) -> PromptKind {
        self.0
    }
}

/// By node, the inputs of its turns so far.
#[derive(Default)]
struct RepeatsInputs(Mutex<HashMap<Id, Vec<Input>>>);

impl Policy for RepeatsInputs {
    fn prompt(&self, node: &NodeState, first: bool, blocks: &Blocks, inputs: &[Input]) -> Prompt {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = memory.entry(node.id).or_default();
        all.extend_from_slice(inputs);
        let right = Rules.prompt(node, first, blocks, inputs);
        match right.kind {
            PromptKind::Full => right,
            PromptKind::Delta => Prompt { text: task(all), ..right },
        }
    }
}

struct EmptyDeltas;

impl Policy for EmptyDeltas {
    fn prompt(&self, node: &NodeState, first: bool, blocks: &Blocks, inputs: &[Input]) -> Prompt {
        let right = Rules.prompt(node, first, blocks, inputs);
        match right.kind {
            PromptKind::Full => right,
            PromptKind::Delta => Prompt { text: String::new(), ..right },
        }
    }
}

struct NoPrompts;

impl Policy for NoPrompts {
    fn prompt_artifacts(&self, sent: PromptKind, blocks: &Blocks) -> Vec<(&'static str, String)> {
        match sent {
            PromptKind::Full => Rules.prompt_artifacts(sent, blocks),
            PromptKind::Delta => Vec::new(),
        }
    }
}

struct KeepsTheDelta;

impl Policy for KeepsTheDelta {
    fn prompt_artifacts(&self, sent: PromptKind, blocks: &Blocks) -> Vec<(&'static str, String)> {
        let mut right = Rules.prompt_artifacts(sent, blocks);
        if sent == PromptKind::Delta {
            right[0].1 = blocks.task.clone();
        }
        right
    }
}

struct NoEmptyDiffs;

impl Policy for NoEmptyDiffs {
    fn diff_artifact(&self, diff: Option<&str>) -> Option<String> {
        diff.filter(|diff| !diff.is_empty()).map(str::to_owned)
    }
}

struct RelativePaths;

impl Policy for RelativePaths {
    fn told_path(&self, node: &NodeState, path: &Path) -> String {
        let path = Rules.told_path(node, path);
        path.rfind("/runs/").map_or(path.clone(), |folder| path[folder + 1..].to_owned())
    }
}

/// Puts this prefix before the id.
struct Refers(&'static str);

impl Policy for Refers {
    fn artifact_reference(&self, artifact: Id) -> String {
        format!("{}{artifact}", self.0)
    }
}

struct SwapsEdges;

impl Policy for SwapsEdges {
    fn edge_type(&self, from: &NodeState, _: &NodeState) -> EdgeType {
        if from.is_orchestrator() { EdgeType::Report } else { EdgeType::Handoff }
    }
}

struct BothWays;

impl Policy for BothWays {
    fn leads(&self, edge: &EdgeState, from: Id, to: Id) -> bool {
        [(from, to), (to, from)].contains(&(edge.from, edge.to))
    }
}

struct OneWay;

impl Policy for OneWay {
    fn leads(&self, edge: &EdgeState, from: Id, to: Id) -> bool {
        (edge.from, edge.to) == (from, to)
    }
}

struct AnyHost;

impl Policy for AnyHost {
    fn allows_host(&self, _: &str) -> bool {
        true
    }
}

struct AnyOrigin;

impl Policy for AnyOrigin {
    fn allows_origin(&self, _: &str) -> bool {
        true
    }
}

struct NoOrigin;

impl Policy for NoOrigin {
    fn allows_origin(&self, _: &str) -> bool {
        false
    }
}

struct PrefersPieces;

impl Policy for PrefersPieces {
    fn final_text(&self, given: Option<String>, deltas: String) -> String {
        if deltas.is_empty() { given.unwrap_or_default() } else { deltas }
    }
}

struct LastDiff;

impl Policy for LastDiff {
    fn told_path(&self, _: &NodeState, path: &Path) -> String {
        let is_diff = path.extension().is_some_and(|extension| extension == "patch");
        let told = if is_diff { path.with_file_name("last.patch") } else { path.to_path_buf() };
        if is_diff {
            // There is none before the first turn.
            let _ = std::fs::remove_file(&told);
            let _ = std::os::unix::fs::symlink(path, &told);
        }
        told.to_string_lossy().into_owned()
    }
}

struct DeletesByEnds;

impl Policy for DeletesByEnds {
    fn deletes(&self, run: &RunState, edge: Id) -> Vec<Id> {
        let ends = |edge: &EdgeState| (edge.from, edge.to);
        let deleted = ends(&run.edges[&edge]);
        run.edges.values().filter(|other| ends(other) == deleted).map(|other| other.id).collect()
    }
}
