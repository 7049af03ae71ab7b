//! Parsing of messages, and the errors for invalid ones.

use proofmark_protocol::message::{push_error, push_notification, push_request, push_result};
use proofmark_protocol::{Id, Incoming, Reply, RpcError};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

fn request(id: Id, method: &str, params: Value) -> Incoming {
    Incoming::Request { id, method: method.to_owned(), params }
}

fn answer(id: i64, outcome: Result<Value, RpcError>) -> Incoming {
    Incoming::Answer { id: Id::Number(id), outcome }
}

#[rstest]
#[case::request(r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1}}"#, request(Id::Number(1), "hello", json!({"protocol": 1})))]
#[case::text_id(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":[]}"#, request(Id::Text("a".to_owned()), "m", json!([])))]
#[case::no_params(r#"{"jsonrpc":"2.0","id":-1,"method":"m"}"#, request(Id::Number(-1), "m", json!(null)))]
#[case::greatest_id(r#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"m"}"#, request(Id::Number(i64::MAX), "m", json!(null)))]
#[case::notification(r#"{"jsonrpc":"2.0","method":"event","params":{"a":1}}"#, Incoming::Notification { method: "event".to_owned(), params: json!({"a": 1}) })]
#[case::result(r#"{"jsonrpc":"2.0","id":3,"result":{"value":7}}"#, answer(3, Ok(json!({"value": 7}))))]
#[case::null_result(r#"{"jsonrpc":"2.0","id":3,"result":null}"#, answer(3, Ok(json!(null))))]
#[case::error(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no","data":[1]}}"#, answer(3, Err(RpcError { code: -32601, message: "no".to_owned(), data: Some(json!([1])) })))]
#[case::error_without_data(
    r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}"#,
    answer(3, Err(RpcError::new(1, "no")))
)]
#[case::unknown_fields(r#"{"jsonrpc":"2.0","id":3,"result":1,"trace":{"a":[1]}}"#, answer(3, Ok(json!(1))))]
#[case::unknown_fields_of_an_error(
    r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no","hint":"x"}}"#,
    answer(3, Err(RpcError::new(1, "no")))
)]
#[case::members_in_any_order(r#"{"params":{},"method":"m","id":1,"jsonrpc":"2.0"}"#, request(Id::Number(1), "m", json!({})))]
#[case::white_space(" { \"jsonrpc\" : \"2.0\" ,\t\"id\":1,\"result\":true } ", answer(1, Ok(json!(true))))]
fn a_message(#[case] line: &str, #[case] message: Incoming) {
    assert_eq!(Incoming::parse(line.as_bytes()), Ok(message));
}

const NOT: &str = "is not a JSON-RPC 2.0 message:";
const ENVELOPE: &str = "an envelope has an id (string or integer), a method with params, or a result or an error with code and message";
const VERSION: &str = "`jsonrpc` must be \"2.0\"";
const ID: &str = "`id` must be a string or an integer";
const OBJECT: &str = "a message is one object on a line of its own; batches are not supported";

#[rstest]
#[case::no_version(r#"{"id":1,"result":1}"#, VERSION)]
#[case::version_one(r#"{"jsonrpc":"1.0","id":1,"result":1}"#, VERSION)]
#[case::version_as_a_number(r#"{"jsonrpc":2.0,"id":1,"result":1}"#, ENVELOPE)]
#[case::both(
    r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#,
    "an answer has `result` or `error`, not both"
)]
#[case::null_and_error(
    r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":""}}"#,
    "an answer has `result` or `error`, not both"
)]
#[case::neither(r#"{"jsonrpc":"2.0","id":1}"#, "an answer needs `result` or `error`")]
#[case::nothing(r#"{"jsonrpc":"2.0"}"#, "a message needs a `method` or an `id`")]
#[case::result_without_id(
    r#"{"jsonrpc":"2.0","result":1}"#,
    "a message needs a `method` or an `id`"
)]
#[case::request_with_result(
    r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#,
    "a request has no `result` and no `error`"
)]
#[case::null_id(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, ID)]
#[case::float_id(r#"{"jsonrpc":"2.0","id":1.5,"result":1}"#, ID)]
#[case::whole_float_id(r#"{"jsonrpc":"2.0","id":1.0,"result":1}"#, ID)]
#[case::object_id(r#"{"jsonrpc":"2.0","id":{},"result":1}"#, ID)]
#[case::boolean_id(r#"{"jsonrpc":"2.0","id":true,"result":1}"#, ID)]
#[case::id_out_of_bounds(r#"{"jsonrpc":"2.0","id":9223372036854775808,"result":1}"#, ID)]
#[case::error_without_an_id(
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
    "an error without an id answers nothing; the other side could not read a request"
)]
#[case::method_as_a_number(r#"{"jsonrpc":"2.0","id":1,"method":1}"#, ENVELOPE)]
#[case::error_without_code(r#"{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}"#, ENVELOPE)]
#[case::error_as_text(r#"{"jsonrpc":"2.0","id":1,"error":"x"}"#, ENVELOPE)]
#[case::doubled_id(r#"{"jsonrpc":"2.0","id":1,"id":2,"result":1}"#, ENVELOPE)]
#[case::batch(r#"[{"jsonrpc":"2.0","id":1,"result":1}]"#, OBJECT)]
#[case::empty_batch("[]", OBJECT)]
// Read field by field, it would look like the answer 5 to request 1.
#[case::fields_as_a_list(r#"["2.0",1,null,null,5,null]"#, OBJECT)]
#[case::text(r#""hello""#, OBJECT)]
#[case::number("42", OBJECT)]
#[case::null("null", OBJECT)]
fn not_a_message(#[case] line: &str, #[case] fault: &str) {
    let shown: String = line.chars().flat_map(char::escape_debug).collect();
    assert_eq!(parse_error(line.as_bytes()), format!("`{shown}` {NOT} {fault}"));
}

fn parse_error(line: &[u8]) -> String {
    Incoming::parse(line).expect_err("it is no message").to_string()
}

const ADVICE: &str =
    "stdout must carry one JSON-RPC message per line and nothing else (print to stderr instead)";

#[rstest]
#[case::a_log_line(b"listening on 8080", "listening on 8080", "expected value at line 1 column 1")]
#[case::cut_off(
    b"{\"jsonrpc\":\"2.0\"",
    "{\\\"jsonrpc\\\":\\\"2.0\\\"",
    "EOF while parsing an object at line 1 column 16"
)]
#[case::two_messages(b"{} {}", "{} {}", "trailing characters at line 1 column 4")]
#[case::single_quotes(b"{'id':1}", "{\\'id\\':1}", "key must be a string at line 1 column 2")]
#[case::control_characters(b"\x1b[31mred", "\\u{1b}[31mred", "expected value at line 1 column 1")]
#[case::huge_number(
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1e400}",
    "{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":1e400}",
    "number out of range at line 1 column 38"
)]
fn not_json(#[case] line: &[u8], #[case] shown: &str, #[case] fault: &str) {
    assert_eq!(parse_error(line), format!("`{shown}` is not JSON: {fault}; {ADVICE}"));
}

/// Anywhere in the line, even in an ignored field.
#[rstest]
#[case::outside(b"\xff\xfe", 0)]
#[case::in_the_result(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}", 34)]
#[case::in_an_unknown_field(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"x\":\"\xff\"}", 40)]
#[case::a_surrogate(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xed\xa0\x80\"}", 34)]
fn not_utf_8(#[case] line: &[u8], #[case] at: usize) {
    let message = parse_error(line);
    assert!(message.contains(&format!("is not JSON: invalid UTF-8 at byte {at}; ")), "{message}");
}

#[test]
fn too_deep() {
    let deep = |levels: usize| {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        );
        Incoming::parse(line.as_bytes())
    };
    assert!(deep(100).is_ok());
    for levels in [200, 1_000_000] {
        let message = deep(levels).expect_err("it is too deep").to_string();
        assert!(message.contains("is not JSON: recursion limit exceeded"), "{message}");
    }
}

#[test]
fn a_long_line_is_quoted_by_its_head() {
    let message = parse_error("é".repeat(1000).as_bytes());
    assert_eq!(
        message,
        format!("`{}…` is not JSON: expected value at line 1 column 1; {ADVICE}", "é".repeat(80))
    );
}

proptest! {
    /// Each side can read what the other writes.
    #[test]
    fn written_is_read(number in any::<i64>(), text in ".*", method in "[a-z.]{1,9}") {
        for id in [Id::Number(number), Id::Text(text.clone())] {
            let params = json!({ "text": text, "n": number });
            let check = |line: Vec<u8>, message: Incoming| {
                prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
                prop_assert_eq!(Incoming::parse(line.trim_ascii_end()), Ok(message));
                Ok(())
            };
            let mut line = Vec::new();
            push_request(&mut line, &id, &method, &params);
            check(line, request(id.clone(), &method, params.clone()))?;
            let mut line = Vec::new();
            push_notification(&mut line, &method, &params);
            check(line, Incoming::Notification { method: method.clone(), params: params.clone() })?;
            let mut line = Vec::new();
            push_result(&mut line, &id, &Reply::Value(params.clone()));
            check(line, Incoming::Answer { id: id.clone(), outcome: Ok(json!({ "value": params })) })?;
            let mut line = Vec::new();
            let error = RpcError::new(number, text.clone());
            push_error(&mut line, Some(&id), &error);
            check(line, Incoming::Answer { id: id.clone(), outcome: Err(error) })?;
        }
    }

    #[test]
    fn no_line_is_a_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
        let _read = Incoming::parse(&line);
    }
}
