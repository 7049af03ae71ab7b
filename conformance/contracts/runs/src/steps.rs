//! The steps of `runs`: nodes and edges, what their providers play, and what the user sees and does.

use cucumber::{gherkin, given, then, when};
use serde_json::{Value, json};

use proofmark_judge::case::{Action, MAIN_PROCESS};
use proofmark_suite::gherkin::Narrative;
use proofmark_suite::gherkin::vocabulary::VocabularyStep;

use crate::CONTRACT;

/// For `proofmark steps`, in the order of a typical scenario.
pub(crate) const STEPS: &[VocabularyStep] = &[
    VocabularyStep::plain("Given a run", "Creates a run and watches its stream as the user.")
        .of(CONTRACT),
    VocabularyStep::plain(
        r#"Given the node "Implementer A" of role "implementer""#,
        "Creates a node with this label and role.",
    )
        .of(CONTRACT)
        .after(&["Given a run"]),
    VocabularyStep::plain(
        r#"Given the gated node "Implementer A" of role "implementer""#,
        "Creates a node that asks before its tools run.",
    )
        .of(CONTRACT)
        .after(&["Given a run"]),
    VocabularyStep::plain(
        r#"Given an edge from "Implementer A" to "Reviewer""#,
        "Creates an edge between two nodes, with default settings.",
    )
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::with(
        r#"Given the provider of "Implementer A" will play:"#,
        r#"[{"done": {"message": "Done."}}]"#,
        "The items of the node's next turn.",
    )
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::with(
        r#"Given the provider of "Implementer A" will play in every further turn:"#,
        r#"[{"done": {"message": "Done."}}]"#,
        "The items of every turn after the scripted ones.",
    )
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::plain(r#"When the user tells "Implementer A" "Tidy up.""#, "Sends a message to this node.")
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::plain(
        r#"When "Implementer A" asks for an approval"#,
        "Waits until the node asks for an approval.",
    )
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::plain("When the user approves", "Approves the latest approval.")
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::plain("When the user denies", "Denies the latest approval.")
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::with(
        "When the user approves other arguments:",
        r#"{"cmd": "ls"}"#,
        "Approves the latest approval with these tool arguments.",
    )
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::plain(
        r#"When "Implementer A" is idle again"#,
        "Waits until the node is idle.",
    )
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::plain("When the run stalls", "Waits until the run has stalled.")
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::plain(
        "When the server is killed and starts again",
        "Kills the server with SIGKILL, starts a new one in the same folder, and watches from the beginning.",
    )
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::plain("When the user looks at the run", "Fetches the current run.")
        .of(CONTRACT)
        .after(WORKING),
    VocabularyStep::with(
        "Then the run is:",
        r#"{"status": "paused"}"#,
        "The fetched run has these members.",
    )
        .of(CONTRACT)
        .after(&["Given a run", "When the user looks at the run"]),
    VocabularyStep::with(
        "Then of these kinds the user saw exactly:",
        r#"[{"type": "tool.started"}]"#,
        "Up to the awaited event, exactly these events of their types came, in this order.",
    )
        .of(CONTRACT)
        .after(WORKING),
];

/// The examples use these nodes, and an approval that one of them requests.
const WORKING: &[&str] = &[
    "Given a run",
    r#"And the node "Implementer A" of role "implementer""#,
    r#"And the node "Reviewer" of role "reviewer""#,
    r#"When "Implementer A" asks for an approval"#,
];

/// Names of the run's answer and of the last requested approval.
const RUN: &str = "the run";
const APPROVAL: &str = "the approval";
/// The user's socket.
const SOCKET: &str = "the user";

#[given(expr = "a run")]
fn run_given(world: &mut Narrative) {
    post(world, json!(["api", "runs"]), json!({}));
    world.remember(RUN);
    watch(world);
}

#[given(expr = "the node {string} of role {string}")]
fn node_given(world: &mut Narrative, label: String, role: String) {
    node(world, &label, json!({ "label": label, "roleTemplate": role, "provider": "codex" }));
}

#[given(expr = "the gated node {string} of role {string}")]
fn gated_node_given(world: &mut Narrative, label: String, role: String) {
    let permissions = json!({ "cliPermissionsMode": "gated" });
    let body = json!({ "label": label, "roleTemplate": role, "provider": "codex", "permissions": permissions });
    node(world, &label, body);
}

#[given(expr = "an edge from {string} to {string}")]
fn edge_given(world: &mut Narrative, from: String, to: String) {
    let path = json!(["api", "runs", id_of(RUN), "edges"]);
    post(world, path, json!({ "from": id_of(&from), "to": id_of(&to) }));
}

#[given(expr = "the provider of {string} will play:")]
fn turn_given(world: &mut Narrative, label: String, #[step] step: &gherkin::Step) {
    let Some(items) = world.json(step) else { return };
    let script = script_of(world, &label);
    match &mut script["turns"] {
        Value::Array(turns) => turns.push(json!({ "items": items })),
        other => *other = json!([{ "items": items }]),
    }
}

#[given(expr = "the provider of {string} will play in every further turn:")]
fn further_turns_given(world: &mut Narrative, label: String, #[step] step: &gherkin::Step) {
    let Some(items) = world.json(step) else { return };
    if world.is_first(&format!("what `{label}` plays in every further turn")) {
        script_of(world, &label)["then"] = json!({ "items": items });
    }
}

#[when(expr = "the user tells {string} {string}")]
fn is_sent(world: &mut Narrative, label: String, content: String) {
    let path = json!(["api", "runs", id_of(RUN), "chat"]);
    post(world, path, json!({ "nodeId": id_of(&label), "content": content }));
}

#[when(expr = "{string} asks for an approval")]
fn asks(world: &mut Narrative, label: String) {
    let sought = json!({ "type": "approval.requested", "nodeId": id_of(&label) });
    until(world, &sought);
    world.remember_anew(APPROVAL);
}

#[when(expr = "the user approves")]
fn approves(world: &mut Narrative) {
    resolve(world, json!({ "status": "approved" }));
}

#[when(expr = "the user denies")]
fn denies(world: &mut Narrative) {
    resolve(world, json!({ "status": "denied" }));
}

#[when(expr = "the user approves other arguments:")]
fn modifies(world: &mut Narrative, #[step] step: &gherkin::Step) {
    if let Some(args) = world.json_object(step) {
        resolve(world, json!({ "status": "modified", "modifiedArgs": args }));
    }
}

#[when(expr = "{string} is idle again")]
fn idle(world: &mut Narrative, label: String) {
    let patch = json!({ "status": "idle" });
    until(world, &json!({ "type": "node.patch", "nodeId": id_of(&label), "patch": patch }));
}

#[when(expr = "the run stalls")]
fn stalls(world: &mut Narrative) {
    until(world, &json!({ "type": "run.stalled" }));
}

#[when(expr = "the server is killed and starts again")]
fn killed(world: &mut Narrative) {
    world.act(Action::Kill { process: MAIN_PROCESS.to_owned() });
    watch(world);
}

#[when(expr = "the user looks at the run")]
fn looks(world: &mut Narrative) {
    let args = json!({ "method": "GET", "path": ["api", "runs", id_of(RUN)] });
    // A `Then` judges the second answer. If the server shows no runs at all, the first one blocks the case.
    for _ in 0..2 {
        world.call_expecting("http.request", args.clone(), json!({ "$open": { "ok": true } }));
    }
}

#[then(expr = "the run is:")]
fn run_is(world: &mut Narrative, #[step] step: &gherkin::Step) {
    if let Some(members) = world.json_object(step) {
        world.expect_value(json!({ "$open": { "ok": true, "body": { "$open": members } } }));
    }
}

#[then(expr = "of these kinds the user saw exactly:")]
fn saw(world: &mut Narrative, #[step] step: &gherkin::Step) {
    let Some(Value::Array(events)) = world.json(step) else {
        return world.fault("this step needs a doc string with a JSON list of events");
    };
    if let Some(odd) = events.iter().find(|event| !event["type"].is_string()) {
        return world.fault(format!("every event needs a `type`; {odd} has none"));
    }
    let kinds: Vec<Value> = events.iter().map(|event| json!({ "type": event["type"] })).collect();
    let Some(mut args) = world.last_args().filter(|args| args.get("until").is_some()) else {
        return world.fault("the step before this one does not wait for anything; first write what comes at the end, such as `When \"A\" is idle again`");
    };
    let last = args["until"].clone();
    args["where"] = Value::Array(kinds);
    world.change_args(args);
    let open = |event: &Value| json!({ "$open": event });
    let expected = events.iter().map(open).chain([opened(&last)]).collect();
    world.expect_value(expected);
}

/// Watches the run from its beginning.
fn watch(world: &mut Narrative) {
    let args = json!({ "socket": SOCKET, "stream": { "runId": id_of(RUN) } });
    world.call_expecting("ws.open", args, json!({ "open": true }));
}

fn node(world: &mut Narrative, label: &str, body: Value) {
    if label.contains('/') {
        return world.fault(format!(
            "the label `{label}` contains a slash, but steps refer to nodes by label; remove it"
        ));
    }
    post(world, json!(["api", "runs", id_of(RUN), "nodes"]), body);
    world.remember(label);
    // So that a later step waits for a later event: a new node is reported as idle, too.
    until(world, &json!({ "type": "node.patch", "nodeId": id_of(label) }));
}

fn post(world: &mut Narrative, path: Value, body: Value) {
    let args = json!({ "method": "POST", "path": path, "body": body });
    world.call_expecting("http.request", args, json!({ "$open": { "ok": true } }));
}

fn resolve(world: &mut Narrative, resolution: Value) {
    let approval = json!({ "$ref": format!("{}/0/approvalId", world.latest(APPROVAL)) });
    post(world, json!(["api", "approvals", approval, "resolve"]), resolution);
}

/// Watches until a message has these members, and records only that message.
fn until(world: &mut Narrative, sought: &Value) {
    let args = json!({ "socket": SOCKET, "until": sought, "where": sought });
    world.call_expecting("ws.until", args, json!([opened(sought)]));
}

/// The wanted members as a pattern. Objects inside may have further members.
fn opened(sought: &Value) -> Value {
    match sought {
        Value::Object(map) if !map.keys().any(|key| key.starts_with('$')) => {
            let members = map.iter().map(|(key, value)| (key.clone(), opened(value)));
            json!({ "$open": Value::Object(members.collect()) })
        }
        other => other.clone(),
    }
}

/// The id in the answer that created something of this name.
fn id_of(name: &str) -> Value {
    json!({ "$ref": format!("{name}/body/id") })
}

fn script_of<'a>(world: &'a mut Narrative, label: &str) -> &'a mut Value {
    world.needs("runs.provider");
    let script = world.script("provider", json!({ "nodes": {} }));
    let nodes = &mut script["nodes"];
    if nodes.get(label).is_none() {
        nodes[label] = json!({ "turns": [] });
    }
    &mut nodes[label]
}
