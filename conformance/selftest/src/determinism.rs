//! The same subject and the same suite give the same report, whatever the order, the number of workers,
//! the window and the division into shards.

use std::collections::BTreeSet;
use std::time::Duration;

use proofmark_suite::Suite;
use proofmark_suite::case::Case;
use proofmark_suite::law::LawOptions;
use proofmark_suite::run::{Cancel, RunOptions, run};
use proofmark_suite::select::Shard;
use proofmark_suite::subject::SubjectCommand;
use proofmark_suite::verdict::RunOutcome;
use serde::Serialize;
use serde_json::Value;

use crate::{SelftestError, pool};

/// One way to run the suite.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    told: &'static str,
    shuffle: Option<u64>,
    jobs: usize,
    window: usize,
    shards: u64,
}

const FORWARDS: Way =
    Way { told: "forwards, one worker", shuffle: None, jobs: 1, window: 32, shards: 1 };

/// The first is what the others are held against.
pub const WAYS: &[Way] = &[
    FORWARDS,
    Way { told: "forwards again", ..FORWARDS },
    Way { told: "one case at a time", window: 1, ..FORWARDS },
    Way { told: "two workers", jobs: 2, ..FORWARDS },
    Way { told: "eight workers", jobs: 8, ..FORWARDS },
    Way { told: "shuffled with seed 1", shuffle: Some(1), ..FORWARDS },
    Way { told: "shuffled with seed 2, two workers", shuffle: Some(2), jobs: 2, ..FORWARDS },
    Way {
        told: "shuffled with seed 3, four workers, window 3",
        shuffle: Some(3),
        jobs: 4,
        window: 3,
        ..FORWARDS
    },
    Way { told: "shuffled with seed 4, window 100", shuffle: Some(4), window: 100, ..FORWARDS },
    Way { told: "in two shards", shards: 2, jobs: 2, ..FORWARDS },
    Way {
        told: "in five shards, shuffled with seed 5",
        shards: 5,
        shuffle: Some(5),
        jobs: 2,
        ..FORWARDS
    },
];

/// Some of them, the most different from one another.
pub const FEW_WAYS: &[Way] = &[WAYS[0], WAYS[7], WAYS[8], WAYS[10]];

/// With a process that crashes, all cases are lost that are under way: it is tried among those of every contract.
const CRASHES: &str = "crashes-on-empty-text";

/// Saboteurs whose reports have failures of several kinds: differences, a crash, a fault of the wire.
const FAILING: &[&str] =
    &["tail-from-the-head", CRASHES, "prints-on-huge-numbers", "caps-characters"];

/// Those of them that fail in this suite, and the contracts among whose cases they are tried; none means all.
pub fn failing(suite: &Suite) -> impl Iterator<Item = (&'static str, Vec<String>)> {
    let tried_in = |name: &'static str| {
        let (_, breaks) = proofmark_adversaries::saboteurs().find(|(one, _)| one.name == name)?;
        let broken = breaks.iter().filter_map(|id| suite.requirement(id));
        let contracts: BTreeSet<String> = broken.map(|(contract, _)| contract.id.clone()).collect();
        let all = if name == CRASHES { Vec::new() } else { contracts.iter().cloned().collect() };
        (!contracts.is_empty()).then_some((name, all))
    };
    FAILING.iter().copied().filter_map(tried_in)
}

/// So many runs at a time: a run waits more than it works.
const AT_A_TIME: usize = 4;
/// So many inputs of each law are enough to see them come out the same.
const LAW_CASES: u32 = 5;

/// What the runs of one subject had in common.
#[derive(Debug, Serialize)]
pub struct Determinism {
    pub subject: String,
    /// How many runs were made.
    pub runs: usize,
    /// The size of the report that they share.
    pub bytes: usize,
    /// How many cases failed in it; a report of passes alone would prove little.
    pub failing: usize,
    /// Why the runs prove nothing, if so: cases that were not run, or none that failed where some must.
    pub empty: Option<String>,
    /// The ways whose report was another, and where it first parts from the first one.
    pub differing: Vec<Differing>,
}

#[derive(Debug, Serialize)]
pub struct Differing {
    pub way: &'static str,
    pub first: String,
    pub other: String,
}

/// A subject, and how it is run.
pub struct Subject {
    pub command: SubjectCommand,
    pub ways: &'static [Way],
    /// Only the cases of these contracts are run; of all, if none is named.
    pub contracts: Vec<String>,
    /// It is wrong on purpose: a report without failures would be a proof of nothing.
    pub must_fail: bool,
}

/// As [`check`], for several subjects, one after the other: each is run in several ways at a time already.
pub fn check_all(
    suite: &Suite,
    subjects: &[Subject],
    options: &RunOptions,
    cancel: &Cancel,
) -> Result<Vec<Determinism>, SelftestError> {
    subjects.iter().map(|subject| check(suite, subject, options, cancel)).collect()
}

/// Runs the suite in every way and compares the reports, byte for byte.
pub fn check(
    suite: &Suite,
    subject: &Subject,
    options: &RunOptions,
    cancel: &Cancel,
) -> Result<Determinism, SelftestError> {
    let Subject { command, ways, contracts, must_fail } = subject;
    let chosen = |case: &&Case| contracts.is_empty() || contracts.contains(&case.contract);
    let cases: Vec<&Case> = suite.cases.iter().filter(chosen).collect();
    let reports =
        pool::each(ways, AT_A_TIME, |way| report(suite, &cases, command, options, *way, cancel));
    let mut reports = reports.into_iter().zip(*ways);
    let (first, failing) = match reports.next() {
        Some((first, _)) => first?,
        None => (String::new(), 0),
    };
    let empty = match (must_fail, failing) {
        (true, 0) => Some("no case fails, and some must".to_owned()),
        _ if failing == cases.len() => {
            Some("no case passes, so the reports prove little".to_owned())
        }
        _ => None,
    };
    let mut differing = Vec::new();
    for (other, way) in reports {
        let (other, _) = other?;
        if other != first {
            let (first, other) = first_difference(&first, &other);
            differing.push(Differing { way: way.told, first, other });
        }
    }
    Ok(Determinism {
        subject: command.shown.clone(),
        runs: ways.len(),
        bytes: first.len(),
        failing,
        empty,
        differing,
    })
}

/// The report without what may differ, and how many cases failed.
fn report(
    suite: &Suite,
    cases: &[&Case],
    command: &SubjectCommand,
    options: &RunOptions,
    way: Way,
    cancel: &Cancel,
) -> Result<(String, usize), SelftestError> {
    let options = RunOptions {
        shuffle: way.shuffle,
        jobs: way.jobs,
        window: way.window,
        laws: LawOptions { cases: LAW_CASES, ..options.laws },
        ..options.clone()
    };
    let mut parts = Vec::new();
    for shard in Shard::all(way.shards) {
        let cases: Vec<&Case> = cases.iter().copied().filter(|case| shard.picks(case)).collect();
        if !cases.is_empty() {
            parts.push(run(suite, cases, command, &options, cancel, |_| ())?);
        }
    }
    let Some(outcome) = RunOutcome::merged(parts) else { return Ok((String::new(), 0)) };
    if outcome.interrupted {
        return Err(SelftestError::Interrupted);
    }
    let holds = outcome.all_passed();
    let failing = outcome.results.iter().filter(|result| !result.passed()).count();
    let contracts = outcome.judge(suite);
    let mut report =
        proofmark_report::json::report(suite, &outcome, &contracts, holds, Duration::ZERO);
    if let Value::Object(report) = &mut report {
        report.shift_remove("timing");
    }
    Ok((format!("{report:#}"), failing))
}

/// The first line in which two reports differ.
fn first_difference(first: &str, other: &str) -> (String, String) {
    let mut lines = first.lines().zip(other.lines());
    match lines.find(|(first, other)| first != other) {
        Some((first, other)) => (first.trim().to_owned(), other.trim().to_owned()),
        None => {
            (format!("{} lines", first.lines().count()), format!("{} lines", other.lines().count()))
        }
    }
}
