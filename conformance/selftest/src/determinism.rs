//! Checks that the same subject and suite give the same report, whatever the order, the number of workers, the window
//! and the shards.
//!
//! Two ways run every case, and their reports are compared. Every other way runs its own sample: one case of every
//! requirement, and every case that failed. It is compared with the same cases of the first way.

use std::collections::BTreeSet;
use std::time::Duration;

use proofmark_adversaries::Among;
use proofmark_judge::Suite;
use proofmark_judge::case::Case;
use proofmark_judge::law::LawOptions;
use proofmark_judge::select::Shard;
use proofmark_judge::verdict::RunOutcome;
use proofmark_suite::run::{Cancel, RunOptions, run};
use proofmark_suite::subject::SubjectCommand;
use serde::Serialize;
use serde_json::Value;

use crate::sample::sample;
use crate::{Lanes, SelftestError};

/// One way to run the suite.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    message: &'static str,
    shuffle: Option<u64>,
    jobs: usize,
    window: usize,
    shards: u64,
    /// Whether it runs every case. Other ways run a sample, unless `full` is set.
    whole: bool,
}

const FORWARDS: Way = Way {
    message: "forwards, one worker",
    shuffle: None,
    jobs: 1,
    window: 32,
    shards: 1,
    whole: false,
};

/// The other ways are compared with the first.
pub const WAYS: &[Way] = &[
    Way { whole: true, ..FORWARDS },
    Way { message: "forwards again", ..FORWARDS },
    Way { message: "one case at a time", window: 1, ..FORWARDS },
    Way { message: "two workers", jobs: 2, ..FORWARDS },
    Way { message: "eight workers", jobs: 8, ..FORWARDS },
    Way { message: "shuffled with seed 1", shuffle: Some(1), ..FORWARDS },
    Way { message: "shuffled with seed 2, two workers", shuffle: Some(2), jobs: 2, ..FORWARDS },
    Way {
        message: "shuffled with seed 3, four workers, window 3",
        shuffle: Some(3),
        jobs: 4,
        window: 3,
        whole: true,
        ..FORWARDS
    },
    Way { message: "shuffled with seed 4, window 100", shuffle: Some(4), window: 100, ..FORWARDS },
    Way { message: "in two shards", shards: 2, jobs: 2, ..FORWARDS },
    Way {
        message: "in five shards, shuffled with seed 5",
        shards: 5,
        shuffle: Some(5),
        jobs: 2,
        ..FORWARDS
    },
];

/// A few ways that differ most.
pub const FEW_WAYS: &[Way] = &[WAYS[0], WAYS[7], WAYS[8], WAYS[10]];

/// Saboteurs whose reports have several kinds of failure (differences, a crash, a wire fault) and that fail in this
/// suite, each with the contracts whose cases it runs; empty means all.
pub fn failing(suite: &Suite) -> impl Iterator<Item = (&'static str, Vec<String>)> {
    proofmark_adversaries::saboteurs().filter_map(|(saboteur, breaks)| {
        let among = saboteur.repeated?;
        let broken = breaks.iter().filter_map(|id| suite.requirement(id));
        let contracts: BTreeSet<String> = broken.map(|(contract, _)| contract.id.clone()).collect();
        let own = contracts.iter().cloned().collect();
        let tried = if among == Among::Everything { Vec::new() } else { own };
        (!contracts.is_empty()).then_some((saboteur.name, tried))
    })
}

/// The number of inputs of each law: a few are enough to compare.
const LAW_CASES: u32 = 5;

/// The comparison of one subject's runs.
#[derive(Debug, Serialize)]
pub struct Determinism {
    pub subject: String,
    /// The number of runs.
    pub runs: usize,
    /// The number of runs with every case.
    pub whole: usize,
    /// The size of the first report.
    pub bytes: usize,
    /// The number of failed cases in it; a report with only passes would prove little.
    pub failing: usize,
    /// Why the runs prove nothing, if so: no case failed where some must, or none passed.
    pub empty: Option<String>,
    /// The ways with a different report, and the first difference.
    pub differing: Vec<Differing>,
}

#[derive(Debug, Serialize)]
pub struct Differing {
    pub way: &'static str,
    pub first: String,
    pub other: String,
}

/// A subject, and how to run it.
pub struct Subject {
    pub command: SubjectCommand,
    pub ways: &'static [Way],
    /// Run only the cases of these contracts; empty means all.
    pub contracts: Vec<String>,
    /// It is wrong on purpose, so a report without failures would prove nothing.
    pub must_fail: bool,
    /// Every way runs every case.
    pub full: bool,
}

/// As [`check`], for several subjects at the same time.
pub fn check_all(
    suite: &Suite,
    subjects: &[Subject],
    options: &RunOptions,
    lanes: &Lanes,
    cancel: &Cancel,
) -> Result<Vec<Determinism>, SelftestError> {
    std::thread::scope(|scope| {
        let checks: Vec<_> = subjects
            .iter()
            .map(|subject| scope.spawn(|| check(suite, subject, options, lanes, cancel)))
            .collect();
        let joined = checks
            .into_iter()
            .map(|check| check.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect()
    })
}

/// Runs the suite in every way and compares the reports byte for byte.
pub fn check(
    suite: &Suite,
    subject: &Subject,
    options: &RunOptions,
    lanes: &Lanes,
    cancel: &Cancel,
) -> Result<Determinism, SelftestError> {
    let Subject { command, ways, contracts, must_fail, full } = subject;
    let chosen = |case: &&Case| contracts.is_empty() || contracts.contains(&case.contract);
    let cases: Vec<&Case> = suite.cases.iter().filter(chosen).collect();
    let is_whole = |way: &Way| *full || way.whole;
    let whole: Vec<Way> = ways.iter().copied().filter(is_whole).collect();
    let sampled: Vec<Way> = ways.iter().copied().filter(|way| !is_whole(way)).collect();
    let mut differing = Vec::new();
    let mut compare = |way: &Way, first: &str, other: &str| {
        if first != other {
            let (first, other) = first_difference(first, other);
            differing.push(Differing { way: way.message, first, other });
        }
    };

    let bench = Bench { suite, command, options, cancel };
    // Keep only the reports of the runs that are compared with the first.
    let mut others = lanes
        .each(&whole, |way| {
            let outcome = bench.run(&cases, *way)?;
            let report = bench.report(&outcome);
            Ok::<_, SelftestError>((report, (way.message == whole[0].message).then_some(outcome)))
        })
        .into_iter();
    let Some(first) = others.next() else { return Ok(Determinism::of_nothing(command)) };
    let (first_report, first) = first?;
    let first = first.unwrap_or_default();
    for (other, way) in others.zip(&whole[1..]) {
        compare(way, &first_report, &other?.0);
    }

    let failed = |case: &&&Case| {
        first.results.iter().any(|result| result.case == case.name && !result.passed())
    };
    let failing: Vec<&Case> = cases.iter().filter(failed).copied().collect();
    let reports = lanes.each(&sampled, |way| {
        let mut some = sample(&cases, way.message);
        some.extend(&failing);
        some.sort_by(|one, other| one.name.cmp(&other.name));
        some.dedup_by(|one, other| one.name == other.name);
        let expected = bench.report(&of_these(&first, &some));
        Ok::<_, SelftestError>((expected, bench.report(&bench.run(&some, *way)?)))
    });
    for (reports, way) in reports.into_iter().zip(&sampled) {
        let (expected, other) = reports?;
        compare(way, &expected, &other);
    }

    let empty = match (must_fail, failing.len()) {
        (true, 0) => Some("no case fails, but some must".to_owned()),
        (_, count) if count == cases.len() => {
            Some("no case passes, so the reports prove little".to_owned())
        }
        _ => None,
    };
    Ok(Determinism {
        subject: command.shown.clone(),
        runs: ways.len(),
        whole: whole.len(),
        bytes: first_report.len(),
        failing: failing.len(),
        empty,
        differing,
    })
}

impl Determinism {
    fn of_nothing(command: &SubjectCommand) -> Self {
        Self {
            subject: command.shown.clone(),
            runs: 0,
            whole: 0,
            bytes: 0,
            failing: 0,
            empty: Some("there is no way to run it".to_owned()),
            differing: Vec::new(),
        }
    }
}

/// The outcome, limited to these cases.
fn of_these(outcome: &RunOutcome, cases: &[&Case]) -> RunOutcome {
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let results = outcome.results.iter().filter(|result| names.contains(result.case.as_str()));
    RunOutcome {
        subject: outcome.subject.clone(),
        results: results.cloned().collect(),
        faults: outcome.faults.clone(),
        laws: outcome.laws,
        ..RunOutcome::default()
    }
}

/// The common parameters of a subject's runs.
struct Bench<'a> {
    suite: &'a Suite,
    command: &'a SubjectCommand,
    options: &'a RunOptions,
    cancel: &'a Cancel,
}

impl Bench<'_> {
    fn run(&self, cases: &[&Case], way: Way) -> Result<RunOutcome, SelftestError> {
        let Self { suite, command, options, cancel } = self;
        let options = RunOptions {
            shuffle: way.shuffle,
            jobs: way.jobs,
            window: way.window,
            laws: LawOptions { cases: LAW_CASES, ..options.laws },
            ..(*options).clone()
        };
        let mut parts = Vec::new();
        for shard in Shard::all(way.shards) {
            let picked = cases.iter().copied().filter(|case| shard.picks(case));
            let picked: Vec<&Case> = picked.collect();
            if !picked.is_empty() {
                parts.push(run(suite, picked, command, &options, cancel, |_| ())?);
            }
        }
        let outcome = RunOutcome::merged(parts).unwrap_or_default();
        if outcome.interrupted { Err(SelftestError::Interrupted) } else { Ok(outcome) }
    }

    /// The report without `timing`, which may differ.
    fn report(&self, outcome: &RunOutcome) -> String {
        let contracts = outcome.judge(self.suite);
        let holds = outcome.all_passed();
        let zero = Duration::ZERO;
        let mut report =
            proofmark_report::json::report(self.suite, outcome, &contracts, holds, zero);
        if let Value::Object(report) = &mut report {
            report.shift_remove("timing");
        }
        format!("{report:#}")
    }
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
