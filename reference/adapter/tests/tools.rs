//! The operations of `sage.tools`, as a harness meets them.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod harness;

use harness::Harness;
use serde_json::{Value, json};

#[tokio::test]
async fn tools_are_registered_and_listed() {
    let mut harness = Harness::new().await;
    let tool = json!({"name": "Mine", "schema": {"properties": {"a": {}}}, "version": "1", "description": "d"});
    let registered = harness.value("tools.register", json!({"tool": tool})).await;
    assert_eq!(registered, json!({"value": null}));
    assert_eq!(harness.value("tools.get", json!({"name": "Mine"})).await["value"], tool);
    let schemas = harness.value("tools.getToolSchemas", json!({})).await;
    let listed = json!({"name": "Mine", "parameters": tool["schema"], "description": "d"});
    assert!(schemas["value"].as_array().unwrap().contains(&listed));
    let valid = harness.value("tools.validate", json!({"name": "Mine", "input": {"a": 1}})).await;
    assert_eq!(valid, json!({"value": {"a": 1}}));
    for (operation, args, field) in [
        ("tools.register", json!({"tool": tool}), "name"),
        ("tools.register", json!({"tool": {"schema": {}}}), "name"),
        ("tools.register", json!({"tool": {"name": 1, "schema": {}}}), "name"),
        ("tools.register", json!({"tool": {"name": "X"}}), "schema"),
        ("tools.get", json!({"name": "mine"}), "name"),
        ("tools.validate", json!({"name": "none", "input": {}}), "name"),
        ("tools.validate", json!({"name": "Mine", "input": {"b": 1}}), "b"),
    ] {
        let error = &harness.value(operation, args).await["error"];
        assert_eq!(error["code"], "EVALIDATION");
        assert_eq!(error["details"][0]["field"], field, "{operation}: {error}");
    }
}

#[tokio::test]
async fn a_tool_that_the_harness_plays() {
    let mut harness = Harness::new().await;
    let tool = json!({"name": "Mine", "schema": {"additionalProperties": true}});
    harness.value("tools.register", json!({"tool": tool})).await;
    let play = |ask: &Value| match ask[0].as_str() {
        Some("secrets") => json!({"value": "s3cr3t"}),
        _ => json!({"value": {
            "ok": true,
            "data": {"got": ask[1]["input"]["x"]},
            "log": [{"ts": "t", "name": "n", "msg": "s3cr3t!", "data": {"s3cr3t": 1}}],
        }}),
    };
    let args = json!({"name": "Mine", "input": {"x": "<$ENV.KEY>"}, "context": {"secrets": true, "logger": true}});
    let heard = harness.call("tools.execute", args, play).await;
    let value = &heard.answer["result"]["value"];
    assert_eq!(value["data"], json!({"got": "<[SECRET:KEY]>"}), "{value}");
    assert_eq!(value["ok"], true);
    assert!(value["meta"]["durationMs"].is_number() && value.get("log").is_none());
    assert_eq!(
        heard.asks,
        [
            json!(["secrets", {"key": "KEY"}]),
            json!(["tools", {"name": "Mine", "input": {"x": "<s3cr3t>"}}]),
        ]
    );
    assert_eq!(
        heard.items,
        [json!({"ts": "t", "name": "n", "msg": "[SECRET:KEY]!", "data": {"[SECRET:KEY]": 1}}),]
    );
    let thrown = |_: &Value| json!({"error": {"name": "E", "code": "EHALT", "message": "m", "invariant": "i"}});
    let heard = harness.call("tools.execute", json!({"name": "Mine", "input": {}}), thrown).await;
    assert_eq!(heard.answer["result"]["value"]["ok"], false);
    let error = &heard.answer["result"]["value"]["error"];
    assert_eq!(error, &json!({"code": "EHALT", "message": "m", "invariant": "i"}));
}

#[tokio::test]
async fn the_graph_and_the_files() {
    let mut harness = Harness::new().await;
    let args = json!({"name": "GraphQuery", "input": {"query": "q", "params": {"a": 1}}});
    let heard = harness.call("tools.execute", args, |_| json!({"value": [{"n": 1}]})).await;
    assert_eq!(heard.answer["result"]["value"]["data"], json!({"rows": [{"n": 1}]}));
    assert_eq!(heard.asks, [json!(["graph", {"query": "q", "params": {"a": 1}}])]);
    let args = json!({"name": "Write", "input": {"file": "a", "content": "ü"}, "context": {"permissions": ["Write"]}});
    let written = harness.value("tools.execute", args).await;
    assert_eq!(written["value"]["data"], json!({"bytes": 2}));
    let args = json!({"name": "Bash", "input": {"command": "/bin/sh", "args": ["-c", "echo $A; cat a"]},
        "context": {"permissions": ["Bash"], "env": {"A": "b"}}});
    let run = harness.value("tools.execute", args).await;
    assert_eq!(run["value"]["data"], json!({"code": 0, "stdout": "b\nü", "stderr": ""}));
    let wrong = harness
        .call("tools.execute", json!({"name": "Read", "input": {}, "context": 1}), |_| Value::Null)
        .await;
    assert!(wrong.answer["error"].is_object(), "the harness's own mistake is no result");
}

/// A fake that answers with no reply is not taken for an answer of the tool.
#[tokio::test]
async fn a_harness_that_cannot_be_asked() {
    let mut harness = Harness::new().await;
    let args = json!({"name": "GraphQuery", "input": {"query": "q"}});
    let heard = harness.call("tools.execute", args, |_| json!("garbage")).await;
    assert!(heard.answer["error"].is_object(), "{}", heard.answer);
}
