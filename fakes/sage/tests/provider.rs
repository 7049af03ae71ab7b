//! The models as providers, and scripted tools as a runner, behind the real wrapper.

use std::sync::Arc;

use futures::StreamExt as _;
use proofmark_fakes_sage::llm::{FakeProvider, ScriptedLlm, SeededLlm};
use proofmark_fakes_sage::tools::ScriptedTools;
use rstest::rstest;
use sage_llm::{ChatOptions, Llm, Settings};
use serde_json::{Value, json};

/// The result of a conversation: its items, and possibly an error code.
async fn played(provider: &Arc<FakeProvider>, tools: &Arc<ScriptedTools>, options: Value) -> Value {
    let llm = Llm::new();
    llm.set_provider(Arc::clone(provider) as _);
    let runner = Some(Arc::clone(tools) as _);
    let options = ChatOptions::from_json(&options).expect("it can be read");
    let stream = llm.create_chat_stream(options, Settings { runner, ..Settings::default() });
    let items = stream.expect("it can be read").map(|item| match item {
        Ok(event) => serde_json::to_value(event).expect("it can be read"),
        Err(error) => json!(error.code()),
    });
    Value::Array(items.collect().await)
}

fn scripted(turns: Value) -> Arc<FakeProvider> {
    Arc::new(
        FakeProvider::new("p", ScriptedLlm::from_script(&turns).expect("a good script"))
            .offering(["m1"]),
    )
}

fn asking() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "timeoutMs": 60_000,
        "tools": [{"name": "T", "parameters": {"type": "object", "properties": {"a": {}}}}]})
}

const END: &str = "end";

#[rstest]
#[case::text(json!([{"text": "yes"}]), json!([{"type": "text", "value": "yes"}, {"type": END}]))]
#[case::events(
    json!([{"events": [{"type": "text", "value": "a"}, {"type": END, "usage": {"prompt": 1, "completion": 2}}]}]),
    json!([{"type": "text", "value": "a"}, {"type": END, "usage": {"prompt": 1, "completion": 2}}])
)]
#[case::error(json!([{"error": {"code": "ODD", "message": "no"}}]), json!(["ODD"]))]
#[case::late_error(
    json!([{"events": [{"type": "text", "value": "a"}, {"error": {"code": "ODD", "message": "no"}}]}]),
    json!([{"type": "text", "value": "a"}, "ODD"])
)]
#[case::cut(json!([{"events": [{"type": "text", "value": "a"}]}]), json!([{"type": "text", "value": "a"}, "EIO"]))]
#[case::no_event(json!([{"events": [{"event": 7}]}]), json!(["EIO"]))]
#[case::stalled_chat(json!([{"stall": true}]), json!(["ETIMEOUT"]))]
#[case::stalled_next(
    json!([{"events": [{"type": "text", "value": "a"}, {"stall": true}]}]),
    json!([{"type": "text", "value": "a"}, "ETIMEOUT"])
)]
#[case::no_turns(json!([]), json!(["EVALIDATION"]))]
#[tokio::test(start_paused = true)]
async fn a_script_is_played_to_the_wrapper(#[case] turns: Value, #[case] expect: Value) {
    let tools = Arc::new(ScriptedTools::new());
    assert_eq!(played(&scripted(turns), &tools, asking()).await, expect);
    assert_eq!(tools.asked(), []);
}

#[rstest]
#[case::value(json!({"value": {"ok": true, "data": 1, "log": []}}), json!({"ok": true, "data": 1}))]
#[case::error(
    json!({"error": {"code": "EIO", "message": "gone", "operation": "read"}}),
    json!({"ok": false, "error": {"code": "EIO", "message": "gone", "operation": "read"}})
)]
#[tokio::test(start_paused = true)]
async fn scripted_tools_run_for_the_wrapper(#[case] answer: Value, #[case] result: Value) {
    let call = json!({"type": "tool_call", "toolName": "T", "arguments": {"a": 1}, "callId": "c"});
    let provider = scripted(json!([{"events": [call, {"type": END}]}, {"text": "so"}]));
    let tools = ScriptedTools::from_script(&json!({"results": {"T": [answer]}})).unwrap();
    let tools = Arc::new(tools);
    let said = played(&provider, &tools, asking()).await;
    let found = json!({"type": "tool_result", "callId": "c", "result": result});
    assert_eq!(said, json!([call, found, {"type": "text", "value": "so"}, {"type": END}]));
    assert_eq!(tools.asked(), [("T".to_owned(), json!({"a": 1}))]);
    let asked = provider.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].messages[2].tool_call_id.as_deref(), Some("c"));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_tool_ends_with_the_time_limit() {
    let call = json!({"type": "tool_call", "toolName": "T", "arguments": {}, "callId": "c"});
    let provider = scripted(json!([{"events": [call, {"type": END}]}]));
    let tools = ScriptedTools::from_script(&json!({"results": {"T": [{"stall": true}]}})).unwrap();
    assert_eq!(played(&provider, &Arc::new(tools), asking()).await, json!([call, "ETIMEOUT"]));
}

#[tokio::test]
async fn models_and_seeded_words_come_through_the_wrapper() {
    let llm = Llm::new();
    llm.set_provider(scripted(json!([])));
    let models = llm.list_models(None).await.unwrap();
    assert_eq!(serde_json::to_value(models).unwrap(), json!([{"name": "m1"}]));

    let options =
        json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "requestId": "r"});
    let expect: Vec<_> = SeededLlm::new(3).turn(&options).unwrap().rest().unwrap();
    let provider = Arc::new(FakeProvider::new("s", SeededLlm::new(3)));
    let said = played(&provider, &Arc::new(ScriptedTools::new()), options).await;
    let said = said.as_array().unwrap().iter().cloned().map(proofmark_fakes_sage::llm::Item::Event);
    assert_eq!(said.collect::<Vec<_>>(), expect);
}
