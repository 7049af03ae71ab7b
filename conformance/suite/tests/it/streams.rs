//! The items of a stream are judged exactly and in order.

use proofmark_judge::judge::judge;
use proofmark_judge::transcript::{Answered, Ask, Ending, Seen, Transcript};
use proofmark_judge::verdict::Verdict;
use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{FIXTURE, changed, load};

const CALL: &str = r#"{ "call": "demo.read", "args": {}, "returns": null }"#;
const STREAMING: &str = r#"{ "call": "demo.read", "args": {}, "streams": [{ "n": 1 }, { "n": { "$any": "integer" } }], "returns": null }"#;

const SILENT: &str =
    r#"{ "call": "demo.read", "args": {}, "asks": [], "streams": [], "returns": null }"#;
const TALKING: &str = r#"{ "call": "demo.read", "args": {}, "streams": [{ "type": "text", "value": "Hel" }, { "type": "text", "value": "lo" }, { "type": "end" }], "returns": null }"#;
const HIDING: &str = r#"{ "call": "demo.read", "args": {}, "streams": { "$oneOf": [{ "$startsWith": [{ "$any": "value" }] }, []] }, "hides": ["s3cret"], "returns": null }"#;
const EITHER: &str = r#"{ "call": "demo.read", "args": {}, "streams": { "$oneOf": [[1, 2], [2, 1]] }, "returns": null }"#;

fn said(text: &str) -> Value {
    json!({ "type": "text", "value": text })
}

#[rstest]
#[case::texts_are_joined(TALKING, json!([said("H"), said(""), said("ello"), { "type": "end" }]), None)]
#[case::another_text(TALKING, json!([said("H"), said("allo"), { "type": "end" }]), Some("item 1 of the stream, $.value"))]
#[case::texts_with_more_are_items(TALKING, json!([{ "type": "text", "value": "Hello", "n": 1 }, { "type": "end" }]), Some("item 1 of the stream, $.n"))]
#[case::hidden(HIDING, json!([said("s3c"), 1, said("ret")]), None)]
#[case::found(HIDING, json!([{ "deep": ["a s3cret!"] }]), Some("item 1 of the stream, $.deep[0]"))]
#[case::leaked_in_a_key(HIDING, json!([{ "s3cret": 1 }]), Some("item 1 of the stream, $.s3cret"))]
#[case::leaked_in_two_pieces(HIDING, json!([said("a s3c"), said("ret")]), Some("item 1 of the stream, $.value"))]
#[case::one_of_two_orders(EITHER, json!([2, 1]), None)]
#[case::neither_order(EITHER, json!([2, 2]), Some("$"))]
#[case::as_expected(STREAMING, json!([{ "n": 1 }, { "n": 7 }]), None)]
#[case::another_item(STREAMING, json!([{ "n": 2 }, { "n": 7 }]), Some("item 1 of the stream, $.n"))]
#[case::other_order(STREAMING, json!([{ "n": 7 }, { "n": 1 }]), Some("item 1 of the stream, $.n"))]
#[case::one_missing(STREAMING, json!([{ "n": 1 }]), Some("item 2 of the stream"))]
#[case::one_too_many(STREAMING, json!([{ "n": 1 }, { "n": 7 }, null]), Some("item 3 of the stream"))]
#[case::none_expected_none_came(CALL, json!([]), None)]
#[case::none_expected(SILENT, json!(["a"]), Some("item 1 of the stream"))]
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

fn asked() -> Ask {
    let (fake, method) = ("secrets".to_owned(), "get".to_owned());
    Ask { fake, method, args: json!({}), answer: json!({ "value": null }) }
}

/// What a case does not mention, it assumes: superfluous calls of fakes and items break no promise.
#[rstest]
#[case::an_item(CALL, vec![json!("a")], vec![], vec![], "blocked")]
#[case::a_call_of_a_fake(CALL, vec![], vec![asked()], vec![], "blocked")]
#[case::a_call_outside_of_any_call(CALL, vec![], vec![], vec![asked()], "blocked")]
#[case::an_item_where_none_may_come(SILENT, vec![json!("a")], vec![], vec![], "failed")]
#[case::a_call_where_none_may_be_made(SILENT, vec![], vec![asked()], vec![], "failed")]
#[case::a_call_outside_of_one_that_makes_none(SILENT, vec![], vec![], vec![asked()], "blocked")]
fn what_nobody_expects(
    #[case] step: &str,
    #[case] events: Vec<Value>,
    #[case] asks: Vec<Ask>,
    #[case] outside: Vec<Ask>,
    #[case] expected: &str,
) {
    let suite = load(changed(FIXTURE, CALL, step));
    let case = suite.case("demo/read/back").expect("the suite has it");
    let answer = Answered { reply: Ok(json!({ "value": null })), asks, events };
    let end = Ending { asks: outside, ..Ending::default() };
    let seen = Transcript { steps: vec![Seen::Calls(vec![answer])], end, ..Transcript::default() };
    let verdict = match judge(case, &seen) {
        Verdict::Passed => "passed",
        Verdict::Failed { .. } => "failed",
        Verdict::Blocked { .. } => "blocked",
        Verdict::NotExercised { .. } => "not exercised",
    };
    assert_eq!(verdict, expected);
}
