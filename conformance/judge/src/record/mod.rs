//! The record of a run. Everything after a run (verdicts, reports, certificates, merging) is a function of the suite
//! and this record.
//!
//! One JSON object per line: a header, then each case in name order with its transcript. Lines, so that everyday
//! tools can search and compare records, and one case can be read without the others. There is one way to write a
//! record, and reading accepts no other: if a subject does the same in two runs, both records have the same bytes. A
//! record has no times, no workspace paths and no stderr, and members of a subject's objects are sorted by name.
//! Whatever a contract leaves open, such as the order of concurrent appends, is recorded as it happened.

mod lines;
mod merge;
mod read;
mod same;
mod settle;

use proofmark_protocol::HelloReply;
use serde_json::Value;

pub use self::merge::MergeError;
pub use self::read::{MOST_BYTES, RecordError};
pub use self::same::check_rejudged;
use crate::case::{Case, CaseKind};
use crate::fault::Fault;
use crate::judge::judge_case;
use crate::law::LawOptions;
use crate::law::MOST_SHRINKS;
use crate::parallel;
use crate::suite::Suite;
use crate::transcript::{Answered, Seen, Stopped, Transcript, Try};
use crate::verdict::{CaseResult, NotExercised, RunOutcome, Verdict};

/// The format version, in the first line of every record.
pub const FORMAT: &str = "proofmark-transcript/1";

/// Everything that the harness saw in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The version of the program that wrote it.
    pub proofmark: String,
    /// The digest of the suite.
    pub suite: String,
    pub subject: Option<HelloReply>,
    pub laws: LawOptions,
    /// Which part of the cases was run, as the user wrote it.
    pub partition: Option<String>,
    pub faults: Vec<Fault>,
    pub interrupted: bool,
    /// Promises of the subject's manifest that the subject's `hello` does not confirm.
    pub unkept: Vec<String>,
    /// In name order.
    pub cases: Vec<Recorded>,
}

/// What was seen of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub case: String,
    pub seen: CaseSeen,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CaseSeen {
    NotExercised(NotExercised),
    Played(Transcript),
}

impl Record {
    /// The record of a run that kept its transcripts (`RunOptions::record`). Fails if the run has more data than a
    /// record may hold.
    pub fn of(
        outcome: &RunOutcome,
        suite: &Suite,
        partition: Option<&str>,
    ) -> Result<Self, RecordError> {
        let recorded = |result: &CaseResult| {
            let seen = match (&result.verdict, &result.transcript) {
                (Verdict::NotExercised { reason }, _) => CaseSeen::NotExercised(reason.clone()),
                (_, Some(transcript)) => CaseSeen::Played(settled(transcript)),
                (_, None) => return Err(RecordError::TooLarge),
            };
            Ok(Recorded { case: result.case.clone(), seen })
        };
        let mut subject = outcome.subject.clone();
        if let Some(hello) = &mut subject {
            hello.options.sort_keys();
            hello.options.values_mut().for_each(Value::sort_all_objects);
        }
        Ok(Self {
            proofmark: env!("CARGO_PKG_VERSION").to_owned(),
            suite: suite.digest.clone(),
            subject,
            laws: outcome.laws,
            partition: partition.map(str::to_owned),
            faults: outcome.faults.clone(),
            interrupted: outcome.interrupted,
            unkept: outcome.unkept.clone(),
            cases: outcome.results.iter().map(recorded).collect::<Result<_, _>>()?,
        })
    }

    /// What was seen of a case.
    pub fn seen(&self, case: &str) -> Option<&CaseSeen> {
        let index = self.cases.binary_search_by(|one| one.case.as_str().cmp(case)).ok()?;
        Some(&self.cases[index].seen)
    }

    /// Checks that the record belongs to this suite.
    pub fn is_of(&self, suite: &Suite) -> Result<(), RecordError> {
        if self.suite == suite.digest {
            return Ok(());
        }
        Err(RecordError::OtherSuite { recorded: self.suite.clone(), have: suite.digest.clone() })
    }

    /// Judges every case again, without the subject. A record has no stderr.
    pub fn rejudge(&self, suite: &Suite) -> Result<RunOutcome, RecordError> {
        self.is_of(suite)?;
        let judged = parallel::map(&self.cases, |recorded| self.rejudge_case(suite, recorded));
        Ok(RunOutcome {
            subject: self.subject.clone(),
            results: judged.into_iter().collect::<Result<_, _>>()?,
            faults: self.faults.clone(),
            laws: self.laws,
            interrupted: self.interrupted,
            unkept: self.unkept.clone(),
            ..RunOutcome::default()
        })
    }

    fn rejudge_case(&self, suite: &Suite, recorded: &Recorded) -> Result<CaseResult, RecordError> {
        let Recorded { case: name, seen } = recorded;
        let known = suite.cases.binary_search_by(|case| case.name.as_str().cmp(name));
        let case = known.map(|index| &suite.cases[index]);
        let case = case.map_err(|_| RecordError::UnknownCase { case: name.clone() })?;
        let (verdict, transcript) = match seen {
            CaseSeen::NotExercised(reason) => {
                (Verdict::NotExercised { reason: reason.clone() }, None)
            }
            CaseSeen::Played(transcript) => {
                self.fits(case, transcript)?;
                let verdict = judge_case(case, self.laws, transcript);
                (verdict, Some(transcript.clone()))
            }
        };
        Ok(CaseResult { transcript, ..CaseResult::new(name, verdict) })
    }

    /// Checks that a transcript can belong to this case.
    fn fits(&self, case: &Case, transcript: &Transcript) -> Result<(), RecordError> {
        let odd = |message| Err(RecordError::OddCase { case: case.name.clone(), message });
        let CaseKind::Law(_) = case.kind else {
            if !transcript.tries.is_empty() {
                return odd("it has inputs, but the case is not a law".to_owned());
            }
            let (seen, steps) = (transcript.steps.len(), case.steps.len());
            return if seen > steps {
                odd(format!("it has {seen} steps, but the case has {steps}"))
            } else {
                Ok(())
            };
        };
        if !transcript.steps.is_empty() {
            return odd("it has steps, but the case is a law".to_owned());
        }
        let (tried, inputs) = (transcript.tries.len(), self.laws.cases);
        if u32::try_from(tried).map_or(true, |tried| tried > inputs) {
            return odd(format!("it has {tried} inputs, but laws were tried with {inputs}"));
        }
        let wrong = |one: &Try| {
            one.path.len() > MOST_SHRINKS || one.path.bytes().any(|step| !b"sc".contains(&step))
        };
        if transcript.tries.iter().any(wrong) {
            return odd("a shrink path must consist of a few letters `s` and `c`".to_owned());
        }
        Ok(())
    }
}

/// With the members of every object sorted by name.
fn settled(transcript: &Transcript) -> Transcript {
    let mut transcript = transcript.clone();
    settle(&mut transcript);
    transcript
}

fn settle(transcript: &mut Transcript) {
    for seen in &mut transcript.steps {
        let Seen::Calls(answers) = seen else { continue };
        answers.iter_mut().for_each(Answered::sort);
    }
    if let Some(Stopped::Refused(error)) = &mut transcript.stopped {
        error.data.iter_mut().for_each(Value::sort_all_objects);
    }
    transcript.tries.iter_mut().for_each(|one| settle(&mut one.transcript));
}
