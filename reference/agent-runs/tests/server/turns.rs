//! Turns: inbox, prompts, artifacts, handoffs, sessions, interrupts and pauses.

use std::fs;

use serde_json::{Value, json};

use crate::lab::{Lab, fits, of_type, types};

fn done() -> Value {
    json!({ "done": {} })
}

fn prompt_texts(lab: &Lab) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let asks = lab.script.asked("turn");
    asks.iter().map(|ask| (text(&ask["prompt"]["kind"]), text(&ask["prompt"]["text"]))).collect()
}

/// The texts of the artifacts with this name, in the order of making.
async fn artifacts(lab: &Lab, run: &str, name: &str) -> Vec<String> {
    let events = lab.events(run).await;
    let made = of_type(&events, "artifact.created");
    let named = made.iter().filter(|event| event["artifact"]["name"] == name);
    named
        .map(|event| fs::read_to_string(event["artifact"]["path"].as_str().unwrap()).unwrap())
        .collect()
}

#[tokio::test]
async fn a_turn_tells_its_beginning_its_items_and_its_end() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.script.turn(
        "A",
        [
            json!({ "delta": "Hel" }),
            json!({ "progress": "writing" }),
            json!({ "delta": "lo" }),
            json!({ "done": { "diff": "+x\n", "filesChanged": ["x"] } }),
        ],
    );
    let mut consumer = lab.consumer(&run).await;
    consumer.take(2).await;
    lab.chat(&run, &node, "Greet.").await;
    let events = consumer.until_node(&node, "idle").await;
    let wanted = [
        "message.user",
        "node.patch",
        "node.patch",
        "artifact.created",
        "artifact.created",
        "message.assistant.delta",
        "node.patch",
        "node.progress",
        "message.assistant.delta",
        "message.assistant.final",
        "artifact.created",
        "node.patch",
    ];
    assert_eq!(types(&events), wanted);
    assert!(events[1..].iter().all(|event| event["nodeId"] == json!(node)));
    assert!(fits(&events[2]["patch"], &json!({ "status": "running", "inboxCount": 0 })));
    assert!(fits(&events[9]["message"], &json!({ "role": "assistant", "content": "Hello" })));
    assert!(fits(
        &events[10],
        &json!({
            "artifact": { "kind": "diff", "name": "diff.patch" }, "metadata": { "filesChanged": ["x"] },
        })
    ));
    assert_eq!(artifacts(&lab, &run, "diff.patch").await, ["+x\n"]);
    assert_eq!(lab.node_state(&run, &node).await["summary"], "writing");
    let wanted = json!({ "runId": run, "nodeId": node, "label": "A", "provider": "custom" });
    assert!(fits(&lab.script.asked("turn")[0], &wanted));
    assert!(lab.script.asked("stop").is_empty());
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn the_first_prompt_of_a_session_is_full_and_the_next_are_deltas() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({ "session": { "resetCommands": ["/again"] } })).await;
    let path = format!("/api/runs/{run}/nodes/{node}");
    let mut consumer = lab.consumer(&run).await;
    let talk = async |text: &str, consumer: &mut crate::lab::Consumer| {
        lab.script.turn("A", [json!({ "delta": text }), done()]);
        lab.chat(&run, &node, text).await;
        consumer.until_node(&node, "idle").await;
    };
    consumer.take(2).await;
    talk("one", &mut consumer).await;
    talk("two", &mut consumer).await;
    lab.chat(&run, &node, "/again").await;
    talk("three", &mut consumer).await;
    lab.chat(&run, &node, "/new").await;
    consumer.until(json!({ "type": "artifact.created" })).await;
    lab.interrupt(&run, &node, "four").await;
    consumer.until_node(&node, "idle").await;
    lab.script.until_asked("turn", 5).await;
    lab.interrupt(&run, &node, "/again").await;
    lab.done("PATCH", &path, json!({ "provider": "custom" })).await;
    consumer.until_node(&node, "idle").await;
    talk("five", &mut consumer).await;
    lab.done("PATCH", &path, json!({ "provider": "codex" })).await;
    talk("six", &mut consumer).await;
    talk("seven", &mut consumer).await;
    let kinds: Vec<String> = prompt_texts(&lab).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["full", "delta", "full", "delta", "delta", "full", "full", "delta"]);
    let full = artifacts(&lab, &run, "prompt.full.txt").await;
    let blocks = artifacts(&lab, &run, "prompt.blocks.json").await;
    for (index, (kind, text)) in prompt_texts(&lab).iter().enumerate() {
        let blocks: Value = serde_json::from_str(&blocks[index]).unwrap();
        let names: Vec<&String> = blocks.as_object().unwrap().keys().collect();
        assert_eq!(names, ["system", "role", "mode", "task", "override"]);
        for block in ["system", "role", "mode", "task"] {
            let block = blocks[block].as_str().unwrap();
            assert!(!block.is_empty() && full[index].contains(block));
        }
        let wanted =
            if kind == "full" { full[index].as_str() } else { blocks["task"].as_str().unwrap() };
        assert_eq!(text, wanted);
    }
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn inputs_wait_for_the_next_turn_which_takes_all_of_them_once() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.script.turn("A", [json!({ "hang": "first" }), json!({ "done": { "message": "1" } })]);
    lab.script.turn("A", [json!({ "done": { "message": "2" } })]);
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &node, "one").await;
    lab.script.until_asked("next", 1).await;
    lab.chat(&run, &node, "two").await;
    lab.chat(&run, &node, "three").await;
    assert_eq!(lab.node_state(&run, &node).await["inboxCount"], 2);
    lab.script.let_go("first");
    consumer.until_node(&node, "idle").await;
    consumer.until_node(&node, "idle").await;
    let prompts = prompt_texts(&lab);
    assert_eq!(prompts.len(), 2);
    assert!(prompts[0].1.contains("one") && !prompts[0].1.contains("two"));
    assert_eq!(prompts[1].1, "two\n\nthree");
    assert!(lab.script.asked("stop").is_empty());
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_goes_to_the_front() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.script.turn("A", [json!({ "delta": "never" }), json!({ "hang": "ever" })]);
    lab.script.turn("A", [done()]);
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &node, "one").await;
    lab.script.until_asked("next", 2).await;
    lab.chat(&run, &node, "queued").await;
    lab.interrupt(&run, &node, "stop that").await;
    let ended = consumer.until_node(&node, "idle").await;
    assert!(of_type(&ended, "message.assistant.final").is_empty());
    let made = of_type(&ended, "artifact.created");
    assert!(made.iter().all(|event| event["artifact"]["kind"] == "prompt"));
    consumer.until_node(&node, "idle").await;
    assert_eq!(prompt_texts(&lab)[1].1, "stop that\n\nqueued");
    assert_eq!(lab.script.asked("stop"), [json!("turn-0")]);
    let methods = lab.script.methods();
    assert_eq!(methods, ["turn", "next", "next", "stop", "turn", "next"]);
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn an_interrupt_of_an_idle_node_is_an_input() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.set_status(&run, "paused").await;
    lab.chat(&run, &node, "one").await;
    lab.interrupt(&run, &node, "two").await;
    lab.script.turn("A", [done()]);
    let mut consumer = lab.consumer(&run).await;
    lab.set_status(&run, "running").await;
    consumer.until(json!({ "type": "message.assistant.final" })).await;
    assert!(prompt_texts(&lab)[0].1.contains("two\n\none"));
    assert!(lab.script.asked("stop").is_empty());
}

#[tokio::test]
async fn no_turn_begins_while_a_run_is_not_running() {
    for status in ["paused", "completed", "failed"] {
        let lab = Lab::start().await;
        let run = lab.run().await;
        let node = lab.node(&run, "A", json!({})).await;
        lab.script.turn("A", [json!({ "hang": "on" }), done()]);
        lab.script.turn("A", [done()]);
        let mut consumer = lab.consumer(&run).await;
        lab.chat(&run, &node, "one").await;
        lab.script.until_asked("next", 1).await;
        lab.set_status(&run, status).await;
        lab.chat(&run, &node, "two").await;
        lab.script.let_go("on");
        consumer.until_node(&node, "idle").await;
        assert_eq!(lab.node_state(&run, &node).await["inboxCount"], 1);
        assert_eq!(lab.script.asked("turn").len(), 1);
        lab.set_status(&run, "running").await;
        consumer.until_node(&node, "idle").await;
        assert_eq!(prompt_texts(&lab)[1].1, "two");
        lab.check_fold(&run).await;
    }
}

#[tokio::test]
async fn a_provider_that_fails_leaves_a_failed_node_which_a_new_session_sets_right() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.script.turn("A", [json!({ "delta": "x" }), json!({ "fail": "out of paper" })]);
    lab.script.turn("A", [done()]);
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &node, "one").await;
    let events = consumer.until_node(&node, "failed").await;
    assert!(of_type(&events, "message.assistant.final").is_empty());
    assert_eq!(lab.node_state(&run, &node).await["summary"], "out of paper");
    assert!(lab.script.asked("stop").is_empty());
    lab.chat(&run, &node, "two").await;
    assert_eq!(lab.node_state(&run, &node).await["inboxCount"], 1);
    lab.chat(&run, &node, "/new").await;
    consumer.until(json!({ "type": "message.assistant.final" })).await;
    assert_eq!(prompt_texts(&lab)[1].0, "full");
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn a_provider_that_stops_unasked_has_failed() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.script.turn("A", [json!({ "stopped": true })]);
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &node, "one").await;
    consumer.until_node(&node, "failed").await;
    assert_eq!(lab.script.asked("stop").len(), 1);
}

#[tokio::test]
async fn a_turn_that_never_ends_its_text_has_failed() {
    let script = crate::script::Script::new();
    let mut settings = crate::lab::settings(&script);
    settings.limits.turn_text = 4;
    let folder = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let lab = Lab::start_with(folder, script, settings).await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.script.turn("A", [json!({ "delta": "abcd" }), json!({ "delta": "e" }), done()]);
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &node, "one").await;
    let events = consumer.until_node(&node, "failed").await;
    assert_eq!(of_type(&events, "message.assistant.delta").len(), 1);
    assert_eq!(lab.script.asked("stop").len(), 1);
}

#[tokio::test]
async fn every_completed_turn_has_a_diff_and_the_text_that_it_gives() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.script.turn("A", [json!({ "delta": "a" }), json!({ "done": { "message": "b" } })]);
    lab.script.turn("A", [json!({ "done": { "diff": "" } })]);
    let mut consumer = lab.consumer(&run).await;
    let mut finals = Vec::new();
    for text in ["one", "two"] {
        lab.chat(&run, &node, text).await;
        let events = consumer.until_node(&node, "idle").await;
        finals.push(of_type(&events, "message.assistant.final")[0]["message"]["content"].clone());
    }
    assert_eq!(finals, [json!("b"), json!("")]);
    assert_eq!(artifacts(&lab, &run, "diff.patch").await, ["no changes", "no changes"]);
}

#[tokio::test]
async fn a_handoff_goes_along_an_edge_and_into_the_inbox() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let a = lab.node(&run, "A", json!({})).await;
    let b = lab.node(&run, "B", json!({})).await;
    let c = lab.node(&run, "C", json!({})).await;
    let d = lab.node(&run, "D", json!({})).await;
    lab.edge(&run, &a, &b, false).await;
    lab.edge(&run, &c, &a, true).await;
    lab.edge(&run, &d, &a, false).await;
    lab.script.turn(
        "A",
        [
            json!({ "handoff": {
                "to": "B", "message": "do this", "structured": { "k": [1] }, "attachDiff": true,
                "status": { "ok": true, "reason": "tests-pass" }, "contextRef": "contextpack://pack/789",
            } }),
            json!({ "handoff": { "to": c, "message": "against the edge" } }),
            json!({ "handoff": { "to": "D", "message": "against a one-way edge" } }),
            json!({ "handoff": { "to": "E", "message": "to nobody" } }),
            json!({ "delta": "handed on" }),
            done(),
        ],
    );
    lab.script.turn("B", [done()]);
    lab.script.turn("C", [done()]);
    let mut consumer = lab.consumer(&run).await;
    consumer.take(8).await;
    lab.chat(&run, &a, "go").await;
    let mut events = consumer.until_node(&a, "idle").await;
    let sent: Vec<Value> = of_type(&events, "handoff.sent").into_iter().cloned().collect();
    assert_eq!(sent.len(), 2);
    let diff = of_type(&events, "artifact.created").pop().unwrap()["artifact"]["id"].clone();
    let wanted = json!({
        "kind": "handoff", "fromNodeId": a, "toNodeId": b, "contextRef": "contextpack://pack/789",
        "payload": {
            "message": "do this", "structured": { "k": [1] }, "status": { "ok": true, "reason": "tests-pass" },
            "artifacts": [{ "type": "diff", "ref": format!("artifact://{}", diff.as_str().unwrap()) }],
        },
    });
    assert!(fits(&sent[0]["envelope"], &wanted), "{}", sent[0]);
    assert!(fits(&sent[1]["envelope"], &json!({ "toNodeId": c, "payload": { "artifacts": [] } })));
    let order = types(&events);
    let place = |kind: &str| order.iter().position(|name| *name == kind).unwrap();
    assert!(place("message.assistant.final") < place("handoff.sent"));
    events.extend(consumer.until(json!({ "type": "message.assistant.final" })).await);
    consumer.until(json!({ "type": "message.assistant.final" })).await;
    let mut tasks: Vec<String> =
        prompt_texts(&lab)[1..].iter().map(|(_, text)| text.clone()).collect();
    tasks.sort();
    assert!(tasks.iter().any(|text| text.contains("do this")));
    assert!(tasks.iter().any(|text| text.contains("against the edge")));
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn a_handoff_to_a_node_at_work_waits_in_its_inbox_and_is_counted() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let a = lab.node(&run, "A", json!({})).await;
    let b = lab.node(&run, "B", json!({})).await;
    lab.edge(&run, &a, &b, true).await;
    lab.script.turn("A", [json!({ "handoff": { "to": "B", "message": "later" } }), done()]);
    lab.chat(&run, &b, "long work").await;
    lab.script.until_asked("next", 1).await;
    let mut consumer = lab.consumer(&run).await;
    lab.chat(&run, &a, "go").await;
    consumer.until_node(&a, "idle").await;
    assert_eq!(lab.node_state(&run, &b).await["inboxCount"], 1);
    lab.check_fold(&run).await;
}

#[tokio::test]
async fn the_end_of_the_server_stops_the_turns() {
    let lab = Lab::start().await;
    let run = lab.run().await;
    let node = lab.node(&run, "A", json!({})).await;
    lab.chat(&run, &node, "one").await;
    lab.script.until_asked("next", 1).await;
    let script = std::sync::Arc::clone(&lab.script);
    lab.end().await;
    assert_eq!(script.asked("stop"), [json!("turn-0")]);
}
