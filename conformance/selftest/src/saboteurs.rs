//! Checks the reference with one promise broken: exactly the sabotaged requirements must fail, also when the run's
//! record is judged again.
//!
//! Crippled references lack one thing that many cases meet, and run every case of the affected contracts.
//!
//! A saboteur runs every case that shows what it breaks. Of the other cases of the affected contracts it runs a
//! sample, which differs for each saboteur: one case of every requirement, which must hold. If there are few cases,
//! or with [`Options::full`], it runs all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proofmark_adversaries::Adversary;
use proofmark_judge::Suite;
use proofmark_judge::case::Case;
use proofmark_judge::law::LawOptions;
use proofmark_judge::record::check_rejudged;
use proofmark_judge::verdict::{CaseResult, RequirementVerdict, RunOutcome, Verdict};
use proofmark_suite::run::{RunOptions, run};
use serde::Serialize;

use crate::sample::sample;
use crate::{Options, SelftestError};

/// The timeout for a slow saboteur. The rest of it is the reference, so this must be enough for a busy machine.
const SHORT: Duration = Duration::from_secs(3);

/// The result for one saboteur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SaboteurReport {
    pub name: String,
    pub about: String,
    /// The requirements that it breaks.
    pub expected: Vec<String>,
    /// The number of cases that it ran.
    pub cases: usize,
    /// The requirements that failed, each with its failing cases.
    pub got: BTreeMap<String, Vec<String>>,
    /// Empty if the check passes.
    pub problems: Vec<String>,
}

/// A saboteur and the requirements that it breaks.
pub type Sabotage<'a> = (&'a Adversary, &'a [&'a str]);

/// Runs every saboteur; if `suite` is only a part, those that break something in it.
pub fn check(suite: &Suite, options: &Options) -> Result<Vec<SaboteurReport>, SelftestError> {
    let in_part = |id: &&str| suite.requirement(id).is_some();
    let saboteurs: Vec<Sabotage<'_>> = proofmark_adversaries::saboteurs()
        .chain(proofmark_adversaries::crippled())
        .filter(|(_, breaks)| !suite.is_part || breaks.iter().any(in_part))
        .collect();
    check_these(suite, &saboteurs, options)
}

/// As [`check`], for given saboteurs.
pub fn check_these(
    suite: &Suite,
    saboteurs: &[Sabotage<'_>],
    options: &Options,
) -> Result<Vec<SaboteurReport>, SelftestError> {
    let slow = |(adversary, _): &Sabotage<'_>| adversary.slow;
    let reports = options.lanes.each_by(saboteurs, slow, |(adversary, breaks)| {
        try_saboteur(suite, adversary, breaks, options)
    });
    reports.into_iter().collect()
}

fn try_saboteur(
    suite: &Suite,
    adversary: &Adversary,
    breaks: &[&str],
    options: &Options,
) -> Result<SaboteurReport, SelftestError> {
    let cases = chosen(suite, adversary, breaks, options.full);
    let count = cases.len();
    let mut problems: Vec<String> = breaks
        .iter()
        .filter(|id| suite.requirement(id).is_none())
        .map(|id| format!("`{}` breaks {id}, which is in no ledger", adversary.name))
        .collect();
    let mut got = BTreeMap::new();
    if cases.is_empty() {
        problems.push(format!("`{}` breaks nothing that has a case", adversary.name));
    } else {
        let command = options.command(adversary, &proofmark_adversaries::usual_claims());
        let mut how = RunOptions { record: true, ..options.run() };
        if adversary.slow {
            how.patience.call = SHORT;
        }
        if adversary.rare {
            how.laws.cases = LawOptions::default().cases;
        }
        let mut outcome = run(suite, cases, &command, &how, &options.cancel, |_| {})
            .map_err(|fault| SelftestError::Run { adversary: adversary.name.to_owned(), fault })?;
        if outcome.interrupted {
            return Err(SelftestError::Interrupted);
        }
        got = broken(suite, &outcome);
        problems.extend(differences(adversary, breaks, &got));
        // Saboteurs produce every kind of failure, so this checks that records reproduce failing verdicts. The tests
        // of records check the passing ones.
        if !options.full {
            outcome.results.retain(|result| !result.passed());
        }
        problems.extend(
            check_rejudged(&outcome, suite)
                .err()
                .map(|message| format!("`{}`: {message}", adversary.name)),
        );
        pass_the_rest(suite, &mut outcome);
        problems.extend(certified_all_the_same(suite, adversary, &outcome));
    }
    Ok(SaboteurReport {
        name: adversary.name.to_owned(),
        about: adversary.about.to_owned(),
        expected: breaks.iter().map(|id| (*id).to_owned()).collect(),
        cases: count,
        got,
        problems,
    })
}

/// Up to this many cases run in full: they cost little, and a sample could miss a case that blames the wrong promise.
pub(crate) const FEW: usize = 250;

/// The cases that a saboteur runs, from the contracts that it breaks.
fn chosen<'a>(
    suite: &'a Suite,
    adversary: &Adversary,
    breaks: &[&str],
    full: bool,
) -> Vec<&'a Case> {
    let broken = breaks.iter().filter_map(|id| suite.requirement(id));
    let contracts: BTreeSet<&str> = broken.map(|(contract, _)| contract.id.as_str()).collect();
    let all = of_contracts(suite, &contracts);
    if full || adversary.is_crippled() || all.len() <= FEW {
        return all;
    }
    let shows_it = |case: &&Case| case.shows.iter().any(|id| breaks.contains(&id.as_str()));
    let (mut cases, others): (Vec<&Case>, Vec<&Case>) = all.into_iter().partition(shows_it);
    // For a requirement that such a case shows too, the sample adds another case, which must pass.
    cases.extend(sample(&others, adversary.name));
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// All cases of these contracts.
pub(crate) fn of_contracts<'a>(suite: &'a Suite, contracts: &BTreeSet<&str>) -> Vec<&'a Case> {
    suite.cases.iter().filter(|case| contracts.contains(case.contract.as_str())).collect()
}

/// Counts every case that did not run as passed: the best possible result for the saboteur.
fn pass_the_rest(suite: &Suite, outcome: &mut RunOutcome) {
    let ran: BTreeSet<&str> = outcome.results.iter().map(|result| result.case.as_str()).collect();
    let rest = suite.cases.iter().filter(|case| !ran.contains(case.name.as_str()));
    let rest: Vec<_> = rest.map(|case| CaseResult::new(&case.name, Verdict::Passed)).collect();
    outcome.results.extend(rest);
}

fn broken(suite: &Suite, outcome: &RunOutcome) -> BTreeMap<String, Vec<String>> {
    let judged = outcome.judge(suite);
    let results = judged.iter().flat_map(|contract| &contract.requirements);
    results
        .filter_map(|result| match &result.verdict {
            RequirementVerdict::Broken { cases } => {
                Some((result.requirement.id.clone(), cases.clone()))
            }
            _ => None,
        })
        .collect()
}

fn differences(
    adversary: &Adversary,
    breaks: &[&str],
    got: &BTreeMap<String, Vec<String>>,
) -> Vec<String> {
    let Adversary { name, about, .. } = adversary;
    let missed = breaks.iter().filter(|id| !got.contains_key(**id));
    let missed = missed.map(|id| format!("`{name}` ({about}) breaks {id}, but no case notices"));
    let blamed = got.iter().filter(|(id, _)| !breaks.contains(&id.as_str()));
    let blamed = blamed.map(|(id, cases)| {
        let first = cases.first().map_or("", String::as_str);
        let more = match cases.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!("`{name}` ({about}) does not break {id}, but `{first}`{more} failed")
    });
    missed.chain(blamed).collect()
}

/// Contracts that are certified although a deciding promise is broken.
fn certified_all_the_same(
    suite: &Suite,
    adversary: &Adversary,
    outcome: &RunOutcome,
) -> Vec<String> {
    let broken = |one: &proofmark_judge::verdict::RequirementResult<'_>| {
        one.requirement.decides() && matches!(one.verdict, RequirementVerdict::Broken { .. })
    };
    let judged = outcome.judge(suite);
    let fooled = judged.iter().filter(|one| one.certified && one.requirements.iter().any(broken));
    fooled.map(|one| format!("`{}` is certified for {}", adversary.name, one.contract.id)).collect()
}
