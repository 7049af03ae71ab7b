//! Laws, for any order of requests: the state is the fold of the log, the log equals the stream, every input
//! is in at most one prompt, and reopening a folder restores the same state.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use crate::lab::{Lab, fold, of_type};

const LABELS: [&str; 3] = ["A", "B", "C"];

#[derive(Debug, Clone)]
enum Deed {
    Chat { node: usize, interrupt: bool },
    Reset { node: usize },
    Status(&'static str),
    Gate { node: usize, gated: bool },
    Provider { node: usize, provider: &'static str },
    Edge { from: usize, to: usize, bidirectional: bool },
    DeleteEdge,
    Resolve(&'static str),
    LetGo,
    Restart,
}

fn node() -> impl Strategy<Value = usize> {
    0..LABELS.len()
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => (node(), any::<bool>()).prop_map(|(node, interrupt)| Deed::Chat { node, interrupt }),
        1 => node().prop_map(|node| Deed::Reset { node }),
        2 => prop::sample::select(vec!["running", "paused"]).prop_map(Deed::Status),
        1 => (node(), any::<bool>()).prop_map(|(node, gated)| Deed::Gate { node, gated }),
        1 => (node(), prop::sample::select(vec!["codex", "custom"]))
            .prop_map(|(node, provider)| Deed::Provider { node, provider }),
        1 => (node(), node(), any::<bool>())
            .prop_map(|(from, to, bidirectional)| Deed::Edge { from, to, bidirectional }),
        1 => Just(Deed::DeleteEdge),
        3 => prop::sample::select(vec!["approved", "denied", "modified"]).prop_map(Deed::Resolve),
        2 => Just(Deed::LetGo),
        1 => Just(Deed::Restart),
    ]
}

/// Items of a turn; `n` makes ids and texts differ.
fn item(kind: usize, n: usize) -> Value {
    match kind {
        0 => json!({ "delta": format!("text {n}") }),
        1 => json!({ "progress": format!("step {n}") }),
        2 => json!({ "tool": { "id": format!("t{n}"), "name": "command", "args": {} } }),
        3 => {
            let args = json!({ "label": "spawned", "roleTemplate": "x", "provider": "custom" });
            json!({ "tool": { "id": format!("t{n}"), "name": "spawn_node", "args": args } })
        }
        4 => {
            json!({ "handoff": { "to": LABELS[n % 3], "message": format!("handoff <{n}>"), "attachDiff": true } })
        }
        5 => json!({ "hang": "on" }),
        6 => json!({ "done": { "message": format!("end {}", n % 2), "diff": format!("+{n}") } }),
        _ => json!({ "fail": "out of luck" }),
    }
}

async fn play(deeds: Vec<Deed>, turns: Vec<Vec<usize>>) -> Result<(), TestCaseError> {
    let mut lab = Lab::start().await;
    let run = lab.run().await;
    let mut nodes = Vec::new();
    for label in LABELS {
        nodes.push(lab.node(&run, label, json!({ "capabilities": { "spawnNodes": true } })).await);
    }
    for (index, kinds) in turns.iter().enumerate() {
        let items: Vec<Value> = kinds
            .iter()
            .enumerate()
            .map(|(place, kind)| item(*kind, index * 100 + place))
            .collect();
        lab.script.turn_of(LABELS[index % 3], items);
    }
    let mut consumer = lab.consumer(&run).await;
    let mut heard = Vec::new();
    for (number, deed) in deeds.into_iter().enumerate() {
        let path = |node: usize| format!("/api/runs/{run}/nodes/{}", nodes[node]);
        match deed {
            Deed::Chat { node, interrupt: false } => {
                lab.chat(&run, &nodes[node], &format!("chat <{number}>")).await;
            }
            Deed::Chat { node, interrupt: true } => {
                lab.interrupt(&run, &nodes[node], &format!("chat <{number}>")).await;
            }
            Deed::Reset { node } => lab.chat(&run, &nodes[node], "/new").await,
            Deed::Status(status) => lab.set_status(&run, status).await,
            Deed::Gate { node, gated } => {
                let mode = if gated { "gated" } else { "skip" };
                let body = json!({ "permissions": { "cliPermissionsMode": mode } });
                lab.done("PATCH", &path(node), body).await;
            }
            Deed::Provider { node, provider } => {
                lab.done("PATCH", &path(node), json!({ "provider": provider })).await;
            }
            Deed::Edge { from, to, bidirectional } => {
                lab.edge(&run, &nodes[from], &nodes[to], bidirectional).await;
            }
            Deed::DeleteEdge => {
                let state = lab.get(&format!("/api/runs/{run}")).await;
                if let Some(edge) = state["edges"].as_object().unwrap().keys().next() {
                    lab.ask("DELETE", &format!("/api/runs/{run}/edges/{edge}"), None).await;
                }
            }
            Deed::Resolve(status) => resolve_first(&lab, status).await,
            Deed::LetGo => lab.script.let_go("on"),
            Deed::Restart => {
                let known = lab.events(&run).await.len();
                heard.extend(consumer.take(known - heard.len()).await);
                lab = lab.restart().await;
                let again = lab.events(&run).await;
                prop_assert!(again.starts_with(&heard), "an opened folder is what it was");
                consumer = lab.consumer_after(&run, &heard.last().unwrap()["id"]).await;
            }
        }
        lab.check_fold(&run).await;
    }
    let events = lab.events(&run).await;
    heard.extend(consumer.take(events.len() - heard.len()).await);
    prop_assert_eq!(&heard, &events);
    check_inputs(&lab, &run, &events).await?;
    let lab = lab.restart().await;
    prop_assert!(lab.events(&run).await.starts_with(&events), "an opened folder is what it was");
    lab.check_fold(&run).await;
    lab.end().await;
    Ok(())
}

async fn resolve_first(lab: &Lab, status: &str) {
    let waiting = lab.get("/api/approvals").await;
    let Some(approval) = waiting.as_array().unwrap().first() else { return };
    let mut body = json!({ "status": status });
    if status == "modified" {
        body["modifiedArgs"] = approval["tool"]["args"].clone();
    }
    let path = format!("/api/approvals/{}/resolve", approval["approvalId"].as_str().unwrap());
    lab.done("POST", &path, body).await;
}

/// Every input is in one prompt at most: in one, unless it still waits.
async fn check_inputs(lab: &Lab, run: &str, events: &[Value]) -> Result<(), TestCaseError> {
    let prompts: Vec<String> = events
        .iter()
        .filter(|event| event["artifact"]["name"] == "prompt.blocks.json")
        .map(|event| std::fs::read_to_string(event["artifact"]["path"].as_str().unwrap()).unwrap())
        .collect();
    let said =
        of_type(events, "message.user").into_iter().map(|event| &event["message"]["content"]);
    let handed = of_type(events, "handoff.sent")
        .into_iter()
        .map(|event| &event["envelope"]["payload"]["message"]);
    let inputs: Vec<&str> =
        said.chain(handed).filter_map(Value::as_str).filter(|text| *text != "/new").collect();
    let taken = |input: &str| prompts.iter().filter(|prompt| prompt.contains(input)).count();
    prop_assert!(inputs.iter().all(|input| taken(input) <= 1), "no input is taken twice");
    let waiting: u64 = {
        let state = fold(events);
        state["nodes"]
            .as_object()
            .unwrap()
            .values()
            .map(|node| node["inboxCount"].as_u64().unwrap())
            .sum()
    };
    let untaken = inputs.iter().filter(|input| taken(input) == 0).count() as u64;
    prop_assert_eq!(untaken, waiting, "what was not taken waits, in {}: {:?}", run, lab.address);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_state_is_the_fold_of_the_log(
        deeds in prop::collection::vec(deed(), 1..25),
        turns in prop::collection::vec(prop::collection::vec(0..8_usize, 1..6), 0..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(deeds, turns))?;
    }
}
