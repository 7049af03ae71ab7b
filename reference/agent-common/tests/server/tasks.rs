//! Plans, tasks and steps: their JSON forms, revisions, targets, checkpoints.

use rstest::rstest;
use serde_json::{Value, json};

use crate::lab::Lab;

/// A plan, two tasks, and in the first one the steps `s:0`, `s:0.s:0` and `s:1`.
fn started() -> Lab {
    let lab = Lab::new();
    lab.w("plans_create", json!({"title": "P"}));
    lab.w("tasks_create", json!({"plan": "PLAN-001", "title": "A"}));
    lab.w("tasks_create", json!({"plan": "PLAN-001", "title": "B", "notes": "n\u{e4}"}));
    lab.w("steps_create", json!({"task": "TASK-001", "title": "0"}));
    lab.w("steps_create", json!({"task": "TASK-001", "title": "0.0", "parent": "s:0"}));
    lab.w("steps_create", json!({"task": "TASK-001", "title": "1"}));
    lab
}

#[test]
fn what_each_looks_like() {
    let lab = started();
    lab.w("plans_create", json!({"title": "Q"}));
    assert_eq!(
        lab.w("plans_get", json!({"plan": "PLAN-002"})),
        json!({"plan": {"id": "PLAN-002", "title": "Q", "revision": 0}})
    );
    assert_eq!(
        lab.w("tasks_get", json!({"task": "TASK-002"})),
        json!({"task": {"id": "TASK-002", "plan": "PLAN-001", "title": "B", "status": "open", "notesBytes": 3, "revision": 0}})
    );
    assert_eq!(
        lab.w("steps_get", json!({"task": "TASK-001", "path": "s:0.s:0"})),
        json!({"step": {
            "id": "STEP-00000002", "task": "TASK-001", "path": "s:0.s:0", "title": "0.0", "status": "open",
            "checkpoints": {"criteria": false, "tests": false}, "revision": 0,
        }})
    );
    assert_eq!(
        lab.ok("workspaces_create", json!({"workspace": "v"})),
        json!({"workspace": {"id": "v", "revision": 0}})
    );
}

#[test]
fn ids_are_counted_in_each_workspace_and_name_nothing_in_another() {
    let lab = started();
    lab.ok("workspaces_create", json!({"workspace": "v"}));
    let plan = lab.call("plans_get", &json!({"workspace": "v", "plan": "PLAN-001"}));
    assert_eq!(plan["error"]["code"], "UNKNOWN_ID");
    let first = lab.ok("plans_create", json!({"workspace": "v", "title": "P"}));
    assert_eq!(first["plan"]["id"], "PLAN-001");
    let task = lab.call("tasks_notes", &json!({"workspace": "v", "task": "TASK-001"}));
    assert_eq!(task["error"]["code"], "UNKNOWN_ID");
}

#[test]
fn after_999_comes_1000() {
    let lab = Lab::new();
    for _ in 0..1001 {
        lab.w("plans_create", json!({"title": "P"}));
    }
    let last = lab.w("plans_list", json!({"offset": 998}));
    assert_eq!(crate::lab::all(&last, "id"), ["PLAN-999", "PLAN-1000", "PLAN-1001"]);
    lab.w("plans_get", json!({"plan": "PLAN-1000"}));
}

#[rstest]
#[case("plans_get", json!({"plan": "PLAN-002"}))]
#[case("plans_get", json!({"plan": "PLAN-0001"}))]
#[case("plans_get", json!({"plan": "TASK-001"}))]
#[case("plans_get", json!({"plan": "PLAN-99999999999999999999999"}))]
#[case("tasks_get", json!({"task": "TASK-000"}))]
#[case("tasks_get", json!({"task": "PLAN-001"}))]
#[case("tasks_create", json!({"plan": "PLAN-009", "title": "x"}))]
#[case("tasks_list", json!({"plan": "PLAN-009"}))]
#[case("tasks_focus", json!({"task": "TASK-009"}))]
#[case("tasks_patch", json!({"task": "TASK-009", "title": "x", "expected_target_id": "TASK-001"}))]
#[case("steps_create", json!({"task": "TASK-009", "title": "x"}))]
#[case("steps_create", json!({"task": "TASK-001", "title": "x", "parent": "s:2"}))]
#[case("steps_get", json!({"task": "TASK-001", "step": "STEP-00000009"}))]
#[case("steps_get", json!({"task": "TASK-001", "step": "STEP-000000001"}))]
#[case("steps_get", json!({"task": "TASK-001", "step": "NODE-00000001"}))]
#[case("steps_get", json!({"task": "TASK-002", "step": "STEP-00000001"}))]
#[case("steps_get", json!({"task": "TASK-002", "path": "s:0"}))]
#[case("steps_get", json!({"task": "TASK-001", "path": "s:0.s:1"}))]
#[case("steps_get", json!({"task": "TASK-001", "path": "s:99999999999999999999999"}))]
fn unknown_ids_are_refused(#[case] tool: &str, #[case] arguments: Value) {
    let lab = started();
    let refused = lab.no("UNKNOWN_ID", tool, arguments);
    assert!(!refused["suggestions"].as_array().unwrap().is_empty());
    for suggestion in refused["suggestions"].as_array().unwrap() {
        assert!(lab.follow(suggestion)["items"].is_array());
    }
}

#[test]
fn a_step_is_the_same_by_id_and_by_path() {
    let lab = started();
    for (step, path) in
        [("STEP-00000001", "s:0"), ("STEP-00000002", "s:0.s:0"), ("STEP-00000003", "s:1")]
    {
        let by_id = lab.w("steps_get", json!({"task": "TASK-001", "step": step}));
        assert_eq!(by_id, lab.w("steps_get", json!({"task": "TASK-001", "path": path})));
        assert_eq!(by_id["step"]["path"], path);
    }
    lab.w("steps_create", json!({"task": "TASK-002", "title": "of another task"}));
    lab.no("UNKNOWN_ID", "steps_get", json!({"task": "TASK-002", "step": "STEP-00000001"}));
    lab.no("INVALID_INPUT", "steps_get", json!({"task": "TASK-001"}));
    let both = json!({"task": "TASK-001", "step": "STEP-00000001", "path": "s:0"});
    lab.no("INVALID_INPUT", "steps_get", both);
}

#[test]
fn steps_are_listed_in_the_order_of_their_paths() {
    let lab = started();
    for _ in 2..=10 {
        lab.w("steps_create", json!({"task": "TASK-001", "title": "more"}));
    }
    lab.w("steps_create", json!({"task": "TASK-001", "title": "0.1", "parent": "s:0"}));
    lab.w("steps_create", json!({"task": "TASK-001", "title": "0.0.0", "parent": "s:0.s:0"}));
    let paths = crate::lab::all(&lab.w("steps_list", json!({"task": "TASK-001"})), "path");
    let first = ["s:0", "s:0.s:0", "s:0.s:0.s:0", "s:0.s:1", "s:1", "s:2"];
    assert_eq!(paths[..6], first);
    assert_eq!(paths.last().unwrap(), "s:10");
    assert_eq!(
        lab.w("steps_get", json!({"task": "TASK-001", "path": "s:0"}))["step"]["revision"],
        0
    );
}

/// The write, what it writes to, and how that is fetched.
#[rstest]
#[case("plans_patch", json!({"plan": "PLAN-001", "title": "new"}), "plan")]
#[case("tasks_patch", json!({"task": "TASK-001", "notes": "new"}), "task")]
#[case("tasks_patch", json!({"title": "of the focus"}), "task")]
#[case("steps_patch", json!({"task": "TASK-001", "path": "s:0", "title": "new"}), "step")]
#[case("graph_node_patch", json!({"node": "x", "type": "U"}), "node")]
fn revisions(#[case] tool: &str, #[case] write: Value, #[case] entity: &str) {
    let lab = started();
    lab.w("tasks_focus", json!({"task": "TASK-001"}));
    lab.w("graph_node_create", json!({"node": "x", "type": "T"}));
    let with = |name: &str, revision: Value| {
        let mut write = write.clone();
        write[name] = revision;
        write
    };
    let revision = |result: &Value| result[entity]["revision"].as_u64().unwrap();
    let first = revision(&lab.w(tool, write.clone()));
    assert_eq!(first, if entity == "node" { 2 } else { 1 });
    assert_eq!(revision(&lab.w(tool, with("expected_revision", json!(first)))), first + 1);
    assert_eq!(revision(&lab.w(tool, with("expected_version", json!(first + 1)))), first + 2);
    let mut both = with("expected_version", json!(first + 2));
    both["expected_revision"] = json!(first + 2);
    assert_eq!(revision(&lab.w(tool, both.clone())), first + 3);

    both["expected_revision"] = json!(first + 3);
    lab.no("INVALID_INPUT", tool, both);
    lab.no("INVALID_INPUT", tool, with("expected_revision", json!(-1)));
    lab.no("INVALID_INPUT", tool, with("expected_revision", json!("1")));
    lab.no("INVALID_INPUT", tool, with("expected_revision", Value::Null));
    for stale in [json!(first), json!(first + 4), json!(u64::MAX), json!(1e300)] {
        for name in ["expected_revision", "expected_version"] {
            let refused = lab.no("REVISION_MISMATCH", tool, with(name, stale.clone()));
            let suggestions = refused["suggestions"].as_array().unwrap();
            assert_eq!(suggestions.len(), 2, "{suggestions:?}");
            assert_eq!(suggestions[0]["target"], tool);
            assert_eq!(suggestions[0]["params"]["expected_revision"], first + 3);
            assert_eq!(suggestions[0]["params"].get("expected_version"), None);
            assert_eq!(revision(&lab.follow(&suggestions[1])), first + 3, "nothing was changed");
        }
    }
    let refused = lab.no("REVISION_MISMATCH", tool, with("expected_version", json!(0)));
    assert_eq!(revision(&lab.follow(&refused["suggestions"][0])), first + 4);
}

#[rstest]
#[case("tasks_patch", json!({"task": "TASK-001"}))]
#[case("tasks_patch", json!({"task": "TASK-001", "expected_revision": 0, "strict_targeting": true}))]
#[case("steps_patch", json!({"task": "TASK-001", "path": "s:0"}))]
#[case("steps_patch", json!({"task": "TASK-001", "path": "s:0", "checkpoints": {}}))]
#[case("graph_node_patch", json!({"node": "x"}))]
fn a_patch_names_something_to_change(#[case] tool: &str, #[case] arguments: Value) {
    let lab = started();
    lab.w("graph_node_create", json!({"node": "x", "type": "T"}));
    lab.no("INVALID_INPUT", tool, arguments);
}

#[test]
fn a_patch_without_a_task_means_the_focus() {
    let lab = started();
    let refused = lab.no("INVALID_INPUT", "tasks_patch", json!({"title": "x"}));
    lab.follow(&refused["suggestions"][0]);
    let focused = lab.w("tasks_focus", json!({"task": "TASK-002"}));
    assert_eq!(focused["task"]["revision"], 0);
    assert_eq!(lab.w("tasks_patch", json!({"title": "x"}))["task"]["id"], "TASK-002");
    lab.w("tasks_focus", json!({"task": "TASK-001"}));
    let done = lab.w("tasks_patch", json!({"status": "done"}));
    assert_eq!(
        (&done["task"]["id"], &done["task"]["status"]),
        (&json!("TASK-001"), &json!("done"))
    );
    let named = lab.w("tasks_patch", json!({"task": "TASK-002", "notes": ""}));
    assert_eq!(
        (&named["task"]["id"], &named["task"]["notesBytes"]),
        (&json!("TASK-002"), &json!(0))
    );
    assert_eq!(lab.w("tasks_patch", json!({"status": "open"}))["task"]["status"], "open");
}

#[test]
fn the_expected_target() {
    let lab = started();
    lab.w("tasks_focus", json!({"task": "TASK-001"}));
    let refused = lab.no(
        "EXPECTED_TARGET_MISMATCH",
        "tasks_patch",
        json!({"title": "x", "expected_target_id": "TASK-002"}),
    );
    assert_eq!(lab.follow(&refused["suggestions"][0])["task"]["id"], "TASK-002");
    assert_eq!(lab.follow(&refused["suggestions"][1])["task"]["title"], "A", "it was not patched");
    for wrong in ["TASK-002", "TASK-999", "PLAN-001"] {
        let patch = json!({"task": "TASK-001", "title": "x", "expected_target_id": wrong});
        lab.no("EXPECTED_TARGET_MISMATCH", "tasks_patch", patch);
    }
    lab.w("tasks_patch", json!({"title": "x", "expected_target_id": "TASK-001"}));
    let named = json!({"task": "TASK-002", "title": "x", "expected_target_id": "TASK-002"});
    lab.w("tasks_patch", named);
    let ill_formed = json!({"title": "x", "expected_target_id": "TASK-1"});
    lab.no("INVALID_INPUT", "tasks_patch", ill_formed);
}

#[test]
fn strict_targeting() {
    let code = "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID";
    let lab = started();
    let strict = json!({"title": "x", "strict_targeting": true});
    let refused = lab.no(code, "tasks_patch", strict.clone());
    assert_eq!(refused["suggestions"][0]["target"], "tasks_list", "nothing is in focus");
    lab.w("tasks_focus", json!({"task": "TASK-002"}));
    let refused = lab.no(code, "tasks_patch", strict.clone());
    assert_eq!(refused["suggestions"][0]["params"]["expected_target_id"], "TASK-002");
    assert_eq!(lab.follow(&refused["suggestions"][0])["task"]["revision"], 1);
    lab.w("tasks_patch", json!({"task": "TASK-001", "title": "x", "strict_targeting": true}));
    lab.w("tasks_patch", json!({"title": "x", "strict_targeting": false}));
    let other = json!({"title": "x", "strict_targeting": true, "expected_target_id": "TASK-001"});
    lab.no("EXPECTED_TARGET_MISMATCH", "tasks_patch", other);
}

#[test]
fn a_step_is_done_when_its_checkpoints_are_confirmed() {
    let lab = started();
    let patch = |changes: Value| {
        let mut patch = json!({"task": "TASK-001", "step": "STEP-00000001"});
        patch.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        patch
    };
    let code = "CHECKPOINTS_NOT_CONFIRMED";
    lab.no(code, "steps_patch", patch(json!({"status": "done"})));
    let criteria = json!({"status": "done", "checkpoints": {"criteria": true}});
    lab.no(code, "steps_patch", patch(criteria));
    let step = lab.w("steps_patch", patch(json!({"checkpoints": {"criteria": true}})));
    assert_eq!(step["step"]["checkpoints"], json!({"criteria": true, "tests": false}));
    let refused = lab.no(
        code,
        "steps_patch",
        patch(json!({"status": "done", "title": "T", "expected_revision": 1})),
    );
    let closed = lab.follow(&refused["suggestions"][0]);
    assert_eq!(
        closed["step"],
        json!({
            "id": "STEP-00000001", "task": "TASK-001", "path": "s:0", "title": "T", "status": "done",
            "checkpoints": {"criteria": true, "tests": true}, "revision": 2,
        })
    );
    lab.no(code, "steps_patch", patch(json!({"checkpoints": {"tests": false}})));
    let open =
        lab.w("steps_patch", patch(json!({"status": "open", "checkpoints": {"tests": false}})));
    assert_eq!(open["step"]["status"], "open");
    let last = patch(json!({"status": "done", "checkpoints": {"tests": true}}));
    assert_eq!(lab.w("steps_patch", last)["step"]["status"], "done");
}

#[test]
fn titles_are_counted_in_characters() {
    let lab = Lab::new();
    for length in [1, 499, 500] {
        lab.w("plans_create", json!({"title": "\u{1f600}".repeat(length)}));
    }
    lab.no("INVALID_INPUT", "plans_create", json!({"title": ""}));
    lab.no("INVALID_INPUT", "plans_create", json!({"title": "\u{1f600}".repeat(501)}));
    lab.w("plans_create", json!({"title": " \n\u{0}|"}));
}

#[test]
fn missing_and_duplicate_workspaces_are_refused() {
    let lab = Lab::new();
    let refused = lab.call("plans_create", &json!({"workspace": "new", "title": "P"}));
    assert_eq!(refused["error"]["code"], "UNKNOWN_WORKSPACE");
    assert_eq!(refused["suggestions"][0]["priority"], "high");
    lab.follow(&refused["suggestions"][0]);
    lab.ok("plans_create", json!({"workspace": "new", "title": "P"}));
    let refused = lab.call("workspaces_create", &json!({"workspace": "new"}));
    assert_eq!(refused["error"]["code"], "CONFLICT");
    assert_eq!(lab.follow(&refused["suggestions"][0])["total"], 1, "it was not emptied");
}
