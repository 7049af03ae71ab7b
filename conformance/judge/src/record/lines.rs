//! The line types of a record.

use proofmark_protocol::HelloReply;
use serde::{Deserialize, Serialize};

use super::{CaseSeen, FORMAT, Record, Recorded};
use crate::fault::Fault;
use crate::law::LawOptions;
use crate::transcript::{Ending, Seen, Stopped, Transcript, Try};
use crate::verdict::NotExercised;

/// The only member that is read first: other versions may have other members.
#[derive(Deserialize)]
pub(super) struct Version {
    pub(super) format: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    format: String,
    proofmark: String,
    suite: String,
    pub(super) laws: LawOptions,
    subject: Option<HelloReply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    faults: Vec<Fault>,
    interrupted: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unkept: Vec<String>,
    /// The number of lines that follow, to detect a truncated record.
    pub(super) cases: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CaseLine {
    pub(super) case: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_exercised: Option<NotExercised>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Seen>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    #[serde(default, skip_serializing_if = "is_quiet")]
    end: Ending,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tries: Vec<TryLine>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TryLine {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    path: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<Seen>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    #[serde(default, skip_serializing_if = "is_quiet")]
    end: Ending,
}

fn is_quiet(end: &Ending) -> bool {
    *end == Ending::default()
}

impl Header {
    pub(super) fn of(record: &Record) -> Self {
        Self {
            format: FORMAT.to_owned(),
            proofmark: record.proofmark.clone(),
            suite: record.suite.clone(),
            laws: record.laws,
            subject: record.subject.clone(),
            partition: record.partition.clone(),
            faults: record.faults.clone(),
            interrupted: record.interrupted,
            unkept: record.unkept.clone(),
            cases: record.cases.len(),
        }
    }

    pub(super) fn with(self, cases: Vec<Recorded>) -> Record {
        let Self {
            proofmark, suite, laws, subject, partition, faults, interrupted, unkept, ..
        } = self;
        Record { proofmark, suite, subject, laws, partition, faults, interrupted, unkept, cases }
    }
}

impl CaseLine {
    pub(super) fn of(recorded: &Recorded) -> Self {
        let case = recorded.case.clone();
        match &recorded.seen {
            CaseSeen::NotExercised(reason) => {
                let not_exercised = Some(reason.clone());
                Self { not_exercised, ..Self::played(case, Transcript::default()) }
            }
            CaseSeen::Played(transcript) => Self::played(case, transcript.clone()),
        }
    }

    fn played(case: String, transcript: Transcript) -> Self {
        let Transcript { steps, stopped, end, tries } = transcript;
        let tries = tries.into_iter().map(|Try { path, transcript }| {
            let Transcript { steps, stopped, end, .. } = transcript;
            TryLine { path, steps, stopped, end }
        });
        Self { case, not_exercised: None, steps, stopped, end, tries: tries.collect() }
    }

    pub(super) fn recorded(self) -> Recorded {
        let Self { case, not_exercised, steps, stopped, end, tries } = self;
        let seen = match not_exercised {
            Some(reason) => CaseSeen::NotExercised(reason),
            None => {
                let tries = tries.into_iter().map(|TryLine { path, steps, stopped, end }| {
                    let transcript = Transcript { steps, stopped, end, tries: Vec::new() };
                    Try { path, transcript }
                });
                CaseSeen::Played(Transcript { steps, stopped, end, tries: tries.collect() })
            }
        };
        Recorded { case, seen }
    }
}
