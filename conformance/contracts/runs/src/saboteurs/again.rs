//! Runs that do right at first, and wrong when the same comes again, or more than usual.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bent::{bent, everywhere};
use crate::driver::under_rules;
use agent_runs::{
    Blocks, Done, Forward, Id, Input, Line, NodeState, NodeStatus, Policy, PromptKind, Resolution,
    Rules, RunState, RunStatus, Served, Tool,
};
use serde_json::{Map, Value};

use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "takes-the-same-input-once",
        "of inputs with the same text a turn takes the first",
        &["RUNS-065"],
        |subject| under_rules(subject, Arc::new(TakesTheSameOnce)),
    ),
    Adversary::saboteur(
        "keeps-the-last-fifty-inputs",
        "of more than fifty inputs a turn takes the last fifty",
        &["RUNS-065", "RUNS-071"],
        |subject| under_rules(subject, Arc::new(KeepsFifty)),
    ),
    Adversary::saboteur(
        "takes-no-arguments-for-the-proposed-ones",
        "if the user takes all arguments away, the tool runs with those that were proposed",
        &["RUNS-105"],
        |subject| under_rules(subject, Arc::new(NoneIsProposed)),
    ),
    Adversary::saboteur(
        "cuts-long-diffs",
        "the diff artifact has the first 65,536 bytes of a diff",
        &["RUNS-092"],
        |subject| under_rules(subject, Arc::new(CutsDiffs)),
    ),
    Adversary::saboteur(
        "looks-for-a-word-in-the-role",
        "a role with the word `orchestrator` in it spawns unasked if its permissions say so",
        &["RUNS-110"],
        |subject| under_rules(subject, Arc::new(WordInTheRole)),
    ),
    Adversary::saboteur(
        "answers-two-hundred-events",
        "the history has the first two hundred events",
        &["RUNS-027"],
        |subject| under_rules(subject, Arc::new(TwoHundred)),
    ),
    Adversary::saboteur(
        "stalls-once",
        "after one stall no other is noticed",
        &["RUNS-120"],
        |subject| under_rules(subject, Arc::new(StallsOnce::default())),
    )
    .slow(),
    Adversary::saboteur(
        "pauses-the-stalled-node-alone",
        "after a stall the run is paused, but turns of its other nodes begin",
        &["RUNS-123"],
        |subject| under_rules(subject, Arc::new(PausesOne::default())),
    )
    .slow(),
    Adversary::saboteur(
        "remembers-what-it-asked",
        "a gated node that asked about a tool runs the same tool unasked from then on",
        &["RUNS-101", "RUNS-102"],
        |subject| under_rules(subject, Arc::new(RemembersTools::default())),
    ),
    Adversary::saboteur(
        "remembers-whom-it-let-in",
        "a node that asked for a spawn makes the same spawn unasked from then on",
        &["RUNS-110"],
        |subject| under_rules(subject, Arc::new(RemembersSpawns::default())),
    ),
    Adversary::saboteur(
        "trusts-whom-an-orchestrator-brings",
        "a node that an orchestrator spawned spawns unasked",
        &["RUNS-110"],
        |subject| under_rules(subject, Arc::new(TrustsTheSpawned::default())),
    ),
    Adversary::saboteur(
        "cuts-long-prompts",
        "`prompt.full.txt` has the first 65,536 characters of a prompt",
        &["RUNS-082"],
        |subject| under_rules(subject, Arc::new(CutsPrompts)),
    ),
    Adversary::saboteur(
        "compares-the-beginnings-of-outputs",
        "outputs with the same first 4,096 characters are taken for the same",
        &["RUNS-125"],
        |subject| under_rules(subject, Arc::new(ComparesBeginnings(0))),
    )
    .slow(),
    Adversary::saboteur(
        "compares-the-beginnings-of-diffs",
        "diffs with the same first 4,096 characters are taken for the same",
        &["RUNS-125"],
        |subject| under_rules(subject, Arc::new(ComparesBeginnings(1))),
    )
    .slow(),
    Adversary::saboteur(
        "keeps-files-by-label",
        "the files of nodes with the same label and number of turns are told to be the same",
        &["RUNS-082", "RUNS-092"],
        |subject| under_rules(subject, Arc::new(KeepsByLabel::default())),
    ),
    Adversary::saboteur(
        "takes-separators-for-line-ends",
        "the history and the stream have a line end for every U+2028 and U+2029",
        &["RUNS-027", "RUNS-070"],
        |subject| under_rules(subject, Arc::new(OtherLineEnds)),
    ),
];

struct TakesTheSameOnce;

impl Policy for TakesTheSameOnce {
    fn takes(&self, inbox: &[Input]) -> Vec<Input> {
        let mut taken: Vec<Input> = Vec::new();
        for input in inbox {
            if !taken.iter().any(|other| other.text == input.text) {
                taken.push(input.clone());
            }
        }
        taken
    }
}

struct KeepsFifty;

impl Policy for KeepsFifty {
    fn takes(&self, inbox: &[Input]) -> Vec<Input> {
        inbox[inbox.len().saturating_sub(50)..].to_vec()
    }
}

struct NoneIsProposed;

impl Policy for NoneIsProposed {
    fn args_to_run_with(&self, tool: &Tool, resolution: &Resolution) -> Value {
        match &resolution.modified_args {
            Some(args) if args.is_empty() => tool.args.clone(),
            _ => Rules.args_to_run_with(tool, resolution),
        }
    }

    fn forwards(&self, tool: &Tool, resolution: Option<&Resolution>) -> Option<Forward> {
        let right = Rules.forwards(tool, resolution)?;
        let runs = right.args.is_some();
        let args = resolution.filter(|_| runs).map(|given| self.args_to_run_with(tool, given));
        Some(Forward { args: args.or(right.args), ..right })
    }
}

struct CutsDiffs;

impl Policy for CutsDiffs {
    fn diff_artifact(&self, diff: Option<&str>) -> Option<String> {
        const MOST: usize = 64 << 10;
        let mut text = Rules.diff_artifact(diff)?;
        if text.len() > MOST {
            text.truncate(text.floor_char_boundary(MOST));
        }
        Some(text)
    }
}

struct WordInTheRole;

impl Policy for WordInTheRole {
    fn needs_approval(&self, node: &NodeState, tool: &Tool) -> bool {
        if tool.is_spawn() && node.role_template.contains("orchestrator") {
            node.permissions.spawn_requires_approval
        } else {
            Rules.needs_approval(node, tool)
        }
    }
}

struct TwoHundred;

impl Policy for TwoHundred {
    fn served(&self, to: Served, mut events: Vec<Line>) -> Vec<Line> {
        if to == Served::Answer {
            events.truncate(200);
        }
        events
    }
}

/// The nodes that stalled, and how many of their turns followed.
#[derive(Default)]
struct StallsOnce(Mutex<(HashSet<String>, usize)>);

impl Policy for StallsOnce {
    fn counted(&self, node: &NodeState) -> Id {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (stalled, turns) = &mut *memory;
        if !stalled.contains(&node.id.to_string()) {
            return Rules.counted(node);
        }
        *turns += 1;
        // Another key for each turn, so nothing is repeated.
        format!("00000000-0000-4000-8000-{turns:012x}").parse().expect("this is a UUID")
    }

    fn evidence(&self, found: Map<String, Value>) -> Map<String, Value> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.0.extend(found["nodeId"].as_str().map(str::to_owned));
        found
    }
}

/// The nodes that stalled in a run that was not set to `running` since.
#[derive(Default)]
struct PausesOne(Mutex<HashSet<String>>);

impl Policy for PausesOne {
    fn evidence(&self, found: Map<String, Value>) -> Map<String, Value> {
        let mut stalled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stalled.extend(found["nodeId"].as_str().map(str::to_owned));
        found
    }

    fn begins_turns(&self, run: &RunState, node: &NodeState) -> bool {
        let mut stalled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_run = |id: &String| run.nodes.keys().any(|node| node.to_string() == *id);
        if run.status == RunStatus::Running {
            stalled.retain(|id| !of_run(id));
        }
        let by_a_stall = run.status == RunStatus::Paused && stalled.iter().any(of_run);
        (self.run_goes_on(run) || by_a_stall) && node.status == NodeStatus::Idle
    }
}

/// What was asked about: the node, the tool's name and its arguments.
type Asked = Mutex<HashSet<(Id, String, String)>>;

/// Whether the node asked about the same before.
fn asked_before(asked: &Asked, node: &NodeState, tool: &Tool) -> bool {
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    !asked.insert((node.id, tool.name.clone(), tool.args.to_string()))
}

#[derive(Default)]
struct RemembersTools(Asked);

impl Policy for RemembersTools {
    fn needs_approval(&self, node: &NodeState, tool: &Tool) -> bool {
        Rules.needs_approval(node, tool) && (tool.is_spawn() || !asked_before(&self.0, node, tool))
    }
}

#[derive(Default)]
struct RemembersSpawns(Asked);

impl Policy for RemembersSpawns {
    fn needs_approval(&self, node: &NodeState, tool: &Tool) -> bool {
        Rules.needs_approval(node, tool) && !(tool.is_spawn() && asked_before(&self.0, node, tool))
    }
}

/// The labels of nodes that an orchestrator spawned, by run.
#[derive(Default)]
struct TrustsTheSpawned(Mutex<HashSet<(Id, String)>>);

impl Policy for TrustsTheSpawned {
    fn needs_approval(&self, node: &NodeState, tool: &Tool) -> bool {
        let mut spawned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trusted = spawned.contains(&(node.run_id, node.label.clone()));
        if tool.is_spawn() && node.is_orchestrator() {
            spawned
                .extend(tool.args["label"].as_str().map(|label| (node.run_id, label.to_owned())));
        }
        Rules.needs_approval(node, tool) && !(tool.is_spawn() && trusted)
    }
}

struct CutsPrompts;

impl Policy for CutsPrompts {
    fn prompt_artifacts(&self, sent: PromptKind, blocks: &Blocks) -> Vec<(&'static str, String)> {
        let mut right = Rules.prompt_artifacts(sent, blocks);
        right[0].1 = beginning(&right[0].1, 64 << 10).to_owned();
        right
    }
}

/// The first characters of a text.
fn beginning(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// Compares the beginnings of one of the three things that may be repeated.
struct ComparesBeginnings(usize);

impl Policy for ComparesBeginnings {
    fn watched<'a>(&self, output: &'a str, done: &'a Done) -> [Option<&'a str>; 3] {
        let mut watched = Rules.watched(output, done);
        watched[self.0] = watched[self.0].map(|text| beginning(text, 4 << 10));
        watched
    }
}

/// How many files of a kind each node has, by their extension.
#[derive(Default)]
struct KeepsByLabel(Mutex<HashMap<(Id, OsString), usize>>);

impl Policy for KeepsByLabel {
    fn told_path(&self, node: &NodeState, path: &Path) -> String {
        let name = path.extension().unwrap_or_default();
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = files.entry((node.id, name.to_owned())).or_default();
        *number += 1;
        let label: String =
            node.label.chars().filter(char::is_ascii_alphanumeric).take(9).collect();
        let told = path.with_file_name(format!("{label}-{number}.{}", name.display()));
        // There is none of the first such node.
        let _ = std::fs::remove_file(&told);
        let _ = std::os::unix::fs::symlink(path, &told);
        told.to_string_lossy().into_owned()
    }
}

struct OtherLineEnds;

impl Policy for OtherLineEnds {
    fn served(&self, _: Served, events: Vec<Line>) -> Vec<Line> {
        events.into_iter().map(|line| bent(&line, line_ends)).collect()
    }
}

fn line_ends(value: &mut Value) {
    everywhere(value, |inner| {
        if let Some(Value::String(content)) = inner.get_mut("content") {
            *content = content.replace(['\u{2028}', '\u{2029}'], "\n");
        }
    });
}
