//! What every format says of a case whose setup went wrong: no promise is blamed, and the cause is named.

mod made_up;

use made_up::{blocked, reported, rerun, suite};
use proofmark_judge::verdict::{RunOutcome, Verdict};
use proofmark_report::{Aim, Report, failures, github, html, json, junit, markdown, summary, tap};

fn written(write: impl FnOnce(&mut Vec<u8>, &Report<'_>) -> std::io::Result<()>) -> String {
    of(&blocked(), write)
}

fn of(
    outcome: &RunOutcome,
    write: impl FnOnce(&mut Vec<u8>, &Report<'_>) -> std::io::Result<()>,
) -> String {
    reported(outcome, Aim::Certify, |report| {
        let mut out = Vec::new();
        write(&mut out, report).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    })
}

#[track_caller]
fn says(text: &str, expected: &[&str]) {
    for part in expected {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn the_terminal() {
    let shown = written(|out, _| failures::write(out, &suite(), &blocked(), &rerun()));
    says(&shown, &["BLOCKED", "before it could show DEMO-001", "fixtures/demo/greet.json:7"]);
    assert!(!shown.contains("What DEMO-001 says."), "{shown}");
    let shown =
        written(|out, report| summary::write_contracts(out, report.outcome, report.contracts));
    says(&shown, &["[blocked by DEMO-002: `demo.greet`: `$` is \"hello wurld\"]"]);
    let shown = written(|out, report| {
        summary::write_verdict(out, report.suite, report.outcome, report.contracts)
    });
    says(&shown, &["broken\u{1b}[0m: DEMO-002", "blocked\u{1b}[0m: DEMO-001"]);
}

#[test]
fn another_answer_is_no_cause() {
    let mut outcome = blocked();
    let Verdict::Blocked { failure } = &mut outcome.results[2].verdict else {
        panic!("it is blocked");
    };
    failure.difference.as_mut().expect("a difference").got = "null".to_owned();
    let shown =
        of(&outcome, |out, report| summary::write_contracts(out, report.outcome, report.contracts));
    says(&shown, &["[blocked: `demo.greet`: `$` is null]"]);
}

#[test]
fn json_names_the_cause() {
    let text = written(|out, report| json::write(out, report));
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let cases = report["cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["case"] == "demo/greet/holds").expect("the case");
    assert_eq!(case["verdict"], "blocked");
    let requirement = &report["contracts"][0]["requirements"][0];
    assert_eq!(requirement["verdict"], "blocked");
    assert_eq!(requirement["by"], "DEMO-002");
    assert_eq!(requirement["blocked"], serde_json::json!(["demo/greet/holds"]));
}

#[test]
fn formats_for_gates() {
    says(
        &written(|out, report| junit::write(out, report)),
        &["<error message=\"Blocked before it could show DEMO-001. At $: expected"],
    );
    says(&written(|out, report| tap::write(out, report)), &["  blocked: true\n  reason:"]);
    let annotations = written(|out, report| github::annotate(out, report, |_| false));
    let titles: Vec<&str> =
        annotations.lines().filter_map(|line| line.split("::").nth(1)).collect();
    assert_eq!(
        titles,
        ["error title=DEMO-002 demo/greet/breaks", "error title=blocked%3A demo/greet/holds"]
    );
}

#[test]
fn pages_count_it_apart() {
    let page = reported(&blocked(), Aim::Certify, markdown::summary);
    says(&page, &["1 failed, 1 blocked"]);
    let page = reported(&blocked(), Aim::Certify, html::page);
    says(&page, &["badge warn\">blocked", "blocked by DEMO-002"]);
}
