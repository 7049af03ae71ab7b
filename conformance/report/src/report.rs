//! The common input of every report: a judged run.

use std::time::Duration;

use proofmark_judge::Suite;
use proofmark_judge::ledger::Requirement;
use proofmark_judge::verdict::{CaseResult, ContractResult, Failure, RunOutcome, Verdict};

use crate::failure::Rerun;
use crate::text::counted;

/// The purpose of the run, which decides which failures count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Every selected case must pass.
    Run,
    /// Every claimed contract must be certified; only deciding cases can fail it.
    Certify,
}

/// A judged run with everything that reports need.
#[derive(Debug)]
pub struct Report<'a> {
    pub suite: &'a Suite,
    /// The folder of the suite as the user named it; `None` for the embedded one.
    pub folder: Option<&'a str>,
    pub outcome: &'a RunOutcome,
    pub contracts: &'a [ContractResult<'a>],
    pub aim: Aim,
    /// Whether the exit code is 0.
    pub holds: bool,
    pub elapsed: Duration,
    pub rerun: &'a Rerun,
}

/// The result of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Certified,
    NotCertified,
    NotClaimed,
    /// Only some of its cases were selected and all of them passed, so there is no verdict.
    NotJudged,
}

/// The number of cases by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub passed: usize,
    pub failed: usize,
    /// Of the failed ones, those that show no deciding requirement.
    pub differing: usize,
    /// Their setup went wrong.
    pub blocked: usize,
    /// Known failures, which are not counted as failed or blocked.
    pub known: usize,
    pub idle: usize,
}

impl<'a> Report<'a> {
    pub fn standing(&self, contract: &ContractResult<'_>) -> Standing {
        match (contract.claimed, contract.certified) {
            (_, true) => Standing::Certified,
            (false, false) if self.outcome.subject.is_some() => Standing::NotClaimed,
            _ if self.is_passing_part(&contract.contract.id) => Standing::NotJudged,
            _ => Standing::NotCertified,
        }
    }

    /// Whether only some cases of this contract were selected, and all of them passed.
    fn is_passing_part(&self, contract: &str) -> bool {
        let all = self.suite.cases.iter().filter(|case| case.contract == contract).count();
        let Totals { passed, failed, blocked, known, idle, .. } = self.totals(Some(contract));
        let quiet = self.outcome.faults.is_empty() && !self.outcome.interrupted;
        let others = failed + blocked + known + idle;
        self.aim == Aim::Run && quiet && passed > 0 && others == 0 && passed < all
    }

    /// Whether a failure of this case counts for the aim of the run.
    pub fn counts(&self, case: &str) -> bool {
        let all = self.aim == Aim::Run || self.outcome.listed;
        all || self.suite.case(case).is_none_or(|case| self.suite.decides(case))
    }

    /// The failures that are not known failures, those in the setup of blocked cases included.
    pub fn failures(&self) -> impl Iterator<Item = (&'a str, &'a Failure)> {
        let results: &'a [CaseResult] = &self.outcome.results;
        let surprising = results.iter().filter(|result| result.known.is_none());
        surprising.filter_map(|result| Some((result.case.as_str(), result.verdict.failure()?)))
    }

    /// The requirements that a case shows.
    pub fn shown_by(&self, case: &str) -> impl Iterator<Item = &'a Requirement> {
        let suite = self.suite;
        let ids = suite.case(case).map_or(&[][..], |case| &case.shows);
        ids.iter().filter_map(|id| suite.requirement(id).map(|(_, requirement)| requirement))
    }

    /// Totals over the cases of one contract, or of all.
    pub fn totals(&self, contract: Option<&str>) -> Totals {
        let mut totals = Totals::default();
        for result in &self.outcome.results {
            let case = self.suite.case(&result.case);
            if contract.is_some() && case.map(|case| case.contract.as_str()) != contract {
                continue;
            }
            match &result.verdict {
                Verdict::Passed => totals.passed += 1,
                Verdict::Failed { .. } | Verdict::Blocked { .. } if result.known.is_some() => {
                    totals.known += 1;
                }
                Verdict::Blocked { .. } => totals.blocked += 1,
                Verdict::Failed { .. } => {
                    totals.failed += 1;
                    totals.differing +=
                        usize::from(!case.is_some_and(|case| self.suite.decides(case)));
                }
                Verdict::NotExercised { .. } => totals.idle += 1,
            }
        }
        totals
    }

    /// Why it does not hold, if no failure and no fault shows it: a run that exits with 1 must not give a green report.
    pub fn silent_reason(&self) -> Option<String> {
        let message = self.failures().any(|(case, _)| self.counts(case))
            || !self.outcome.faults.is_empty()
            || self.outcome.interrupted;
        if self.holds || message {
            return None;
        }
        let mut reasons = Vec::new();
        for unknown in self.outcome.unknown_contracts(self.suite) {
            reasons.push(format!("the subject claims `{unknown}`, which this suite does not have"));
        }
        reasons
            .extend(self.outcome.known_problems.iter().map(|it| format!("known failures, {it}")));
        reasons.extend(self.outcome.unkept.iter().cloned());
        let idle = self.totals(None).idle;
        if idle > 0 {
            reasons.push(format!("{} not exercised", counted(idle, "case")));
        }
        for contract in self.contracts.iter().filter(|one| one.claimed && !one.certified) {
            if self.aim == Aim::Certify {
                let (holding, all) = contract.deciding();
                let id = &contract.contract.id;
                reasons.push(format!("`{id}` is not certified: {holding} of {all} musts hold"));
            }
        }
        if self.aim == Aim::Certify && self.contracts.iter().all(|contract| !contract.claimed) {
            reasons.push("the subject claims none of these contracts".to_owned());
        }
        Some(format!("it does not hold: {}", reasons.join("; ")))
    }
}
