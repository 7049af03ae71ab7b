//! Items of a stream are judged like everything else that a call shows: exactly, and in order.

use proofmark_suite::judge::judge;
use proofmark_suite::transcript::{Answered, Seen, Transcript};
use proofmark_suite::verdict::Verdict;
use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{FIXTURE, changed, load};

const CALL: &str = r#"{ "call": "demo.read", "args": {}, "returns": null }"#;
const STREAMING: &str = r#"{ "call": "demo.read", "args": {}, "streams": [{ "n": 1 }, { "n": { "$any": "integer" } }], "returns": null }"#;

#[rstest]
#[case::as_expected(STREAMING, json!([{ "n": 1 }, { "n": 7 }]), None)]
#[case::another_item(STREAMING, json!([{ "n": 2 }, { "n": 7 }]), Some("item 1 of the stream, $.n"))]
#[case::other_order(STREAMING, json!([{ "n": 7 }, { "n": 1 }]), Some("item 1 of the stream, $.n"))]
#[case::one_missing(STREAMING, json!([{ "n": 1 }]), Some("item 2 of the stream"))]
#[case::one_too_many(STREAMING, json!([{ "n": 1 }, { "n": 7 }, null]), Some("item 3 of the stream"))]
#[case::none_expected_none_came(CALL, json!([]), None)]
#[case::none_expected(CALL, json!(["a"]), Some("item 1 of the stream"))]
fn a_stream(#[case] step: &str, #[case] events: Value, #[case] differs_at: Option<&str>) {
    let suite = load(changed(FIXTURE, CALL, step));
    let case = suite.case("demo/read/back").expect("the suite has it");
    let events = events.as_array().expect("a list").clone();
    let answer = Answered { reply: Ok(json!({ "value": null })), asks: Vec::new(), events };
    let seen = Transcript { steps: vec![Seen::Calls(vec![answer])], ..Transcript::default() };
    let place = match judge(case, &seen) {
        Verdict::Failed { failure } => failure.difference.map(|difference| difference.path),
        _ => None,
    };
    assert_eq!(place.as_deref(), differs_at);
}
