//! Files that outlive a run: records, certificates and their envelopes, lists of known failures.

use std::path::Path;
use std::sync::LazyLock;

use proofmark_certificate::dsse::Envelope;
use proofmark_certificate::statement::{Statement, Terms};
use proofmark_suite::known::KnownFailures;
use proofmark_suite::law::LawOptions;
use proofmark_suite::record::Record;
use proofmark_suite::transcript::Transcript;
use proofmark_suite::verdict::{CaseResult, RunOutcome, Verdict};
use proofmark_suite::{Suite, SuiteFiles};

static SUITE: LazyLock<Suite> =
    LazyLock::new(|| Suite::load(&SuiteFiles::embedded()).expect("the embedded suite is sound"));

/// There is one way to write a record, and what was read can be judged or is refused.
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

/// Whatever is read as a certificate was written as one.
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

/// A run of which nothing was seen but that it took place.
fn unseen() -> RunOutcome {
    let results = SUITE.cases.iter().take(3).map(|case| CaseResult {
        transcript: Some(Transcript::default()),
        ..CaseResult::new(&case.name, Verdict::Passed)
    });
    RunOutcome {
        subject: None,
        results: results.collect(),
        faults: Vec::new(),
        laws: LawOptions::default(),
        late: 0,
        interrupted: false,
        listed: false,
        known_problems: Vec::new(),
        unkept: Vec::new(),
        stopped: false,
    }
}

pub(super) fn records(_: &Path) -> Vec<Vec<u8>> {
    vec![Record::of(&unseen(), &SUITE, None).to_bytes()]
}

pub(super) fn certificates(_: &Path) -> Vec<Vec<u8>> {
    let record = Record::of(&unseen(), &SUITE, None).to_bytes();
    let statement = Statement::of(&SUITE, &record, &Terms::default());
    statement.map(|statement| statement.to_bytes()).into_iter().collect()
}

pub(super) fn lists(_: &Path) -> Vec<Vec<u8>> {
    let name = &SUITE.cases[0].name;
    vec![format!("# why\n{name} until=2030-01-31 it is so\nno/such/case gone\n").into_bytes()]
}
