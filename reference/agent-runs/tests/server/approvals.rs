//! Tools, approvals and spawns.

use rstest::rstest;
use serde_json::{Value, json};

use crate::lab::{Consumer, Lab, fits, of_type, types};

struct Scene {
    lab: Lab,
    run: String,
    node: String,
    consumer: Consumer,
}

/// A node that proposes one tool, and its events until then.
async fn propose(node: Value, tool: &Value, rest: Value) -> Scene {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", node).await;
    lab.script.turn("A", [json!({ "tool": tool }), rest, json!({ "done": {} })]);
    let mut consumer = lab.consumer(&run).await;
    consumer.take(2).await;
    lab.chat(&run, &node, "go").await;
    consumer.take(5).await;
    Scene { lab, run, node, consumer }
}

fn command() -> Value {
    json!({ "id": "t1", "name": "command", "args": { "cmd": "ls" } })
}

fn spawn() -> Value {
    let args = json!({ "label": "B", "roleTemplate": "reviewer", "provider": "gemini" });
    json!({ "id": "t1", "name": "spawn_node", "args": args })
}

fn completed() -> Value {
    json!({ "toolCompleted": { "toolId": "t1", "result": { "ok": true, "exit": 0 } } })
}

impl Scene {
    async fn resolve(&self, body: Value) -> (u16, Value) {
        let waiting = self.lab.get("/api/approvals").await;
        let id = waiting[0]["approvalId"].as_str().unwrap().to_owned();
        self.lab.ask("POST", &format!("/api/approvals/{id}/resolve"), Some(body.to_string())).await
    }

    /// The types of the events up to the end of the turn, without those of every end.
    async fn rest(&mut self) -> Vec<Value> {
        let mut events = self.consumer.until(json!({ "type": "message.assistant.final" })).await;
        events.pop();
        self.lab.check_fold(&self.run).await;
        events
    }
}

#[tokio::test]
async fn a_tool_of_a_node_that_skips_starts_at_once_and_nothing_is_forwarded() {
    let mut scene = propose(json!({}), &command(), completed()).await;
    let events = scene.rest().await;
    assert_eq!(types(&events), ["tool.proposed", "tool.started", "tool.completed"]);
    assert_eq!(events[1]["tool"], command());
    assert!(fits(&events[2], &json!({ "toolId": "t1", "result": { "ok": true, "exit": 0 } })));
    assert!(scene.lab.script.asked("resolve").is_empty());
}

#[rstest]
#[case::approved(
    json!({ "status": "approved" }),
    &["approval.resolved", "tool.started", "tool.completed"],
    json!({ "turn": "turn-0", "toolId": "t1", "status": "approved", "args": { "cmd": "ls" } })
)]
#[case::modified(
    json!({ "status": "modified", "modifiedArgs": { "cmd": "pwd" } }),
    &["approval.resolved", "tool.started", "tool.completed"],
    json!({ "turn": "turn-0", "toolId": "t1", "status": "modified", "args": { "cmd": "pwd" } })
)]
#[case::denied(
    json!({ "status": "denied" }),
    &["approval.resolved", "tool.completed"],
    json!({ "turn": "turn-0", "toolId": "t1", "status": "denied" })
)]
#[tokio::test]
async fn a_gated_tool_waits_for_its_user_and_the_answer_is_forwarded(
    #[case] said: Value,
    #[case] wanted: &[&str],
    #[case] forwarded: Value,
) {
    let gated = json!({ "permissions": { "cliPermissionsMode": "gated" } });
    let mut scene = propose(gated, &command(), completed()).await;
    let asked = scene.consumer.until(json!({ "type": "approval.requested" })).await;
    assert_eq!(types(&asked), ["tool.proposed", "approval.requested"]);
    assert_eq!(asked[1]["tool"], command());
    let waiting = scene.lab.get("/api/approvals").await;
    let wanted_waiting = json!({
        "approvalId": asked[1]["approvalId"], "runId": scene.run, "nodeId": scene.node, "tool": command(),
    });
    assert!(fits(&waiting[0], &wanted_waiting), "{waiting}");
    assert_eq!(scene.lab.script.methods(), ["turn", "next"]);
    let (status, resolution) = scene.resolve(said.clone()).await;
    assert_eq!((status, &resolution), (200, &said));
    let events = scene.rest().await;
    assert_eq!(types(&events), wanted);
    assert_eq!(events[0]["resolution"], said);
    if wanted.contains(&"tool.started") {
        assert_eq!(events[1]["tool"]["args"], forwarded["args"]);
    }
    assert_eq!(scene.lab.script.asked("resolve"), [forwarded]);
    assert_eq!(scene.lab.script.methods()[..4], ["turn", "next", "resolve", "next"]);
    assert_eq!(scene.lab.get("/api/approvals").await, json!([]));
    let id = asked[1]["approvalId"].as_str().unwrap();
    let again = Some(json!({ "status": "approved" }).to_string());
    let (status, _) =
        scene.lab.ask("POST", &format!("/api/approvals/{id}/resolve"), again.clone()).await;
    assert_eq!(status, 409);
    let lab = scene.lab.restart().await;
    assert_eq!(lab.ask("POST", &format!("/api/approvals/{id}/resolve"), again).await.0, 409);
}

#[rstest]
#[case::a_worker_always(json!({ "permissions": { "spawnRequiresApproval": false } }), true)]
#[case::an_orchestrator_by_default(json!({ "roleTemplate": "orchestrator" }), true)]
#[case::an_orchestrator_that_need_not(
    json!({ "roleTemplate": "orchestrator", "permissions": { "spawnRequiresApproval": false } }), false
)]
#[tokio::test]
async fn a_spawn_needs_an_approval_by_role_and_permission(
    #[case] mut node: Value,
    #[case] needed: bool,
) {
    node["capabilities"] = json!({ "spawnNodes": true });
    let mut scene = propose(node, &spawn(), json!({ "progress": "on" })).await;
    if needed {
        scene.consumer.until(json!({ "type": "approval.requested" })).await;
        assert_eq!(scene.resolve(json!({ "status": "approved" })).await.0, 200);
    }
    let mut events = scene.rest().await;
    let first = events.iter().position(|event| event["type"] == "tool.started").unwrap();
    events.drain(..first);
    assert_eq!(
        types(&events)[..4],
        ["tool.started", "node.patch", "edge.created", "tool.completed"]
    );
    let made = &events[1]["patch"];
    assert!(fits(made, &json!({ "label": "B", "roleTemplate": "reviewer", "status": "idle" })));
    let wanted =
        json!({ "from": scene.node, "to": made["id"], "type": "handoff", "label": "task" });
    assert!(fits(&events[2]["edge"], &wanted));
    assert!(fits(&events[3], &json!({ "toolId": "t1", "result": { "ok": true } })));
    let wanted =
        json!({ "turn": "turn-0", "toolId": "t1", "status": "approved", "args": spawn()["args"] });
    assert_eq!(scene.lab.script.asked("resolve"), [wanted]);
}

#[rstest]
#[case::without_the_capability(json!({}), spawn())]
#[case::of_what_is_no_node(
    json!({ "capabilities": { "spawnNodes": true } }),
    json!({ "id": "t1", "name": "spawn_node", "args": { "label": "B" } })
)]
#[tokio::test]
async fn a_spawn_that_cannot_be_is_denied_and_asks_nobody(
    #[case] node: Value,
    #[case] tool: Value,
) {
    let mut scene = propose(node, &tool, json!({ "delta": "a pity" })).await;
    let events = scene.rest().await;
    assert_eq!(types(&events), ["tool.proposed", "tool.completed", "message.assistant.delta"]);
    assert!(fits(&events[1], &json!({ "toolId": "t1", "result": { "ok": false } })));
    assert!(events[1]["error"]["message"].is_string());
    let wanted = json!({ "turn": "turn-0", "toolId": "t1", "status": "denied" });
    assert_eq!(scene.lab.script.asked("resolve"), [wanted]);
}

#[tokio::test]
async fn a_spawn_can_be_modified_but_not_into_nonsense() {
    let node = json!({ "capabilities": { "spawnNodes": true } });
    let mut scene = propose(node, &spawn(), json!({ "delta": "x" })).await;
    scene.consumer.until(json!({ "type": "approval.requested" })).await;
    let nonsense = json!({ "status": "modified", "modifiedArgs": { "label": "" } });
    assert_eq!(scene.resolve(nonsense).await.0, 400);
    let args = json!({ "label": "C", "roleTemplate": "reviewer", "provider": "codex" });
    assert_eq!(scene.resolve(json!({ "status": "modified", "modifiedArgs": args })).await.0, 200);
    let events = scene.rest().await;
    assert!(events.iter().any(|event| event["patch"]["label"] == "C"));
}

#[tokio::test]
async fn an_interrupt_withdraws_pending_approvals() {
    let gated = json!({ "permissions": { "cliPermissionsMode": "gated" } });
    let mut scene = propose(gated, &command(), completed()).await;
    let asked = scene.consumer.until(json!({ "type": "approval.requested" })).await;
    scene.lab.interrupt(&scene.run, &scene.node, "no").await;
    assert_eq!(scene.lab.get("/api/approvals").await, json!([]));
    scene.consumer.until_node(&scene.node, "idle").await;
    let id = asked.last().unwrap()["approvalId"].as_str().unwrap();
    let said = Some(json!({ "status": "approved" }).to_string());
    assert_eq!(scene.lab.ask("POST", &format!("/api/approvals/{id}/resolve"), said).await.0, 404);
    scene.lab.script.until_asked("turn", 2).await;
    assert!(scene.lab.script.asked("resolve").is_empty());
    assert_eq!(scene.lab.script.asked("stop").len(), 1);
}

#[tokio::test]
async fn approvals_of_all_runs_are_listed_oldest_first() {
    let lab = Lab::start().await;
    let mut asked = Vec::new();
    for _ in 0..3 {
        let run = lab.run().await;
        for label in ["A", "B"] {
            let gated = json!({ "permissions": { "cliPermissionsMode": "gated" } });
            let node = lab.node(&run, label, gated).await;
            lab.script.turn(label, [json!({ "tool": command() })]);
            let mut consumer = lab.consumer(&run).await;
            lab.chat(&run, &node, "go").await;
            let wanted = json!({ "type": "approval.requested", "nodeId": node });
            asked.push(consumer.until(wanted).await.last().unwrap()["approvalId"].clone());
        }
    }
    let listed = lab.get("/api/approvals").await;
    let listed: Vec<Value> =
        listed.as_array().unwrap().iter().map(|a| a["approvalId"].clone()).collect();
    assert_eq!(listed, asked);
    let events = lab.events(lab.get("/api/runs").await[0]["id"].as_str().unwrap()).await;
    assert_eq!(of_type(&events, "approval.requested").len(), 2);
}
