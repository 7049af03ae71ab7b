//! Endpoints: what they answer, and what they refuse.

use rstest::rstest;
use serde_json::{Value, json};

use crate::lab::{Lab, fits, id_of, of_type, types};

const NOBODY: &str = "00000000-0000-4000-8000-0000000000ff";

#[tokio::test]
async fn a_new_run_has_the_defaults_and_one_event_with_all_of_it() {
    let lab = Lab::start().await;
    let run = lab.done("POST", "/api/runs", json!({})).await;
    let wanted = json!({
        "contractVersion": "1", "status": "running", "phase": "BOOT", "mode": "AUTO",
        "globalMode": "IMPLEMENTATION", "nodes": {}, "edges": {}, "artifacts": {},
    });
    assert!(fits(&run, &wanted), "{run}");
    let events = lab.events(&id_of(&run)).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["patch"], run);
    assert_eq!(lab.get(&format!("/api/runs/{}", id_of(&run))).await, run);
}

#[tokio::test]
async fn runs_are_listed_oldest_first_also_after_a_restart_and_with_a_clock_that_stands() {
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let start = async || {
        let script = crate::script::Script::new();
        let settings = agent_runs::Settings {
            clock: std::sync::Arc::new(|| jiff::Timestamp::UNIX_EPOCH),
            ..crate::lab::settings(&script)
        };
        Lab::start_with(std::sync::Arc::clone(&folder), script, settings).await
    };
    let mut made = Vec::new();
    for _ in 0..2 {
        let lab = start().await;
        for _ in 0..5 {
            made.push(lab.run().await);
            let listed: Vec<String> =
                lab.get("/api/runs").await.as_array().unwrap().iter().map(id_of).collect();
            assert_eq!(listed, made);
        }
        lab.end().await;
    }
}

#[tokio::test]
async fn a_run_patch_reports_the_changed_members() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let path = format!("/api/runs/{run}");
    lab.done("PATCH", &path, json!({ "phase": "EXECUTE", "mode": "AUTO" })).await;
    lab.done("PATCH", &path, json!({ "globalMode": "PLANNING" })).await;
    lab.done("PATCH", &path, json!({ "globalMode": "PLANNING" })).await;
    let events = lab.events(&run).await;
    assert_eq!(types(&events[1..]), ["run.patch", "run.phase", "run.patch", "run.mode"]);
    assert!(fits(
        &events[1]["patch"],
        &json!({ "phase": "EXECUTE", "mode": null, "status": null })
    ));
    assert!(fits(&events[4], &json!({ "mode": "AUTO", "globalMode": "PLANNING" })));
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn a_new_node_has_the_defaults() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let path = format!("/api/runs/{run}/nodes");
    let body = json!({
        "label": "A", "roleTemplate": "implementer", "provider": "claude",
        "capabilities": { "spawnNodes": true }, "permissions": { "cliPermissionsMode": "gated" },
    });
    let node = lab.done("POST", &path, body).await;
    let wanted = json!({
        "runId": run, "status": "idle", "summary": "", "inboxCount": 0,
        "capabilities": {
            "spawnNodes": true, "writeCode": true, "writeDocs": true, "runCommands": true, "delegateOnly": false,
        },
        "permissions": { "cliPermissionsMode": "gated", "spawnRequiresApproval": true },
        "session": { "resetCommands": ["/new", "/clear"] },
    });
    assert!(fits(&node, &wanted), "{node}");
    assert!(node["session"]["sessionId"].is_string());
    let changed = lab
        .done(
            "PATCH",
            &format!("{path}/{}", id_of(&node)),
            json!({ "capabilities": { "writeDocs": false } }),
        )
        .await;
    assert!(fits(&changed, &json!({ "capabilities": { "spawnNodes": true, "writeDocs": false } })));
    let events = lab.events(&run).await;
    assert_eq!(events[1]["patch"], node);
    assert_eq!(events[2]["patch"], json!({ "capabilities": changed["capabilities"] }));
    lab.check_fold(&run).await;
}

#[rstest]
#[case::to_an_orchestrator("implementer", "orchestrator", json!({}), json!({ "type": "report", "label": "report" }))]
#[case::from_an_orchestrator("orchestrator", "implementer", json!({}), json!({ "type": "handoff", "label": "task" }))]
#[case::among_others("reviewer", "implementer", json!({}), json!({ "type": "handoff", "label": "task", "bidirectional": true }))]
#[case::as_it_says(
    "reviewer", "implementer",
    json!({ "type": "report", "label": "custom", "bidirectional": false }),
    json!({ "type": "report", "label": "custom", "bidirectional": false })
)]
#[tokio::test]
async fn an_edge_has_defaults_by_its_ends(
    #[case] from: &str,
    #[case] to: &str,
    #[case] more: Value,
    #[case] wanted: Value,
) {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let from = lab.node(&run, "from", json!({ "roleTemplate": from })).await;
    let to = lab.node(&run, "to", json!({ "roleTemplate": to })).await;
    let mut body = json!({ "from": from, "to": to });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let edge = lab.done("POST", &format!("/api/runs/{run}/edges"), body).await;
    assert!(fits(&edge, &wanted), "{edge}");
    let path = format!("/api/runs/{run}/edges/{}", id_of(&edge));
    assert_eq!(lab.ask("DELETE", &path, None).await.0, 204);
    assert_eq!(lab.ask("DELETE", &path, None).await.0, 404);
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn chat_without_a_node_is_for_the_first_orchestrator_or_only_recorded() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let path = format!("/api/runs/{run}/chat");
    lab.set_status(&run, "paused").await;
    let message = lab.done("POST", &path, json!({ "content": "anybody?" })).await;
    assert!(fits(&message, &json!({ "role": "user", "interrupt": false, "nodeId": null })));
    lab.node(&run, "A", json!({})).await;
    let first = lab.node(&run, "B", json!({ "roleTemplate": "orchestrator" })).await;
    lab.node(&run, "C", json!({ "roleTemplate": "orchestrator" })).await;
    let message = lab.done("POST", &path, json!({ "content": "you?" })).await;
    assert_eq!(message["nodeId"], json!(first));
    assert_eq!(lab.node_state(&run, &first).await["inboxCount"], 1);
    assert_eq!(of_type(&lab.events(&run).await, "message.user").len(), 2);
    lab.check_fold(&run).await;
}

/// `RUN`, `NODE` and `NOBODY` stand for ids.
#[rstest]
#[case("POST", "/api/runs", r#"{"contractVersion":"2"}"#, 400)]
#[case("POST", "/api/runs", r#"{"contractVersion":1}"#, 400)]
#[case("POST", "/api/runs", r#"{"mode":"auto"}"#, 400)]
#[case("POST", "/api/runs", r#"{"mode":null}"#, 400)]
#[case("POST", "/api/runs", r#"{"mode":"AUTO","mode":"AUTO"}"#, 400)]
#[case("POST", "/api/runs", r#"{"globalMode":"DEPLOY"}"#, 400)]
#[case("POST", "/api/runs", r#"{"name":"x"}"#, 400)]
#[case("POST", "/api/runs", "[]", 400)]
#[case("POST", "/api/runs", "{", 400)]
#[case("POST", "/api/runs", "", 400)]
#[case("POST", "/api/runs", "{} {}", 400)]
#[case("PATCH", "/api/runs/RUN", "{}", 400)]
#[case("PATCH", "/api/runs/RUN", r#"{"status":"queued"}"#, 400)]
#[case("PATCH", "/api/runs/RUN", r#"{"status":"done"}"#, 400)]
#[case("PATCH", "/api/runs/RUN", r#"{"phase":"execute"}"#, 400)]
#[case("PATCH", "/api/runs/RUN", r#"{"id":"NOBODY"}"#, 400)]
#[case("PATCH", "/api/runs/NOBODY", r#"{"status":"paused"}"#, 404)]
#[case("GET", "/api/runs/NOBODY", "", 404)]
#[case("GET", "/api/runs/nobody", "", 400)]
#[case("GET", "/api/runs/%2e%2e%2f%2e%2e", "", 400)]
#[case("GET", "/api/runs/%ff", "", 400)]
#[case("GET", "/api/runs/NOBODY/events", "", 404)]
#[case("GET", "/api/runs/RUN/events?after=NOBODY", "", 404)]
#[case("GET", "/api/runs/RUN/events?after=x", "", 400)]
#[case("GET", "/api/runs/RUN/events?after=NOBODY&after=NOBODY", "", 400)]
#[case(
    "POST",
    "/api/runs/NOBODY/nodes",
    r#"{"label":"A","roleTemplate":"x","provider":"codex"}"#,
    404
)]
#[case("POST", "/api/runs/RUN/nodes", r#"{"roleTemplate":"x","provider":"codex"}"#, 400)]
#[case("POST", "/api/runs/RUN/nodes", r#"{"label":"","roleTemplate":"x","provider":"codex"}"#, 400)]
#[case("POST", "/api/runs/RUN/nodes", r#"{"label":"A","roleTemplate":"","provider":"codex"}"#, 400)]
#[case(
    "POST",
    "/api/runs/RUN/nodes",
    r#"{"label":"LONG","roleTemplate":"x","provider":"codex"}"#,
    400
)]
#[case("POST", "/api/runs/RUN/nodes", r#"{"label":"A","roleTemplate":"x","provider":"gpt"}"#, 400)]
#[case(
    "POST",
    "/api/runs/RUN/nodes",
    r#"{"label":"A","roleTemplate":"x","provider":"codex","status":"idle"}"#,
    400
)]
#[case(
    "POST",
    "/api/runs/RUN/nodes",
    r#"{"label":"A","roleTemplate":"x","provider":"codex","capabilities":{"fly":true}}"#,
    400
)]
#[case(
    "POST",
    "/api/runs/RUN/nodes",
    r#"{"label":"A","roleTemplate":"x","provider":"codex","capabilities":{"writeCode":1}}"#,
    400
)]
#[case("POST", "/api/runs/RUN/nodes", r#"{"label":"A","roleTemplate":"x","provider":"codex","permissions":{"cliPermissionsMode":"ask"}}"#, 400)]
#[case(
    "POST",
    "/api/runs/RUN/nodes",
    r#"{"label":"A","roleTemplate":"x","provider":"codex","session":{"sessionId":"x"}}"#,
    400
)]
#[case("PATCH", "/api/runs/RUN/nodes/NODE", "{}", 400)]
#[case("PATCH", "/api/runs/RUN/nodes/NODE", r#"{"label":7}"#, 400)]
#[case("PATCH", "/api/runs/RUN/nodes/NODE", r#"{"status":"idle"}"#, 400)]
#[case("PATCH", "/api/runs/RUN/nodes/NOBODY", r#"{"label":"B"}"#, 404)]
#[case("PATCH", "/api/runs/RUN/nodes/x", r#"{"label":"B"}"#, 400)]
#[case("POST", "/api/runs/RUN/edges", r#"{"from":"NODE","to":"NOBODY"}"#, 404)]
#[case("POST", "/api/runs/RUN/edges", r#"{"from":"NODE","to":"B"}"#, 400)]
#[case("POST", "/api/runs/RUN/edges", r#"{"from":"NODE"}"#, 400)]
#[case("POST", "/api/runs/RUN/edges", r#"{"from":"NODE","to":"NODE","type":"task"}"#, 400)]
#[case("POST", "/api/runs/RUN/edges", r#"{"from":"NODE","to":"NODE","bidirectional":"yes"}"#, 400)]
#[case("DELETE", "/api/runs/RUN/edges/NOBODY", "", 404)]
#[case("DELETE", "/api/runs/RUN/edges/x", "", 400)]
#[case("POST", "/api/runs/RUN/chat", r#"{"content":""}"#, 400)]
#[case("POST", "/api/runs/RUN/chat", r#"{"content":"x","nodeId":"NOBODY"}"#, 404)]
#[case("POST", "/api/runs/RUN/chat", r#"{"content":"x","nodeId":null}"#, 400)]
#[case("POST", "/api/runs/RUN/chat", r#"{"content":"x","interrupt":"yes"}"#, 400)]
#[case("POST", "/api/runs/RUN/chat", r#"{"content":"x","role":"system"}"#, 400)]
#[case("POST", "/api/approvals/NOBODY/resolve", r#"{"status":"approved"}"#, 404)]
#[case("POST", "/api/approvals/x/resolve", r#"{"status":"approved"}"#, 400)]
#[case("POST", "/api/approvals/NOBODY/resolve", r#"{"status":"maybe"}"#, 400)]
#[case("POST", "/api/approvals/NOBODY/resolve", r#"{"status":"modified"}"#, 400)]
#[case("POST", "/api/approvals/NOBODY/resolve", r#"{"status":"modified","modifiedArgs":[]}"#, 400)]
#[case("POST", "/api/approvals/NOBODY/resolve", r#"{"status":"denied","modifiedArgs":{}}"#, 400)]
#[case("PUT", "/api/runs", "{}", 405)]
#[case("DELETE", "/api/runs/RUN", "", 405)]
#[case("POST", "/api/approvals", "{}", 405)]
#[case("GET", "/api/approvals/NOBODY/resolve", "", 405)]
#[case("GET", "/", "", 404)]
#[case("GET", "/api/nothing", "", 404)]
#[case("GET", "/ws", "", 400)]
#[tokio::test]
async fn wrong_requests_are_refused_and_change_nothing(
    #[case] method: &str,
    #[case] path: &str,
    #[case] body: &str,
    #[case] wanted: u16,
) {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    let named = |text: &str| {
        text.replace("RUN", &run)
            .replace("NODE", &node)
            .replace("NOBODY", NOBODY)
            .replace("LONG", &"x".repeat(201))
    };
    let before = (lab.get("/api/runs").await, lab.events(&run).await);
    let body = Some(named(body)).filter(|body| !body.is_empty());
    let (status, answer) = lab.ask(method, &named(path), body).await;
    assert_eq!(status, wanted, "{answer}");
    assert_eq!((lab.get("/api/runs").await, lab.events(&run).await), before);
}

#[tokio::test]
async fn a_body_of_a_mebibyte_is_read_and_one_byte_more_is_not() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let path = format!("/api/runs/{run}/chat");
    let body = |length: usize| {
        let rest = json!({ "content": "" }).to_string().len();
        Some(json!({ "content": "x".repeat(length - rest) }).to_string())
    };
    assert_eq!(lab.ask("POST", &path, body(1 << 20)).await.0, 201);
    assert_eq!(lab.ask("POST", &path, body((1 << 20) + 1)).await.0, 413);
}

#[tokio::test]
async fn an_inbox_has_an_end() {
    let script = crate::script::Script::new();
    let mut settings = crate::lab::settings(&script);
    settings.limits.inbox = 2;
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let lab = Lab::start_with(folder, script, settings).await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.set_status(&run, "paused").await;
    lab.chat(&run, &node, "one").await;
    lab.chat(&run, &node, "two").await;
    let body = json!({ "content": "three", "nodeId": node }).to_string();
    let (status, answer) = lab.ask("POST", &format!("/api/runs/{run}/chat"), Some(body)).await;
    assert_eq!((status, &answer["error"]["code"]), (429, &json!("INBOX_FULL")));
}
