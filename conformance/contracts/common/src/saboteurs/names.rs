//! Servers that confuse names, or accept wrong ones.

use agent_common::Real;
use serde_json::Value;

use super::Bent;
use super::answers::{each_text, failed_with, items_mut, only, succeeded, with};
use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "looks-in-the-workspace-above",
        "what is not in `a-b` is looked for in `a`",
        &["COMMON-018"],
        &Bent(|server| server.around(looks_in_the_workspace_above)),
    ),
    Adversary::server_saboteur(
        "shares-the-focus",
        "the focus of `a` is that of `a-b` as well",
        &["COMMON-096"],
        &Bent(|server| server.around(shares_the_focus)),
    ),
    Adversary::server_saboteur(
        "keeps-white-space",
        "white space around a node's id is taken off for the check, and kept",
        &["COMMON-041"],
        &Bent(|server| server.around(keeps_white_space)),
    ),
    Adversary::server_saboteur(
        "limits-ids-in-bytes",
        "a node's id has at most 256 bytes",
        &["COMMON-033", "COMMON-039"],
        &Bent(|server| {
            server.around(|tool, args, real| limited(tool, args, real, "node", str::len))
        }),
    ),
    Adversary::server_saboteur(
        "limits-ids-in-utf-16",
        "a node's id has at most 256 UTF-16 code units",
        &["COMMON-039"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                limited(tool, args, real, "node", |id| id.encode_utf16().count())
            })
        }),
    ),
    Adversary::server_saboteur(
        "folds-case",
        "nodes are kept under their names in small letters",
        &["COMMON-042"],
        &Bent(|server| {
            server.around(|tool, args, real| match args.get("node").and_then(Value::as_str) {
                Some(id) => real(tool, &with(args, "node", id.to_lowercase())),
                None => real(tool, args),
            })
        }),
    ),
    Adversary::server_saboteur(
        "gives-steps-new-ids",
        "a step has another id once its task has one step more",
        &["COMMON-025"],
        &Bent(|server| server.around(gives_steps_new_ids)),
    ),
    Adversary::server_saboteur(
        "finds-steps-of-any-task",
        "a step is found by its id, whatever task is named",
        &["COMMON-087"],
        &Bent(|server| server.around(finds_steps_of_any_task)),
    ),
];

/// The workspace whose name this one extends.
fn above(workspace: &Value) -> Option<&str> {
    workspace.as_str()?.rsplit_once('-').map(|(above, _)| above)
}

fn looks_in_the_workspace_above(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if !failed_with(&answer, "UNKNOWN_ID") {
        return answer;
    }
    let found = above(&args["workspace"]).map(|above| real(tool, &with(args, "workspace", above)));
    found.filter(succeeded).unwrap_or(answer)
}

fn shares_the_focus(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if tool != "tasks_patch" || args.get("task").is_some() || succeeded(&answer) {
        return answer;
    }
    let shared = above(&args["workspace"]).map(|above| real(tool, &with(args, "workspace", above)));
    shared.filter(succeeded).unwrap_or(answer)
}

/// Keeps a space around an id, as a character that the server takes for a letter.
fn keeps_white_space(tool: &str, args: &Value, real: Real<'_>) -> Value {
    const SPACE: char = '\u{e020}';
    let Some(id) = args.get("node").and_then(Value::as_str) else {
        let mut answer = real(tool, args);
        each_text(&mut answer, &|text| Some(text.replace(SPACE, " ")));
        return answer;
    };
    if id.trim().is_empty() {
        return real(tool, args);
    }
    let before = id.len() - id.trim_start_matches(' ').len();
    let after = id.len() - id.trim_end_matches(' ').len();
    let spaces = |count: usize| SPACE.to_string().repeat(count);
    let kept = format!("{}{}{}", spaces(before), id.trim_matches(' '), spaces(after));
    // The check sees the id without them.
    let checked = id.trim().chars().count() + before + after > 256;
    let mut answer = real(tool, &if checked { args.clone() } else { with(args, "node", kept) });
    each_text(&mut answer, &|text| Some(text.replace(SPACE, " ")));
    answer
}

/// Refuses names that are too long by another count, with the server's own refusal.
fn limited(
    tool: &str,
    args: &Value,
    real: Real<'_>,
    member: &str,
    count: impl Fn(&str) -> usize,
) -> Value {
    let id = args.get(member).and_then(Value::as_str);
    match id.filter(|id| count(id.trim()) > 256) {
        Some(_) => real(tool, &with(args, member, "x".repeat(257))),
        None => real(tool, args),
    }
}

/// A step's id ends in the number of steps.
fn gives_steps_new_ids(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let steps_of = |args: &Value| {
        let list = real("steps_list", &only(args, &["workspace", "task"]));
        list["result"]["total"].as_u64().map(|total| format!("{total:02}"))
    };
    let mut args = args.clone();
    if let Some(count) = steps_of(&args)
        && let Some(id) = args.get("step").and_then(Value::as_str)
        && let Some(id) = id.strip_suffix(&count)
    {
        args = with(&args, "step", id);
    }
    let mut answer = real(tool, &args);
    let count = steps_of(&args).unwrap_or_default();
    let renew = |id: Option<&mut Value>| {
        if let Some(Value::String(id)) = id {
            id.push_str(&count);
        }
    };
    renew(answer.pointer_mut("/result/step/id"));
    if tool == "steps_list" {
        items_mut(&mut answer, "items").iter_mut().for_each(|step| renew(step.get_mut("id")));
    }
    let suggestions = answer["suggestions"].as_array_mut().into_iter().flatten();
    suggestions.for_each(|one| renew(one.pointer_mut("/params/step")));
    answer
}

fn finds_steps_of_any_task(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if args.get("step").is_none() || !failed_with(&answer, "UNKNOWN_ID") {
        return answer;
    }
    let mut others = (1..=9).map(|number| with(args, "task", format!("TASK-{number:03}")));
    others.find_map(|args| Some(real(tool, &args)).filter(succeeded)).unwrap_or(answer)
}
