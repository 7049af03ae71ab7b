//! Validation of options and of stream items.

use rstest::rstest;
use sage_errors::SageError;
use sage_llm::{ChatOptions, StreamEvent};
use serde_json::{Value, json};

fn fields(error: SageError) -> Vec<String> {
    let SageError::Validation(error) = error else { panic!("{error}") };
    error.details().iter().map(|detail| detail.field.clone()).collect()
}

fn with(name: &str, value: Value) -> Value {
    let mut options = json!({ "model": "m", "messages": [] });
    options[name] = value;
    options
}

#[rstest]
#[case(json!({ "model": "m", "messages": [] }))]
#[case(with("temperature", json!(0)))]
#[case(with("temperature", json!(-1.5)))]
#[case(with("max_tokens", json!(1)))]
#[case(with("max_tokens", json!(9_007_199_254_740_992_u64)))]
#[case(with("timeoutMs", json!(1)))]
#[case(with("requestId", json!("")))]
#[case(with("tools", json!([])))]
#[case(with("tools", json!([{ "name": "a", "parameters": {} }, { "name": "A", "parameters": {} }])))]
#[case(with("messages", json!([{ "role": "tool", "content": "" }])))]
fn right_options_come_back_as_they_are(#[case] given: Value) {
    let options = ChatOptions::from_json(&given).unwrap();
    assert_eq!(serde_json::to_value(&options).unwrap(), given);
    assert_eq!(serde_json::from_value::<ChatOptions>(given).unwrap(), options);
}

#[rstest]
#[case::nothing(json!({}), &["model", "messages"])]
#[case::no_object(json!([]), &["options"])]
#[case::null(json!(null), &["options"])]
#[case::empty_model(with("model", json!("")), &["model"])]
#[case::model_number(with("model", json!(1)), &["model"])]
#[case::model_null(with("model", json!(null)), &["model"])]
#[case::messages_object(with("messages", json!({})), &["messages"])]
#[case::message_string(with("messages", json!(["hi"])), &["messages.0"])]
#[case::message_empty(with("messages", json!([{}])), &["messages.0.role", "messages.0.content"])]
#[case::role(with("messages", json!([{ "role": "User", "content": "" }])), &["messages.0.role"])]
#[case::role_number(with("messages", json!([{ "role": 1, "content": "" }])), &["messages.0.role"])]
#[case::content(with("messages", json!([{ "role": "user", "content": ["a"] }])), &["messages.0.content"])]
#[case::tool_call_id(with("messages", json!([{ "role": "tool", "content": "", "tool_call_id": 1 }])), &["messages.0.tool_call_id"])]
#[case::message_stranger(with("messages", json!([{ "role": "tool", "content": "", "id": 1 }])), &["messages.0.id"])]
#[case::tools_object(with("tools", json!({})), &["tools"])]
#[case::tools_null(with("tools", json!(null)), &["tools"])]
#[case::tool_string(with("tools", json!(["Read", { "name": "", "parameters": {} }])), &["tools.0", "tools.1.name"])]
#[case::tool_empty(with("tools", json!([{}])), &["tools.0.parameters", "tools.0.name"])]
#[case::tool_parameters(with("tools", json!([{ "name": "a", "parameters": true }])), &["tools.0.parameters"])]
#[case::tool_description(with("tools", json!([{ "name": "a", "parameters": {}, "description": 1 }])), &["tools.0.description"])]
#[case::tool_twice(with("tools", json!([{ "name": "a", "parameters": {} }, { "name": "a", "parameters": {} }])), &["tools.1.name"])]
#[case::temperature(with("temperature", json!("0.5")), &["temperature"])]
#[case::max_tokens_zero(with("max_tokens", json!(0)), &["max_tokens"])]
#[case::max_tokens_negative(with("max_tokens", json!(-1)), &["max_tokens"])]
#[case::max_tokens_fraction(with("max_tokens", json!(1.5)), &["max_tokens"])]
#[case::timeout_zero(with("timeoutMs", json!(0)), &["timeoutMs"])]
#[case::timeout_string(with("timeoutMs", json!("5")), &["timeoutMs"])]
#[case::timeout_null(with("timeoutMs", json!(null)), &["timeoutMs"])]
#[case::request_id(with("requestId", json!(5)), &["requestId"])]
#[case::stranger(with("max_token", json!(5)), &["max_token"])]
#[case::all_at_once(
    json!({ "model": 1, "messages": 1, "tools": 1, "temperature": "", "max_tokens": 0, "timeoutMs": -1, "requestId": 1 }),
    &["model", "messages", "tools", "temperature", "timeoutMs", "requestId", "max_tokens"]
)]
fn wrong_options_are_refused_with_every_fault(#[case] given: Value, #[case] expected: &[&str]) {
    assert_eq!(fields(ChatOptions::from_json(&given).unwrap_err()), expected);
}

#[rstest]
#[case(json!({ "type": "text", "value": "a" }))]
#[case(json!({ "type": "tool_call", "toolName": "t", "arguments": null, "callId": "c" }))]
#[case(json!({ "type": "tool_call", "toolName": "t", "arguments": { "b": 1, "a": [2] }, "callId": "" }))]
#[case(json!({ "type": "tool_result", "callId": "c", "result": null }))]
#[case(json!({ "type": "end" }))]
#[case(json!({ "type": "end", "usage": { "prompt": 1, "completion": 2.5 } }))]
fn events_come_back_as_they_are(#[case] given: Value) {
    let event = StreamEvent::from_json(given.clone()).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), given.to_string());
    assert_eq!(serde_json::from_value::<StreamEvent>(given).unwrap(), event);
}

#[rstest]
#[case(json!(null), "null")]
#[case(json!("text"), "a string")]
#[case(json!([]), "an array")]
#[case(json!({}), "`type`")]
#[case(json!({ "type": 1 }), "`type`")]
#[case(json!({ "type": "Text", "value": "a" }), "\"Text\"")]
#[case(json!({ "type": "error", "message": "a" }), "\"error\"")]
#[case(json!({ "type": "text" }), "`value`")]
#[case(json!({ "type": "text", "value": null }), "`value`")]
#[case(json!({ "type": "text", "value": "a", "more": 1 }), "\"more\"")]
#[case(json!({ "type": "tool_call", "toolName": "t", "callId": "c" }), "`arguments`")]
#[case(json!({ "type": "tool_call", "toolName": "t", "arguments": {} }), "`callId`")]
#[case(json!({ "type": "tool_call", "arguments": {}, "callId": "c" }), "`toolName`")]
#[case(json!({ "type": "tool_call", "tool_name": "t", "arguments": {}, "callId": "c" }), "`toolName`")]
#[case(json!({ "type": "tool_result", "callId": "c" }), "`result`")]
#[case(json!({ "type": "tool_result", "callId": 7, "result": 1 }), "`callId`")]
#[case(json!({ "type": "end", "usage": null }), "`usage`")]
#[case(json!({ "type": "end", "usage": { "prompt": 1 } }), "`usage`")]
#[case(json!({ "type": "end", "usage": { "prompt": 1, "completion": "2" } }), "`usage`")]
#[case(json!({ "type": "end", "usage": { "prompt": 1, "completion": 2, "total": 3 } }), "`usage`")]
fn invalid_events_are_read_errors(#[case] given: Value, #[case] named: &str) {
    let error = StreamEvent::from_json(given).unwrap_err().to_json();
    assert_eq!((&error["code"], &error["operation"]), (&json!("EIO"), &json!("read")));
    assert!(error["message"].as_str().unwrap().contains(named), "{error}");
}
