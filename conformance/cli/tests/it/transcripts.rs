//! A verdict is a function of the case and its transcript.

use crate::common::{PROOFMARK, embedded_suite};
use proofmark_judge::case::{Case, CaseKind};
use proofmark_judge::judge::judge;
use proofmark_judge::verdict::Verdict;
use proofmark_suite::run::{Cancel, RunOptions, run};
use proofmark_suite::subject::SubjectCommand;
use rstest::rstest;

/// Judged again without the subject, every case gets the same verdict: passes, differences in answers, files and
/// calls of fakes, and bad answers.
#[rstest]
#[case("rewrites-old-lines", "sage.chronicle/append/")]
#[case("tail-from-the-head", "sage.chronicle/tail/")]
#[case("trims-keys", "sage.utils/")]
#[case("loses-some-causes", "sage.errors/")]
#[case("no-reply", "sage.utils/")]
#[case("implements-nothing", "sage.errors/")]
fn judging_again_gives_the_same_verdict(#[case] adversary: &str, #[case] prefix: &str) {
    let suite = embedded_suite();
    let written =
        |case: &&Case| case.name.starts_with(prefix) && !matches!(case.kind, CaseKind::Law(_));
    let cases: Vec<&Case> = suite.cases.iter().filter(written).collect();
    let command = SubjectCommand {
        program: PROOFMARK.into(),
        args: ["subject", "--adversary", adversary].map(Into::into).to_vec(),
        shown: adversary.to_owned(),
        ..SubjectCommand::default()
    };
    let options = RunOptions { record: true, ..RunOptions::default() };
    let outcome = run(&suite, cases, &command, &options, &Cancel::default(), |_| {}).unwrap();
    assert!(outcome.results.iter().any(|result| !result.passed()), "{adversary} breaks nothing");
    for result in &outcome.results {
        let again = judge(suite.case(&result.case).unwrap(), result.transcript.as_ref().unwrap());
        assert_eq!(
            without_stderr(again),
            without_stderr(result.verdict.clone()),
            "{}",
            result.case
        );
    }
}

fn without_stderr(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Failed { mut failure } => {
            failure.stderr.clear();
            Verdict::Failed { failure }
        }
        other => other,
    }
}
