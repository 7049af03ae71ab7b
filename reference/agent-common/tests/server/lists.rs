//! Lists and notes through the tools.

use rstest::rstest;
use serde_json::{Value, json};

use crate::lab::{Lab, all};

/// Three of everything that is listed.
fn filled() -> Lab {
    let lab = Lab::new();
    for name in ["v", "u"] {
        lab.ok("workspaces_create", json!({"workspace": name}));
    }
    for title in ["a", "b", "c"] {
        lab.w("plans_create", json!({"title": title}));
        lab.w("tasks_create", json!({"plan": "PLAN-001", "title": title}));
        lab.w("steps_create", json!({"task": "TASK-001", "title": title}));
        lab.w("graph_node_create", json!({"node": title, "type": "\u{e4}"}));
        lab.w("graph_edge_create", json!({"from": title, "rel": "is", "to": title}));
    }
    lab.w("graph_branch_create", json!({"branch": "side"}));
    for node in ["a", "b", "c"] {
        lab.w("graph_node_patch", json!({"node": node, "type": "M"}));
        lab.w("graph_node_patch", json!({"node": node, "type": "S", "branch": "side"}));
    }
    lab.w("graph_merge", json!({"from": "side", "into": "main"}));
    lab
}

#[rstest]
#[case("workspaces_list", json!({}))]
#[case("plans_list", json!({"workspace": "w"}))]
#[case("tasks_list", json!({"workspace": "w"}))]
#[case("tasks_list", json!({"workspace": "w", "plan": "PLAN-001"}))]
#[case("steps_list", json!({"workspace": "w", "task": "TASK-001"}))]
#[case("graph_node_list", json!({"workspace": "w"}))]
#[case("graph_node_list", json!({"workspace": "w", "branch": "side"}))]
#[case("graph_edge_list", json!({"workspace": "w"}))]
#[case("graph_conflict_list", json!({"workspace": "w"}))]
fn every_list_has_pages_and_a_cap(#[case] tool: &str, #[case] arguments: Value) {
    let lab = filled();
    let with = |knobs: Value| {
        let mut arguments = arguments.clone();
        arguments.as_object_mut().unwrap().extend(knobs.as_object().unwrap().clone());
        arguments
    };
    let whole = lab.ok(tool, arguments.clone());
    let items = whole["items"].as_array().unwrap();
    assert_eq!(items.len(), 3);
    assert_eq!(whole, json!({"items": items, "total": 3, "truncated": false}));
    assert_eq!(
        lab.ok(tool, with(json!({"limit": 2}))),
        json!({"items": items[..2], "total": 3, "truncated": true, "budget": {"used": 2, "limit": 2}})
    );
    assert_eq!(
        lab.ok(tool, with(json!({"limit": 2, "offset": 1}))),
        json!({"items": items[1..], "total": 3, "truncated": false})
    );
    let beyond = json!({"items": [], "total": 3, "truncated": false});
    assert_eq!(lab.ok(tool, with(json!({"offset": 3}))), beyond);
    assert_eq!(lab.ok(tool, with(json!({"offset": 1e19}))), beyond);
    let bytes = whole["items"].to_string().len();
    assert_eq!(lab.ok(tool, with(json!({"max_chars": bytes}))), whole);
    let cut = lab.ok(tool, with(json!({"max_chars": bytes - 1})));
    let used = cut["items"].to_string().len();
    assert_eq!(
        cut,
        json!({"items": items[..2], "total": 3, "truncated": true, "budget": {"used": used, "limit": bytes - 1}})
    );
    let none = lab.ok(tool, with(json!({"max_chars": 2})));
    assert_eq!((&none["items"], &none["budget"]["used"]), (&json!([]), &json!(2)));
    for max_chars in [0, 1] {
        let refused = lab.call(tool, &with(json!({"max_chars": max_chars})));
        assert_eq!(refused["error"]["code"], "BUDGET_EXCEEDED");
        assert_eq!(lab.follow(&refused["suggestions"][0]), whole);
    }
    for wrong in [
        json!({"limit": 0}),
        json!({"limit": 1001}),
        json!({"limit": 1.5}),
        json!({"limit": "1"}),
        json!({"limit": null}),
        json!({"offset": -1}),
        json!({"max_chars": -1}),
        json!({"max_chars": 2.5}),
        json!({"max_bytes": 10}),
    ] {
        let refused = lab.call(tool, &with(wrong.clone()));
        assert_eq!(refused["error"]["code"], "INVALID_INPUT", "{wrong}");
    }
    lab.ok(tool, with(json!({"limit": 1000, "offset": 0.0, "max_chars": 1e30})));
}

#[test]
fn fifty_items_are_shown_unless_more_are_asked_for() {
    let lab = Lab::new();
    for _ in 0..51 {
        lab.w("plans_create", json!({"title": "P"}));
    }
    let list = lab.w("plans_list", json!({}));
    assert_eq!(all(&list, "id").len(), 50);
    assert_eq!(list["budget"], json!({"used": 50, "limit": 50}));
    assert_eq!(all(&lab.w("plans_list", json!({"limit": 51})), "id").len(), 51);
}

#[test]
fn tasks_of_one_plan() {
    let lab = filled();
    lab.w("tasks_create", json!({"plan": "PLAN-002", "title": "d"}));
    assert_eq!(all(&lab.w("tasks_list", json!({"plan": "PLAN-002"})), "id"), ["TASK-004"]);
    assert_eq!(lab.w("tasks_list", json!({"plan": "PLAN-003"}))["total"], 0);
    assert_eq!(lab.w("tasks_list", json!({}))["total"], 4);
}

#[test]
fn nodes_are_listed_by_code_points() {
    let lab = Lab::new();
    for node in ["\u{10000}", "b", "\u{ffff}", "B", "\u{e4}", "a b", "a"] {
        lab.w("graph_node_create", json!({"node": node, "type": "T"}));
    }
    let order = ["B", "a", "a b", "b", "\u{e4}", "\u{ffff}", "\u{10000}"];
    assert_eq!(all(&lab.w("graph_node_list", json!({})), "id"), order);
}

#[test]
fn notes_are_cut_from_the_end() {
    let lab = Lab::new();
    lab.w("plans_create", json!({"title": "P"}));
    lab.w("tasks_create", json!({"plan": "PLAN-001", "title": "T", "notes": "a\u{e4}\nb\n"}));
    lab.w("tasks_create", json!({"plan": "PLAN-001", "title": "T"}));
    let notes = |knobs: Value| {
        let mut arguments = json!({"task": "TASK-001"});
        arguments.as_object_mut().unwrap().extend(knobs.as_object().unwrap().clone());
        lab.w("tasks_notes", arguments)
    };
    let whole = json!({"text": "a\u{e4}\nb\n", "truncated": false});
    assert_eq!(notes(json!({})), whole);
    assert_eq!(notes(json!({"max_chars": 6, "max_bytes": 6, "max_lines": 2})), whole);
    let cut = |text: &str, used: u64, limit: u64| json!({"text": text, "truncated": true, "budget": {"used": used, "limit": limit}});
    assert_eq!(notes(json!({"max_chars": 2})), cut("a", 1, 2));
    assert_eq!(notes(json!({"max_bytes": 3})), cut("a\u{e4}", 3, 3));
    assert_eq!(notes(json!({"max_lines": 1})), cut("a\u{e4}\n", 1, 1));
    assert_eq!(notes(json!({"max_chars": 5, "max_lines": 1})), cut("a\u{e4}\n", 1, 1));
    assert_eq!(notes(json!({"max_bytes": 4, "max_lines": 1})), cut("a\u{e4}\n", 4, 4));
    assert_eq!(notes(json!({"max_chars": 0})), cut("", 0, 0));
    let empty = lab.w("tasks_notes", json!({"task": "TASK-002", "max_chars": 0, "max_lines": 0}));
    assert_eq!(empty, json!({"text": "", "truncated": false}));
    lab.no("INVALID_INPUT", "tasks_notes", json!({"task": "TASK-001", "max_lines": -1}));
}
