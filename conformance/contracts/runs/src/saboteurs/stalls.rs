//! Runs that do not notice a loop, or stop without need.

use std::sync::Arc;

use crate::driver::under_rules;
use agent_runs::{Done, Id, NodeState, NodeStatus, Policy, Rules};
use serde_json::{Map, Value};

use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::saboteur(
        "does-not-watch-outputs",
        "a node that says the same for ever does not stall",
        &["RUNS-120", "RUNS-123", "RUNS-126"],
        |subject| under_rules(subject, Arc::new(Unwatched(0))),
    )
    .slow(),
    Adversary::saboteur(
        "does-not-watch-diffs",
        "a node that makes the same change for ever does not stall",
        &["RUNS-121", "RUNS-126"],
        |subject| under_rules(subject, Arc::new(Unwatched(1))),
    )
    .slow(),
    Adversary::saboteur(
        "does-not-watch-verifications",
        "a node that fails the same verification for ever does not stall",
        &["RUNS-122", "RUNS-126"],
        |subject| under_rules(subject, Arc::new(Unwatched(2))),
    )
    .slow(),
    Adversary::saboteur(
        "stalls-without-a-pause",
        "a stall is reported, but the run goes on",
        &["RUNS-123", "RUNS-126"],
        |subject| under_rules(subject, Arc::new(StallsWithoutPause)),
    )
    .slow(),
    Adversary::saboteur(
        "stalls-without-evidence",
        "a stall is reported without its evidence",
        &["RUNS-124"],
        |subject| under_rules(subject, Arc::new(StallsWithoutEvidence)),
    ),
    Adversary::saboteur(
        "stalls-at-the-second-time",
        "what comes twice is taken for a stall",
        &["RUNS-126"],
        |subject| under_rules(subject, Arc::new(StallsAfter(2))),
    )
    .slow(),
    Adversary::saboteur(
        "stalls-at-the-fourth-time",
        "what comes three times is no stall yet",
        &["RUNS-126"],
        |subject| under_rules(subject, Arc::new(StallsAfter(4))),
    )
    .slow(),
    Adversary::saboteur(
        "counts-for-the-whole-run",
        "the same from three nodes is taken for a stall, and nodes that take turns never stall",
        &["RUNS-120", "RUNS-121", "RUNS-122", "RUNS-126"],
        |subject| under_rules(subject, Arc::new(CountsTheRun)),
    )
    .slow(),
    Adversary::saboteur(
        "counts-empty-diffs",
        "turns that change nothing are taken for a stall",
        &["RUNS-126", "RUNS-127"],
        |subject| under_rules(subject, Arc::new(CountsEmptyDiffs)),
    )
    .slow(),
    Adversary::saboteur(
        "counts-passed-verifications",
        "verifications that are passed are taken for a stall",
        &["RUNS-127"],
        |subject| under_rules(subject, Arc::new(CountsPassed)),
    )
    .slow(),
    Adversary::saboteur(
        "leaves-the-stalled-idle",
        "a node that stalled is not blocked",
        &["RUNS-130"],
        |subject| under_rules(subject, Arc::new(LeavesIdle)),
    )
    .slow(),
    Adversary::saboteur(
        "keeps-the-stalled-blocked",
        "a node that stalled stays blocked when the run goes on",
        &["RUNS-129", "RUNS-130"],
        |subject| under_rules(subject, Arc::new(KeepsBlocked)),
    )
    .slow(),
    Adversary::saboteur(
        "compares-outputs-without-numbers",
        "outputs that differ only in their numbers are taken for a stall",
        &["RUNS-125", "RUNS-126", "RUNS-127"],
        |subject| under_rules(subject, Arc::new(IgnoresNumbers)),
    )
    .slow(),
    Adversary::saboteur(
        "keeps-the-counts",
        "a run that goes on stalls again at the first turn that is the same",
        &["RUNS-130"],
        |subject| under_rules(subject, Arc::new(KeepsCounts)),
    )
    .slow(),
];

/// Ignores one of the three kinds of repetition.
struct Unwatched(usize);

impl Policy for Unwatched {
    fn watched<'a>(&self, output: &'a str, done: &'a Done) -> [Option<&'a str>; 3] {
        let mut watched = Rules.watched(output, done);
        watched[self.0] = None;
        watched
    }
}

struct StallsWithoutPause;

impl Policy for StallsWithoutPause {
    fn stall_pauses(&self) -> bool {
        false
    }
}

struct StallsWithoutEvidence;

impl Policy for StallsWithoutEvidence {
    fn evidence(&self, _: Map<String, Value>) -> Map<String, Value> {
        Map::new()
    }
}

struct StallsAfter(u32);

impl Policy for StallsAfter {
    fn turns_to_stall(&self) -> u32 {
        self.0
    }
}

struct CountsTheRun;

impl Policy for CountsTheRun {
    fn counted(&self, node: &NodeState) -> Id {
        node.run_id
    }
}

struct CountsEmptyDiffs;

impl Policy for CountsEmptyDiffs {
    fn watched<'a>(&self, output: &'a str, done: &'a Done) -> [Option<&'a str>; 3] {
        let [output, _, failed] = Rules.watched(output, done);
        [output, Some(done.diff.as_deref().unwrap_or_default()), failed]
    }
}

struct IgnoresNumbers;

impl Policy for IgnoresNumbers {
    fn watched<'a>(&self, output: &'a str, done: &'a Done) -> [Option<&'a str>; 3] {
        let [output, diff, failed] = Rules.watched(output, done);
        let words =
            output.map(|text| text.split(|c: char| c.is_ascii_digit()).next().unwrap_or(text));
        [words, diff, failed]
    }
}

struct CountsPassed;

impl Policy for CountsPassed {
    fn watched<'a>(&self, output: &'a str, done: &'a Done) -> [Option<&'a str>; 3] {
        let [output, diff, _] = Rules.watched(output, done);
        [output, diff, done.verification.as_ref().map(|verified| verified.output.as_str())]
    }
}

struct LeavesIdle;

impl Policy for LeavesIdle {
    fn after_stall(&self) -> NodeStatus {
        NodeStatus::Idle
    }
}

struct KeepsBlocked;

impl Policy for KeepsBlocked {
    fn resumed(&self, status: NodeStatus) -> NodeStatus {
        status
    }
}

struct KeepsCounts;

impl Policy for KeepsCounts {
    fn resuming_forgets_counts(&self) -> bool {
        false
    }
}
