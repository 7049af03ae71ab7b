//! A run can be recorded and judged again with the same result.

use std::time::Duration;

use crate::common::{PROOFMARK, embedded_suite, reference};
use proofmark_judge::Suite;
use proofmark_judge::case::Case;
use proofmark_judge::law::LawOptions;
use proofmark_judge::record::{MergeError, Record, RecordError, check_rejudged};
use proofmark_judge::select::{Selection, Shard};
use proofmark_judge::verdict::{RunOutcome, Verdict};
use proofmark_suite::run::{Cancel, RunOptions, run};
use proofmark_suite::subject::{Patience, SubjectCommand};
use rstest::rstest;

fn options() -> RunOptions {
    RunOptions {
        record: true,
        jobs: 1,
        scratch: proofmark_selftest::memory(),
        laws: LawOptions { cases: 5, ..LawOptions::default() },
        ..RunOptions::default()
    }
}

fn played(suite: &Suite, cases: Vec<&Case>, command: &SubjectCommand) -> RunOutcome {
    run(suite, cases, command, &options(), &Cancel::default(), |_| {}).unwrap()
}

/// A short timeout, for subjects that may not answer.
fn hurried(suite: &Suite, cases: Vec<&Case>, command: &SubjectCommand) -> RunOutcome {
    let patience = Patience { call: Duration::from_secs(2), ..Patience::default() };
    let options = RunOptions { patience, ..options() };
    run(suite, cases, command, &options, &Cancel::default(), |_| {}).unwrap()
}

fn adversary(name: &str) -> SubjectCommand {
    SubjectCommand {
        program: PROOFMARK.into(),
        args: ["subject", "--adversary", name].map(Into::into).to_vec(),
        shown: name.to_owned(),
        ..SubjectCommand::default()
    }
}

#[track_caller]
fn comes_out_the_same(suite: &Suite, outcome: &RunOutcome, who: &str) {
    assert_eq!(check_rejudged(outcome, suite), Ok(()), "{who}");
}

#[test]
fn the_reference_comes_out_the_same() {
    let suite = embedded_suite();
    let outcome = played(&suite, suite.cases.iter().collect(), &reference());
    assert!(outcome.all_passed());
    comes_out_the_same(&suite, &outcome, "reference");
}

/// Where a contract leaves nothing open, two runs record the same bytes. The rest is recorded as seen: for the
/// chronicle the order of concurrent appends and the name of a lock's holder; for tools and streams the durations;
/// for servers the listed workspaces of other cases and the order of concurrent events.
#[test]
fn two_runs_are_the_same_bytes() {
    let suite = embedded_suite();
    let leaves_room = ["common", "runs", "sage.chronicle", "sage.llm", "sage.tools"];
    let cases = || suite.cases.iter().filter(|case| !leaves_room.contains(&&*case.contract));
    let first = played(&suite, cases().collect(), &reference());
    let again = played(&suite, cases().rev().collect(), &reference());
    let bytes = |outcome| Record::of(outcome, &suite, None).unwrap().to_bytes();
    assert!(bytes(&first) == bytes(&again));
}

/// `selftest` does this with every saboteur.
#[test]
fn a_difference_between_run_and_record_is_reported() {
    let suite = embedded_suite();
    let cases = suite.cases.iter().filter(|case| case.contract == "sage.errors").collect();
    let mut outcome = played(&suite, cases, &adversary("details-stick"));
    comes_out_the_same(&suite, &outcome, "details-stick");
    let failed = outcome.results.iter().position(|result| !result.passed()).unwrap();
    outcome.results[failed].verdict = Verdict::Passed;
    let shown = check_rejudged(&outcome, &suite).unwrap_err();
    assert!(
        shown.contains(&outcome.results[failed].case) && shown.contains("was Passed"),
        "{shown}"
    );
}

/// Crashes, garbage, silence, bad answers: the record has the fault with its own code.
#[rstest]
#[case("exits-at-once", "exited")]
#[case("exits-on-call", "exited")]
#[case("prints-garbage", "garbage")]
#[case("garbage-on-call", "garbage")]
#[case("half-a-line", "half-a-line")]
#[case("unknown-id", "unknown-id")]
#[case("answers-twice", "answered-twice")]
#[case("closes-stdout", "closed-stdout")]
#[case("asks-without-end", "flooded")]
#[case("other-version", "wrong-version")]
#[case("never-answers", "no-answer")]
#[case("never-opens", "no-answer")]
#[case("no-reply", "bad-answer")]
#[case("no-message", "bad-answer")]
#[case("value-and-error", "bad-answer")]
#[case("implements-nothing", "not-implemented")]
#[case("echoes", "difference")]
fn hostile_subjects_come_out_the_same(#[case] name: &str, #[case] code: &str) {
    let suite = embedded_suite();
    let few = |case: &&Case| Shard::all(150).next().is_some_and(|shard| shard.picks(case));
    let law = suite.cases.iter().find(|case| case.id().starts_with("laws/"));
    let mut cases: Vec<&Case> = suite.cases.iter().filter(few).chain(law).collect();
    cases.dedup_by(|a, b| a.name == b.name);
    let outcome = hurried(&suite, cases, &adversary(name));
    comes_out_the_same(&suite, &outcome, name);
    let failures = outcome.results.iter().filter_map(|result| result.verdict.failure());
    let reasons = failures.map(|failure| failure.reason.as_str());
    let codes: Vec<&str> = outcome.faults.iter().map(|fault| fault.code()).chain(reasons).collect();
    assert!(codes.contains(&code), "{codes:?}");
}

fn small(suite: &Suite) -> Record {
    let cases = suite.cases.iter().filter(|case| case.contract == "sage.errors").collect();
    Record::of(&played(suite, cases, &reference()), suite, Some("hash:1/1")).unwrap()
}

#[test]
fn records_in_other_forms_are_refused() {
    let suite = embedded_suite();
    let bytes = small(&suite).to_bytes();
    let text = String::from_utf8(bytes).unwrap();
    let refused = |text: String| Record::parse(text.as_bytes()).unwrap_err();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(refused(String::new()), RecordError::Empty);
    assert_eq!(refused(text[..text.len() - 1].to_owned()), RecordError::CutOff);
    assert!(matches!(
        refused(format!("{}\n", lines[..5].join("\n"))),
        RecordError::WrongCount { found: 4, .. }
    ));
    assert!(matches!(
        refused(text.replacen("transcript/1", "transcript/2", 1)),
        RecordError::OtherFormat { .. }
    ));
    assert!(matches!(refused(format!("{text}x\n")), RecordError::BadLine { .. }));
    assert!(matches!(
        refused(format!("{text}{}\n", lines.last().unwrap())),
        RecordError::Twice { .. }
    ));
    assert!(matches!(
        refused(text.replacen(lines[2], &format!("{} ", lines[2]), 1)),
        RecordError::NotCanonical { line: 3 }
    ));
    assert!(matches!(
        refused(text.replacen("{\"case\"", "{\"extra\":1,\"case\"", 1)),
        RecordError::BadLine { line: 2, .. }
    ));
    assert!(matches!(refused("garbage\n".to_owned()), RecordError::NoHeader { .. }));
    let swapped = [&lines[..1], &[lines[2], lines[1]], &lines[3..]].concat().join("\n") + "\n";
    assert!(matches!(refused(swapped), RecordError::OutOfOrder { line: 3, .. }));
}

#[test]
fn records_of_another_suite_are_refused() {
    let suite = embedded_suite();
    let record = small(&suite);
    let mut other = record.clone();
    other.suite = "0".repeat(64);
    assert!(matches!(other.rejudge(&suite), Err(RecordError::OtherSuite { .. })));
    let mut other = record.clone();
    other.cases[0].case = "sage.errors/no/such".to_owned();
    assert!(matches!(other.rejudge(&suite), Err(RecordError::UnknownCase { .. })));
    let mut other = record;
    let seen = other.cases[0].seen.clone();
    other.cases[1].seen = seen;
    let (mut more, index) = (other.cases[0].clone(), 0);
    if let proofmark_judge::record::CaseSeen::Played(transcript) = &mut more.seen {
        let surplus = vec![proofmark_judge::transcript::Seen::Nothing; 50];
        transcript.steps.extend(surplus);
    }
    other.cases[index] = more;
    assert!(matches!(other.rejudge(&suite), Err(RecordError::OddCase { .. })));
}

#[rstest]
#[case(3)]
#[case(7)]
fn shards_join_to_the_whole(#[case] count: u64) {
    let suite = embedded_suite();
    let selection = Selection { contracts: vec!["sage.errors".to_owned()], ..Selection::default() };
    let whole = Record { partition: None, ..small(&suite) };
    let parts: Vec<(String, Record)> = Shard::all(count)
        .enumerate()
        .map(|(index, shard)| {
            let cases =
                whole.cases.iter().filter(|one| shard.picks(suite.case(&one.case).unwrap()));
            let part = Record {
                cases: cases.cloned().collect(),
                partition: Some(format!("hash:{}/{count}", index + 1)),
                ..whole.clone()
            };
            (format!("part-{index}"), part)
        })
        .collect();
    let merge = |parts: Vec<_>| Record::merged(parts, &suite, &selection);
    let mut turned = parts.clone();
    turned.reverse();
    assert_eq!(merge(turned).unwrap().to_bytes(), whole.to_bytes());
    let twice = [parts.clone(), parts[1..2].to_vec()].concat();
    assert!(matches!(merge(twice), Err(MergeError::Overlap { .. })));
    assert!(matches!(merge(parts[1..].to_vec()), Err(MergeError::Hole { .. })));
    assert_eq!(merge(Vec::new()), Err(MergeError::Nothing));
    let changed = |change: fn(&mut Record)| {
        let mut parts = parts.clone();
        change(&mut parts[1].1);
        merge(parts).unwrap_err().to_string()
    };
    assert!(changed(|one| one.laws.seed = 9).contains("different inputs of laws"));
    assert!(changed(|one| one.subject.as_mut().unwrap().version.push('1')).contains("subjects"));
    assert!(changed(|one| one.subject = None).contains("different subjects"));
    assert!(changed(|one| one.proofmark.push('1')).contains("versions of proofmark"));
    assert!(changed(|one| one.suite = "00".to_owned()).contains("another suite"));
    assert!(changed(|one| one.interrupted = true).contains("was interrupted"));
    let all = Record::merged(parts, &suite, &Selection::default());
    assert!(matches!(all, Err(MergeError::Hole { .. })), "the other contracts are missing");
}
