//! A harness by hand, since it must do what no honest one does.

use std::time::Duration;

use proofmark_protocol::message::{push_request, push_result};
use proofmark_protocol::{Id, LineReader, MAX_LINE};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, DuplexStream};

/// The other end of the pipe, with a session `s` in a workspace of its own.
pub(crate) struct Harness {
    to: DuplexStream,
    from: LineReader<DuplexStream>,
    workspace: tempfile::TempDir,
}

/// The result of a call: its answer, its questions to fakes, and its items.
pub(crate) struct Heard {
    pub(crate) answer: Value,
    pub(crate) asks: Vec<Value>,
    pub(crate) items: Vec<Value>,
}

impl Harness {
    pub(crate) async fn new() -> Self {
        let (to, input) = tokio::io::duplex(64 * 1024);
        let (output, from) = tokio::io::duplex(64 * 1024);
        tokio::spawn(proofmark_catalog::reference().serve(input, output));
        let workspace = tempfile::tempdir().unwrap();
        let mut harness = Self { to, from: LineReader::new(from, MAX_LINE), workspace };
        let root = harness.workspace.path().display().to_string();
        let open = json!({"session": "s", "workspace": root});
        harness.send("open", open).await;
        assert_eq!(harness.line().await["result"], json!({}));
        harness
    }

    pub(crate) async fn send(&mut self, method: &str, params: Value) {
        let mut line = Vec::new();
        push_request(&mut line, &Id::Number(7), method, &params);
        self.to.write_all(&line).await.unwrap();
    }

    pub(crate) async fn line(&mut self) -> Value {
        // The bound only turns a test that would hang into one that fails.
        let line = tokio::time::timeout(Duration::from_secs(60), self.from.next_line());
        serde_json::from_slice(line.await.unwrap().unwrap().unwrap()).unwrap()
    }

    /// Answers what the adapter asked in `line`.
    pub(crate) async fn answer(&mut self, line: &Value, reply: &Value) {
        let mut answer = Vec::new();
        push_result(&mut answer, &Id::Number(line["id"].as_i64().unwrap()), reply);
        self.to.write_all(&answer).await.unwrap();
    }

    /// Calls an operation; `play` answers what it asks.
    pub(crate) async fn call(
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
                    let ask = json!([line["params"]["fake"], line["params"]["args"]]);
                    self.answer(&line, &play(&ask)).await;
                    heard.asks.push(ask);
                }
                None => {
                    heard.answer = line;
                    return heard;
                }
            }
        }
    }

    pub(crate) async fn value(&mut self, operation: &str, args: Value) -> Value {
        self.call(operation, args, |_| Value::Null).await.answer["result"].take()
    }
}
