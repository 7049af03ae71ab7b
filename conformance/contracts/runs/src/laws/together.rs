//! Laws about requests that come at once. Each tries many rounds, because a race that loses something now and then
//! shows it in few of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use proofmark_judge::law::Law;

use super::{PROVIDER, edge_body, first_body, gate, good, new_run, open, request, run, two_nodes};

pub(super) const ALL_COUNT: Law = Law {
    name: "requests-at-once-all-count",
    contract: "runs",
    why: "A race that loses an acknowledged change now and then is found by repeating it.",
    shows: &["RUNS-153"],
    origin: "contract",
    operations: &[],
    inputs: || {
        (2..6_usize, 2..6_usize, 1..4_usize)
            .prop_flat_map(|(nodes, edges, runs)| {
                let requests = crowd(nodes, edges, runs);
                (Just((nodes, edges, runs)), Just(requests).prop_shuffle())
            })
            .prop_map(|((nodes, edges, runs), requests)| {
                json!({ "setup": on_a_healthy_run(edges), "steps": counted(requests, nodes, edges, runs) })
            })
            .boxed()
    },
};

pub(super) const ALL_LOGGED: Law = Law {
    name: "changes-at-once-are-all-in-the-log",
    contract: "runs",
    why: "A race that loses a line now and then is found by repeating it.",
    shows: &["RUNS-152"],
    origin: "contract",
    operations: &[],
    inputs: || {
        (MANY..MANY + 4, 1..4_usize)
            .prop_flat_map(|(made, deleted)| {
                let make = |number| request("POST", &["edges"], Some(edge_body(0, 1, number)));
                let delete = |number| request("DELETE", &["edges", &format!("old{number}")], None);
                let requests: Vec<Value> =
                    (0..made).map(make).chain((0..deleted).map(delete)).collect();
                (Just((made, deleted)), Just(requests).prop_shuffle())
            })
            .prop_map(|((made, deleted), requests)| logged(requests, made, deleted))
            .boxed()
    },
};

pub(super) const ALL_WORDS_LOGGED: Law = Law {
    name: "messages-at-once-are-all-in-the-log",
    contract: "runs",
    why: "A race that loses a message now and then is found by repeating it.",
    shows: &["RUNS-152"],
    origin: "contract",
    operations: &[PROVIDER],
    inputs: || (MANY..MANY + 4).prop_map(said).boxed(),
};

/// Edges or messages in one round.
const MANY: usize = 9;

/// A run of two nodes and the ends of some edges. Its server answers each kind of request that the law relies on.
fn on_a_healthy_run(edges: usize) -> Vec<Value> {
    let mut steps = two_nodes();
    steps.extend(ends(edges));
    steps.push(named("control", request("POST", &["edges"], Some(edge_body(0, 1, 0)))));
    steps.push(request("DELETE", &["edges", "control"], None));
    steps.extend(["a", "b"].map(|node| request("PATCH", &["nodes", node], Some(allowed(false)))));
    steps.push(whole("run"));
    steps
}

/// A node at the end of each edge that is deleted later: no two of them have the same ends.
fn ends(count: usize) -> impl Iterator<Item = Value> {
    (0..count).map(|number| named(&end(number), request("POST", &["nodes"], Some(first_body(1)))))
}

fn end(number: usize) -> String {
    format!("end{number}")
}

/// Requests of several users. No two of them change the same member.
fn crowd(nodes: usize, edges: usize, runs: usize) -> Vec<Value> {
    let node = |number| {
        named(&format!("node{number}"), request("POST", &["nodes"], Some(first_body(number % 2))))
    };
    let edge = |number| {
        let ends = json!({ "from": id_of("a"), "to": id_of(&end(number)) });
        named(&format!("edge{number}"), request("POST", &["edges"], Some(ends)))
    };
    let another = |number: usize| named(&format!("run{number}"), new_run());
    let changes = CHANGES.map(|(node, member, value)| {
        request("PATCH", &["nodes", node], Some(json!({ member: value })))
    });
    let made = (0..nodes).map(node).chain((0..edges).map(edge)).chain((0..runs).map(another));
    made.chain(changes).collect()
}

/// Changes of the two nodes that are made at once.
const CHANGES: [(&str, &str, &str); 5] = [
    ("a", "label", "Zoe"),
    ("a", "roleTemplate", "reviewer"),
    ("a", "provider", "gemini"),
    ("b", "label", "Yan"),
    ("b", "provider", "custom"),
];

/// The requests at once, and then each thing that they made or changed.
fn counted(requests: Vec<Value>, nodes: usize, edges: usize, runs: usize) -> Vec<Value> {
    let mut steps = vec![json!({ "together": requests })];
    for number in 0..nodes {
        let name = format!("node{number}");
        let mut there = request("PATCH", &["nodes", &name], Some(allowed(true)));
        there["returns"] = good(json!({ "$open": { "id": id_of(&name) } }));
        steps.push(there);
    }
    steps.extend(
        (0..edges).map(|number| request("DELETE", &["edges", &format!("edge{number}")], None)),
    );
    steps.extend((0..runs).map(|number| whole(&format!("run{number}"))));
    for node in ["a", "b"] {
        let of_node = || CHANGES.into_iter().filter(|(of, _, _)| *of == node);
        let object = |members: Vec<(&str, Value)>| {
            let members: serde_json::Map<String, Value> =
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            good(json!({ "$open": members }))
        };
        let mut changed = request("PATCH", &["nodes", node], Some(allowed(true)));
        let there = of_node().map(|(_, member, _)| (member, json!({ "$any": "value" }))).collect();
        changed["assumes"] = json!({ "returns": object(there) });
        changed["returns"] =
            object(of_node().map(|(_, member, value)| (member, json!(value))).collect());
        steps.push(changed);
    }
    steps
}

/// A change that no request of the crowd makes.
fn allowed(gated: bool) -> Value {
    json!({ "permissions": gate(gated) })
}

/// Reads a run.
fn whole(name: &str) -> Value {
    let args = json!({ "method": "GET", "path": ["api", "runs", id_of(name)] });
    let returns = good(json!({ "$open": { "id": id_of(name) } }));
    json!({ "call": "http.request", "args": args, "returns": returns })
}

fn id_of(name: &str) -> Value {
    json!({ "$ref": format!("{name}/body/id") })
}

fn named(name: &str, mut step: Value) -> Value {
    step["as"] = json!(name);
    step
}

/// Edges that are made and deleted at once. Each kind of event has its own consumer, because their order is free.
fn logged(requests: Vec<Value>, made: usize, deleted: usize) -> Value {
    let mut setup = two_nodes();
    setup.extend(ends(deleted));
    setup.extend(["created", "deleted"].map(|socket| {
        let mut consumer = open();
        consumer["args"]["socket"] = json!(socket);
        consumer
    }));
    // One after the other, everything is logged and stays in the log.
    let mut alone = Vec::new();
    for name in ["control0", "control1"] {
        setup.push(named(name, request("POST", &["edges"], Some(edge_body(0, 1, 0)))));
        alone.extend(one_event(&mut setup, "created", "edge.created", name));
        setup.push(request("DELETE", &["edges", name], None));
        alone.extend(one_event(&mut setup, "deleted", "edge.deleted", name));
    }
    for number in 0..deleted {
        let ends = json!({ "from": id_of("a"), "to": id_of(&end(number)) });
        setup.push(named(&format!("old{number}"), request("POST", &["edges"], Some(ends))));
        setup.push(taken("created", "edge.created", 1, "").0);
    }
    setup.push(in_the_log(&alone));
    let mut steps = vec![json!({ "together": requests })];
    let mut lines = Vec::new();
    for (socket, kind, count) in
        [("created", "edge.created", made), ("deleted", "edge.deleted", deleted)]
    {
        let name = format!("{socket}Events");
        let (step, found) = taken(socket, kind, count, &name);
        steps.push(named(&name, step));
        lines.extend(found);
    }
    steps.push(in_the_log(&lines));
    json!({ "setup": setup, "steps": steps })
}

/// Takes the event of one change, and returns its line.
fn one_event(setup: &mut Vec<Value>, socket: &str, kind: &str, of: &str) -> Vec<Value> {
    let name = format!("{socket}{of}");
    let (step, lines) = taken(socket, kind, 1, &name);
    setup.push(named(&name, step));
    lines
}

/// Messages to two nodes at once.
fn said(count: usize) -> Value {
    let say = |number: usize| {
        let to = if number.is_multiple_of(2) { "a" } else { "b" };
        let body = json!({ "content": words(number), "nodeId": id_of(to) });
        request("POST", &["chat"], Some(body))
    };
    let mut setup = two_nodes();
    setup.push(open());
    // One after the other, everything is logged and stays in the log.
    let mut alone = Vec::new();
    for (number, name) in ["first", "second"].iter().enumerate() {
        setup.push(say(count + number));
        alone.extend(one_event(&mut setup, "ui", "message.user", name));
    }
    setup.push(in_the_log(&alone));
    let requests: Vec<Value> = (0..count).map(say).collect();
    let (step, lines) = taken("ui", "message.user", count, "said");
    let mut log = in_the_log(&lines);
    let message = |number| {
        let message = json!({ "$open": { "content": words(number) } });
        json!({ "$open": { "type": "message.user", "message": message } })
    };
    let messages: Vec<Value> = (0..count).map(message).collect();
    log["returns"] = json!({ "lines": { "$contains": messages } });
    let every_turn = json!({ "items": [{ "delta": "Turn {{turn}}." }] });
    json!({
        "needs": [PROVIDER],
        "given": { "fakes": { "provider": { "turns": [], "then": every_turn } } },
        "setup": setup,
        "steps": [{ "together": requests }, named("said", step), log],
    })
}

fn words(number: usize) -> String {
    format!("Message {number}.")
}

/// Waits for that many events of one kind. Also returns their lines of the log, for an answer that is saved under this
/// name.
fn taken(socket: &str, kind: &str, count: usize, name: &str) -> (Value, Vec<Value>) {
    let args = json!({ "socket": socket, "count": count, "where": { "type": kind } });
    let returns = vec![json!({ "$open": { "type": kind } }); count];
    let step = json!({ "call": "ws.take", "args": args, "returns": returns });
    let line = |number| {
        let id = json!({ "$ref": format!("{name}/{number}/id") });
        json!({ "$open": { "id": id, "type": kind } })
    };
    (step, (0..count).map(line).collect())
}

/// Reads the log until it has these lines.
fn in_the_log(lines: &[Value]) -> Value {
    let ids: Vec<Value> = lines.iter().map(|line| json!({ "id": line["$open"]["id"] })).collect();
    let args = json!({ "log": { "runId": run() }, "until": ids });
    json!({ "call": "file.read", "args": args, "returns": { "lines": { "$contains": lines } } })
}
