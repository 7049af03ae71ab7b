//! The record is the run: what is written down, read again and judged comes out as it did.

use super::{Record, RecordError};
use crate::suite::Suite;
use crate::verdict::{CaseResult, RunOutcome, Verdict};

/// Where a run and its record part, if they do.
pub fn check_rejudged(outcome: &RunOutcome, suite: &Suite) -> Result<(), String> {
    let context = |what: &'static str| move |fault: RecordError| format!("{what}: {fault}");
    let record = Record::of(outcome, suite, None).map_err(context("the run has no record"))?;
    let bytes = record.to_bytes();
    let read = Record::parse(&bytes).map_err(context("the record cannot be read"))?;
    if read.to_bytes() != bytes {
        return Err("the record is written in another way when it was read".to_owned());
    }
    let again = read.rejudge(suite).map_err(context("the record cannot be judged"))?;
    let whole =
        |one: &RunOutcome| (one.subject.clone(), one.faults.clone(), one.laws, one.results.len());
    if whole(&again) != whole(outcome) {
        return Err("the record is of another subject, or has other faults".to_owned());
    }
    let parts = |(live, judged): (&CaseResult, &CaseResult)| {
        (live.case != judged.case || quiet(&live.verdict) != quiet(&judged.verdict)).then(|| {
            format!(
                "`{}` was {:?}, and is {:?} by its record",
                live.case, live.verdict, judged.verdict
            )
        })
    };
    if let Some(message) = outcome.results.iter().zip(&again.results).find_map(parts) {
        return Err(message);
    }
    // What a certificate rests on says no more and no less.
    let settled =
        read.settled(suite).rejudge(suite).map_err(context("the record cannot be settled"))?;
    let mut both = outcome.results.iter().zip(&settled.results);
    match both.find(|(live, judged)| live.passed() != judged.passed()) {
        Some((live, _)) => Err(format!("`{}` comes out otherwise once it is settled", live.case)),
        None => Ok(()),
    }
}

/// Without stderr, which is not in a record: it may be another one each time.
fn quiet(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    if let Verdict::Failed { failure } = &mut verdict {
        failure.stderr.clear();
    }
    verdict
}
