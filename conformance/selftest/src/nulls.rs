//! Checks that subjects which do nothing right are never certified, and that no `must` holds for them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proofmark_adversaries::{Adversary, Claims};
use proofmark_judge::Suite;
use proofmark_judge::case::Case;
use proofmark_judge::ledger::Level;
use proofmark_judge::verdict::{RequirementVerdict, RunOutcome, Verdict};
use proofmark_suite::run::{RunOptions, run};
use proofmark_suite::subject::Patience;
use serde::Serialize;

use crate::{Options, SelftestError};

/// A requirement that legitimately holds for a null adversary, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exception {
    pub adversary: &'static str,
    pub requirement: &'static str,
    pub reason: &'static str,
}

/// All exceptions. An unnecessary one is a problem, too.
pub const EXCEPTIONS: &[Exception] = &[];

/// The result for one adversary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NullReport {
    pub name: String,
    pub about: String,
    /// The contracts that it was certified for; should be empty.
    pub certified: Vec<String>,
    /// The `must` requirements that hold, of either basis.
    pub holds: Vec<String>,
    /// The number of cases by reason of failure.
    pub reasons: BTreeMap<String, usize>,
    /// Empty if the check passes.
    pub problems: Vec<String>,
}

/// Runs every null adversary over the whole suite.
pub fn check(suite: &Suite, options: &Options) -> Result<Vec<NullReport>, SelftestError> {
    let adversaries: Vec<&Adversary> = proofmark_adversaries::nulls().collect();
    check_these(suite, &adversaries, EXCEPTIONS, options)
}

/// As [`check`], for given adversaries and exceptions.
pub fn check_these(
    suite: &Suite,
    adversaries: &[&Adversary],
    exceptions: &[Exception],
    options: &Options,
) -> Result<Vec<NullReport>, SelftestError> {
    let cover = cover(suite);
    let slow = |adversary: &&Adversary| adversary.slow;
    let reports = options.lanes.each_by(adversaries, slow, |adversary| {
        let outcome = try_null(suite, &cover, adversary, options)?;
        Ok(report(suite, adversary, &outcome, exceptions))
    });
    reports.into_iter().collect()
}

/// The timeout for adversaries that never answer. Unlike a real subject, they cannot be wronged by a slow machine.
const SHORT: Duration = Duration::from_millis(250);

fn try_null(
    suite: &Suite,
    first: &[&Case],
    adversary: &Adversary,
    options: &Options,
) -> Result<RunOutcome, SelftestError> {
    let claims = Claims {
        contracts: suite.contracts.iter().map(|contract| contract.id.clone()).collect(),
        hooks: suite.contracts.iter().flat_map(|one| one.hooks.keys().cloned()).collect(),
    };
    let patience = if adversary.slow {
        Patience { start: SHORT, call: SHORT, end: SHORT }
    } else {
        Patience::default()
    };
    let how = RunOptions { patience, ..options.run() };
    let command = options.command(adversary, &claims);
    let play = |cases: Vec<&Case>| {
        let outcome = run(suite, cases, &command, &how, &options.cancel, |_| {})
            .map_err(|fault| SelftestError::Run { adversary: adversary.name.to_owned(), fault })?;
        if outcome.interrupted { Err(SelftestError::Interrupted) } else { Ok(outcome) }
    };
    // A requirement that is broken or blocked does not hold, so most cases need not run.
    let outcome = play(first.to_vec())?;
    let rest = still_open(suite, &outcome, first);
    if rest.is_empty() {
        return Ok(outcome);
    }
    let parts = vec![outcome, play(rest)?];
    Ok(RunOutcome::merged(parts).unwrap_or_else(|| unreachable!("there are two parts")))
}

/// A few cases that together show every `must`: cases that show many come first.
fn cover(suite: &Suite) -> Vec<&Case> {
    let musts = |case: &Case| case.shows.iter().filter(|id| is_must(suite, id)).count();
    let mut cases: Vec<(usize, &Case)> =
        suite.cases.iter().map(|case| (musts(case), case)).collect();
    cases.sort_by_key(|(musts, _)| std::cmp::Reverse(*musts));
    let mut shown = BTreeSet::new();
    let mut cover = Vec::new();
    for (_, case) in cases {
        let musts = case.shows.iter().filter(|id| is_must(suite, id));
        if musts.filter(|id| shown.insert(id.as_str())).count() > 0 {
            cover.push(case);
        }
    }
    cover.sort_by(|one, other| one.name.cmp(&other.name));
    cover
}

fn is_must(suite: &Suite, id: &str) -> bool {
    suite.requirement(id).is_some_and(|(_, one)| one.level == Level::Must)
}

/// The remaining cases of every `must` that may still hold.
fn still_open<'a>(suite: &'a Suite, outcome: &RunOutcome, tried: &[&Case]) -> Vec<&'a Case> {
    let judged = outcome.judge(suite);
    let requirements = judged.iter().flat_map(|contract| &contract.requirements);
    let refused = |verdict: &RequirementVerdict| {
        matches!(verdict, RequirementVerdict::Broken { .. } | RequirementVerdict::Blocked { .. })
    };
    let broken: BTreeSet<&str> = requirements
        .filter(|one| refused(&one.verdict))
        .map(|one| one.requirement.id.as_str())
        .collect();
    let open = |id: &String| is_must(suite, id) && !broken.contains(id.as_str());
    let untried = |case: &&Case| !tried.iter().any(|one| one.name == case.name);
    suite.cases.iter().filter(|case| case.shows.iter().any(open)).filter(untried).collect()
}

fn report(
    suite: &Suite,
    adversary: &Adversary,
    outcome: &RunOutcome,
    exceptions: &[Exception],
) -> NullReport {
    let mut certified = Vec::new();
    let mut holds = Vec::new();
    for judged in outcome.judge(suite) {
        if judged.certified {
            certified.push(judged.contract.id.clone());
        }
        for one in &judged.requirements {
            if one.requirement.level == Level::Must && one.verdict == RequirementVerdict::Holds {
                holds.push(one.requirement.id.clone());
            }
        }
    }
    let mut reasons = BTreeMap::new();
    for result in &outcome.results {
        let reason = match &result.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed { failure } | Verdict::Blocked { failure } => &failure.reason,
            Verdict::NotExercised { .. } => "not-exercised",
        };
        *reasons.entry(reason.to_owned()).or_default() += 1;
    }
    let excused: BTreeSet<&str> = exceptions
        .iter()
        .filter(|exception| exception.adversary == adversary.name)
        .map(|exception| exception.requirement)
        .collect();
    let name = adversary.name;
    let mut problems = Vec::new();
    for contract in &certified {
        problems.push(format!("`{name}` does nothing right, but is certified for {contract}"));
    }
    for id in holds.iter().filter(|id| !excused.contains(id.as_str())) {
        let cases: Vec<&str> = suite.cases_showing(id).map(|case| case.name.as_str()).collect();
        problems.push(format!(
            "`{name}` does nothing right, but {id} holds; make one of its cases stricter: {}",
            cases.join(", ")
        ));
    }
    for id in excused.iter().filter(|id| !holds.iter().any(|held| held == *id)) {
        problems.push(format!("{id} does not hold for `{name}`; delete its exception"));
    }
    NullReport {
        name: name.to_owned(),
        about: adversary.about.to_owned(),
        certified,
        holds,
        reasons,
        problems,
    }
}
