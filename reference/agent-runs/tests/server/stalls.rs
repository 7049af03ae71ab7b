//! Stalls: the third turn in a row with the same result.

use rstest::rstest;
use serde_json::{Value, json};

use crate::lab::{Consumer, Lab, fits, of_type, types};

struct Scene {
    lab: Lab,
    run: String,
    node: String,
    consumer: Consumer,
}

impl Scene {
    async fn start() -> Self {
        let lab = Lab::start().await;
        let run = lab.run().await;
        let node = lab.node(&run, "A", json!({})).await;
        let mut consumer = lab.consumer(&run).await;
        consumer.take(2).await;
        Self { lab, run, node, consumer }
    }

    /// Plays a turn with this end, and returns the events from its final message on.
    async fn turn(&mut self, done: Value) -> Vec<Value> {
        self.lab.script.turn("A", [json!({ "done": done })]);
        self.lab.chat(&self.run, &self.node, "go").await;
        self.consumer.until(json!({ "type": "message.assistant.final" })).await;
        let ends =
            json!({ "type": "node.patch", "patch": { "connection": { "streaming": false } } });
        self.consumer.until(ends).await
    }
}

#[rstest]
#[case::the_same_output(|turn: u32| json!({ "message": "same", "diff": format!("+{turn}") }), "output", true)]
#[case::the_same_diff(|turn: u32| json!({ "message": turn.to_string(), "diff": "+x" }), "diff", true)]
#[case::the_same_failure(
    |turn: u32| json!({ "message": turn.to_string(), "verification": { "ok": false, "output": "2 failed" } }),
    "verification", true
)]
#[case::another_output(|turn: u32| json!({ "message": turn.to_string() }), "", false)]
#[case::no_diff(|turn: u32| json!({ "message": turn.to_string(), "diff": "" }), "", false)]
#[case::the_same_success(
    |turn: u32| json!({ "message": turn.to_string(), "verification": { "ok": true, "output": "all passed" } }),
    "", false
)]
#[case::another_failure(
    |turn: u32| json!({ "message": turn.to_string(), "verification": { "ok": false, "output": turn.to_string() } }),
    "", false
)]
#[tokio::test]
async fn three_turns_with_the_same_result_are_a_stall(
    #[case] done: fn(u32) -> Value,
    #[case] evidence: &str,
    #[case] stalls: bool,
) {
    let mut scene = Scene::start().await;
    for turn in 1..3 {
        assert_eq!(types(&scene.turn(done(turn)).await), ["artifact.created", "node.patch"]);
    }
    let events = scene.turn(done(3)).await;
    if stalls {
        assert_eq!(types(&events), ["artifact.created", "run.patch", "run.stalled", "node.patch"]);
        assert_eq!(events[1]["patch"]["status"], "paused");
        assert_eq!(events[2]["evidence"][evidence]["turns"], 3);
        assert_eq!(events[3]["patch"]["status"], "blocked");
    } else {
        assert_eq!(types(&events), ["artifact.created", "node.patch"]);
    }
    scene.lab.check_fold(&scene.run).await;
}

#[tokio::test]
async fn a_turn_between_begins_the_count_anew() {
    let mut scene = Scene::start().await;
    for message in ["a", "a", "b", "a", "a"] {
        let events = scene.turn(json!({ "message": message })).await;
        assert!(of_type(&events, "run.stalled").is_empty());
    }
    assert_eq!(of_type(&scene.turn(json!({ "message": "a" })).await, "run.stalled").len(), 1);
}

#[tokio::test]
async fn a_turn_without_a_diff_begins_the_count_of_diffs_anew() {
    let mut scene = Scene::start().await;
    for (message, diff) in [("1", "+x"), ("2", ""), ("3", "+x"), ("4", "+x")] {
        let events = scene.turn(json!({ "message": message, "diff": diff })).await;
        assert!(of_type(&events, "run.stalled").is_empty());
    }
    let events = scene.turn(json!({ "message": "5", "diff": "+x" })).await;
    assert_eq!(of_type(&events, "run.stalled").len(), 1);
}

#[tokio::test]
async fn a_stalled_run_resumes_with_new_counts() {
    let mut scene = Scene::start().await;
    for _ in 0..3 {
        scene.turn(json!({ "message": "same" })).await;
    }
    scene.lab.chat(&scene.run, &scene.node, "waits").await;
    let state = scene.lab.node_state(&scene.run, &scene.node).await;
    assert!(fits(&state, &json!({ "status": "blocked", "inboxCount": 1 })));
    assert_eq!(scene.lab.script.asked("turn").len(), 3);
    scene.lab.script.turn("A", [json!({ "done": { "message": "same" } })]);
    scene.lab.set_status(&scene.run, "running").await;
    let events = scene.consumer.until(json!({ "type": "message.assistant.final" })).await;
    let statuses: Vec<&Value> =
        of_type(&events, "node.patch").iter().map(|e| &e["patch"]["status"]).collect();
    assert_eq!(statuses, [&Value::Null, &json!("idle"), &json!("running")]);
    scene.consumer.until_node(&scene.node, "idle").await;
    assert!(of_type(&scene.turn(json!({ "message": "same" })).await, "run.stalled").is_empty());
    assert_eq!(of_type(&scene.turn(json!({ "message": "same" })).await, "run.stalled").len(), 1);
    scene.lab.check_fold(&scene.run).await;
}

#[tokio::test]
async fn nodes_are_counted_each_for_itself() {
    let mut scene = Scene::start().await;
    scene.turn(json!({ "message": "same" })).await;
    scene.turn(json!({ "message": "same" })).await;
    let other = scene.lab.node(&scene.run, "B", json!({})).await;
    scene.lab.script.turn("B", [json!({ "done": { "message": "same" } })]);
    scene.lab.chat(&scene.run, &other, "go").await;
    scene.consumer.until(json!({ "type": "message.assistant.final" })).await;
    scene.consumer.until_node(&other, "idle").await;
    assert_eq!(of_type(&scene.turn(json!({ "message": "same" })).await, "run.stalled").len(), 1);
}
