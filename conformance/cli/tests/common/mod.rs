//! Shared by the test programs: the built program as a subject, and runs of cases on it.

#![allow(dead_code, reason = "every test program uses a part of it")]

use std::collections::BTreeMap;
use std::process::{Command, Output};

use proofmark_judge::Suite;
use proofmark_judge::case::Case;
use proofmark_judge::verdict::Verdict;
use proofmark_suite::run::{Cancel, RunOptions, run};
use proofmark_suite::subject::SubjectCommand;

pub(crate) const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");

pub(crate) fn embedded_suite() -> Suite {
    proofmark_catalog::load(&proofmark_catalog::files())
        .unwrap_or_else(|problems| panic!("the suite is broken: {problems:#?}"))
}

/// The reference, as a process like any other.
pub(crate) fn reference() -> SubjectCommand {
    SubjectCommand {
        program: PROOFMARK.into(),
        args: vec!["subject".into()],
        shown: "proofmark subject".to_owned(),
        ..SubjectCommand::default()
    }
}

/// Runs cases on the reference and returns the failure of each, or none if it passed.
pub(crate) fn run_on_reference(
    suite: &Suite,
    cases: Vec<&Case>,
) -> BTreeMap<String, Option<String>> {
    let outcome =
        run(suite, cases, &reference(), &RunOptions::default(), &Cancel::default(), |_| {})
            .expect("the reference starts");
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    outcome
        .results
        .into_iter()
        .map(|result| match result.verdict {
            Verdict::Passed => (result.case, None),
            other => (result.case, Some(format!("{other:#?}"))),
        })
        .collect()
}

/// The program's output and exit code.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program says UTF-8");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The program, as a user starts it.
pub(crate) fn proofmark(args: &[&str]) -> Said {
    Said::of(Command::new(PROOFMARK).args(args).output().expect("the program starts"))
}

/// Whether an external program is installed. If not, the test names it and is skipped; in CI that is an error.
pub(crate) fn is_there(program: &str) -> bool {
    let there =
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    needed(there, &format!("{program} is not installed"))
}

pub(crate) fn needed(there: bool, shown: &str) -> bool {
    assert!(there || std::env::var_os("CI").is_none(), "in a CI it must be there: {shown}");
    if !there {
        eprintln!("skipped: {shown}");
    }
    there
}
