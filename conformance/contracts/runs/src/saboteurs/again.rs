//! Runs that do right at first, and wrong when the same comes again, or more than usual.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bent::{bent, everywhere};
use crate::driver::under_rules;
use agent_runs::{
    Forward, Id, Input, Line, NodeState, NodeStatus, Policy, Resolution, Rules, RunState,
    RunStatus, Served, Tool,
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
