//! Known failures: a list that a subject's owner maintains and every run checks.
//!
//! A line has the name of a case, optionally `until=DATE` as a deadline, and the reason:
//!
//! ```text
//! # What my-build cannot do yet.
//! my.notes/append/round-trip  until=2027-01-31  the log writer does not sync yet
//! ```

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::problem::did_you_mean;
use crate::suite::Suite;
use crate::verdict::{KnownProblem, RunOutcome, Verdict};

/// A parsed list.
#[derive(Debug, Default)]
pub struct KnownFailures {
    /// By the current name of the case.
    lines: BTreeMap<String, Line>,
    /// Lines whose case is not in the suite.
    unknown: Vec<KnownProblem>,
}

#[derive(Debug)]
struct Line {
    number: usize,
    until: Option<Date>,
    reason: String,
}

/// Why a list cannot be read. Lines count from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnownError {
    #[error("line {line}: `{case}` has no reason; write why it fails after its name")]
    NoReason { line: usize, case: String },
    #[error("line {line}: `{date}` is not a date such as `until=2027-01-31`")]
    BadDate { line: usize, date: String },
    #[error(
        "line {line}: write the deadline of `{case}` right after its name, as `until=2027-01-31`; a reason must not begin with `until` or contain `until=`"
    )]
    BadUntil { line: usize, case: String },
    #[error("line {line}: `{case}` is already listed in line {first}; delete one")]
    Twice { line: usize, first: usize, case: String },
    #[error("line {line}: `{glob}` is a glob; write one line for each known failure")]
    Glob { line: usize, glob: String },
}

impl KnownFailures {
    /// Reads a list. Former names of cases are accepted.
    pub fn parse(text: &str, suite: &Suite) -> Result<Self, KnownError> {
        let mut known = Self::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, written) in (1..).zip(text.lines()) {
            let written = written.trim();
            if written.is_empty() || written.starts_with('#') {
                continue;
            }
            known.add(line, written, suite)?;
        }
        Ok(known)
    }

    fn add(&mut self, line: usize, written: &str, suite: &Suite) -> Result<(), KnownError> {
        let (name, rest) = written.split_once(char::is_whitespace).unwrap_or((written, ""));
        let rest = rest.trim_start();
        let (until, reason) = match rest.strip_prefix("until=") {
            Some(dated) => {
                let (date, reason) = dated.split_once(char::is_whitespace).unwrap_or((dated, ""));
                // Accept only one spelling of a date, so that a text search finds it.
                let parsed = date.parse::<Date>().ok().filter(|day| day.to_string() == date);
                let bad = || KnownError::BadDate { line, date: date.to_owned() };
                (Some(parsed.ok_or_else(bad)?), reason.trim_start())
            }
            None => (None, rest),
        };
        let said = reason.to_lowercase();
        if (until.is_none() && said.starts_with("until")) || said.contains("until=") {
            return Err(KnownError::BadUntil { line, case: name.to_owned() });
        }
        if reason.is_empty() {
            return Err(KnownError::NoReason { line, case: name.to_owned() });
        }
        if name.contains(['*', '?', '[', '{']) {
            return Err(KnownError::Glob { line, glob: name.to_owned() });
        }
        let Some(case) = suite.case(name) else {
            let hint = did_you_mean(name, suite.cases.iter().map(|case| case.name.as_str()));
            let message = format!("the suite has no such case{hint}");
            self.unknown.push(KnownProblem::Stale { line, case: name.to_owned(), message });
            return Ok(());
        };
        let entry = Line { number: line, until, reason: reason.to_owned() };
        match self.lines.insert(case.name.clone(), entry) {
            Some(first) => {
                Err(KnownError::Twice { line, first: first.number, case: case.name.clone() })
            }
            None => Ok(()),
        }
    }

    /// Whether this case may fail today.
    pub fn excuses(&self, case: &str, today: Date) -> bool {
        self.excuse(case, today).is_some()
    }

    fn excuse(&self, case: &str, today: Date) -> Option<&Line> {
        self.lines.get(case).filter(|line| line.until.is_none_or(|until| today <= until))
    }

    /// Marks known failures and records where the list is wrong. Cases that were not selected or not tried do not
    /// affect their lines.
    pub fn hold_against(&self, outcome: &mut RunOutcome, today: Date) {
        let mut problems = self.unknown.clone();
        for result in &mut outcome.results {
            let Some(line) = self.lines.get(&result.case) else { continue };
            let (number, case) = (line.number, result.case.clone());
            match (&result.verdict, self.excuse(&case, today), line.until) {
                (Verdict::Passed, _, _) => {
                    problems.push(KnownProblem::UnexpectedPass { line: number, case });
                }
                (Verdict::NotExercised { reason }, _, _) => {
                    let message = format!("it is not exercised: {reason}");
                    problems.push(KnownProblem::Stale { line: number, case, message });
                }
                (Verdict::Failed { .. } | Verdict::Blocked { .. }, None, Some(until)) => {
                    let until = until.to_string();
                    problems.push(KnownProblem::Expired { line: number, case, until });
                }
                (Verdict::Failed { .. } | Verdict::Blocked { .. }, _, _) => {
                    result.known = Some(line.reason.clone());
                }
            }
        }
        problems.sort_by_key(KnownProblem::line);
        outcome.known_problems = problems;
        outcome.listed = true;
    }
}
