//! The servers of `common` and `runs`: any conversation, and any log.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_common::Server;
use agent_runs::{Engine, Flush, Id, Settings};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::seeds;
use crate::Nobody;

/// After `initialize` any bytes are read as lines: what is a request is answered once, what a tool says is an envelope.
pub(super) fn conversation(bytes: &[u8]) {
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

/// Every call of a case, as a line.
pub(super) fn conversations(top: &Path) -> Vec<Vec<u8>> {
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
    seeds::short(seeds::all_cases(top).iter().map(said).filter(|seed| !seed.is_empty()).collect())
}

const RUN: &str = "11111111-1111-4111-8111-111111111111";

/// A folder with any log is opened. The run is served, and then again; or it is refused, and its log is left as it is;
/// or nothing was told of it. Whole lines stay where they are.
pub(super) fn log(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let of_run = folder.path().join("runs").join(RUN);
    fs::create_dir_all(of_run.join("artifacts")).expect("a folder can be made");
    let file = of_run.join("events.jsonl");
    fs::write(&file, bytes).expect("a file can be written");
    let run: Id = RUN.parse().expect("it is an id");
    let first = opened(folder.path(), run);
    let kept = fs::read(&file).expect("the log is there");
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    assert!(kept.starts_with(&bytes[..whole]), "lines that were there are changed");
    if first != Found::Served {
        assert_eq!(kept.len(), whole, "nothing is written into a log that is not served");
    }
    assert_eq!(opened(folder.path(), run), first);
}

#[derive(Debug, PartialEq)]
enum Found {
    Served,
    Refused,
    Nothing,
}

fn opened(folder: &Path, run: Id) -> Found {
    block_on(async {
        let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
        let settings = Settings { flush: Flush::System, ..Settings::new(Arc::new(Nobody), clock) };
        let engine = Engine::open(folder, settings).await.expect("a folder is opened");
        let listed = engine.list_runs().await.expect("the engine is open");
        let refused = engine.refused().contains_key(&run);
        engine.close().await;
        match (listed.as_slice(), refused) {
            ([one], false) if one.id == run => Found::Served,
            ([], true) => Found::Refused,
            ([], false) => Found::Nothing,
            other => panic!("one run gives {other:?}"),
        }
    })
}

/// A log with events of every kind that changes a run, whole and cut.
pub(super) fn logs(_: &Path) -> Vec<Vec<u8>> {
    let id = |number: u32| format!("{number:08}-2222-4222-8222-222222222222");
    let ts = "2024-01-01T00:00:00Z";
    let state = json!({
        "id": RUN, "contractVersion": "1", "status": "running", "phase": "BOOT", "mode": "AUTO",
        "globalMode": "IMPLEMENTATION", "createdAt": ts, "updatedAt": ts, "nodes": {}, "edges": {}, "artifacts": {},
    });
    let node = |number: u32| {
        json!({
            "id": id(number), "runId": RUN, "label": "A", "roleTemplate": "implementer", "provider": "codex",
            "status": "idle", "summary": "", "lastActivityAt": ts,
            "capabilities": { "spawnNodes": false, "writeCode": true, "writeDocs": true, "runCommands": true, "delegateOnly": false },
            "permissions": { "cliPermissionsMode": "skip", "spawnRequiresApproval": true },
            "session": { "sessionId": id(90), "resetCommands": ["/new"] },
            "connection": { "status": "idle", "streaming": false }, "inboxCount": 0,
        })
    };
    let message = json!({
        "id": id(5), "runId": RUN, "nodeId": id(1), "role": "user", "content": "Do it.", "interrupt": false, "createdAt": ts,
    });
    let artifact = json!({
        "id": id(6), "runId": RUN, "nodeId": id(1), "kind": "diff", "name": "diff.patch", "path": "/x", "createdAt": ts,
    });
    let edge = json!({
        "id": id(7), "from": id(1), "to": id(2), "bidirectional": true, "type": "handoff", "label": "task",
    });
    let whats = [
        json!({ "type": "run.patch", "patch": state, "ordinal": 0 }),
        json!({ "type": "node.patch", "nodeId": id(1), "patch": node(1) }),
        json!({ "type": "node.patch", "nodeId": id(2), "patch": node(2) }),
        json!({ "type": "edge.created", "edge": edge }),
        json!({ "type": "message.user", "nodeId": id(1), "message": message }),
        json!({ "type": "node.patch", "nodeId": id(1), "patch": { "status": "running", "inboxCount": 0 } }),
        json!({ "type": "artifact.created", "nodeId": id(1), "artifact": artifact }),
        json!({ "type": "edge.deleted", "edgeId": id(7) }),
        json!({ "type": "run.patch", "patch": { "status": "paused" } }),
    ];
    let lines: Vec<String> = (20..)
        .zip(whats)
        .map(|(number, mut event)| {
            event["id"] = json!(id(number));
            event["runId"] = json!(RUN);
            event["ts"] = json!(ts);
            format!("{event}\n")
        })
        .collect();
    let mut seeds: Vec<Vec<u8>> =
        (0..=lines.len()).map(|count| lines[..count].concat().into_bytes()).collect();
    seeds.push(lines.concat().into_bytes()[..1500].to_vec());
    seeds.push(b"{}\n".to_vec());
    seeds
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else the fuzzer would begin with logs of which nothing is believed.
    #[test]
    fn the_seeds_of_logs_are_served() {
        let run: Id = RUN.parse().unwrap();
        for seed in logs(Path::new("")).iter().skip(1).take(9) {
            let folder = tempfile::tempdir().unwrap();
            let of_run = folder.path().join("runs").join(RUN);
            fs::create_dir_all(of_run.join("artifacts")).unwrap();
            fs::write(of_run.join("events.jsonl"), seed).unwrap();
            assert_eq!(
                opened(folder.path(), run),
                Found::Served,
                "{}",
                String::from_utf8_lossy(seed)
            );
        }
    }
}
