//! Laws of `runs`: whatever the order of changes, the log and the stream report exactly those changes.

mod together;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use proofmark_judge::law::Law;

/// The hook of subjects that ask a provider for turns.
const PROVIDER: &str = "runs.provider";

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "the-history-is-the-log",
        contract: "runs",
        why: "The log and the server must agree.",
        shows: &["RUNS-019"],
        origin: "contract",
        operations: &[],
        inputs: || {
            vec(deed(), 0..7)
                .prop_map(|deeds| {
                    let mut steps = two_nodes();
                    steps.extend(done(&deeds).into_iter().map(|(step, _)| step));
                    // The last change, up to which the history and the log are complete.
                    steps.push(new_edge(0, 1, deeds.len(), "last").0);
                    let last = json!({ "type": "edge.created", "edge": { "id": { "$ref": "last/body/id" } } });
                    let there = json!({ "$contains": [{ "$open": {
                        "type": "edge.created", "edge": { "$open": { "id": { "$ref": "last/body/id" } } },
                    } }] });
                    let mut history = request("GET", &["events"], None);
                    history["args"]["until"] = last.clone();
                    history["returns"] = good(there.clone());
                    history["as"] = json!("told");
                    steps.push(history);
                    let args = json!({ "log": { "runId": run() }, "until": last });
                    let log = json!({
                        "call": "file.read", "args": args, "assumes": { "returns": { "lines": there } },
                        "returns": { "lines": { "$startsWith": { "$ref": "told/body" } } },
                    });
                    json!({ "setup": steps, "steps": [log] })
                })
                .boxed()
        },
    },
    Law {
        name: "a-node-is-what-it-was-made-and-changed-to",
        contract: "runs",
        why: "A change that gets lost, or changes something else, is noticed too late.",
        shows: &["RUNS-040"],
        origin: "contract",
        operations: &[],
        inputs: || {
            vec(deed(), 0..6)
                .prop_map(|deeds| {
                    let mut steps = two_nodes();
                    steps.extend(done(&deeds).into_iter().map(|(step, _)| step));
                    let look = |(at, node): (usize, Value)| {
                        let role = node["roleTemplate"].clone();
                        let change = json!({ "roleTemplate": role });
                        let mut last = request("PATCH", &["nodes", NODES[at]], Some(change));
                        let members = node.as_object().into_iter().flatten();
                        let there: Map<String, Value> = members
                            .map(|(name, _)| (name.clone(), json!({ "$any": "value" })))
                            .collect();
                        last["assumes"] = json!({ "returns": good(json!({ "$open": there })) });
                        last["returns"] = good(json!({ "$open": node }));
                        last
                    };
                    let looks: Vec<Value> =
                        nodes_after(&deeds).into_iter().enumerate().map(look).collect();
                    json!({ "setup": steps, "steps": looks })
                })
                .boxed()
        },
    },
    Law {
        name: "edges-are-told-as-they-come-and-go",
        contract: "runs",
        why: "A user interface draws what it receives, and nothing else.",
        shows: &["RUNS-156"],
        origin: "contract",
        operations: &[],
        inputs: || {
            vec(deed(), 1..7)
                .prop_map(|deeds| {
                    let mut steps = two_nodes();
                    steps.insert(1, open());
                    let done = done(&deeds);
                    let events: Vec<Value> =
                        done.iter().filter_map(|(_, events)| events.clone()).collect();
                    steps.extend(done.into_iter().map(|(step, _)| step));
                    // One more event, so that superfluous events are noticed.
                    let (last, event) = new_edge(0, 1, deeds.len(), "last");
                    steps.push(last);
                    let both = json!([{ "type": "edge.created" }, { "type": "edge.deleted" }]);
                    let count = events.len() + 1;
                    let args = json!({ "socket": "ui", "count": count, "where": both });
                    let events: Vec<Value> = events.into_iter().chain([event]).collect();
                    let told = json!({ "call": "ws.take", "args": args, "returns": events });
                    json!({ "setup": steps, "steps": [told] })
                })
                .boxed()
        },
    },
    Law {
        name: "what-waits-is-taken-once-and-in-order",
        contract: "runs",
        why: "Work must not be lost, doubled or mixed up.",
        shows: &["RUNS-071"],
        origin: "contract",
        operations: &[PROVIDER],
        inputs: || {
            vec(select(&["alpha", "beta", "gamma", "delta"][..]), 1..6)
                .prop_map(|words| queued(&words))
                .boxed()
        },
    },
    together::ALL_COUNT,
    together::ALL_LOGGED,
    together::ALL_WORDS_LOGGED,
];

/// The answers that made the two nodes.
const NODES: [&str; 2] = ["a", "b"];
const LABELS: [&str; 3] = ["Ann", "Bob", "Cleo"];
const PROVIDERS: [&str; 4] = ["codex", "claude", "gemini", "custom"];

/// An action on a run of two nodes.
#[derive(Debug, Clone)]
enum Deed {
    Rename {
        node: usize,
        label: &'static str,
    },
    Switch {
        node: usize,
        provider: &'static str,
    },
    Gate {
        node: usize,
        gated: bool,
    },
    Connect {
        from: usize,
        to: usize,
    },
    /// One of the existing edges, if there are any.
    Cut(Index),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        (0..2_usize, select(&LABELS[..])).prop_map(|(node, label)| Deed::Rename { node, label }),
        (0..2_usize, select(&PROVIDERS[..]))
            .prop_map(|(node, provider)| Deed::Switch { node, provider }),
        (0..2_usize, any::<bool>()).prop_map(|(node, gated)| Deed::Gate { node, gated }),
        (0..2_usize).prop_map(|from| Deed::Connect { from, to: 1 - from }),
        any::<Index>().prop_map(Deed::Cut),
    ]
}

/// The steps of the actions, each with the edge event that the stream must contain.
fn done(deeds: &[Deed]) -> Vec<(Value, Option<Value>)> {
    let mut there: Vec<String> = Vec::new();
    let mut steps = Vec::new();
    for (number, deed) in deeds.iter().enumerate() {
        let change =
            |node: usize, body| (request("PATCH", &["nodes", NODES[node]], Some(body)), None);
        steps.push(match deed {
            Deed::Rename { node, label } => {
                change(*node, json!({ "label": unlike(label, number) }))
            }
            Deed::Switch { node, provider } => change(*node, json!({ "provider": provider })),
            Deed::Gate { node, gated } => change(*node, json!({ "permissions": gate(*gated) })),
            Deed::Cut(index) if !there.is_empty() => {
                let name = there.remove(index.index(there.len()));
                let events = json!({ "$open": {
                    "type": "edge.deleted", "edgeId": { "$ref": format!("{name}/body/id") },
                } });
                (request("DELETE", &["edges", &name], None), Some(events))
            }
            Deed::Connect { from, to } => {
                let name = format!("edge{number}");
                let (step, events) = new_edge(*from, *to, number, &name);
                there.push(name);
                (step, Some(events))
            }
            // No edge to remove, so do something else.
            Deed::Cut(_) => change(0, json!({ "label": unlike("Dora", number) })),
        });
    }
    steps
}

/// A label that the node does not have yet, because a change without effect may or may not be reported.
fn unlike(label: &str, number: usize) -> String {
    format!("{label} {number}")
}

fn gate(gated: bool) -> Value {
    let mode = if gated { "gated" } else { "skip" };
    json!({ "cliPermissionsMode": mode, "spawnRequiresApproval": true })
}

/// The expected nodes, computed from the actions alone.
fn nodes_after(deeds: &[Deed]) -> [Value; 2] {
    let mut nodes = [0, 1].map(first_body);
    let mut edges = 0_usize;
    for (number, deed) in deeds.iter().enumerate() {
        match deed {
            Deed::Rename { node, label } => nodes[*node]["label"] = json!(unlike(label, number)),
            Deed::Switch { node, provider } => nodes[*node]["provider"] = json!(provider),
            Deed::Gate { node, gated } => nodes[*node]["permissions"] = gate(*gated),
            Deed::Connect { .. } => edges += 1,
            Deed::Cut(_) if edges > 0 => edges -= 1,
            Deed::Cut(_) => nodes[0]["label"] = json!(unlike("Dora", number)),
        }
    }
    nodes
}

fn first_body(node: usize) -> Value {
    json!({
        "label": LABELS[node], "roleTemplate": "implementer", "provider": PROVIDERS[node],
        "permissions": gate(false),
    })
}

/// A run and its two nodes.
fn two_nodes() -> Vec<Value> {
    let made = NODES.iter().enumerate().map(|(node, name)| {
        let mut step = request("POST", &["nodes"], Some(first_body(node)));
        step["as"] = json!(name);
        step
    });
    [new_run()].into_iter().chain(made).collect()
}

/// The step that makes an edge, and its stream event.
fn new_edge(from: usize, to: usize, number: usize, name: &str) -> (Value, Value) {
    let body = edge_body(from, to, number);
    let edge = json!({ "$open": {
        "id": { "$ref": format!("{name}/body/id") }, "from": body["from"], "to": body["to"],
    } });
    let mut step = request("POST", &["edges"], Some(body));
    step["as"] = json!(name);
    (step, json!({ "$open": { "type": "edge.created", "edge": edge } }))
}

/// One of twelve different edges from one node to another: whether an edge can be made twice is free.
fn edge_body(from: usize, to: usize, number: usize) -> Value {
    let id = |node: usize| json!({ "$ref": format!("{}/body/id", NODES[node]) });
    let label = ["task", "report", "custom"][number % 3];
    let kind = ["handoff", "report"][number / 3 % 2];
    let both = number < 6;
    json!({ "from": id(from), "to": id(to), "label": label, "type": kind, "bidirectional": both })
}

/// Sends these messages to a node while its first turn waits for an approval.
fn queued(words: &[&str]) -> Value {
    let tool = json!({ "id": "11111111-1111-4111-8111-111111111111", "name": "command", "args": { "cmd": "ls" } });
    let turns = json!([{ "items": [{ "tool": tool }, { "delta": "One." }] }, { "items": [{ "delta": "Two." }] }]);
    let mut node = first_body(0);
    node["permissions"] = gate(true);
    let mut made = request("POST", &["nodes"], Some(node));
    made["as"] = json!("a");
    let say = |content: &str| {
        let body = json!({ "content": content, "nodeId": { "$ref": "a/body/id" } });
        request("POST", &["chat"], Some(body))
    };
    let asked = json!({ "type": "approval.requested" });
    let args = json!({ "socket": "ui", "until": asked, "where": asked });
    let returns = json!([{ "$open": asked }]);
    let until = json!({ "call": "ws.until", "args": args, "returns": returns, "as": "asked" });
    let mut steps = vec![new_run(), open(), made, say("First."), until];
    // The mark occurs only in these messages, so each message must appear once, in order, and nothing else.
    let marked: Vec<String> =
        words.iter().enumerate().map(|(number, word)| format!("☃{number} {word}")).collect();
    steps.extend(marked.iter().map(|content| say(content)));
    let path = json!(["api", "approvals", { "$ref": "asked/0/approvalId" }, "resolve"]);
    let args = json!({ "method": "POST", "path": path, "body": { "status": "approved" } });
    steps.push(json!({ "call": "http.request", "args": args, "returns": good(json!({ "$any": "value" })) }));
    // The turn has begun, whether or not the server sends pieces.
    let said = json!([
        { "type": "message.assistant.final", "message": { "content": "Two." } },
        { "type": "message.assistant.delta", "delta": "Two." },
    ]);
    let args = json!({ "socket": "ui", "until": said, "where": said });
    let text = format!("^[^☃]*{}[^☃]*$", marked.join("[^☃]*"));
    let prompt = json!({ "$open": { "prompt": { "$open": { "text": { "$matches": text } } } } });
    let ask = json!({ "fake": "provider", "method": "turn", "args": prompt });
    let second = json!({
        "call": "ws.until", "args": args, "returns": [{ "$any": "object" }],
        "asks": { "$contains": [ask] },
    });
    json!({
        "needs": [PROVIDER], "given": { "fakes": { "provider": { "turns": turns } } },
        "setup": steps, "steps": [second],
    })
}

fn new_run() -> Value {
    let args = json!({ "method": "POST", "path": "/api/runs", "body": {} });
    json!({ "call": "http.request", "args": args, "returns": good(json!({ "$any": "object" })), "as": "run" })
}

fn run() -> Value {
    json!({ "$ref": "run/body/id" })
}

fn open() -> Value {
    let args = json!({ "socket": "ui", "stream": { "runId": run() } });
    json!({ "call": "ws.open", "args": args, "returns": { "open": true } })
}

/// A request about a part of the run. A path segment that is no known word is the name of an answer, and stands for
/// its id.
fn request(method: &str, rest: &[&str], body: Option<Value>) -> Value {
    let words = ["nodes", "edges", "chat", "events"];
    let segment = |part: &&str| {
        if words.contains(part) {
            json!(part)
        } else {
            json!({ "$ref": format!("{part}/body/id") })
        }
    };
    let path: Vec<Value> =
        [json!("api"), json!("runs"), run()].into_iter().chain(rest.iter().map(segment)).collect();
    let mut args = json!({ "method": method, "path": path });
    if let Some(body) = body {
        args["body"] = body;
    }
    json!({ "call": "http.request", "args": args, "returns": good(json!({ "$any": "value" })) })
}

fn good(body: Value) -> Value {
    json!({ "$open": { "ok": true, "body": body } })
}
