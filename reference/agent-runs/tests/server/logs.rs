//! Logs: what is read again when a folder is opened, and what is refused.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Arc;

use agent_runs::{Engine, OpenError, RunFault};
use rstest::rstest;
use serde_json::{Value, json};

use crate::lab::{Lab, fits, in_time, of_type, settings};
use crate::script::Script;

#[tokio::test]
async fn a_folder_that_is_opened_again_has_the_runs_it_had() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let a = lab.node(&run, "A", json!({ "roleTemplate": "orchestrator" })).await;
    let b = lab.node(&run, "B", json!({})).await;
    lab.edge(&run, &a, &b, true).await;
    lab.script.turn("A", [json!({ "delta": "x" }), json!({ "done": { "diff": "+1" } })]);
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &a, "go").await;
    consumer.until_node(&a, "idle").await;
    let (state, events) = (lab.get("/api/runs").await, lab.events(&run).await);
    let lab = lab.restart().await;
    assert_eq!((lab.get("/api/runs").await, lab.events(&run).await), (state, events));
    lab.script.turn("A", [json!({ "done": {} })]);
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &a, "on").await;
    consumer.until_node(&a, "idle").await;
    lab.script.until_asked("turn", 2).await;
    consumer.until_node(&a, "idle").await;
    assert_eq!(lab.script.asked("turn")[1]["prompt"], json!({ "kind": "delta", "text": "on" }));
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn a_restart_loses_the_current_turn_but_not_the_inbox() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let gated = json!({ "permissions": { "cliPermissionsMode": "gated" } });
    let node = lab.node(&run, "A", gated).await;
    lab.script.turn("A", [json!({ "tool": { "id": "t", "name": "command", "args": {} } })]);
    lab.script.turn("A", [json!({ "done": { "message": "again" } })]);
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &node, "lost").await;
    let asked = consumer.until(json!({ "type": "approval.requested" })).await;
    lab.chat(&run, &node, "second").await;
    lab.chat(&run, &node, "third").await;
    let count = lab.events(&run).await.len();
    let lab = lab.restart().await;
    let events = lab.events(&run).await;
    assert!(fits(
        &events[count],
        &json!({ "type": "node.patch", "nodeId": node, "patch": { "status": "idle" } })
    ));
    let id = asked.last().unwrap()["approvalId"].as_str().unwrap();
    let said = Some(json!({ "status": "approved" }).to_string());
    assert_eq!(lab.ask("POST", &format!("/api/approvals/{id}/resolve"), said).await.0, 404);
    assert_eq!(lab.get("/api/approvals").await, json!([]));
    let mut consumer = lab.consumer(&run).await;
    consumer.until(json!({ "type": "message.assistant.final" })).await;
    let prompts = lab.script.asked("turn");
    assert_eq!(prompts[1]["prompt"]["text"], "second\n\nthird");
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn a_paused_run_stays_paused_and_a_blocked_node_blocked() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    let mut consumer = lab.consumer(&run).await;
    for _ in 0..3 {
        lab.script.turn("A", [json!({ "done": { "message": "same" } })]);
        lab.chat(&run, &node, "go").await;
        consumer.until(json!({ "type": "message.assistant.final" })).await;
    }
    consumer.until_node(&node, "blocked").await;
    lab.chat(&run, &node, "waits").await;
    let lab = lab.restart().await;
    let state = lab.get(&format!("/api/runs/{run}")).await;
    assert_eq!(state["status"], "paused");
    assert!(fits(&state["nodes"][&node], &json!({ "status": "blocked", "inboxCount": 1 })));
    assert_eq!(lab.script.asked("turn").len(), 3);
}

/// The end of a log that another process was writing.
#[rstest]
#[case::half_an_event(r#"{"id":"67e55044-10b1-426f"#)]
#[case::a_whole_event_without_its_end(r#"{"id":"67e55044-10b1-426f-9247-bb680e5fe0c8"}"#)]
#[case::half_a_character("\u{fffd}")]
#[tokio::test]
async fn a_line_without_its_end_is_cut_off(#[case] tail: &str) {
    let lab = Lab::start().await;
    let run = lab.run().await;
    lab.node(&run, "A", json!({})).await;
    let (events, log, folder) = (lab.events(&run).await, lab.log(&run), Arc::clone(&lab.folder));
    lab.end().await;
    let whole = fs::read(&log).unwrap();
    OpenOptions::new()
        .append(true)
        .open(&log)
        .unwrap()
        .write_all(&tail.as_bytes()[..tail.len() - 1])
        .unwrap();
    let lab = Lab::start_in(folder, Script::new()).await;
    assert_eq!(lab.events(&run).await, events);
    assert_eq!(fs::read(&log).unwrap(), whole);
    lab.node(&run, "B", json!({})).await;
    lab.check_fold(&run).await;
}

fn corrupt(line: usize) -> impl Fn(&RunFault) -> bool {
    move |fault| matches!(fault, RunFault::Corrupt { line: at, file, .. } if *at == line && file.ends_with("events.jsonl"))
}

/// A log of four lines with one of them made wrong.
#[rstest]
#[case::no_json(2, |_: &str| "nonsense".to_owned())]
#[case::empty(2, |_: &str| String::new())]
#[case::unknown_type(3, |line: &str| line.replace("node.patch", "node.fly"))]
#[case::of_another_run(3, |line: &str| {
    let mut event: Value = serde_json::from_str(line).unwrap();
    event["runId"] = json!("00000000-0000-4000-8000-0000000000ff");
    event.to_string()
})]
#[case::node_that_there_is_not(3, |line: &str| {
    let mut event: Value = serde_json::from_str(line).unwrap();
    event["patch"] = json!({ "summary": "who?" });
    event.to_string()
})]
#[case::no_beginning(1, |line: &str| line.replace("\"mode\":\"AUTO\",", ""))]
#[tokio::test]
async fn a_run_with_a_corrupt_line_is_refused_and_the_others_are_served(
    #[case] line: usize,
    #[case] spoil: fn(&str) -> String,
) {
    let lab = Lab::start().await;
    let (run, other) = (lab.run().await, lab.run().await);
    for label in ["A", "B", "C"] {
        lab.node(&run, label, json!({})).await;
    }
    let (log, folder) = (lab.log(&run), Arc::clone(&lab.folder));
    lab.end().await;
    let text = fs::read_to_string(&log).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[line - 1] = spoil(&lines[line - 1]);
    let spoiled = lines.join("\n") + "\n";
    fs::write(&log, &spoiled).unwrap();
    let lab = Lab::start_in(folder, Script::new()).await;
    let refused: Vec<&RunFault> = lab.engine.refused().values().collect();
    assert!(refused.len() == 1 && corrupt(line)(refused[0]), "{refused:?}");
    let request = Some(json!({ "status": "paused" }).to_string());
    let answers = [
        lab.ask("GET", &format!("/api/runs/{run}"), None).await,
        lab.ask("GET", &format!("/api/runs/{run}/events"), None).await,
        lab.ask("PATCH", &format!("/api/runs/{run}"), request).await,
    ];
    for (status, body) in answers {
        assert_eq!((status, &body["error"]["code"]), (500, &json!("RUN_REFUSED")));
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("runs/{run}/events.jsonl`, line {line}:")), "{message}");
    }
    assert_eq!(lab.get("/api/runs").await.as_array().unwrap().len(), 1);
    lab.node(&other, "A", json!({})).await;
    assert_eq!(fs::read_to_string(&log).unwrap(), spoiled);
}

#[tokio::test]
async fn a_log_of_another_version_is_refused() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let (log, folder) = (lab.log(&run), Arc::clone(&lab.folder));
    lab.end().await;
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace(r#""contractVersion":"1""#, r#""contractVersion":"2""#)).unwrap();
    let lab = Lab::start_in(folder, Script::new()).await;
    let fault = lab.engine.refused().values().next().unwrap().clone();
    assert!(matches!(fault, RunFault::Version { line: 1, version, .. } if version == "2"));
}

/// A request makes several events; a loss of power may leave the first of them alone.
#[tokio::test]
async fn partial_writes_are_completed() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.set_status(&run, "paused").await;
    lab.chat(&run, &node, "one").await;
    let (log, folder) = (lab.log(&run), Arc::clone(&lab.folder));
    lab.end().await;
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[3].contains("message.user") && lines.len() == 5);
    fs::write(&log, lines[..4].join("\n") + "\n").unwrap();
    let lab = Lab::start_in(folder, Script::new()).await;
    assert_eq!(lab.node_state(&run, &node).await["inboxCount"], 1);
    lab.set_status(&run, "running").await;
    let asks = lab.script.until_asked("turn", 1).await;
    assert!(asks[0]["prompt"]["text"].as_str().unwrap().contains("one"));
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn a_run_that_was_never_reported_does_not_exist() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let (log, folder) = (lab.log(&run), Arc::clone(&lab.folder));
    lab.end().await;
    fs::write(&log, "{\"id\":").unwrap();
    fs::create_dir(folder.path().join("runs/not-a-run")).unwrap();
    let lab = Lab::start_in(folder, Script::new()).await;
    assert_eq!(lab.get("/api/runs").await, json!([]));
    assert!(lab.engine.refused().is_empty());
}

#[tokio::test]
async fn a_folder_is_served_by_one_at_a_time() {
    let lab = Lab::start().await;
    let script = Script::new();
    let second = Engine::open(lab.folder.path(), settings(&script)).await;
    assert!(matches!(second, Err(OpenError::Locked { .. })));
    let folder = Arc::clone(&lab.folder);
    lab.end().await;
    assert!(Engine::open(folder.path(), settings(&script)).await.is_ok());
    let nowhere = Engine::open(folder.path().join("nowhere"), settings(&script)).await;
    assert!(matches!(nowhere, Err(OpenError::Io { .. })));
}

#[tokio::test]
async fn an_engine_that_is_dropped_stops_its_turns_and_leaves_the_folder() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.set_status(&run, "paused").await;
    lab.chat(&run, &node, "go").await;
    let (folder, script) = (Arc::clone(&lab.folder), Arc::clone(&lab.script));
    lab.end().await;
    let engine = Engine::open(folder.path(), settings(&script)).await.unwrap();
    let router = agent_runs::router(Arc::clone(&engine));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/runs/{run}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let resumed = client.patch(url).body(json!({ "status": "running" }).to_string()).send();
    assert!(in_time(resumed).await.unwrap().status().is_success());
    script.until_asked("next", 1).await;
    drop(client);
    serving.abort();
    drop(engine);
    script.until_asked("stop", 1).await;
    let opened = async {
        loop {
            match Engine::open(folder.path(), settings(&script)).await {
                Err(OpenError::Locked { .. }) => tokio::task::yield_now().await,
                opened => return opened.unwrap(),
            }
        }
    };
    assert_eq!(in_time(opened).await.list_runs().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_rests_and_tells_nothing_that_is_not_there() {
    let lab = Lab::start().await;
    let (run, other) = (lab.run().await, lab.run().await);
    let before = lab.events(&run).await;
    fs::remove_file(lab.log(&run)).unwrap();
    let body = Some(json!({ "content": "x" }).to_string());
    let path = format!("/api/runs/{run}/chat");
    for _ in 0..2 {
        let (status, answer) = lab.ask("POST", &path, body.clone()).await;
        assert_eq!((status, &answer["error"]["code"]), (500, &json!("LOG_UNWRITABLE")));
    }
    assert_eq!(lab.events(&run).await, before);
    assert_eq!(lab.get("/api/runs").await[0]["id"], json!(other));
    lab.node(&other, "A", json!({})).await;
    assert_eq!(of_type(&lab.events(&other).await, "node.patch").len(), 1);
}
