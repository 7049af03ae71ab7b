//! Servers that lose updates, or count revisions wrongly.

use agent_common::Real;
use serde_json::{Value, json};

use super::Bent;
use super::answers::{failed_with, items_mut, succeeded, with, without};
use proofmark_room::Adversary;

pub(crate) const ALL: &[Adversary] = &[
    Adversary::server_saboteur(
        "checks-no-revision",
        "a write is done whatever revision it expects",
        &["COMMON-054", "COMMON-061", "COMMON-064"],
        &Bent(|server| {
            server.around(|tool, args, real| unless_checked(tool, args, real, |_| true))
        }),
    ),
    Adversary::server_saboteur(
        "checks-no-revision-by-path",
        "a step that is named by its path is written whatever is expected",
        &["COMMON-054", "COMMON-064"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                unless_checked(tool, args, real, |args| args.get("path").is_some())
            })
        }),
    ),
    Adversary::server_saboteur(
        "checks-no-revision-of-the-focus",
        "the task in focus is written whatever is expected",
        &["COMMON-054"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let nameless = |args: &Value| args.get("task").is_none();
                match tool {
                    "tasks_patch" => unless_checked(tool, args, real, nameless),
                    _ => real(tool, args),
                }
            })
        }),
    ),
    Adversary::server_saboteur(
        "checks-no-revision-of-conflicts",
        "a conflict is resolved whatever is expected",
        &["COMMON-054"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let conflict = |args: &Value| args.get("conflict").is_some();
                unless_checked(tool, args, real, conflict)
            })
        }),
    ),
    Adversary::server_saboteur(
        "takes-the-revision-before",
        "a write that comes one write too late is done",
        &["COMMON-054", "COMMON-064"],
        &Bent(|server| server.around(takes_the_revision_before)),
    ),
    Adversary::server_saboteur(
        "ignores-the-alias",
        "a write is done whatever expected_version says",
        &["COMMON-056"],
        &Bent(|server| {
            server.around(|tool, args, real| {
                let alias = |args: &Value| args.get("expected_revision").is_none();
                unless_checked(tool, args, real, alias)
            })
        }),
    ),
    Adversary::server_saboteur(
        "writes-and-refuses",
        "a write that is refused for its revision is done all the same",
        // Of racing writes one should take effect, but all do.
        &["COMMON-055", "COMMON-058", "COMMON-064"],
        &Bent(|server| server.around(writes_and_refuses)),
    ),
    Adversary::server_saboteur(
        "counts-the-focus",
        "a task that comes into focus has another revision afterwards",
        &["COMMON-058"],
        &Bent(|server| server.around(counts_the_focus)),
    ),
    Adversary::server_saboteur(
        "resolves-without-a-revision",
        "a conflict that is resolved has the revision that it had",
        &["COMMON-052"],
        &Bent(|server| server.around(resolves_without_a_revision)),
    ),
    Adversary::server_saboteur(
        "tells-the-revision-before",
        "the answer to a patch of a step tells the revision that was there before",
        // A client that continues from this revision continues from the wrong one.
        &["COMMON-052", "COMMON-053", "COMMON-055", "COMMON-056", "COMMON-058"],
        &Bent(|server| server.around(tells_the_revision_before)),
    ),
];

const EXPECTED: &[&str] = &["expected_revision", "expected_version"];

/// Performs a write that the server refuses for its revision, if the saboteur does not check it.
pub(super) fn unless_checked(
    tool: &str,
    args: &Value,
    real: Real<'_>,
    unchecked: impl Fn(&Value) -> bool,
) -> Value {
    let answer = real(tool, args);
    match failed_with(&answer, "REVISION_MISMATCH") && unchecked(args) {
        true => real(tool, &without(args, EXPECTED)),
        false => answer,
    }
}

/// The current revision according to a refusal. The server suggests writing again with it.
fn there_is(refusal: &Value) -> Option<u64> {
    refusal["suggestions"][0]["params"]["expected_revision"].as_u64()
}

fn takes_the_revision_before(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if !failed_with(&answer, "REVISION_MISMATCH") {
        return answer;
    }
    let expected = EXPECTED.iter().find_map(|name| args.get(name)?.as_u64());
    match (expected, there_is(&answer)) {
        (Some(expected), Some(there)) if expected + 1 == there => {
            real(tool, &without(args, EXPECTED))
        }
        _ => answer,
    }
}

fn writes_and_refuses(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    // A conflict cannot be resolved twice, so the suggestion would be wrong.
    let refused = failed_with(&answer, "REVISION_MISMATCH") && tool.ends_with("_patch");
    if let Some(there) = there_is(&answer).filter(|_| refused) {
        real(tool, &without(args, EXPECTED));
        // The suggestion stays right, because this saboteur is not about it.
        answer["suggestions"][0]["params"]["expected_revision"] = json!(there + 1);
    }
    answer
}

fn counts_the_focus(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let answer = real(tool, args);
    if tool == "tasks_focus" && succeeded(&answer) {
        real("tasks_patch", &with(args, "title", answer["result"]["task"]["title"].clone()));
    }
    answer
}

fn resolves_without_a_revision(tool: &str, args: &Value, real: Real<'_>) -> Value {
    fn stand_still(conflict: &mut Value) {
        if conflict["status"] == "resolved" {
            conflict["revision"] = json!(0);
        }
    }
    let mut answer = real(tool, args);
    if tool.starts_with("graph_conflict_") {
        answer.pointer_mut("/result/conflict").into_iter().for_each(stand_still);
        items_mut(&mut answer, "items").iter_mut().for_each(stand_still);
    }
    answer
}

fn tells_the_revision_before(tool: &str, args: &Value, real: Real<'_>) -> Value {
    let mut answer = real(tool, args);
    if tool == "steps_patch"
        && let Some(revision) = answer["result"]["step"]["revision"].as_u64()
    {
        answer["result"]["step"]["revision"] = json!(revision.saturating_sub(1));
    }
    answer
}
