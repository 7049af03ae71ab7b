//! Servers that are right about one branch or one merge, and wrong about the next.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agent_common::Real;
use proofmark_room::Adversary;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{items_mut, only, succeeded, with};
use super::merging::{Memory, node_of, nodes};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "folds-the-case-of-branches",
        "a branch is found, and is there already, whatever the case of its name",
        &["COMMON-044"],
        &Bent(|server| server.around(folds_the_case_of_branches)),
    ),
    Adversary::server_saboteur(
        "shows-branches-through",
        "what a branch other than main got later is seen in its copies",
        &["COMMON-044"],
        &Bent(|server| server.around(shows_branches_through)),
    ),
    Adversary::server_saboteur(
        "leaves-edges-after-the-first-merge",
        "a second merge brings nothing if only edges are new",
        &["COMMON-107"],
        &Bent(|server| server.around(leaves_edges_after_the_first_merge)),
    ),
    Adversary::server_saboteur(
        "merges-one-way",
        "of two branches only one is ever merged into the other",
        &["COMMON-107"],
        &Bent(|server| server.around(merges_one_way)),
    ),
    Adversary::server_saboteur(
        "merges-member-by-member",
        "a node of which one branch changed the type and the other the props is merged",
        &["COMMON-105"],
        &Bent(|server| server.around(merges_member_by_member)),
    ),
    Adversary::server_saboteur(
        "takes-ours-of-the-merge",
        "a conflict that is resolved for ours takes the node back to what it was at the merge",
        &["COMMON-108"],
        &Bent(|server| server.around(takes_ours_of_the_merge)),
    ),
];

fn folds_the_case_of_branches(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let Some(name) = args.get("branch").and_then(Value::as_str) else { return real(tool, args) };
    let there = |name: &str| {
        let list = with(&only(args, &["workspace"]), "branch", name);
        succeeded(&real("graph_node_list", &list))
    };
    let small = name.to_lowercase();
    match small != name && !there(name) && there(&small) {
        true => real(tool, &with(args, "branch", small)),
        false => real(tool, args),
    }
}

fn shows_branches_through(tool: &str, args: &Value, real: Real<'_>) -> Value {
    static ORIGINS: Mutex<BTreeMap<String, Value>> = Mutex::new(BTreeMap::new());
    let answer = real(tool, args);
    let key = json!([args["workspace"], args["branch"]]).to_string();
    let mut origins = ORIGINS.lock().unwrap_or_else(PoisonError::into_inner);
    match (tool, args.get("from")) {
        ("graph_branch_create", Some(from)) if succeeded(&answer) && from != "main" => {
            origins.insert(key, from.clone());
            answer
        }
        ("graph_node_get", _) if !succeeded(&answer) => match origins.get(&key) {
            Some(origin) => real(tool, &with(args, "branch", origin.clone())),
            None => answer,
        },
        _ => answer,
    }
}

/// A merge that brings nothing.
fn nothing(args: &Value, real: Real<'_>) -> Value {
    let mut answer = real("graph_node_list", &only(args, &["workspace"]));
    answer["intent"] = json!("graph_merge");
    answer["result"] = json!({ "merged": 0, "conflicts": [] });
    answer
}

fn are_there(args: &Value, real: Real<'_>) -> bool {
    ["from", "into"].iter().all(|role| {
        let list = with(&only(args, &["workspace"]), "branch", args[*role].clone());
        succeeded(&real("graph_node_list", &list))
    })
}

fn leaves_edges_after_the_first_merge(tool: &str, args: &Value, real: Real<'_>) -> Value {
    static MERGED: Memory = Memory::new();
    if tool != "graph_merge" || !are_there(args, real) {
        return real(tool, args);
    }
    let said = |branch: &str| -> Vec<Value> {
        let nodes = nodes(args, &args[branch], real);
        nodes.iter().map(|node| only(node, &["id", "type", "props"])).collect()
    };
    let merges = MERGED.count(&json!([args["workspace"], args["from"], args["into"]]), 1);
    match merges > 1 && said("from") == said("into") {
        true => nothing(args, real),
        false => real(tool, args),
    }
}

fn merges_one_way(tool: &str, args: &Value, real: Real<'_>) -> Value {
    static MERGED: Memory = Memory::new();
    if tool != "graph_merge" || !are_there(args, real) {
        return real(tool, args);
    }
    let back = MERGED.count(&json!([args["workspace"], args["into"], args["from"]]), 0);
    MERGED.count(&json!([args["workspace"], args["from"], args["into"]]), 1);
    if back > 0 { nothing(args, real) } else { real(tool, args) }
}

fn merges_member_by_member(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if tool != "graph_merge" || !succeeded(&answer) {
        return answer;
    }
    let conflicts = items_mut(&mut answer, "conflicts").to_vec();
    let mut open = Vec::new();
    for conflict in conflicts {
        let changed = |role: &str, member: &str| conflict[role][member] != conflict["base"][member];
        let apart = |one: &str, other: &str| {
            let alone = |role, member, rest| changed(role, member) && !changed(role, rest);
            conflict["base"].is_object() && alone("ours", one, other) && alone("theirs", other, one)
        };
        let theirs = match (apart("type", "props"), apart("props", "type")) {
            (true, _) => "props",
            (_, true) => "type",
            _ => {
                open.push(conflict);
                continue;
            }
        };
        let patch = node_of(args, &conflict, "into");
        real("graph_node_patch", &with(&patch, theirs, conflict["theirs"][theirs].clone()));
        let merged = answer["result"]["merged"].as_u64().unwrap_or_default();
        answer["result"]["merged"] = json!(merged + 1);
    }
    answer["result"]["conflicts"] = json!(open);
    answer
}

fn takes_ours_of_the_merge(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if tool == "graph_conflict_resolve" && args["take"] == "ours" && succeeded(&answer) {
        let conflict = &answer["result"]["conflict"];
        let today = real("graph_node_get", &node_of(args, conflict, "into"));
        if only(&today["result"]["node"], &["type", "props"]) != conflict["ours"] {
            let mut patch = node_of(args, conflict, "into");
            for member in ["type", "props"] {
                patch = with(&patch, member, conflict["ours"][member].clone());
            }
            real("graph_node_patch", &patch);
        }
    }
    answer
}
