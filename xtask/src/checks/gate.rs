//! Checks of files that outlive a run: records, certificates and their envelopes, lists of known failures.

use std::path::Path;
use std::sync::LazyLock;

use proofmark_certificate::dsse::Envelope;
use proofmark_certificate::statement::{Statement, Terms};
use proofmark_judge::Suite;
use proofmark_judge::case::{Action, Case, Outcome, Step};
use proofmark_judge::judge::judge;
use proofmark_judge::known::KnownFailures;
use proofmark_judge::matcher::Pattern;
use proofmark_judge::record::Record;
use proofmark_judge::transcript::{Answered, Seen, Transcript};
use proofmark_judge::verdict::{CaseResult, NotExercised, RunOutcome, Verdict};
use serde_json::json;

static SUITE: LazyLock<Suite> = LazyLock::new(|| {
    proofmark_catalog::load(&proofmark_catalog::files()).expect("the embedded suite is sound")
});

/// A record has one serialization, and every parsed record can be judged or is refused.
pub(super) fn record(bytes: &[u8]) {
    let Ok(record) = Record::parse(bytes) else { return };
    assert!(record.to_bytes() == bytes, "it was not written so");
    if let Ok(outcome) = record.rejudge(&SUITE) {
        let settled = record.settled(&SUITE).rejudge(&SUITE).expect("it is the same record");
        let verdicts = |outcome: &RunOutcome| -> Vec<bool> {
            outcome.results.iter().map(CaseResult::passed).collect()
        };
        assert_eq!(verdicts(&outcome), verdicts(&settled), "settling changes no verdict");
    }
}

/// Every parsed certificate serializes to the same bytes.
pub(super) fn certificate(bytes: &[u8]) {
    if let Ok(statement) = Statement::parse(bytes) {
        assert!(statement.to_bytes() == bytes, "it was not written so");
    }
    if let Ok(envelope) = Envelope::parse(bytes) {
        assert!(envelope.to_bytes() == bytes, "it was not written so");
    }
}

pub(super) fn known(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(fault) = KnownFailures::parse(text, &SUITE) {
        assert!(fault.to_string().starts_with("line "), "{fault}");
    }
}

/// The transcript of a subject that answers a case exactly as expected; none if the case does not spell that out.
fn as_expected(case: &Case) -> Option<Transcript> {
    let seen = |step: &Step| match &step.action {
        Action::Call(call)
            if !call.wants_asks() && call.streams.as_ref().is_none_or(Pattern::is_empty_list) =>
        {
            let [outcome] = call.outcomes().collect::<Vec<_>>()[..] else { return None };
            let reply = match outcome {
                Outcome::Returns(pattern) => json!({ "value": pattern.source }),
                Outcome::Fails(pattern) => {
                    let mut error = pattern.source.clone();
                    error["message"] = json!("it cannot be");
                    error["pid"] = json!(4711);
                    json!({ "error": error })
                }
            };
            let answer = Answered { reply: Ok(reply), asks: Vec::new(), events: Vec::new() };
            Some(Seen::Calls(vec![answer]))
        }
        _ => None,
    };
    let steps = case.steps.iter().map(seen).collect::<Option<Vec<Seen>>>()?;
    let transcript = Transcript { steps, ..Transcript::default() };
    let fits = !case.steps.is_empty() && judge(case, &transcript) == Verdict::Passed;
    fits.then_some(transcript)
}

/// A run in which these cases passed, and the others were not exercised.
fn run(played: &[&Case]) -> RunOutcome {
    let results = SUITE.cases.iter().map(|case| {
        let transcript = played.iter().any(|one| one.name == case.name).then(|| as_expected(case));
        match transcript.flatten() {
            Some(transcript) => CaseResult {
                transcript: Some(transcript),
                ..CaseResult::new(&case.name, Verdict::Passed)
            },
            None => CaseResult::new(
                &case.name,
                Verdict::NotExercised { reason: NotExercised::NotClaimed },
            ),
        }
    });
    RunOutcome { results: results.collect(), ..RunOutcome::default() }
}

fn playable() -> Vec<&'static Case> {
    SUITE.cases.iter().filter(|case| as_expected(case).is_some()).collect()
}

fn recorded(outcome: &RunOutcome) -> Vec<u8> {
    Record::of(outcome, &SUITE, None).expect("its transcripts were kept").to_bytes()
}

/// A few cases each: an error, a value, a file.
pub(super) fn records(_: &Path) -> Vec<Vec<u8>> {
    let alone = |case: &&Case| {
        let mut outcome = run(&[case]);
        outcome.results.retain(|result| result.case == case.name);
        recorded(&outcome)
    };
    playable().iter().step_by(7).map(alone).collect()
}

pub(super) fn certificates(_: &Path) -> Vec<Vec<u8>> {
    let record = recorded(&run(&playable()));
    let statement = Statement::of(&SUITE, &record, &Terms::default());
    vec![statement.expect("every case is in the record").to_bytes()]
}

pub(super) fn lists(_: &Path) -> Vec<Vec<u8>> {
    let name = &SUITE.cases[0].name;
    vec![format!("# why\n{name} until=2030-01-31 it is so\nno/such/case gone\n").into_bytes()]
}
