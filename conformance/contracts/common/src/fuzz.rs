//! Fuzzes conversations with the server.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use agent_common::Server;
use jiff::Timestamp;
use proofmark_room::fuzz::{FuzzTarget, all_cases, short};
use serde_json::{Value, json};

/// The targets of this contract, for `cargo xtask fuzz`.
pub(crate) const TARGETS: &[FuzzTarget] =
    &[FuzzTarget { name: "mcp", check: conversation, seeds: conversations }];

/// Sends `initialize`, then any bytes as lines. Every request gets one answer, and every tool answers with an
/// envelope.
fn conversation(bytes: &[u8]) {
    let hello = json!({
        "jsonrpc": "2.0", "id": "first", "method": "initialize",
        "params": { "protocolVersion": "2025-06-18" },
    });
    let mut input = format!("{hello}\n").into_bytes();
    input.extend_from_slice(bytes);
    let server = Server::in_memory(Arc::new(|| Timestamp::UNIX_EPOCH));
    let mut output = Vec::new();
    block_on(server.serve(&input[..], &mut output)).expect("what a client says is no error");
    let text = String::from_utf8(output).expect("answers are UTF-8");
    let mut answers = 0;
    for line in text.lines() {
        answers += 1;
        let answer: Value = serde_json::from_str(line).expect("an answer is JSON");
        assert_eq!(answer["jsonrpc"], "2.0", "{line}");
        assert!(answer.get("id").is_some(), "{line}");
        assert!(answer["result"].is_object() != answer["error"]["code"].is_i64(), "{line}");
        if let Some(envelope) = answer["result"].get("structuredContent") {
            is_envelope(envelope);
        }
    }
    let lines = input.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    assert!((1..=lines).contains(&answers), "{answers} answers to {lines} lines");
}

fn is_envelope(envelope: &Value) {
    let members = envelope.as_object().expect("an envelope is an object");
    let names: BTreeSet<&str> = members.keys().map(String::as_str).collect();
    let all =
        ["context", "error", "intent", "result", "success", "suggestions", "timestamp", "warnings"];
    assert_eq!(names, BTreeSet::from(all), "{envelope}");
    let failed = envelope["success"] == json!(false);
    assert_eq!(failed, envelope["error"]["code"].is_string(), "{envelope}");
    assert_eq!(failed, !envelope["error"].is_null(), "{envelope}");
}

/// Every call of a case, as one line.
fn conversations(top: &Path) -> Vec<Vec<u8>> {
    let line = |(id, args): (usize, &Value)| {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": args });
        format!("{call}\n")
    };
    let said = |case: &Value| {
        let steps = case["steps"].as_array().cloned().unwrap_or_default();
        let tools =
            steps.iter().filter(|step| step["call"] == "mcp.tool").map(|step| &step["args"]);
        tools.enumerate().map(line).collect::<String>().into_bytes()
    };
    short(all_cases(top).iter().map(said).filter(|seed| !seed.is_empty()).collect())
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(work)
}
