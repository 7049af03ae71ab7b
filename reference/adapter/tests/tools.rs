//! The operations of `sage.tools`, as a harness meets them.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

use std::time::Duration;

use proofmark_protocol::message::{push_request, push_result};
use proofmark_protocol::{Id, LineReader, MAX_LINE};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, DuplexStream};

/// The other end of the pipe, with a session `s` in a workspace of its own.
struct Harness {
    to: DuplexStream,
    from: LineReader<DuplexStream>,
    workspace: tempfile::TempDir,
}

/// What a call came to: its answer, what it asked, and the items that it sent.
struct Heard {
    answer: Value,
    asks: Vec<Value>,
    items: Vec<Value>,
}

impl Harness {
    async fn new() -> Self {
        let (to, input) = tokio::io::duplex(64 * 1024);
        let (output, from) = tokio::io::duplex(64 * 1024);
        tokio::spawn(proofmark_reference::adapter().serve(input, output));
        let workspace = tempfile::tempdir().unwrap();
        let mut harness = Self { to, from: LineReader::new(from, MAX_LINE), workspace };
        let root = harness.workspace.path().display().to_string();
        let open = json!({"session": "s", "workspace": root});
        harness.send("open", open).await;
        assert_eq!(harness.line().await["result"], json!({}));
        harness
    }

    async fn send(&mut self, method: &str, params: Value) {
        let mut line = Vec::new();
        push_request(&mut line, &Id::Number(7), method, &params);
        self.to.write_all(&line).await.unwrap();
    }

    async fn line(&mut self) -> Value {
        // The bound only turns a test that would hang into one that fails.
        let line = tokio::time::timeout(Duration::from_secs(60), self.from.next_line());
        serde_json::from_slice(line.await.unwrap().unwrap().unwrap()).unwrap()
    }

    /// Calls an operation; `play` answers what it asks.
    async fn call(
        &mut self,
        operation: &str,
        args: Value,
        play: impl Fn(&Value) -> Value,
    ) -> Heard {
        self.send("call", json!({"session": "s", "operation": operation, "args": args})).await;
        let mut heard = Heard { answer: Value::Null, asks: Vec::new(), items: Vec::new() };
        loop {
            let mut line = self.line().await;
            match line["method"].as_str() {
                Some("event") => heard.items.push(line["params"]["item"].take()),
                Some(_) => {
                    let id = Id::Number(line["id"].as_i64().unwrap());
                    let ask = json!([line["params"]["fake"], line["params"]["args"]]);
                    let mut answer = Vec::new();
                    push_result(&mut answer, &id, &play(&ask));
                    self.to.write_all(&answer).await.unwrap();
                    heard.asks.push(ask);
                }
                None => {
                    heard.answer = line;
                    return heard;
                }
            }
        }
    }

    async fn value(&mut self, operation: &str, args: Value) -> Value {
        self.call(operation, args, |_| Value::Null).await.answer["result"].take()
    }
}

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
