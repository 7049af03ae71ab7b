//! Checks the round trip: writing, reading and judging a record gives the verdicts of the run.

use super::{Record, RecordError};
use crate::suite::Suite;
use crate::verdict::{CaseResult, RunOutcome, Verdict};

/// Where a run and its record differ, if they do.
pub fn check_rejudged(outcome: &RunOutcome, suite: &Suite) -> Result<(), String> {
    let context = |what: &'static str| move |fault: RecordError| format!("{what}: {fault}");
    let record = Record::of(outcome, suite, None).map_err(context("the run has no record"))?;
    let bytes = record.to_bytes();
    let read = Record::parse(&bytes).map_err(context("the record cannot be read"))?;
    if read.to_bytes() != bytes {
        return Err("writing the parsed record gives other bytes".to_owned());
    }
    let again = read.rejudge(suite).map_err(context("the record cannot be judged"))?;
    let whole =
        |one: &RunOutcome| (one.subject.clone(), one.faults.clone(), one.laws, one.results.len());
    if whole(&again) != whole(outcome) {
        return Err("the record has another subject or other faults".to_owned());
    }
    let parts = |(live, judged): (&CaseResult, &CaseResult)| {
        (live.case != judged.case || quiet(&live.verdict) != quiet(&judged.verdict)).then(|| {
            format!(
                "`{}` was {:?}, but is {:?} by its record",
                live.case, live.verdict, judged.verdict
            )
        })
    };
    if let Some(message) = outcome.results.iter().zip(&again.results).find_map(parts) {
        return Err(message);
    }
    // The settled record, which a certificate rests on, must give the same verdicts.
    let settled =
        read.settled(suite).rejudge(suite).map_err(context("the record cannot be settled"))?;
    let mut both = outcome.results.iter().zip(&settled.results);
    match both.find(|(live, judged)| live.passed() != judged.passed()) {
        Some((live, _)) => {
            Err(format!("`{}` has another verdict once the record is settled", live.case))
        }
        None => Ok(()),
    }
}

/// Without stderr: a record has none, and it may vary between runs.
fn quiet(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    if let Verdict::Failed { failure } | Verdict::Blocked { failure } = &mut verdict {
        failure.stderr.clear();
    }
    verdict
}
