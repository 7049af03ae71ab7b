//! Servers that are right in the middle, and wrong in a corner: a long text, a branch, a path, two budgets at once.

use agent_common::Real;
use proofmark_room::Adversary;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{failed_with, items_mut, only, succeeded, with, without};
use super::lists::{Fits, capped};

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "stores-64-kib",
        "of longer notes the first 65535 bytes are stored",
        &["COMMON-070"],
        &Bent(|server| server.around(stores_64_kib)),
    ),
    Adversary::server_saboteur(
        "stores-titles-of-a-column",
        "of a longer title the first 255 characters are stored",
        &["COMMON-070"],
        &Bent(|server| {
            server.around(|tool, args, real| match args.get("title").and_then(Value::as_str) {
                Some(title) => {
                    let stored: String = title.chars().take(255).collect();
                    real(tool, &with(args, "title", stored))
                }
                None => real(tool, args),
            })
        }),
    ),
    Adversary::server_saboteur(
        "takes-limits-for-less",
        "a limit over 200 is 200, and a list claims to be whole if the limit was large enough",
        &["COMMON-070"],
        &Bent(|server| server.around(takes_limits_for_less)),
    ),
    Adversary::server_saboteur(
        "shows-nothing-in-silence",
        "a list of which max_chars leaves nothing claims to be whole",
        &["COMMON-070", "COMMON-076"],
        &Bent(|server| server.around(shows_nothing_in_silence)),
    ),
    Adversary::server_saboteur(
        "counts-three-bytes-at-most",
        "max_chars counts three bytes for a character of a list that has four",
        &["COMMON-066", "COMMON-076"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                capped(tool, args, real, |left, item| {
                    let length: usize = item.chars().map(|one| one.len_utf8().min(3)).sum();
                    // Each item is followed by a bracket or a comma, and a bracket precedes the list.
                    if length + 1 < *left {
                        *left -= length + 1;
                        return Fits::Shown;
                    }
                    Fits::End
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "takes-lines-for-all",
        "beside max_lines no cap in bytes counts",
        &["COMMON-066", "COMMON-067"],
        &Bent(|server| {
            server.around(|tool, args, real| match args.get("max_lines") {
                Some(_) => real(tool, &without(args, &["max_chars", "max_bytes"])),
                None => real(tool, args),
            })
        }),
    ),
    Adversary::server_saboteur(
        "suggests-the-write-on-main",
        "what is suggested for a node names no branch",
        &["COMMON-013"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let mut answer = real(tool, args);
                for one in answer["suggestions"].as_array_mut().into_iter().flatten() {
                    one["params"] = without(&one["params"], &["branch"]);
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "suggests-nothing-by-path",
        "a stale write to a step that is named by its path has no suggestion",
        &["COMMON-057"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let mut answer = real(tool, args);
                if args.get("path").is_some() && failed_with(&answer, "REVISION_MISMATCH") {
                    answer["suggestions"] = json!([]);
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "finds-nine-steps-below",
        "below another step only paths with one digit are found",
        &["COMMON-029"],
        &Bent(|server| server.around(finds_nine_steps_below)),
    ),
    Adversary::server_saboteur(
        "keeps-the-revision-for-ours",
        "a conflict that is resolved for ours has the revision that it had",
        &["COMMON-052"],
        &Bent(|server| server.around(keeps_the_revision_for_ours)),
    ),
    Adversary::server_saboteur(
        "takes-a-slash-off",
        "a workspace whose id ends in a slash is the one without it",
        &["COMMON-015"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let id = args.get("workspace").and_then(Value::as_str);
                match id.and_then(|id| id.strip_suffix('/')).filter(|id| !id.ends_with('/')) {
                    Some(id) => real(tool, &with(args, "workspace", id)),
                    None => real(tool, args),
                }
            })
        }),
    ),
];

fn stores_64_kib(tool: &str, args: &Value, real: Real<'_>) -> Value {
    const MOST: usize = 65_535;
    match args.get("notes").and_then(Value::as_str) {
        Some(notes) => real(tool, &with(args, "notes", &notes[..notes.floor_char_boundary(MOST)])),
        None => real(tool, args),
    }
}

fn takes_limits_for_less(tool: &str, args: &Value, real: Real<'_>) -> Value {
    const MOST: u64 = 200;
    let right = real(tool, args);
    let limit = args.get("limit").and_then(Value::as_u64).filter(|limit| *limit > MOST);
    if limit.is_none() || !succeeded(&right) {
        return right;
    }
    let mut answer = real(tool, &with(args, "limit", MOST));
    if right["result"]["truncated"] == false {
        answer["result"]["truncated"] = json!(false);
        answer["result"] = without(&answer["result"], &["budget"]);
    }
    answer
}

fn shows_nothing_in_silence(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if args.get("max_chars").is_some() && answer["result"]["items"] == json!([]) {
        answer["result"]["truncated"] = json!(false);
        answer["result"] = without(&answer["result"], &["budget"]);
    }
    answer
}

fn finds_nine_steps_below(tool: &str, args: &Value, real: Real<'_>) -> Value {
    /// A path that leads nowhere.
    const NOWHERE: &str = "s:999999999";
    let mut args = args.clone();
    for name in ["path", "parent"] {
        let path = args.get(name).and_then(Value::as_str).unwrap_or_default();
        let below = path.split('.').skip(1).any(|part| part.len() > "s:0".len());
        // Paths that are no paths are refused as before.
        let digits = path.chars().all(|one| one.is_ascii_digit() || "s:.".contains(one));
        if below && digits && succeeded(&real("steps_get", &by_path(&args, name))) {
            args = with(&args, name, NOWHERE);
        }
    }
    real(tool, &args)
}

/// Arguments that read the step to which this member leads.
fn by_path(args: &Value, name: &str) -> Value {
    with(&only(args, &["workspace", "task"]), "path", args[name].clone())
}

fn keeps_the_revision_for_ours(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    let stand_still = |conflict: &mut Value| {
        let node = with(&only(args, &["workspace"]), "node", conflict["key"].clone());
        let now = real("graph_node_get", &with(&node, "branch", conflict["into"].clone()));
        let now = only(&now["result"]["node"], &["type", "props"]);
        if conflict["status"] == "resolved" && now == conflict["ours"] {
            conflict["revision"] = json!(0);
        }
    };
    if tool.starts_with("graph_conflict_") {
        answer.pointer_mut("/result/conflict").into_iter().for_each(stand_still);
        items_mut(&mut answer, "items").iter_mut().for_each(stand_still);
    }
    answer
}
