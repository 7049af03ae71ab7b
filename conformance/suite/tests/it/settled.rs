//! Settling a record drops what no case judges, and never turns a failure into a pass.

use std::collections::BTreeMap;

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
const BEGINS: &str = r#"{ "leaves": { "a": { "prefix": "one" } } }"#;

fn answered(reply: Value) -> Seen {
    Seen::Calls(vec![Answered { reply: Ok(reply), asks: Vec::new(), events: Vec::new() }])
}

fn left(text: &str) -> Seen {
    Seen::Files(BTreeMap::from([("a".to_owned(), FileSeen::Text(text.to_owned()))]))
}

#[rstest]
#[case::as_it_should_be(FAILS, answered(json!({ "error": { "code": "EIO", "message": "no", "pid": 7 } })), true)]
#[case::no_message(FAILS, answered(json!({ "error": { "code": "EIO" } })), false)]
#[case::odd_name(FAILS, answered(json!({ "error": { "code": "EIO", "message": "no", "name": 1 } })), false)]
#[case::value_and_error(COUNTS, answered(json!({ "value": { "n": 1 }, "error": null })), false)]
#[case::counted(COUNTS, answered(json!({ "value": { "n": 1, "more": 2 } })), true)]
#[case::no_integer(COUNTS, answered(json!({ "value": { "n": 1.5 } })), false)]
#[case::lines(LINES, left("{\"n\":1}\n"), true)]
#[case::cut_off(LINES, left("{\"n\":1}"), false)]
#[case::begins(BEGINS, left("one and more"), true)]
#[case::begins_otherwise(BEGINS, left("two"), false)]
fn the_verdict_stays(#[case] step: &str, #[case] seen: Seen, #[case] passes: bool) {
    // A second step, so that the case can fail whatever its first step does.
    let suite = load(changed(FIXTURE, STEP, &format!("{step}, {STEP}")));
    let steps = vec![seen, answered(json!({ "value": null }))];
    let result = CaseResult {
        transcript: Some(Transcript { steps, ..Transcript::default() }),
        ..CaseResult::new("demo/read/back", Verdict::Passed)
    };
    let outcome = RunOutcome { results: vec![result], ..RunOutcome::default() };
    let record = Record::of(&outcome, &suite, None).expect("its transcript was kept");
    let passed = |record: &Record| record.rejudge(&suite).expect("it fits").results[0].passed();
    assert_eq!(passed(&record), passes);
    assert_eq!(passed(&record.settled(&suite)), passes, "settled");
}
