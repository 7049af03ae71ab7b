//! From what happened to what holds.

use std::collections::BTreeMap;

use proofmark_protocol::HelloReply;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault::Fault;
use crate::law::LawOptions;
use crate::ledger::{Contract, Requirement};
use crate::matcher::Difference;
use crate::problem::{Location, did_you_mean};
use crate::suite::Suite;
use crate::transcript::Ask;
use crate::transcript::Transcript;

/// The verdict on one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseResult {
    pub case: String,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Why it was known that it fails, if it fails and was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// What was seen of it, if that was to be kept.
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

    /// Whether it failed and nobody knew that it would.
    pub fn failed_unexpectedly(&self) -> bool {
        matches!(self.verdict, Verdict::Failed { .. }) && self.known.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    Passed,
    Failed { failure: Box<Failure> },
    NotExercised { reason: NotExercised },
}

/// Why a case did not run. What is claimed and not exercised is not certified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotExercised {
    NotClaimed,
    HookMissing(String),
    /// The harness could not make the case's folder. A run in which this happens determines nothing.
    NoWorkspace(String),
}

impl std::fmt::Display for NotExercised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotClaimed => f.write_str("the subject does not claim the contract"),
            Self::NoWorkspace(fault) => write!(f, "the workspace cannot be made: {fault}"),
            Self::HookMissing(hook) => write!(f, "the subject has no test hook `{hook}`"),
        }
    }
}

/// What went wrong, with all that is needed to understand it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// `difference`, `not-implemented`, `adapter-error`, or the code of a [`Fault`].
    pub reason: String,
    /// The reason in a sentence.
    pub message: String,
    /// The step's place in the suite.
    pub at: String,
    /// A narrative's own words for the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallSeen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// The smallest input that was found to break a law, as a fixture file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
    /// Calls of fakes during the case.
    pub asks: Vec<Ask>,
    /// The calls before, and their outcomes.
    pub transcript: Vec<Exchange>,
    /// The subject's last lines on stderr.
    pub stderr: Vec<String>,
}

impl Failure {
    /// A failure with nothing but a reason; the rest is for those who know more.
    pub fn new(reason: &str, message: impl Into<String>, at: &Location) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
            at: at.to_string(),
            words: None,
            call: None,
            expected: None,
            got: None,
            difference: None,
            found: None,
            asks: Vec::new(),
            transcript: Vec::new(),
            stderr: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallSeen {
    pub operation: String,
    pub args: Value,
    pub process: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
}

/// One call and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exchange {
    #[serde(flatten)]
    pub call: CallSeen,
    pub outcome: Value,
}

/// What a requirement's cases say together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum RequirementVerdict {
    /// Every case that shows it passes, and at least one ran.
    Holds,
    /// These cases fail.
    Broken { cases: Vec<String> },
    /// Nothing broke it, but not everything that shows it ran.
    NotShown { reason: String },
    /// It is about something optional that the subject does not offer.
    NotApplicable { reason: String },
    /// The ledger says why no case shows it.
    Excluded { reason: String },
}

#[derive(Debug, Clone)]
pub struct RequirementResult<'a> {
    pub requirement: &'a Requirement,
    pub verdict: RequirementVerdict,
    /// How many cases passed, of how many that show it.
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
    /// How many of the requirements that decide hold, and how many there are. Those that do not apply are not
    /// counted.
    pub fn deciding(&self) -> (usize, usize) {
        self.count(|requirement| requirement.decides())
    }

    /// The same of those that do not decide: interpretations, `should` and `may`.
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

/// One way in which the list is not as the run is. The line is counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "problem", rename_all = "kebab-case")]
pub enum KnownProblem {
    #[error("line {line}: `{case}` is known to fail, but passes; delete the line")]
    UnexpectedPass { line: usize, case: String },
    #[error("line {line}: `{case}` was to be repaired by {until}, and still fails")]
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

/// All that a run found out.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// The first process's answer to `hello`; none if there was no such answer.
    pub subject: Option<HelloReply>,
    /// In name order.
    pub results: Vec<CaseResult>,
    /// Faults that no single case is to blame for.
    pub faults: Vec<Fault>,
    /// How its laws were tried.
    pub laws: LawOptions,
    /// How many cases were too slow in company but not alone. No verdict depends on it.
    pub late: usize,
    /// The run was interrupted: what is missing was not tried.
    pub interrupted: bool,
    /// A list of known failures was held against it: any other failure counts.
    pub listed: bool,
    /// Where that list is not as the run is.
    pub known_problems: Vec<KnownProblem>,
    /// What the subject's manifest promises and the subject itself does not say.
    pub unkept: Vec<String>,
    /// The case whose failure interrupted it on purpose, if one did.
    pub stopped: Option<String>,
}

impl RunOutcome {
    /// Whether every case passed, or failed as it was known to, and the subject behaved. What was not
    /// exercised or not tried is no pass, and neither is nothing at all.
    pub fn all_passed(&self) -> bool {
        self.faults.is_empty()
            && !self.interrupted
            && !self.results.is_empty()
            && self.known_problems.is_empty()
            && self.unkept.is_empty()
            && self.results.iter().all(|result| result.passed() || result.known.is_some())
    }

    /// The outcomes of disjoint parts as one. A subject that introduced itself in two ways has a fault.
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
            whole.late += part.late;
            whole.known_problems.extend(part.known_problems);
            whole.interrupted |= part.interrupted;
        }
        whole.results.sort_by(|a, b| a.case.cmp(&b.case));
        Fault::settle(&mut whole.faults);
        Some(whole)
    }

    /// Claimed contracts that this suite does not have, and so cannot certify.
    pub fn unknown_contracts(&self, suite: &Suite) -> Vec<&str> {
        let claimed =
            self.subject.iter().flat_map(|subject| &subject.contracts).map(String::as_str);
        claimed.filter(|id| suite.contract(id).is_none()).collect()
    }

    /// What the subject said of itself that this suite knows nothing of: perhaps a slip of the pen.
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
        suite
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
            .collect()
    }
}

fn judge_requirement<'a>(
    requirement: &'a Requirement,
    cases: &[&str],
    verdicts: &BTreeMap<&str, &Verdict>,
) -> RequirementResult<'a> {
    let mut failed = Vec::new();
    let mut passed = 0;
    let mut missing = None;
    for name in cases {
        match verdicts.get(name) {
            Some(Verdict::Passed) => passed += 1,
            Some(Verdict::Failed { .. }) => failed.push((*name).to_owned()),
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
        (None, true, Some(reason)) => RequirementVerdict::NotShown { reason },
        (None, true, None) if passed > 0 => RequirementVerdict::Holds,
        (None, true, None) => {
            RequirementVerdict::NotShown { reason: "no case shows it".to_owned() }
        }
    };
    RequirementResult { requirement, verdict, passed, cases: cases.len() }
}
