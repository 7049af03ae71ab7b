//! The reference with one promise broken: exactly what a saboteur breaks must come out broken, and again when
//! the run's record is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proofmark_adversaries::{Adversary, Claims};
use proofmark_suite::Suite;
use proofmark_suite::case::Case;
use proofmark_suite::record::parted;
use proofmark_suite::run::{RunOptions, run};
use proofmark_suite::verdict::{RequirementVerdict, RunOutcome};
use serde::Serialize;

use crate::{Options, SelftestError, pool};

/// The requirements that no single answer shows to be broken: it takes a look at the order, at the
/// files, at another process or session, or at what a fake was asked. Each needs a saboteur.
pub const NO_SINGLE_ANSWER: &[&str] = &[
    "CHRONICLE-001",
    "CHRONICLE-002",
    "CHRONICLE-003",
    "CHRONICLE-005",
    "CHRONICLE-006",
    "CHRONICLE-007",
    "CHRONICLE-008",
    "CHRONICLE-009",
    "CHRONICLE-010",
    "CHRONICLE-011",
    "CHRONICLE-012",
    "CHRONICLE-013",
    "CHRONICLE-014",
    "CHRONICLE-016",
    "CHRONICLE-017",
    "CHRONICLE-019",
    "CHRONICLE-021",
    "CHRONICLE-023",
    "CHRONICLE-024",
    "CHRONICLE-031",
    "CHRONICLE-032",
    "CHRONICLE-033",
    "CHRONICLE-034",
    "CHRONICLE-035",
    "CHRONICLE-036",
    "CHRONICLE-037",
    "CHRONICLE-038",
    "CHRONICLE-039",
    "CHRONICLE-042",
    "CHRONICLE-043",
    "CHRONICLE-052",
    "CHRONICLE-053",
    "CHRONICLE-054",
    "CHRONICLE-056",
    "CHRONICLE-057",
    "CHRONICLE-058",
    "CHRONICLE-059",
    "CHRONICLE-060",
    "CHRONICLE-065",
    "COMMON-013",
    "COMMON-018",
    "COMMON-025",
    "COMMON-041",
    "COMMON-044",
    "COMMON-046",
    "COMMON-047",
    "COMMON-050",
    "COMMON-052",
    "COMMON-054",
    "COMMON-055",
    "COMMON-056",
    "COMMON-058",
    "COMMON-064",
    "COMMON-069",
    "COMMON-076",
    "COMMON-079",
    "COMMON-086",
    "COMMON-088",
    "COMMON-092",
    "COMMON-095",
    "COMMON-096",
    "COMMON-097",
    "COMMON-098",
    "COMMON-099",
    "COMMON-100",
    "COMMON-101",
    "COMMON-103",
    "COMMON-104",
    "COMMON-105",
    "COMMON-107",
    "COMMON-108",
    "ERRORS-005",
    "ERRORS-007",
    "ERRORS-010",
    "ERRORS-014",
    "ERRORS-018",
    "ERRORS-022",
    "ERRORS-027",
    "LLM-011",
    "LLM-025",
    "LLM-031",
    "LLM-035",
    "LLM-044",
    "LLM-049",
    "LLM-050",
    "LLM-054",
    "LLM-055",
    "LLM-056",
    "LLM-057",
    "LLM-059",
    "LLM-062",
    "LLM-064",
    "RUNS-015",
    "RUNS-019",
    "RUNS-020",
    "RUNS-059",
    "RUNS-063",
    "RUNS-065",
    "RUNS-067",
    "RUNS-071",
    "RUNS-072",
    "RUNS-073",
    "RUNS-074",
    "RUNS-076",
    "RUNS-077",
    "RUNS-078",
    "RUNS-079",
    "RUNS-080",
    "RUNS-081",
    "RUNS-082",
    "RUNS-083",
    "RUNS-084",
    "RUNS-085",
    "RUNS-087",
    "RUNS-091",
    "RUNS-101",
    "RUNS-102",
    "RUNS-104",
    "RUNS-105",
    "RUNS-106",
    "RUNS-107",
    "RUNS-110",
    "RUNS-111",
    "RUNS-112",
    "RUNS-114",
    "RUNS-116",
    "RUNS-117",
    "RUNS-118",
    "RUNS-119",
    "RUNS-120",
    "RUNS-121",
    "RUNS-122",
    "RUNS-123",
    "RUNS-125",
    "RUNS-126",
    "RUNS-127",
    "RUNS-128",
    "RUNS-129",
    "RUNS-130",
    "RUNS-132",
    "RUNS-135",
    "RUNS-136",
    "RUNS-146",
    "RUNS-150",
    "RUNS-151",
    "RUNS-152",
    "TOOLS-009",
    "TOOLS-027",
    "TOOLS-035",
    "TOOLS-048",
    "TOOLS-053",
    "TOOLS-065",
    "TOOLS-071",
    "TOOLS-080",
    "TOOLS-085",
    "TOOLS-089",
    "TOOLS-090",
    "TOOLS-091",
    "TOOLS-097",
    "TOOLS-098",
    "TOOLS-103",
    "TOOLS-104",
    "TOOLS-110",
    "TOOLS-113",
    "TOOLS-119",
    "TOOLS-121",
    "UTILS-006",
    "UTILS-019",
    "UTILS-020",
    "UTILS-024",
    "UTILS-026",
    "UTILS-027",
    "UTILS-029",
    "UTILS-030",
    "UTILS-031",
    "UTILS-032",
    "UTILS-033",
    "UTILS-034",
];

/// What a saboteur that keeps the harness waiting is given for an answer. The rest of it is the reference, so it must be
/// enough for a busy machine.
const SHORT: Duration = Duration::from_secs(3);

/// What came of one saboteur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SaboteurReport {
    pub name: String,
    pub about: String,
    /// The requirements that it breaks.
    pub expected: Vec<String>,
    /// The requirements that came out broken, each with the cases that failed.
    pub got: BTreeMap<String, Vec<String>>,
    /// Empty if all is well.
    pub problems: Vec<String>,
}

/// A saboteur and the requirements that it breaks.
pub type Sabotage<'a> = (&'a Adversary, &'a [&'a str]);

/// Runs every saboteur, or where `suite` is a part of the whole those that break something in it.
pub fn check(suite: &Suite, options: &Options) -> Result<Vec<SaboteurReport>, SelftestError> {
    let in_part = |id: &&str| suite.requirement(id).is_some();
    let saboteurs: Vec<Sabotage<'_>> = proofmark_adversaries::saboteurs()
        .filter(|(_, breaks)| !suite.is_part || breaks.iter().any(in_part))
        .collect();
    check_these(suite, &saboteurs, options)
}

/// As [`check`], with a choice of saboteurs. Each runs the cases of the contracts that it breaks.
pub fn check_these(
    suite: &Suite,
    saboteurs: &[Sabotage<'_>],
    options: &Options,
) -> Result<Vec<SaboteurReport>, SelftestError> {
    let reports = pool::each(saboteurs, options.at_a_time, |(adversary, breaks)| {
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
    let contracts: BTreeSet<&str> = breaks
        .iter()
        .filter_map(|id| suite.requirement(id))
        .map(|(contract, _)| contract.id.as_str())
        .collect();
    let cases: Vec<&Case> =
        suite.cases.iter().filter(|case| contracts.contains(case.contract.as_str())).collect();
    let mut problems: Vec<String> = breaks
        .iter()
        .filter(|id| suite.requirement(id).is_none())
        .map(|id| format!("`{}` breaks {id}, which no ledger has", adversary.name))
        .collect();
    let mut got = BTreeMap::new();
    if cases.is_empty() {
        problems.push(format!("`{}` breaks nothing that has a case", adversary.name));
    } else {
        let command = options.command(adversary, &Claims::default());
        let mut how = RunOptions { record: true, ..options.run() };
        if adversary.slow {
            how.patience.call = SHORT;
        }
        let outcome = run(suite, cases, &command, &how, &options.cancel, |_| {})
            .map_err(|fault| SelftestError::Run { adversary: adversary.name.to_owned(), fault })?;
        if outcome.interrupted {
            return Err(SelftestError::Interrupted);
        }
        got = broken(suite, &outcome);
        problems.extend(differences(adversary, breaks, &got));
        problems.extend(certified_all_the_same(suite, adversary, &outcome));
        // Failures of every kind come by here, so here it shows whether a verdict can be had again.
        problems.extend(
            parted(&outcome, suite).err().map(|told| format!("`{}`: {told}", adversary.name)),
        );
    }
    Ok(SaboteurReport {
        name: adversary.name.to_owned(),
        about: adversary.about.to_owned(),
        expected: breaks.iter().map(|id| (*id).to_owned()).collect(),
        got,
        problems,
    })
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
    let missed = missed.map(|id| format!("`{name}` ({about}) breaks {id}, and no case notices"));
    let blamed = got.iter().filter(|(id, _)| !breaks.contains(&id.as_str()));
    let blamed = blamed.map(|(id, cases)| {
        let first = cases.first().map_or("", String::as_str);
        let more = match cases.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!("`{name}` ({about}) does not break {id}, and yet `{first}`{more} failed")
    });
    missed.chain(blamed).collect()
}

/// A contract one of whose deciding promises is broken has no certificate.
fn certified_all_the_same(
    suite: &Suite,
    adversary: &Adversary,
    outcome: &RunOutcome,
) -> Vec<String> {
    let broken = |one: &proofmark_suite::verdict::RequirementResult<'_>| {
        one.requirement.decides() && matches!(one.verdict, RequirementVerdict::Broken { .. })
    };
    let judged = outcome.judge(suite);
    let fooled = judged.iter().filter(|one| one.certified && one.requirements.iter().any(broken));
    fooled.map(|one| format!("`{}` is certified for {}", adversary.name, one.contract.id)).collect()
}

#[cfg(test)]
mod tests {
    use proofmark_suite::SuiteFiles;

    use super::*;

    #[test]
    fn what_no_single_answer_shows_has_a_saboteur() {
        let suite = Suite::load(&SuiteFiles::embedded()).expect("the suite is sound");
        let broken: BTreeSet<&str> =
            proofmark_adversaries::saboteurs().flat_map(|(_, breaks)| breaks).copied().collect();
        for id in NO_SINGLE_ANSWER {
            assert!(suite.requirement(id).is_some(), "{id} is in no ledger");
            assert!(broken.contains(id), "{id} has no saboteur");
        }
    }
}
