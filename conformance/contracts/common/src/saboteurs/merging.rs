//! Servers that mix up branches, merges or conflicts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agent_common::Real;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{each_text, items_mut, only, succeeded, with};
use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "names-conflicts-by-process",
        "the id of a conflict is another one in each process",
        &["COMMON-046"],
        &Bent(|server| server.around(names_conflicts_by_process)),
    ),
    Adversary::server_saboteur(
        "names-conflicts-by-merge",
        "the id of a conflict is another one after each merge",
        &["COMMON-050"],
        &Bent(|server| server.around(names_conflicts_by_merge)),
    ),
    Adversary::server_saboteur(
        "names-two-conflicts-alike",
        "the conflicts of one merge have the id of the first",
        // Cases tell conflicts apart by id: on pages, and when one of two is resolved.
        &["COMMON-047", "COMMON-069", "COMMON-108"],
        &Bent(|server| server.around(names_two_conflicts_alike)),
    ),
    Adversary::server_saboteur(
        "merges-over-conflicts",
        "a node that both branches changed becomes theirs at once",
        // A second merge finds no conflict, and ours is not kept.
        &["COMMON-050", "COMMON-105", "COMMON-108"],
        &Bent(|server| server.around(merges_over_conflicts)),
    ),
    Adversary::server_saboteur(
        "forgets-the-last-merge",
        "a second merge brings again what the first one brought",
        &["COMMON-107"],
        &Bent(|server| server.around(forgets_the_last_merge)),
    ),
    Adversary::server_saboteur(
        "merges-over-what-stayed",
        "a node that only the other branch changed is changed back",
        // The same is visible after a merge.
        &["COMMON-104", "COMMON-107"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if tool == "graph_merge" { brought_again(args, answer, real) } else { answer }
            })
        }),
    ),
    Adversary::server_saboteur(
        "merges-both-ways",
        "a merge writes to the branch that is merged as well",
        &["COMMON-103"],
        &Bent(|server| server.around(merges_both_ways)),
    ),
    Adversary::server_saboteur(
        "takes-theirs-of-today",
        "a conflict that is resolved for theirs takes over what the branch has now",
        &["COMMON-108"],
        &Bent(|server| server.around(takes_theirs_of_today)),
    ),
    Adversary::server_saboteur(
        "resolves-all-at-once",
        "whoever resolves one conflict resolves them all",
        &["COMMON-108"],
        &Bent(|server| server.around(resolves_all_at_once)),
    ),
    Adversary::server_saboteur(
        "shows-main-through",
        "what main got later is seen in older branches",
        &["COMMON-044"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                let there = real("graph_node_list", &only(args, &["workspace", "branch"]));
                if tool != "graph_node_get" || succeeded(&answer) || !succeeded(&there) {
                    return answer;
                }
                let main = real(tool, &with(args, "branch", "main"));
                if succeeded(&main) { main } else { answer }
            })
        }),
    ),
    Adversary::server_saboteur(
        "branches-off-main",
        "every branch is a copy of main",
        &["COMMON-044"],
        &Bent(|server| {
            server.around(|tool, args, real| match (tool, args.get("from")) {
                ("graph_branch_create", Some(_)) => {
                    let right = real(tool, &with(args, "branch", "main"));
                    let known = right["error"]["code"] == "CONFLICT";
                    real(tool, &if known { with(args, "from", "main") } else { args.clone() })
                }
                _ => real(tool, args),
            })
        }),
    ),
];

const PREFIX: &str = "CONFLICT-";

/// Replaces the id of a conflict. The same salt reverses it.
fn rename(text: &str, salt: u64) -> Option<String> {
    let digits = text.strip_prefix(PREFIX).filter(|digits| digits.len() == 32)?;
    let (head, tail) = digits.split_at_checked(16)?;
    let is_lower = !digits.bytes().any(|byte| byte.is_ascii_uppercase());
    let head = u64::from_str_radix(head, 16).ok().filter(|_| is_lower)?;
    Some(format!("{PREFIX}{:016x}{tail}", head ^ salt))
}

fn names_conflicts_by_process(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let other = |text: &str| rename(text, u64::from(std::process::id()));
    let mut args = args.clone();
    each_text(&mut args, &other);
    let mut answer = real(tool, &args);
    each_text(&mut answer, &other);
    answer
}

/// A counter for each workspace of this process, or for each merge in it.
pub(super) struct Memory(Mutex<BTreeMap<String, u64>>);

impl Memory {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    pub(super) fn count(&self, key: &Value, more: u64) -> u64 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key.to_string()).or_default();
        *count += more;
        *count
    }
}

/// Older ids still work.
fn names_conflicts_by_merge(tool: &str, args: &Value, real: Real<'_>) -> Value {
    static MERGES: Memory = Memory::new();
    let merges = MERGES.count(&args["workspace"], u64::from(tool == "graph_merge"));
    let mut args = args.clone();
    if let Some(id) = args.get("conflict").and_then(Value::as_str) {
        let meant = (0..=merges).filter_map(|salt| rename(id, salt)).find(|id| {
            let conflict = with(&only(&args, &["workspace"]), "conflict", id.as_str());
            succeeded(&real("graph_conflict_get", &conflict))
        });
        args = with(&args, "conflict", meant.unwrap_or_else(|| id.to_owned()));
    }
    let mut answer = real(tool, &args);
    each_text(&mut answer, &|text| rename(text, merges));
    answer
}

fn names_two_conflicts_alike(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    let list = if tool == "graph_merge" { "conflicts" } else { "items" };
    if matches!(tool, "graph_merge" | "graph_conflict_list") {
        let items = items_mut(&mut answer, list);
        let first = items.first().map(|conflict| conflict["id"].clone());
        for conflict in items {
            conflict["id"] = first.clone().unwrap_or_default();
        }
    }
    answer
}

/// The node of a conflict, on the branch with this role.
pub(super) fn node_of(args: &Value, conflict: &Value, role: &str) -> Value {
    let node = with(&only(args, &["workspace"]), "node", conflict["key"].clone());
    with(&node, "branch", conflict[role].clone())
}

fn merges_over_conflicts(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    let conflicts = answer["result"]["conflicts"].as_array();
    for conflict in conflicts.into_iter().flatten().filter(|_| tool == "graph_merge") {
        let mut patch = node_of(args, conflict, "into");
        for member in ["type", "props"] {
            patch = with(&patch, member, conflict["theirs"][member].clone());
        }
        real("graph_node_patch", &patch);
    }
    answer
}

pub(super) fn nodes(args: &Value, branch: &Value, real: Real<'_>) -> Vec<Value> {
    let all = with(&with(&only(args, &["workspace"]), "branch", branch.clone()), "limit", 1000);
    items_mut(&mut real("graph_node_list", &all), "items").to_vec()
}

fn forgets_the_last_merge(tool: &str, args: &Value, real: Real<'_>) -> Value {
    static MERGED: Memory = Memory::new();
    let answer = real(tool, args);
    if tool != "graph_merge" || !succeeded(&answer) {
        return answer;
    }
    match MERGED.count(&json!([args["workspace"], args["from"], args["into"]]), 1) {
        1 => answer,
        _ => brought_again(args, answer, real),
    }
}

/// A merge after which every node without a conflict is as in `from`.
fn brought_again(args: &Value, mut answer: Value, real: Real<'_>) -> Value {
    if !succeeded(&answer) {
        return answer;
    }
    let conflicts = items_mut(&mut answer, "conflicts").to_vec();
    let open = |node: &Value| conflicts.iter().any(|conflict| conflict["key"] == node["id"]);
    let ours = nodes(args, &args["into"], real);
    let said = |node: &Value| only(node, &["id", "type", "props"]);
    let mut merged = answer["result"]["merged"].as_u64().unwrap_or_default();
    for theirs in nodes(args, &args["from"], real) {
        if !open(&theirs) && !ours.iter().any(|node| said(node) == said(&theirs)) {
            let patch = with(&only(&theirs, &["type", "props"]), "node", theirs["id"].clone());
            let patch = with(&patch, "workspace", args["workspace"].clone());
            real("graph_node_patch", &with(&patch, "branch", args["into"].clone()));
            merged += 1;
        }
    }
    answer["result"]["merged"] = json!(merged);
    answer
}

fn merges_both_ways(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if tool == "graph_merge" && answer["result"]["conflicts"] == json!([]) {
        let back = with(args, "from", args["into"].clone());
        real(tool, &with(&back, "into", args["from"].clone()));
    }
    answer
}

fn takes_theirs_of_today(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if tool == "graph_conflict_resolve" && args["take"] == "theirs" && succeeded(&answer) {
        let conflict = &answer["result"]["conflict"];
        let today = real("graph_node_get", &node_of(args, conflict, "from"));
        let today = &today["result"]["node"];
        if only(today, &["type", "props"]) != conflict["theirs"] {
            let patch = with(&node_of(args, conflict, "into"), "type", today["type"].clone());
            real("graph_node_patch", &with(&patch, "props", today["props"].clone()));
        }
    }
    answer
}

fn resolves_all_at_once(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if tool == "graph_conflict_resolve" && succeeded(&answer) {
        let mut list = real("graph_conflict_list", &only(args, &["workspace"]));
        for conflict in items_mut(&mut list, "items").iter().filter(|one| one["status"] == "open") {
            let further = only(args, &["workspace", "take"]);
            real(tool, &with(&further, "conflict", conflict["id"].clone()));
        }
    }
    answer
}
