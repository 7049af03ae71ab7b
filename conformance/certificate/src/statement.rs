//! The statement: in-toto's Statement v1 in canonical JSON (RFC 8785).

use std::collections::{BTreeMap, BTreeSet};

use proofmark_judge::Suite;
use proofmark_judge::ledger::{Basis, Level};
use proofmark_judge::record::{Record, RecordError};
use proofmark_judge::select::{SelectError, Selection};
use proofmark_judge::verdict::{ContractResult, RequirementResult, RequirementVerdict, RunOutcome};
use serde::{Deserialize, Serialize};

use crate::sha256;

/// The `_type` of every in-toto statement.
pub const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// The predicate type for a certified subject.
pub const CERTIFICATE: &str = "urn:proofmark:certificate:1";
/// The predicate type for a refusal. It differs, so that a policy that requires a certificate never accepts it.
pub const REFUSAL: &str = "urn:proofmark:refusal:1";
/// The name of the record next to a certificate.
pub const TRANSCRIPT: &str = "transcript.jsonl";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Statement {
    #[serde(rename = "_type")]
    pub kind: String,
    pub subject: Vec<Named>,
    pub predicate_type: String,
    pub predicate: Predicate,
}

/// Something with a name and a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    pub name: String,
    pub digest: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Predicate {
    pub result: Outcome,
    /// What the digest of the statement's subject covers.
    pub subject_is: SubjectIs,
    /// The digest of the statement's `subject` in canonical JSON. It reveals a changed byte there even if the
    /// statement is unsigned and the files are not available.
    pub subject_digest: Digest,
    /// The subject's answer to `hello`, if any.
    pub implementation: Option<Implementation>,
    /// The requested contracts; empty means all that are claimed.
    pub asked: Vec<String>,
    pub suite: SuiteIdentity,
    pub laws: Laws,
    pub transcript: Named,
    pub contracts: Vec<Contract>,
    /// Faults that no case is to blame for.
    pub faults: Vec<String>,
    /// Promises of the subject's manifest that the subject's `hello` does not confirm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unkept: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Certified,
    NotCertified,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectIs {
    /// The files named for the run.
    Artifacts,
    /// The transcript: no file was named, so it is all that is known of the subject.
    Transcript,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Implementation {
    pub name: String,
    pub version: String,
    pub language: String,
    pub contracts: Vec<String>,
    pub hooks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteIdentity {
    /// The version of the program that ran it.
    pub version: String,
    /// The digest of all features and fixtures.
    pub digest: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Laws {
    /// As text: canonical JSON has no 64-bit integers.
    pub seed: String,
    pub cases: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    pub id: String,
    pub claimed: bool,
    pub certified: bool,
    pub requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    pub id: String,
    pub level: String,
    pub basis: String,
    pub verdict: String,
    pub passed: usize,
    pub cases: usize,
    /// The cases that break it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Why it was not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The parts of a statement that are not in the record of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// The certified files, by name and digest.
    pub artifacts: Vec<Named>,
    /// The requested contracts; empty means all.
    pub asked: Vec<String>,
}

/// Why no statement can be made or read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Selection(#[from] SelectError),
    #[error("the run was interrupted, so it determined nothing")]
    Interrupted,
    #[error("the run is only a part (`{partition}`); combine all parts with `proofmark merge`")]
    Part { partition: String },
    #[error("case `{case}` was not run, so the run is incomplete")]
    Hole { case: String },
    #[error("case `{case}` was run, but not requested")]
    Surplus { case: String },
    #[error("two artifacts have the name `{name}`; the names in a statement must be unique")]
    SameName { name: String },
    #[error("{fault}")]
    Form { fault: String },
    #[error("it is not in canonical form, so it was changed after it was made")]
    NotCanonical,
    #[error("it contradicts itself: {message}")]
    Contradiction { message: &'static str },
}

/// Whether at least one contract is claimed or requested, and all of them are certified.
pub fn holds(
    suite: &Suite,
    outcome: &RunOutcome,
    contracts: &[ContractResult<'_>],
    asked: &[String],
) -> bool {
    let asked = !asked.is_empty();
    let mut counted = contracts.iter().filter(|contract| contract.claimed || asked).peekable();
    let unknown = !asked && !outcome.unknown_contracts(suite).is_empty();
    !outcome.interrupted
        && outcome.unkept.is_empty()
        && !unknown
        && counted.peek().is_some()
        && counted.all(|contract| contract.certified)
}

impl Statement {
    /// The statement about a run. `bytes` is its record, as written next to the statement.
    pub fn of(suite: &Suite, bytes: &[u8], terms: &Terms) -> Result<Self, StatementError> {
        let record = Record::parse(bytes)?;
        let outcome = record.rejudge(suite)?;
        if outcome.interrupted {
            return Err(StatementError::Interrupted);
        }
        if let Some(partition) = record.partition {
            return Err(StatementError::Part { partition });
        }
        complete(suite, &outcome, &terms.asked)?;
        let judged = outcome.judge(suite);
        let certified = holds(suite, &outcome, &judged, &terms.asked);
        let digest = Digest { sha256: sha256(bytes) };
        let hello = outcome.subject.as_ref();
        let mut artifacts = terms.artifacts.clone();
        artifacts.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(two) = artifacts.windows(2).find(|two| two[0].name == two[1].name) {
            return Err(StatementError::SameName { name: two[0].name.clone() });
        }
        let (subject_is, subject) = if artifacts.is_empty() {
            let name = hello.map_or_else(
                || "a subject that never said hello".to_owned(),
                |hello| format!("{} {}", hello.name, hello.version),
            );
            (SubjectIs::Transcript, vec![Named { name, digest: digest.clone() }])
        } else {
            (SubjectIs::Artifacts, artifacts)
        };
        let predicate = Predicate {
            result: if certified { Outcome::Certified } else { Outcome::NotCertified },
            subject_is,
            subject_digest: Digest { sha256: sha256(&canonical(&subject)) },
            implementation: hello.map(|hello| Implementation {
                name: hello.name.clone(),
                version: hello.version.clone(),
                language: hello.language.clone(),
                contracts: hello.contracts.clone(),
                hooks: hello.hooks.clone(),
            }),
            asked: terms.asked.clone(),
            suite: SuiteIdentity {
                version: record.proofmark.clone(),
                digest: Digest { sha256: record.suite.clone() },
            },
            laws: Laws { seed: record.laws.seed.to_string(), cases: record.laws.cases },
            transcript: Named { name: TRANSCRIPT.to_owned(), digest },
            contracts: judged.iter().map(contract).collect(),
            faults: outcome.faults.iter().map(ToString::to_string).collect(),
            unkept: outcome.unkept.clone(),
        };
        let predicate_type = if certified { CERTIFICATE } else { REFUSAL }.to_owned();
        Ok(Self { kind: STATEMENT.to_owned(), subject, predicate_type, predicate })
    }

    /// The parts of this statement that are not in the record. With them it can be made again.
    pub fn terms(&self) -> Terms {
        let named = self.predicate.subject_is == SubjectIs::Artifacts;
        Terms {
            artifacts: if named { self.subject.clone() } else { Vec::new() },
            asked: self.predicate.asked.clone(),
        }
    }

    pub fn is_certified(&self) -> bool {
        self.predicate.result == Outcome::Certified
    }

    /// Canonical JSON and a newline.
    pub fn to_bytes(&self) -> Vec<u8> {
        canonical(self)
    }

    /// Reads a statement and checks that it is canonical and does not contradict itself. This does not check whether
    /// it is true.
    pub fn parse(bytes: &[u8]) -> Result<Self, StatementError> {
        let statement: Self = serde_json::from_slice(bytes)
            .map_err(|fault| StatementError::Form { fault: fault.to_string() })?;
        let wrong = |message| Err(StatementError::Contradiction { message });
        if statement.kind != STATEMENT {
            return Err(StatementError::Form { fault: format!("`_type` must be `{STATEMENT}`") });
        }
        if statement.to_bytes() != bytes {
            return Err(StatementError::NotCanonical);
        }
        let certified = statement.is_certified();
        let predicate = &statement.predicate;
        match statement.predicate_type.as_str() {
            CERTIFICATE if certified => {}
            REFUSAL if !certified => {}
            CERTIFICATE | REFUSAL => return wrong("its type and its result differ"),
            other => {
                let fault = format!("`predicateType` is `{other}`, and not `{CERTIFICATE}`");
                return Err(StatementError::Form { fault });
            }
        }
        let hex = |digest: &Digest| {
            digest.sha256.len() == 64
                && digest.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        if predicate.subject_digest.sha256 != sha256(&canonical(&statement.subject)) {
            return wrong("its subject was changed");
        }
        let named = statement.subject.iter().chain([&predicate.transcript]);
        if !named.map(|one| &one.digest).chain([&predicate.suite.digest]).all(hex) {
            return wrong("a SHA-256 must be 64 lower-case hex digits");
        }
        if !predicate.asked.is_sorted_by(|a, b| a < b) {
            return wrong("`asked` must be sorted, and each contract once");
        }
        if certified && !predicate.unkept.is_empty() {
            return wrong("it is a certificate, but the manifest's promises are not kept");
        }
        let mut claimed = predicate.contracts.iter().filter(|one| one.claimed).peekable();
        if certified && (claimed.peek().is_none() || !claimed.all(|one| one.certified)) {
            return wrong("it is a certificate, but not every claimed contract is certified");
        }
        if certified && !predicate.faults.is_empty() {
            return wrong("it is a certificate, but the run had faults");
        }
        let broken = |one: &&Requirement| {
            let decides = one.level == "must" && one.basis == "contract";
            decides && !["holds", "not-applicable", "excluded"].contains(&one.verdict.as_str())
        };
        let mut contracts = predicate.contracts.iter();
        if contracts.any(|one| one.certified && one.requirements.iter().any(|one| broken(&one))) {
            return wrong("a contract is certified, but one of its promises does not hold");
        }
        Ok(statement)
    }
}

/// RFC 8785, plus a newline for printing.
pub(crate) fn canonical(value: &impl Serialize) -> Vec<u8> {
    // Text, small numbers and lists always have a canonical form.
    let mut bytes = serde_json_canonicalizer::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Checks that the run has every requested case and no other.
fn complete(suite: &Suite, outcome: &RunOutcome, asked: &[String]) -> Result<(), StatementError> {
    let selection = Selection { contracts: asked.to_vec(), ..Selection::default() };
    let wanted: BTreeSet<&str> =
        selection.of(suite)?.into_iter().map(|case| case.name.as_str()).collect();
    let had: BTreeSet<&str> = outcome.results.iter().map(|result| result.case.as_str()).collect();
    if let Some(case) = wanted.difference(&had).next() {
        return Err(StatementError::Hole { case: (*case).to_owned() });
    }
    match had.difference(&wanted).next() {
        Some(case) => Err(StatementError::Surplus { case: (*case).to_owned() }),
        None => Ok(()),
    }
}

fn contract(result: &ContractResult<'_>) -> Contract {
    Contract {
        id: result.contract.id.clone(),
        claimed: result.claimed,
        certified: result.certified,
        requirements: result.requirements.iter().map(requirement).collect(),
    }
}

fn requirement(result: &RequirementResult<'_>) -> Requirement {
    let (verdict, failing, reason) = match &result.verdict {
        RequirementVerdict::Holds => ("holds", Vec::new(), None),
        RequirementVerdict::Broken { cases } => ("broken", cases.clone(), None),
        // Without its cause: which broken promise looks like it is advice for a reader.
        RequirementVerdict::Blocked { reason, .. } => ("blocked", Vec::new(), Some(reason.clone())),
        RequirementVerdict::NotShown { reason } => ("not-shown", Vec::new(), Some(reason.clone())),
        RequirementVerdict::NotApplicable { reason } => {
            ("not-applicable", Vec::new(), Some(reason.clone()))
        }
        RequirementVerdict::Excluded { reason } => ("excluded", Vec::new(), Some(reason.clone())),
    };
    Requirement {
        id: result.requirement.id.clone(),
        level: match result.requirement.level {
            Level::Must => "must",
            Level::Should => "should",
            Level::May => "may",
        }
        .to_owned(),
        basis: match result.requirement.basis {
            Basis::Contract => "contract",
            Basis::Interpretation => "interpretation",
        }
        .to_owned(),
        verdict: verdict.to_owned(),
        passed: result.passed,
        cases: result.cases,
        failing,
        reason,
    }
}

/// Describes the first difference between two statements.
pub fn first_difference(stated: &Statement, made: &Statement) -> String {
    let verdicts = |statement: &Statement| -> BTreeMap<String, String> {
        let contracts = statement.predicate.contracts.iter();
        contracts
            .flat_map(|contract| &contract.requirements)
            .map(|one| {
                let verdict = format!("{} ({} of {} cases)", one.verdict, one.passed, one.cases);
                (one.id.clone(), verdict)
            })
            .collect()
    };
    let (claimed, found) = (verdicts(stated), verdicts(made));
    let ids: BTreeSet<&String> = claimed.keys().chain(found.keys()).collect();
    let absent = "nothing".to_owned();
    for id in ids {
        let (claimed, found) =
            (claimed.get(id).unwrap_or(&absent), found.get(id).unwrap_or(&absent));
        if claimed != found {
            return format!("it says of {id}: {claimed}; judged again: {found}");
        }
    }
    if stated.predicate.result != made.predicate.result {
        return "its result differs from that of the transcript".to_owned();
    }
    "its verdicts match the transcript, but other members do not".to_owned()
}
