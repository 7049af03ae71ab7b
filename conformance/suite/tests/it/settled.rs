//! Settling a record drops what no case judges, and never turns a failure into a pass.

use std::collections::BTreeMap;

use proofmark_judge::Suite;
use proofmark_judge::record::Record;
use proofmark_judge::transcript::{Answered, FileSeen, Seen, Transcript};
use proofmark_judge::verdict::{CaseResult, RunOutcome, Verdict};
use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{FIXTURE, changed, load};

const STEP: &str = r#"{ "call": "demo.read", "args": {}, "returns": null }"#;
const FAILS: &str = r#"{ "call": "demo.read", "args": {}, "fails": { "code": "EIO" } }"#;
const COUNTS: &str = r#"{ "call": "demo.read", "args": {}, "returns": { "$open": { "n": { "$any": "integer" } } } }"#;
const LINES: &str = r#"{ "leaves": { "a": { "ndjson": [{ "n": 1 }] } } }"#;
const ASSUMES: &str = r#"{ "call": "demo.read", "args": {}, "assumes": { "returns": { "$open": { "ok": { "$any": "boolean" }, "list": { "$any": "array" } } } }, "returns": { "$open": { "list": [{ "$open": { "id": 1 } }] } } }"#;
const BEGINS: &str = r#"{ "leaves": { "a": { "prefix": "one" } } }"#;

fn answered(reply: Value) -> Seen {
    Seen::Calls(vec![Answered { reply: Ok(reply), asks: Vec::new(), events: Vec::new() }])
}

fn left(text: &str) -> Seen {
    Seen::Files(BTreeMap::from([("a".to_owned(), FileSeen::Text(text.to_owned()))]))
}

/// The record of a run in which this was seen of the first step.
fn recorded(suite: &Suite, seen: Seen) -> Record {
    // A second step, so that the case can fail whatever its first step does.
    let steps = vec![seen, answered(json!({ "value": null }))];
    let result = CaseResult {
        transcript: Some(Transcript { steps, ..Transcript::default() }),
        ..CaseResult::new("demo/read/back", Verdict::Passed)
    };
    let outcome = RunOutcome { results: vec![result], ..RunOutcome::default() };
    Record::of(&outcome, suite, None).expect("its transcript was kept")
}

#[test]
fn what_neither_the_assumption_nor_the_outcome_names_is_blank() {
    let suite = load(changed(FIXTURE, STEP, &format!("{ASSUMES}, {STEP}")));
    let settled = |pid: u32, ok: bool| {
        let list = json!([{ "id": 1, "pid": pid }]);
        let seen = answered(json!({ "value": { "ok": ok, "list": list, "at": pid } }));
        recorded(&suite, seen).settled(&suite).to_bytes()
    };
    assert_eq!(settled(7, true), settled(8, false));
}

#[rstest]
#[case::as_it_should_be(FAILS, answered(json!({ "error": { "code": "EIO", "message": "no", "pid": 7 } })), true)]
#[case::no_message(FAILS, answered(json!({ "error": { "code": "EIO" } })), false)]
#[case::odd_name(FAILS, answered(json!({ "error": { "code": "EIO", "message": "no", "name": 1 } })), false)]
#[case::value_and_error(COUNTS, answered(json!({ "value": { "n": 1 }, "error": null })), false)]
#[case::counted(COUNTS, answered(json!({ "value": { "n": 1, "more": 2 } })), true)]
#[case::no_integer(COUNTS, answered(json!({ "value": { "n": 1.5 } })), false)]
#[case::assumed(ASSUMES, answered(json!({ "value": { "ok": true, "list": [{ "id": 1, "pid": 7 }] } })), true)]
#[case::not_assumed(ASSUMES, answered(json!({ "value": { "list": [{ "id": 1, "pid": 7 }] } })), false)]
#[case::assumed_but_wrong(ASSUMES, answered(json!({ "value": { "ok": true, "list": [{ "id": 2 }] } })), false)]
#[case::lines(LINES, left("{\"n\":1}\n"), true)]
#[case::cut_off(LINES, left("{\"n\":1}"), false)]
#[case::begins(BEGINS, left("one and more"), true)]
#[case::begins_otherwise(BEGINS, left("two"), false)]
fn the_verdict_stays(#[case] step: &str, #[case] seen: Seen, #[case] passes: bool) {
    let suite = load(changed(FIXTURE, STEP, &format!("{step}, {STEP}")));
    let record = recorded(&suite, seen);
    let passed = |record: &Record| record.rejudge(&suite).expect("it fits").results[0].passed();
    assert_eq!(passed(&record), passes);
    assert_eq!(passed(&record.settled(&suite)), passes, "settled");
}
