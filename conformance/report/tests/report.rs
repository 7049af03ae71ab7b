//! The reports of a made-up run, for people and for programs.

mod made_up;

use std::time::Duration;

use made_up::{outcome, rerun, suite};
use proofmark_judge::Location;
use proofmark_judge::matcher::Difference;
use proofmark_judge::verdict::{CallSeen, CaseResult, Failure, RunOutcome, Verdict};
use proofmark_report::failure::Rerun;
use proofmark_report::{failures, json, summary};
use serde_json::{Value, json};

/// The output without colours and trailing spaces.
fn plain(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("writing into memory");
    let text = String::from_utf8(out).expect("text");
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_style, rest)| rest));
    }
    plain.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_failure_has_all_details() {
    let suite = suite();
    let shown = plain(|out| failures::write(out, &suite, &outcome(), &rerun()));
    let shown = shown.replace(&"x".repeat(291), "<291 x>").replace(&"x".repeat(58), "<58 x>");
    insta::assert_snapshot!(shown, @r#"
    FAILED demo/greet/breaks  fixtures/demo/greet.json:7
      DEMO-002 must: What DEMO-002 says.
      why Why breaks matters.
      difference the call returned something else
      step      When somebody greets
      call      demo.greet {"name":"world"}  (process b)
      expected  {"returns":"hello world"}
      got       {"value":"hello wurld"}
      first difference at $
        expected  "hello world"
        got       "hello wurld"
                          ^
      before    demo.greet {} → {"value":"hello"}
                demo.greet {"name":"<291 x> … 51 characters … <58 x>"} → {"value":null}
      fakes     secrets.get {"key":"A"} → {"value":"s3cret"}
                secrets.get {"key":"B"} → {"error":{"code":"ENOTFOUND"}}
      stderr    warning: a typo ahead
                oh no
      run it alone: proofmark run --case demo/greet/breaks --suite 'my suite' -- node my-adapter.mjs
    "#);
}

/// Unknown details are omitted.
#[test]
fn a_failure_without_a_call() {
    let failure =
        Failure::new("exited", "the subject ended with code 3 during `open`", &first_line());
    let result =
        CaseResult::new("demo/greet/holds", Verdict::Failed { failure: Box::new(failure) });
    let rerun =
        Rerun { subject: "reference".to_owned(), options: String::new(), keep_in: ".".to_owned() };
    let outcome = RunOutcome { results: vec![result], ..RunOutcome::default() };
    let shown = plain(|out| failures::write(out, &suite(), &outcome, &rerun));
    insta::assert_snapshot!(shown, @r#"
    FAILED demo/greet/holds  fixtures/demo/greet.json:1
      DEMO-001 must: What DEMO-001 says.
      why Why holds matters.
      exited the subject ended with code 3 during `open`
      run it alone: proofmark run --case demo/greet/holds reference
    "#);
}

#[test]
fn every_contract_and_requirement_has_its_verdict() {
    let (suite, outcome) = (suite(), outcome());
    let contracts = outcome.judge(&suite);
    let shown = plain(|out| {
        summary::write_contracts(out, &outcome, &contracts)?;
        summary::write_faults(out, &suite, &outcome)?;
        summary::write_totals(out, &suite, &outcome, Duration::from_millis(1234))
    });
    insta::assert_snapshot!(shown, @r#"
    demo  not certified  1 of 3 musts hold, 1 of 1 interpretations and options hold
      holds     DEMO-001  must  What DEMO-001 says.  [1 case]
      BROKEN    DEMO-002  must  What DEMO-002 says.  [1 of 1 cases fail]
      not shown DEMO-003  must  What DEMO-003 says.  [the subject has no test hook `demo.lock`]
      excluded  DEMO-004  must  What DEMO-004 says.  [It would take a year.]
      holds     DEMO-005  should (interpretation)  What DEMO-005 says.  [1 case]

    other  not claimed

    FAULT left-processes: the subject left 2 process(es) running; they were killed; nothing is certified
    2 passed, 1 failed, 2 not exercised in 1.23 s
    not exercised: the subject does not claim the contract
    not exercised: the subject has no test hook `demo.lock`
    "#);
}

#[test]
fn a_contract_is_certified() {
    let suite = suite();
    let mut outcome = outcome();
    outcome.faults.clear();
    for result in &mut outcome.results {
        result.verdict = Verdict::Passed;
    }
    let contracts = outcome.judge(&suite);
    let shown = plain(|out| summary::write_contracts(out, &outcome, &contracts));
    let heads: Vec<&str> = shown.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        heads,
        [
            "demo  certified  3 of 3 musts hold, 1 of 1 interpretations and options hold",
            "",
            "other  not claimed",
        ]
    );
}

fn first_line() -> Location {
    Location { file: "fixtures/demo/greet.json".to_owned(), line: 1 }
}

fn failing(reason: &str, message: &str, operation: Option<&str>) -> Verdict {
    let call = operation.map(|operation| CallSeen {
        operation: operation.to_owned(),
        args: json!({}),
        process: "a".to_owned(),
        session: String::new(),
    });
    let difference = (reason == "difference").then(|| Difference {
        path: "$".to_owned(),
        expected: "1".to_owned(),
        got: "2".to_owned(),
    });
    Verdict::Failed {
        failure: Box::new(Failure {
            call,
            difference,
            ..Failure::new(reason, message, &first_line())
        }),
    }
}

fn report_of(verdicts: &[(&str, Verdict)]) -> String {
    report_of_run(verdicts, None)
}

/// As `report_of`, of a run that the failure of this case stopped.
fn report_of_run(verdicts: &[(&str, Verdict)], stopped: Option<&str>) -> String {
    let results: Vec<CaseResult> =
        verdicts.iter().map(|(case, verdict)| CaseResult::new(case, verdict.clone())).collect();
    let rerun =
        Rerun { subject: "reference".to_owned(), options: String::new(), keep_in: ".".to_owned() };
    let outcome =
        RunOutcome { results, stopped: stopped.map(str::to_owned), ..RunOutcome::default() };
    plain(|out| failures::write(out, &suite(), &outcome, &rerun))
}

/// The others only happened to be in flight.
#[test]
fn only_the_failure_that_stopped_a_run_is_shown() {
    let failed = || Verdict::Failed {
        failure: Box::new(Failure {
            words: Some("When somebody greets".to_owned()),
            ..Failure::new("difference", "it is another", &first_line())
        }),
    };
    let verdicts = [
        ("demo/greet/breaks", failed()),
        ("demo/greet/holds", failed()),
        ("demo/greet/other", failed()),
    ];
    let shown = report_of_run(&verdicts, Some("demo/greet/holds"));
    assert_eq!(shown.matches("FAILED ").count(), 1, "{shown}");
    assert!(shown.starts_with("FAILED demo/greet/holds"), "{shown}");
    assert!(shown.contains("and 2 more cases in flight failed"), "{shown}");
}

/// A failure that does not decide must not look like a defeat.
#[test]
fn a_differing_interpretation_is_shown_with_its_reason() {
    let shown = report_of(&[(
        "demo/greet/guess",
        failing("difference", "not as expected", Some("demo.greet")),
    )]);
    insta::assert_snapshot!(shown, @r#"
    DIFFERS (does not decide) demo/greet/guess  fixtures/demo/greet.json:1
      DEMO-005 should (interpretation): What DEMO-005 says.
      because   The text is silent.
      why Why guess matters.
      difference not as expected
      call      demo.greet {}
      first difference at $
        expected  1
        got       2
      run it alone: proofmark run --case demo/greet/guess reference
    "#);
}

/// A subject that fails before any call has one problem, not one for each case.
#[test]
fn similar_failures_are_shown_once() {
    let never =
        || failing("exited", "the subject ended with code 0 before it answered `hello`", None);
    let shown = report_of(&[("demo/greet/breaks", never()), ("demo/greet/holds", never())]);
    insta::assert_snapshot!(shown, @r#"
    FAILED 2 cases in the same way, such as demo/greet/breaks
      exited the subject ended with code 0 before it answered `hello`
      run one alone: proofmark run --case demo/greet/breaks reference
    "#);
}

#[test]
fn a_missing_operation_is_shown_once() {
    let missing = || failing("not-implemented", "no such operation", Some("demo.greet"));
    let shown = report_of(&[("demo/greet/breaks", missing()), ("demo/greet/holds", missing())]);
    assert_eq!(
        shown.trim(),
        "MISSING demo.greet  not implemented; it fails 2 case(s)\n  run one alone: proofmark run --case demo/greet/breaks reference"
    );
}

#[test]
fn the_final_verdict_names_the_certified_contracts() {
    let suite = suite();
    let mut outcome = outcome();
    let word = |outcome: &RunOutcome| {
        plain(|out| summary::write_verdict(out, &suite, outcome, &outcome.judge(&suite)))
    };
    assert_eq!(word(&outcome).trim(), "not certified: demo\nbroken: DEMO-002");
    outcome.faults.clear();
    outcome.results.iter_mut().for_each(|result| result.verdict = Verdict::Passed);
    assert_eq!(word(&outcome).trim(), "certified: demo");
    outcome.subject = None;
    assert_eq!(word(&outcome).trim(), "not certified: demo, other");
}

/// Member names stay the same from one version to the next.
#[test]
fn the_report_for_programs() {
    let (suite, outcome) = (suite(), outcome());
    let contracts = outcome.judge(&suite);
    let mut report = json::report(&suite, &outcome, &contracts, false, Duration::from_millis(1234));
    assert_eq!(report["suite"]["digest"], json!(suite.digest));
    report["suite"]["digest"] = json!("…");
    report["proofmark"] = json!("…");
    // The failure is checked separately below.
    let failure = report["cases"][0]["failure"].take();
    assert_eq!(
        report,
        json!({
            "proofmark": "…",
            "suite": {"digest": "…"},
            "laws": {"seed": 0, "cases": 100},
            "subject": {"protocol": 1, "name": "made-up", "version": "1.2.3", "language": "none", "contracts": ["demo"]},
            "holds": false,
            "interrupted": false,
            "stopped": false,
            "knownProblems": [],
            "unkept": [],
            "contracts": [
                {"id": "demo", "claimed": true, "certified": false, "requirements": [
                    requirement("DEMO-001", "must", "contract", json!({"passed": 1, "cases": 1, "verdict": "holds"})),
                    requirement("DEMO-002", "must", "contract", json!({"passed": 0, "cases": 1, "verdict": "broken", "failing": ["demo/greet/breaks"]})),
                    requirement("DEMO-003", "must", "contract", json!({"passed": 0, "cases": 1, "verdict": "not-shown", "reason": "the subject has no test hook `demo.lock`"})),
                    requirement("DEMO-004", "must", "contract", json!({"passed": 0, "cases": 0, "verdict": "excluded", "reason": "It would take a year."})),
                    requirement("DEMO-005", "should", "interpretation", json!({"passed": 1, "cases": 1, "verdict": "holds"})),
                ]},
                {"id": "other", "claimed": false, "certified": false, "requirements": [
                    requirement("OTHER-001", "must", "contract", json!({"passed": 0, "cases": 1, "verdict": "not-shown", "reason": "the subject does not claim the contract"})),
                ]},
            ],
            "cases": [
                {"case": "demo/greet/breaks", "verdict": "failed", "failure": null},
                {"case": "demo/greet/guess", "verdict": "passed"},
                {"case": "demo/greet/holds", "verdict": "passed"},
                {"case": "demo/greet/hooked", "verdict": "not-exercised", "reason": {"hook-missing": "demo.lock"}},
                {"case": "other/greet/first", "verdict": "not-exercised", "reason": "not-claimed"},
            ],
            "faults": [{"code": "left-processes", "message": "the subject left 2 process(es) running; they were killed"}],
            "timing": {"stderr": {"demo/greet/breaks": ["warning: a typo ahead", "oh no"]}, "elapsedMs": 1234},
        })
    );
    let parts: Vec<&str> =
        failure.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        parts,
        [
            "reason",
            "message",
            "at",
            "words",
            "call",
            "expected",
            "got",
            "difference",
            "asks",
            "transcript"
        ]
    );
    assert_eq!(
        failure["difference"],
        json!({"path": "$", "expected": "\"hello world\"", "got": "\"hello wurld\""})
    );
    assert_eq!(
        failure["transcript"][0],
        json!({"operation": "demo.greet", "args": {}, "process": "a", "outcome": {"value": "hello"}})
    );
    assert_eq!(
        failure["asks"][0],
        json!({"fake": "secrets", "method": "get", "args": {"key": "A"}, "answer": {"value": "s3cret"}})
    );
}

fn requirement(id: &str, level: &str, basis: &str, verdict: Value) -> Value {
    let mut entry = json!({"id": id, "level": level, "basis": basis, "sentence": format!("What {id} says."), "source": "The text"});
    for (key, value) in verdict.as_object().expect("an object") {
        entry[key] = value.clone();
    }
    entry
}
