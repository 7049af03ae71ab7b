//! Servers that refuse and act anyway, answer in the wrong form, or suggest calls that do not help.

use agent_common::Real;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{failed_with, only, succeeded, with, without};
use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "makes-the-plan-all-the-same",
        "a plan with a bad title is made with another one",
        &["COMMON-092"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if tool == "plans_create" && args.get("title").is_some() && !succeeded(&answer) {
                    real(tool, &with(args, "title", "untitled"));
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "does-half-of-a-patch",
        "of a patch that is refused the title is written",
        &["COMMON-092"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if tool == "tasks_patch" && failed_with(&answer, "INVALID_INPUT") {
                    real(tool, &only(args, &["workspace", "task", "title"]));
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "confirms-by-refusing",
        "a closing that is refused for its checkpoints confirms them",
        &["COMMON-092", "COMMON-099"],
        &Bent(|server| server.around(confirms_by_refusing)),
    ),
    Adversary::server_saboteur(
        "loses-the-focus",
        "a focus that is refused leaves the first task in focus",
        &["COMMON-092"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if tool == "tasks_focus" && !succeeded(&answer) {
                    real(tool, &with(args, "task", "TASK-001"));
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "makes-workspaces-by-use",
        "a workspace that is not there is there after the refusal",
        &["COMMON-086"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if failed_with(&answer, "UNKNOWN_WORKSPACE") {
                    real("workspaces_create", &only(args, &["workspace"]));
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "overwrites-what-is-there",
        "a node that is there already is refused and replaced",
        &["COMMON-088"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if tool == "graph_node_create" && failed_with(&answer, "CONFLICT") {
                    real("graph_node_patch", args);
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "hits-another-target",
        "a patch is done although another task is expected than is meant, and refused",
        &["COMMON-097"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if failed_with(&answer, "EXPECTED_TARGET_MISMATCH") {
                    real(tool, &without(args, &["expected_target_id"]));
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "is-strict-too-late",
        "a strict patch that says nothing of its target is done, and refused",
        &["COMMON-098"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if failed_with(&answer, "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID") {
                    real(tool, &without(args, &["strict_targeting"]));
                }
                answer
            })
        }),
    ),
    Adversary::server_saboteur(
        "forgets-the-other-checkpoint",
        "a patch that names one checkpoint takes the other one back",
        // An earlier confirmation no longer counts.
        &["COMMON-099", "COMMON-101"],
        &Bent(|server| server.around(forgets_the_other_checkpoint)),
    ),
    Adversary::server_saboteur(
        "clears-what-is-not-named",
        "a patch of a task that names no notes clears them",
        &["COMMON-095"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let changes = ["title", "status"].iter().any(|name| args.get(name).is_some());
                match tool == "tasks_patch" && changes && args.get("notes").is_none() {
                    true => real(tool, &with(args, "notes", "")),
                    false => real(tool, args),
                }
            })
        }),
    ),
    Adversary::server_saboteur(
        "suggests-the-stale-write",
        "the write that is suggested expects the revision that was wrong",
        &["COMMON-013"],
        &Bent(|server| server.around(suggests_the_stale_write)),
    ),
    Adversary::server_saboteur(
        "suggests-half-a-call",
        "what is suggested lacks the workspace",
        &["COMMON-013", "COMMON-100"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                suggesting(real(tool, args), |one| {
                    one["params"] = without(&one["params"], &["workspace"]);
                })
            })
        }),
    ),
    Adversary::server_saboteur(
        "suggests-a-tool-that-is-not-there",
        "what is suggested is a tool that nobody has",
        &["COMMON-013", "COMMON-100"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                suggesting(real(tool, args), |one| one["target"] = json!("tasks_mend"))
            })
        }),
    ),
    Adversary::server_saboteur(
        "suggests-to-confirm-alone",
        "the advice after a closing that was refused confirms and does not close",
        &["COMMON-100"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let answer = real(tool, args);
                if !failed_with(&answer, "CHECKPOINTS_NOT_CONFIRMED") {
                    return answer;
                }
                suggesting(answer, |one| one["params"] = without(&one["params"], &["status"]))
            })
        }),
    ),
    Adversary::server_saboteur(
        "tells-what-is-there",
        "a refused write has the entity as its result",
        &["COMMON-008"],
        &Bent(|server| server.around(tells_what_is_there)),
    ),
];

fn confirms_by_refusing(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if failed_with(&answer, "CHECKPOINTS_NOT_CONFIRMED") {
        let patch = only(args, &["workspace", "task", "step", "path"]);
        real(tool, &with(&patch, "checkpoints", json!({ "criteria": true, "tests": true })));
    }
    answer
}

fn forgets_the_other_checkpoint(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let Some(named) = args.get("checkpoints").filter(|named| named.is_object()) else {
        return real(tool, args);
    };
    let mut all = named.clone();
    for name in ["criteria", "tests"] {
        if all.get(name).is_none() {
            all = with(&all, name, false);
        }
    }
    real(tool, &with(args, "checkpoints", all))
}

/// The answer with each of its suggestions changed.
fn suggesting(mut answer: Value, change: impl Fn(&mut Value)) -> Value {
    answer["suggestions"].as_array_mut().into_iter().flatten().for_each(change);
    answer
}

fn suggests_the_stale_write(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    let expected = args.get("expected_revision").or(args.get("expected_version")).cloned();
    suggesting(answer, |one| {
        if let (Some(expected), Some(_)) = (&expected, one["params"].get("expected_revision")) {
            one["params"]["expected_revision"] = expected.clone();
        }
    })
}

fn tells_what_is_there(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if tool == "plans_patch" && failed_with(&answer, "REVISION_MISMATCH") {
        answer["result"] = real("plans_get", &only(args, &["workspace", "plan"]))["result"].clone();
    }
    answer
}
