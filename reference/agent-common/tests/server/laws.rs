//! Laws of any series of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use agent_common::Server;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::{Union, ValueTree as _};
use serde_json::{Map, Value, json};

use crate::lab::{check_envelope, clock};

/// A call; a number in the place of a conflict's id means the one at that place of the list.
pub(crate) type Call = (String, Value);

/// Values for a member: mostly valid, sometimes not.
fn pool(tool: &str, member: &str) -> Vec<Value> {
    let branch = [json!("main"), json!("a"), json!("a"), json!("b"), json!("nope")];
    let node = [json!("x"), json!("y"), json!(" x "), json!("z"), json!("a|b")];
    let of = |values: &[Value]| values.to_vec();
    match member {
        "workspace" if tool == "workspaces_create" => of(&[json!("w"), json!("v"), json!("-")]),
        "workspace" => [vec![json!("w"); 12], vec![json!("v"), json!("nope"), json!(" ")]].concat(),
        "plan" => of(&[json!("PLAN-001"), json!("PLAN-001"), json!("PLAN-002"), json!("x")]),
        "task" | "expected_target_id" => {
            of(&[json!("TASK-001"), json!("TASK-001"), json!("TASK-002"), json!("PLAN-001")])
        }
        "step" => of(&[json!("STEP-00000001"), json!("STEP-00000002"), json!("STEP-00000009")]),
        "path" | "parent" => of(&[json!("s:0"), json!("s:0"), json!("s:0.s:0"), json!("s:1")]),
        "conflict" => of(&[json!(0), json!(0), json!(1), json!(2)]),
        "status" => of(&[json!("open"), json!("done")]),
        "take" => of(&[json!("ours"), json!("theirs")]),
        "checkpoints" => of(&[
            json!({"tests": true}),
            json!({"criteria": true}),
            json!({"criteria": false}),
            json!({"criteria": true, "tests": true}),
        ]),
        "props" => of(&[json!({}), json!({"k": "1"}), json!({"k": "\u{e4}\n"}), json!({"k": 1})]),
        "strict_targeting" => of(&[json!(true), json!(false)]),
        "limit" => of(&[json!(1), json!(2), json!(50), json!(0)]),
        "offset" => of(&[json!(0), json!(1)]),
        "max_chars" | "max_bytes" => of(&[json!(0), json!(3), json!(80), json!(1000)]),
        "max_lines" => of(&[json!(0), json!(1), json!(5)]),
        "expected_revision" | "expected_version" => of(&[json!(0), json!(1), json!(2), json!(3)]),
        "title" => of(&[json!("t"), json!("u"), json!("")]),
        "notes" => of(&[json!(""), json!("a\u{e4}\nb")]),
        "type" => of(&[json!("T"), json!("U"), json!(" ")]),
        "rel" => of(&[json!("r"), json!("s")]),
        "from" | "to" if tool == "graph_edge_create" => of(&node),
        "node" => of(&node),
        "branch" | "from" | "into" => of(&branch),
        other => panic!("nothing is known of `{other}`"),
    }
}

fn call() -> impl Strategy<Value = Call> {
    Union::new(Server::tools().iter().map(call_of))
}

/// Calls of one tool.
fn call_of(tool: &Value) -> BoxedStrategy<Call> {
    let name = tool["name"].as_str().unwrap().to_owned();
    let required = tool["inputSchema"]["required"].as_array().unwrap();
    let members: Vec<_> = tool["inputSchema"]["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(|member| {
            let often = match member.as_str() {
                _ if required.contains(&json!(member)) => 0.98,
                "path" | "status" => 0.7,
                "step" | "expected_revision" | "expected_version" => 0.15,
                _ => 0.3,
            };
            let member = member.clone();
            prop::option::weighted(often, select(pool(&name, &member)))
                .prop_map(move |value| Some((member.clone(), value?)))
        })
        .collect();
    members
        .prop_map(move |members| {
            let members: Map<String, Value> = members.into_iter().flatten().collect();
            (name.clone(), Value::Object(members))
        })
        .boxed()
}

/// Calls that make something of everything, so that a series meets something.
pub(crate) fn series(length: usize) -> impl Strategy<Value = Vec<Call>> {
    let first = [
        ("workspaces_create", json!({"workspace": "w"})),
        ("plans_create", json!({"workspace": "w", "title": "p"})),
        ("tasks_create", json!({"workspace": "w", "plan": "PLAN-001", "title": "t"})),
        ("tasks_create", json!({"workspace": "w", "plan": "PLAN-001", "title": "u"})),
        ("steps_create", json!({"workspace": "w", "task": "TASK-001", "title": "s"})),
        ("graph_node_create", json!({"workspace": "w", "node": "x", "type": "T"})),
        ("graph_branch_create", json!({"workspace": "w", "branch": "a"})),
        ("graph_node_patch", json!({"workspace": "w", "node": "x", "type": "U"})),
        ("graph_node_patch", json!({"workspace": "w", "node": "x", "type": "V", "branch": "a"})),
        ("graph_merge", json!({"workspace": "w", "from": "a", "into": "main"})),
    ];
    prop::collection::vec(call(), 1..length).prop_map(move |mut calls| {
        let first = first.iter().map(|(tool, arguments)| ((*tool).to_owned(), arguments.clone()));
        calls.splice(0..0, first);
        calls
    })
}

/// The call, with the id of a conflict in the place of its number.
pub(crate) fn settled(server: &Server, (tool, arguments): &Call) -> Call {
    let mut arguments = arguments.clone();
    if let Some(at) = arguments.get("conflict").and_then(Value::as_u64) {
        let list = server.call("graph_conflict_list", &json!({"workspace": "w"}));
        let id = &list["result"]["items"][at as usize]["id"];
        let none = json!("CONFLICT-00000000000000000000000000000000");
        arguments["conflict"] = if id.is_string() { id.clone() } else { none };
    }
    (tool.clone(), arguments)
}

/// Everything that can be seen of a server.
pub(crate) fn seen(server: &Server) -> Value {
    let list = |tool: &str, mut arguments: Value| {
        arguments["limit"] = json!(1000);
        server.call(tool, &arguments)["result"]["items"].clone()
    };
    let all = |tool: &str, workspace: &Value, member: &str, values: Vec<Value>| -> Vec<Value> {
        let of = |value| server.call(tool, &json!({"workspace": workspace, member: value}));
        values.into_iter().map(of).collect()
    };
    let ids = |items: &Value| {
        items.as_array().unwrap().iter().map(|item| item["id"].clone()).collect::<Vec<_>>()
    };
    let workspaces = list("workspaces_list", json!({}));
    let of_each = ids(&workspaces).into_iter().map(|id| {
        let within = json!({"workspace": id});
        let tasks = list("tasks_list", within.clone());
        let branches = vec![json!("main"), json!("a"), json!("b")];
        json!([
            list("plans_list", within.clone()),
            all("tasks_notes", &id, "task", ids(&tasks)),
            all("steps_list", &id, "task", ids(&tasks)),
            tasks,
            all("graph_node_list", &id, "branch", branches.clone()),
            all("graph_edge_list", &id, "branch", branches),
            list("graph_conflict_list", within),
        ])
    });
    json!([of_each.collect::<Vec<_>>(), workspaces])
}

static SCHEMAS: LazyLock<BTreeMap<String, jsonschema::Validator>> = LazyLock::new(|| {
    let compiled = |tool: Value| {
        let validator = jsonschema::validator_for(&tool["inputSchema"]).unwrap();
        (tool["name"].as_str().unwrap().to_owned(), validator)
    };
    Server::tools().into_iter().map(compiled).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_refused_call_changes_nothing_and_its_suggestions_succeed(calls in series(40)) {
        let server = Server::in_memory(clock());
        let mut accepted: Vec<Call> = Vec::new();
        for call in calls {
            let (tool, arguments) = settled(&server, &call);
            let before = seen(&server);
            let envelope = server.call(&tool, &arguments);
            check_envelope(&tool, &envelope);
            if envelope["success"] == true {
                accepted.push((tool, arguments));
                continue;
            }
            prop_assert_eq!(seen(&server), before, "{} {}", tool, arguments);
            for suggestion in envelope["suggestions"].as_array().unwrap() {
                // The accepted calls alone make the same server: the refused ones left no trace.
                let twin = Server::in_memory(clock());
                for (tool, arguments) in &accepted {
                    twin.call(tool, arguments);
                }
                let target = suggestion["target"].as_str().unwrap();
                let followed = twin.call(target, &suggestion["params"]);
                prop_assert_eq!(&followed["success"], true, "{} of {} {}", suggestion, tool, arguments);
            }
        }
    }

    #[test]
    fn a_call_that_the_schema_refuses_is_refused(calls in series(60)) {
        let server = Server::in_memory(clock());
        for call in calls {
            let (tool, arguments) = settled(&server, &call);
            let valid = SCHEMAS[&tool].is_valid(&arguments);
            let envelope = server.call(&tool, &arguments);
            let code = &envelope["error"]["code"];
            prop_assert!(valid || code == "INVALID_INPUT" || code == "INVALID_NAME", "{} {}", tool, arguments);
        }
    }
}

#[test]
fn a_mismatch_and_an_unknown_id_always_have_a_suggestion() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let series = series(60);
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        let server = Server::in_memory(clock());
        let calls = series.new_tree(&mut runner).unwrap().current();
        for call in calls {
            let (tool, arguments) = settled(&server, &call);
            let envelope = server.call(&tool, &arguments);
            let Some(code) = envelope["error"]["code"].as_str() else { continue };
            seen.insert(code.to_owned());
            if !["INVALID_INPUT", "INVALID_NAME"].contains(&code) {
                let some = !envelope["suggestions"].as_array().unwrap().is_empty();
                assert!(some, "{code} of {tool} {arguments}");
            }
        }
    }
    // Neither the law above nor this one says much of a code that never came.
    let all = [
        "BUDGET_EXCEEDED",
        "CHECKPOINTS_NOT_CONFIRMED",
        "CONFLICT",
        "EXPECTED_TARGET_MISMATCH",
        "INVALID_INPUT",
        "INVALID_NAME",
        "REVISION_MISMATCH",
        "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID",
        "UNKNOWN_ID",
        "UNKNOWN_WORKSPACE",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all);
}
