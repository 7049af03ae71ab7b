//! Verdicts on cases, requirements, contracts and runs.

mod blame;
mod failure;

use std::collections::BTreeMap;

use proofmark_protocol::HelloReply;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::law::LawOptions;
use crate::ledger::{Contract, Requirement};
use crate::problem::did_you_mean;
use crate::suite::Suite;
use crate::transcript::Transcript;

pub use self::failure::{CallSeen, Exchange, Failure};

/// The verdict on one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseResult {
    pub case: String,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The listed reason, if this is a known failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// The transcript, if the run keeps transcripts.
    #[serde(skip)]
    pub transcript: Option<Transcript>,
}

impl CaseResult {
    pub fn new(case: &str, verdict: Verdict) -> Self {
        Self { case: case.to_owned(), verdict, known: None, transcript: None }
    }

    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Passed
    }

    /// Whether it failed or is blocked, and is not listed as known.
    pub fn failed_unexpectedly(&self) -> bool {
        self.verdict.failure().is_some() && self.known.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    Passed,
    /// What the case shows is not as promised.
    Failed {
        failure: Box<Failure>,
    },
    /// What the case needs first went wrong, so it shows nothing.
    Blocked {
        failure: Box<Failure>,
    },
    NotExercised {
        reason: NotExercised,
    },
}

impl Verdict {
    pub fn of(failure: Box<Failure>) -> Self {
        if failure.setup { Self::Blocked { failure } } else { Self::Failed { failure } }
    }

    /// What went wrong, in the setup or in what the case shows.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed { failure } | Self::Blocked { failure } => Some(failure),
            Self::Passed | Self::NotExercised { .. } => None,
        }
    }
}

/// Why a case did not run. A claimed contract with such a case is not certified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotExercised {
    NotClaimed,
    HookMissing(String),
    /// The harness could not create the workspace. Such a run determines nothing.
    NoWorkspace(String),
}

impl std::fmt::Display for NotExercised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotClaimed => f.write_str("the subject does not claim the contract"),
            Self::NoWorkspace(fault) => write!(f, "cannot create the workspace: {fault}"),
            Self::HookMissing(hook) => write!(f, "the subject has no test hook `{hook}`"),
        }
    }
}

/// The verdict on a requirement, from all its cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum RequirementVerdict {
    /// Every case that shows it passed, and at least one ran.
    Holds,
    /// These cases failed.
    Broken { cases: Vec<String> },
    /// No case failed, but the setup of these cases went wrong.
    Blocked {
        cases: Vec<String>,
        /// The broken requirement that seems to be the cause, if one fits.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// What went wrong in the first of them.
        reason: String,
    },
    /// No case failed, but not every case ran.
    NotShown { reason: String },
    /// It concerns an optional feature that the subject does not offer.
    NotApplicable { reason: String },
    /// No case shows it; the ledger says why.
    Excluded { reason: String },
}

#[derive(Debug, Clone)]
pub struct RequirementResult<'a> {
    pub requirement: &'a Requirement,
    pub verdict: RequirementVerdict,
    /// The number of passed cases, and of all cases that show it.
    pub passed: usize,
    pub cases: usize,
}

#[derive(Debug, Clone)]
pub struct ContractResult<'a> {
    pub contract: &'a Contract,
    pub claimed: bool,
    pub certified: bool,
    pub requirements: Vec<RequirementResult<'a>>,
}

impl ContractResult<'_> {
    /// How many deciding requirements hold, and how many there are, without those that do not apply.
    pub fn deciding(&self) -> (usize, usize) {
        self.count(|requirement| requirement.decides())
    }

    /// As [`Self::deciding`], for the requirements that do not decide: interpretations, `should` and `may`.
    pub fn others(&self) -> (usize, usize) {
        self.count(|requirement| !requirement.decides() && requirement.excluded.is_none())
    }

    fn count(&self, of: impl Fn(&Requirement) -> bool) -> (usize, usize) {
        let counted = self.requirements.iter().filter(|result| {
            let applies = !matches!(result.verdict, RequirementVerdict::NotApplicable { .. });
            applies && of(result.requirement)
        });
        counted.fold((0, 0), |(holding, all), result| {
            (holding + usize::from(result.verdict == RequirementVerdict::Holds), all + 1)
        })
    }
}

/// A line of the list of known failures that contradicts the run. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum KnownProblem {
    #[error("line {line}: `{case}` is known to fail, but passes; delete the line")]
    UnexpectedPass { line: usize, case: String },
    #[error(
        "line {line}: `{case}` still fails after its deadline {until}; fix it, or move the deadline"
    )]
    Expired { line: usize, case: String, until: String },
    #[error("line {line}: `{case}` is stale: {message}")]
    Stale { line: usize, case: String, message: String },
}

impl KnownProblem {
    pub fn line(&self) -> usize {
        let (Self::UnexpectedPass { line, .. }
        | Self::Expired { line, .. }
        | Self::Stale { line, .. }) = self;
        *line
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// The first process's answer to `hello`, if any.
    pub subject: Option<HelloReply>,
    /// In name order.
    pub results: Vec<CaseResult>,
    /// Faults that do not belong to a single case.
    pub faults: Vec<Fault>,
    /// The options for laws.
    pub laws: LawOptions,
    /// The run was interrupted, so some cases were not tried.
    pub interrupted: bool,
    /// The run was checked against a list of known failures, so every unlisted failure counts.
    pub listed: bool,
    /// Lines of that list that contradict the run.
    pub known_problems: Vec<KnownProblem>,
    /// Promises of the subject's manifest that the subject's `hello` does not confirm.
    pub unkept: Vec<String>,
    /// The case whose failure stopped the run on purpose, if any.
    pub stopped: Option<String>,
}

impl RunOutcome {
    /// Whether every case passed or is a known failure, and there were no faults. False if a case did not run or if
    /// there are no cases.
    pub fn all_passed(&self) -> bool {
        self.faults.is_empty()
            && !self.interrupted
            && !self.results.is_empty()
            && self.known_problems.is_empty()
            && self.unkept.is_empty()
            && self.results.iter().all(|result| result.passed() || result.known.is_some())
    }

    /// Merges the outcomes of disjoint parts. Parts with different answers to `hello` are a fault.
    pub fn merged(parts: Vec<Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            if let (Some(first), Some(other)) = (&whole.subject, &part.subject)
                && first != other
            {
                whole.faults.push(Fault::two_faces(first, other));
            }
            whole.subject = whole.subject.or(part.subject);
            whole.results.extend(part.results);
            whole.faults.extend(part.faults);
            whole.known_problems.extend(part.known_problems);
            whole.interrupted |= part.interrupted;
        }
        whole.results.sort_by(|a, b| a.case.cmp(&b.case));
        Fault::settle(&mut whole.faults);
        Some(whole)
    }

    /// Claimed contracts that this suite does not have and cannot certify.
    pub fn unknown_contracts(&self, suite: &Suite) -> Vec<&str> {
        let claimed =
            self.subject.iter().flat_map(|subject| &subject.contracts).map(String::as_str);
        claimed.filter(|id| suite.contract(id).is_none()).collect()
    }

    /// Claims and hooks that this suite does not know: perhaps typos.
    pub fn unknown_claims(&self, suite: &Suite) -> Vec<String> {
        let Some(subject) = &self.subject else { return Vec::new() };
        let contracts = || suite.contracts.iter().map(|contract| contract.id.as_str());
        let hooks = || {
            suite.contracts.iter().flat_map(|contract| contract.hooks.keys()).map(String::as_str)
        };
        let mut unknown = Vec::new();
        for claimed in
            subject.contracts.iter().filter(|claimed| !contracts().any(|id| id == *claimed))
        {
            let hint = did_you_mean(claimed, contracts());
            unknown.push(format!(
                "the subject claims `{claimed}`, which this suite does not have{hint}"
            ));
        }
        for hook in subject.hooks.iter().filter(|hook| !hooks().any(|id| id == *hook)) {
            let hint = did_you_mean(hook, hooks());
            unknown.push(format!(
                "the subject offers the hook `{hook}`, which this suite does not use{hint}"
            ));
        }
        unknown
    }

    /// Judges every contract that the run touched.
    pub fn judge<'a>(&self, suite: &'a Suite) -> Vec<ContractResult<'a>> {
        let verdicts: BTreeMap<&str, &Verdict> =
            self.results.iter().map(|result| (result.case.as_str(), &result.verdict)).collect();
        let mut by_requirement: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for case in &suite.cases {
            for id in &case.shows {
                by_requirement.entry(id).or_default().push(&case.name);
            }
        }
        let touched = |contract: &&Contract| {
            suite.cases.iter().any(|case| {
                case.contract == contract.id && verdicts.contains_key(case.name.as_str())
            })
        };
        let mut judged: Vec<_> = suite
            .contracts
            .iter()
            .filter(touched)
            .map(|contract| {
                let claimed = self
                    .subject
                    .as_ref()
                    .is_some_and(|subject| subject.contracts.contains(&contract.id));
                let offers = |hook: &String| {
                    self.subject.as_ref().is_some_and(|subject| subject.hooks.contains(hook))
                };
                let judged = |requirement: &'a Requirement| {
                    let cases =
                        by_requirement.get(requirement.id.as_str()).map_or(&[][..], Vec::as_slice);
                    let mut result = judge_requirement(requirement, cases, &verdicts);
                    let absent = requirement.applies_with.as_ref().filter(|hook| !offers(hook));
                    if let (true, Some(hook), RequirementVerdict::NotShown { .. }) =
                        (claimed, absent, &result.verdict)
                    {
                        let reason = format!("the subject does not offer `{hook}`");
                        result.verdict = RequirementVerdict::NotApplicable { reason };
                    }
                    result
                };
                let requirements: Vec<_> = contract.requirements.iter().map(judged).collect();
                let holds = |result: &RequirementResult<'_>| {
                    !result.requirement.decides()
                        || matches!(
                            result.verdict,
                            RequirementVerdict::Holds | RequirementVerdict::NotApplicable { .. }
                        )
                };
                let decides = requirements.iter().any(|result| {
                    result.requirement.decides() && result.requirement.applies_with.is_none()
                });
                let certified = claimed
                    && decides
                    && self.faults.is_empty()
                    && !self.interrupted
                    && requirements.iter().all(holds);
                ContractResult { contract, claimed, certified, requirements }
            })
            .collect();
        blame::name_causes(&mut judged, &verdicts);
        judged
    }
}

fn judge_requirement<'a>(
    requirement: &'a Requirement,
    cases: &[&str],
    verdicts: &BTreeMap<&str, &Verdict>,
) -> RequirementResult<'a> {
    let mut failed = Vec::new();
    let mut blocked = Vec::new();
    let mut passed = 0;
    let mut missing = None;
    for name in cases {
        match verdicts.get(name) {
            Some(Verdict::Passed) => passed += 1,
            Some(Verdict::Failed { .. }) => failed.push((*name).to_owned()),
            Some(Verdict::Blocked { .. }) => blocked.push((*name).to_owned()),
            Some(Verdict::NotExercised { reason }) => missing = Some(reason.to_string()),
            None => {
                missing =
                    missing.or_else(|| Some("not every case that shows it was selected".to_owned()))
            }
        }
    }
    let verdict = match (&requirement.excluded, failed.is_empty(), missing) {
        (Some(reason), _, _) => RequirementVerdict::Excluded { reason: reason.clone() },
        (None, false, _) => RequirementVerdict::Broken { cases: failed },
        (None, true, _) if !blocked.is_empty() => {
            RequirementVerdict::Blocked { cases: blocked, by: None, reason: String::new() }
        }
        (None, true, Some(reason)) => RequirementVerdict::NotShown { reason },
        (None, true, None) if passed > 0 => RequirementVerdict::Holds,
        (None, true, None) => {
            RequirementVerdict::NotShown { reason: "no case shows it".to_owned() }
        }
    };
    RequirementResult { requirement, verdict, passed, cases: cases.len() }
}
