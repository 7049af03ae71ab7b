//! The operations of `sage.llm`, as a harness meets them that does not always play its part.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod harness;

use harness::Harness;
use serde_json::{Value, json};

const OUTCOME: &str = "an answer, before every stop is answered";

/// Opens a chat whose provider gives the streams "1", "2", … with these events, and no end. What is asked is
/// answered but for the stops, which are given back as soon as there are `stops` of them.
async fn stops(
    harness: &mut Harness,
    mut args: Value,
    streams: &[&[Value]],
    stops: usize,
) -> Vec<Value> {
    harness.value("llm.setProvider", json!({"name": "p"})).await;
    args["options"] = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "u"}],
        "tools": [{"name": "T", "parameters": {}}],
    });
    let call = json!({"session": "s", "operation": "llm.createChatStream", "args": args});
    harness.send("call", call).await;
    let mut streams = streams.iter();
    let (mut given, mut events) = (0, [].iter());
    let mut asked = Vec::new();
    while asked.len() < stops {
        let line = harness.line().await;
        match line["params"]["method"].as_str() {
            Some("chat") => {
                given += 1;
                events = streams.next().expect("another stream").iter();
                harness.answer(&line, &json!({"value": {"stream": given.to_string()}})).await;
            }
            Some("next") => {
                let event = events.next().expect("another event");
                harness.answer(&line, &json!({"value": {"event": event}})).await;
            }
            Some("execute") => harness.answer(&line, &json!({"value": {"ok": true}})).await,
            Some("stop") => asked.push(line),
            _ => assert_eq!(line["method"], "event", "{OUTCOME}: {line}"),
        }
    }
    asked
}

fn text() -> Value {
    json!({"type": "text", "value": "t"})
}

fn end() -> Value {
    json!({"type": "end"})
}

fn call() -> Value {
    json!({"type": "tool_call", "toolName": "T", "arguments": {}, "callId": "c"})
}

/// The answer to the call, after the items that come before.
async fn outcome(harness: &mut Harness) -> Value {
    loop {
        let line = harness.line().await;
        if line["method"] != "event" {
            return line;
        }
    }
}

#[tokio::test]
async fn a_provider_that_says_end_and_never_closes() {
    let mut harness = Harness::new().await;
    let stop = stops(&mut harness, json!({}), &[&[text(), end()]], 1).await;
    harness.answer(&stop[0], &json!({"value": null})).await;
    assert_eq!(outcome(&mut harness).await["result"], json!({"value": null}));
}

#[tokio::test]
async fn a_stop_that_fails_does_not_hide_how_the_call_ended() {
    for reply in [json!({"error": {"code": "EX", "message": "no"}}), json!("garbage")] {
        let mut harness = Harness::new().await;
        let wrong = json!({"type": "nonsense"});
        let stop = stops(&mut harness, json!({}), &[&[text(), wrong]], 1).await;
        harness.answer(&stop[0], &reply).await;
        let answer = outcome(&mut harness).await;
        assert_eq!(answer["result"]["error"]["code"], "EIO", "{reply}: {answer}");
    }
}

#[tokio::test]
async fn a_stop_that_fails_after_a_success() {
    let mut harness = Harness::new().await;
    let stop = stops(&mut harness, json!({"take": 1}), &[&[text(), text()]], 1).await;
    harness.answer(&stop[0], &json!({"error": {"code": "EX", "message": "no"}})).await;
    assert_eq!(outcome(&mut harness).await["result"], json!({"value": null}));
    let stop = stops(&mut harness, json!({"take": 1}), &[&[text(), text()]], 1).await;
    harness.answer(&stop[0], &json!("garbage")).await;
    let answer = outcome(&mut harness).await;
    assert!(
        answer["error"].is_object(),
        "a harness that cannot be reached is not a success: {answer}"
    );
}

#[tokio::test]
async fn a_stop_that_fails_does_not_leave_the_others_behind() {
    let mut harness = Harness::new().await;
    let streams: [&[Value]; 2] = [&[call(), end()], &[text(), end()]];
    let stop = stops(&mut harness, json!({"tools": "fake"}), &streams, 2).await;
    harness.answer(&stop[0], &json!({"error": {"code": "EX", "message": "no"}})).await;
    // Something else is asked in between: its answer comes first, since the chat waits.
    harness.send("call", json!({"session": "s", "operation": "tools.getToolSchemas"})).await;
    let answer = outcome(&mut harness).await;
    assert!(answer["result"]["value"].is_array(), "{OUTCOME}: {answer}");
    harness.answer(&stop[1], &json!({"value": null})).await;
    assert_eq!(outcome(&mut harness).await["result"], json!({"value": null}));
}
