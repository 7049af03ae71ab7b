//! The published schema matches the report.

mod made_up;

use std::time::Duration;

use made_up::{blocked, hostile, outcome, suite};
use proofmark_judge::verdict::{NotExercised, RunOutcome, Verdict};
use proofmark_report::json;
use rstest::rstest;
use serde_json::{Value, json};

fn faults_of(report: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(json::SCHEMA).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    validator
        .iter_errors(report)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect()
}

fn report(outcome: &RunOutcome) -> Value {
    let suite = suite();
    let contracts = outcome.judge(&suite);
    json::report(&suite, outcome, &contracts, outcome.all_passed(), Duration::from_millis(12))
}

fn passing() -> RunOutcome {
    let mut outcome = outcome();
    outcome.faults.clear();
    outcome.results.iter_mut().for_each(|result| result.verdict = Verdict::Passed);
    outcome
}

#[test]
fn the_schema_is_valid() {
    let schema: Value = serde_json::from_str(json::SCHEMA).expect("JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("a schema of 2020-12");
}

#[rstest]
#[case::failing(outcome())]
#[case::blocked(blocked())]
#[case::passing(passing())]
#[case::hostile(hostile())]
#[case::interrupted(RunOutcome { interrupted: true, ..passing() })]
#[case::without_a_subject(RunOutcome { subject: None, ..outcome() })]
#[case::nothing(RunOutcome { results: Vec::new(), ..outcome() })]
fn every_report_fits(#[case] outcome: RunOutcome) {
    assert_eq!(faults_of(&report(&outcome)), Vec::<String>::new());
}

#[test]
fn a_case_without_a_workspace_and_one_in_a_session_fit() {
    let mut outcome = outcome();
    outcome.results[1].verdict =
        Verdict::NotExercised { reason: NotExercised::NoWorkspace("full".to_owned()) };
    if let Verdict::Failed { failure } = &mut outcome.results[0].verdict {
        failure.transcript[0].call.session = "other".to_owned();
        failure.found = Some(json!({"contract": "demo", "topic": "found", "cases": []}));
    }
    assert_eq!(faults_of(&report(&outcome)), Vec::<String>::new());
}

/// One mistake in each: something missing, of the wrong type, superfluous or contradictory.
#[rstest]
#[case("/holds", json!("no"))]
#[case("/holds", Value::Null)]
#[case("/holds", json!(true))]
#[case("/suite/digest", json!("abc"))]
#[case("/suite/cases", json!(-1))]
#[case("/laws/seed", json!(0.5))]
#[case("/subject/name", Value::Null)]
#[case("/subject/more", json!(1))]
#[case("/contracts/0/certified", json!(true))]
#[case("/contracts/0/requirements/0/level", json!("shall"))]
#[case("/contracts/0/requirements/0/passed", json!(0))]
#[case("/contracts/0/requirements/0/failing", json!(["demo/greet/breaks"]))]
#[case("/contracts/0/requirements/1/failing", json!([]))]
#[case("/contracts/0/requirements/2/reason", json!(""))]
#[case("/contracts/0/requirements/2/verdict", json!("perhaps"))]
#[case("/cases/0/verdict", json!("passed"))]
#[case("/cases/1/verdict", json!("failed"))]
#[case("/cases/1/failure", json!({}))]
#[case("/cases/3/reason", json!("too lazy"))]
#[case("/cases/0/case", json!("no-contract"))]
#[case("/cases/0/failure/reason", json!("It differs"))]
#[case("/cases/0/failure/stderr", json!([]))]
#[case("/cases/0/failure/difference/path", json!(1))]
#[case("/cases/0/failure/transcript/0/more", json!(1))]
#[case("/cases/0/failure/asks/0/answer", Value::Null)]
#[case("/faults/0/code", json!("Left Processes"))]
#[case("/timing/elapsedMs", json!("12"))]
#[case("/timing/stderr/demo~1greet~1breaks", json!([]))]
#[case("/more", json!(1))]
fn a_mutilated_report_is_refused(#[case] place: &str, #[case] value: Value) {
    let mut report = report(&outcome());
    assert_eq!(faults_of(&report), Vec::<String>::new());
    let (parent, key) = place.rsplit_once('/').expect("a path");
    let key = key.replace("~1", "/");
    let object = report.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    // Null means: remove the member.
    match value {
        Value::Null => drop(object.shift_remove(&key).expect("it was there")),
        value => drop(object.insert(key, value)),
    }
    assert!(!faults_of(&report).is_empty(), "{place}");
}

/// Every member of the outermost object is required.
#[test]
fn every_member_is_required() {
    let whole = report(&outcome());
    for key in whole.as_object().expect("an object").keys() {
        let mut part = whole.clone();
        part.as_object_mut().expect("an object").shift_remove(key);
        assert!(!faults_of(&part).is_empty(), "{key}");
    }
}
