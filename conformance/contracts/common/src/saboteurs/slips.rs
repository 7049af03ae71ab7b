//! Servers that check revisions, keep the focus or suggest a call nearly always.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use agent_common::Real;
use proofmark_room::Adversary;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{failed_with, only, succeeded, with, without};
use super::revisions::unless_checked;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "takes-zero-for-no-revision",
        "a node is written if 0 is expected",
        &["COMMON-054"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let node = |args: &Value| {
                    args.get("node").is_some() && args.get("expected_revision") == Some(&json!(0))
                };
                unless_checked(tool, args, real, node)
            })
        }),
    ),
    Adversary::server_saboteur(
        "checks-nothing-where-nothing-changes",
        "a patch that says what is there already succeeds whatever is expected",
        &["COMMON-054"],
        &Bent(|server| server.around(checks_nothing_where_nothing_changes)),
    ),
    Adversary::server_saboteur(
        "ignores-the-alias-of-the-focus",
        "the task in focus is written whatever expected_version says",
        &["COMMON-056"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                match tool == "tasks_patch" && args.get("task").is_none() {
                    true => real(tool, &without(args, &["expected_version"])),
                    false => real(tool, args),
                }
            })
        }),
    ),
    Adversary::server_saboteur(
        "ignores-the-alias-by-path",
        "a step that is named by its path is written whatever expected_version says",
        &["COMMON-056"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                match tool == "steps_patch" && args.get("path").is_some() {
                    true => real(tool, &without(args, &["expected_version"])),
                    false => real(tool, args),
                }
            })
        }),
    ),
    Adversary::server_saboteur(
        "moves-the-focus-by-refusing",
        "a task whose patch is refused comes into focus",
        &["COMMON-055", "COMMON-092"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if tool == "tasks_patch" && args.get("task").is_some() && !succeeded(&answer) {
                    real("tasks_focus", &only(args, &["workspace", "task"]));
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "clears-the-focus-by-refusing",
        "after a patch of the task in focus that is refused there is no focus",
        // The patch that is suggested then names no task.
        &["COMMON-013", "COMMON-055", "COMMON-092"],
        &Bent(|server| server.around(clears_the_focus_by_refusing)),
    ),
    Adversary::server_saboteur(
        "suggests-to-close-the-step-above",
        "the advice after the refused closing of a step below another closes the upper one",
        &["COMMON-100"],
        &Bent(|server| server.around(suggests_to_close_the_step_above)),
    ),
];

fn checks_nothing_where_nothing_changes(tool: &str, args: &Value, real: Real<'_>) -> Value {
    const MEMBERS: &[&str] = &["title", "type", "props"];
    let answer = real(tool, args);
    let others = ["notes", "status", "checkpoints"].iter().any(|name| args.get(*name).is_some());
    if !failed_with(&answer, "REVISION_MISMATCH") || others || !tool.ends_with("_patch") {
        return answer;
    }
    let named = ["workspace", "branch", "plan", "task", "step", "path", "node"];
    let get = tool.replace("_patch", "_get");
    let mut there = real(&get, &only(args, &named));
    let kinds = ["plan", "task", "step", "node"].iter();
    let same = kinds.filter_map(|kind| there["result"].get(*kind)).any(|entity| {
        MEMBERS.iter().all(|name| args.get(*name).is_none_or(|value| *value == entity[*name]))
    });
    there["intent"] = json!(tool);
    if same { there } else { answer }
}

fn clears_the_focus_by_refusing(tool: &str, args: &Value, real: Real<'_>) -> Value {
    static CLEARED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    /// The id of no task.
    const NOBODY: &str = "TASK-999999999";
    let workspace = args["workspace"].to_string();
    let mut cleared = CLEARED.lock().unwrap_or_else(PoisonError::into_inner);
    if tool == "tasks_patch" && args.get("task").is_none() {
        if cleared.contains(&workspace) {
            return real(tool, &with(args, "task", NOBODY));
        }
        let answer = real(tool, args);
        if !succeeded(&answer) {
            cleared.insert(workspace);
        }
        return answer;
    }
    let answer = real(tool, args);
    if tool == "tasks_focus" && succeeded(&answer) {
        cleared.remove(&workspace);
    }
    answer
}

fn suggests_to_close_the_step_above(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if !failed_with(&answer, "CHECKPOINTS_NOT_CONFIRMED") {
        return answer;
    }
    let there = real("steps_get", &only(args, &["workspace", "task", "step", "path"]));
    let path = there["result"]["step"]["path"].as_str();
    if let Some((above, _)) = path.and_then(|path| path.rsplit_once('.')) {
        for one in answer["suggestions"].as_array_mut().into_iter().flatten() {
            let params = without(&one["params"], &["step", "path"]);
            one["params"] = with(&params, "path", above);
        }
    }
    answer
}
