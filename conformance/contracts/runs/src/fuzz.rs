//! Fuzzes logs of a run.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_runs::{Engine, Flush, Id, Settings};
use jiff::Timestamp;
use proofmark_room::fuzz::FuzzTarget;
use serde_json::json;

use crate::Nobody;

/// The targets of this contract, for `cargo xtask fuzz`.
pub(crate) const TARGETS: &[FuzzTarget] = &[FuzzTarget { name: "runs", check: log, seeds: logs }];

const RUN: &str = "11111111-1111-4111-8111-111111111111";

/// Opens a folder with any log, twice. Either the run is served both times, or it is refused and its log is
/// unchanged, or the log does not contain it. Whole lines are never changed.
fn log(bytes: &[u8]) {
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

/// A log with every event type that changes a run, whole and truncated.
fn logs(_: &Path) -> Vec<Vec<u8>> {
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

    /// Otherwise the fuzzer would start from logs that the server rejects.
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
