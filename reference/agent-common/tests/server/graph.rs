//! The graph: names made canonical, branches, merges and conflicts.

use rstest::rstest;
use serde_json::{Value, json};

use crate::lab::{Lab, all};

/// Each word is a call: `a:x=T` makes or patches a node of a branch, `+a` and `+a<b` make a branch, `a:x>y` makes an
/// edge, `a->b` merges. Returns the answers to merges.
fn play(lab: &Lab, script: &str) -> Vec<Value> {
    let mut merges = Vec::new();
    for word in script.split_whitespace() {
        if let Some((from, into)) = word.split_once("->") {
            merges.push(lab.w("graph_merge", json!({"from": from, "into": into})));
        } else if let Some(branch) = word.strip_prefix('+') {
            let (branch, from) = branch.split_once('<').unwrap_or((branch, "main"));
            lab.w("graph_branch_create", json!({"branch": branch, "from": from}));
        } else {
            let (branch, rest) = word.split_once(':').unwrap();
            if let Some((from, to)) = rest.split_once('>') {
                let edge = json!({"branch": branch, "from": from, "rel": "r", "to": to});
                lab.w("graph_edge_create", edge);
                continue;
            }
            let (node, kind) = rest.split_once('=').unwrap();
            let arguments = json!({"branch": branch, "node": node, "type": kind});
            let get = json!({"workspace": "w", "branch": branch, "node": node});
            let there = lab.call("graph_node_get", &get)["success"] == true;
            lab.w(if there { "graph_node_patch" } else { "graph_node_create" }, arguments);
        }
    }
    merges
}

/// The nodes of a branch as `id=type@revision`.
fn nodes(lab: &Lab, branch: &str) -> String {
    let list = lab.w("graph_node_list", json!({"branch": branch}));
    let items = list["items"].as_array().unwrap();
    let word = |node: &Value| {
        let text = |name: &str| node[name].as_str().unwrap();
        format!("{}={}@{}", text("id"), text("type"), node["revision"])
    };
    items.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_each_looks_like() {
    let lab = Lab::new();
    let branch = lab.w("graph_branch_create", json!({"branch": "a"}));
    assert_eq!(branch, json!({"branch": {"id": "a", "revision": 0}}));
    let node = json!({"node": " x ", "type": "\tT\n", "props": {"k": " v "}});
    let made = lab.w("graph_node_create", node);
    assert_eq!(
        made,
        json!({"node": {"id": "x", "type": "T", "props": {"k": " v "}, "revision": 1}})
    );
    assert_eq!(lab.w("graph_node_get", json!({"node": "x\u{2003}", "branch": "main"})), made);
    let edge = lab.w("graph_edge_create", json!({"from": "x ", "rel": " is ", "to": " x"}));
    assert_eq!(edge, json!({"edge": {"from": "x", "rel": "is", "to": "x", "revision": 0}}));
    let patched = lab.w("graph_node_patch", json!({"node": "x", "props": {"l": "w"}}));
    assert_eq!(patched["node"]["props"], json!({"l": "w"}));
    assert_eq!(patched["node"]["type"], "T");
}

#[test]
fn existing_names_are_conflicts() {
    let lab = Lab::new();
    play(&lab, "main:x=T main:x>x +a");
    let again = [
        ("graph_node_create", json!({"node": " x", "type": "U"})),
        ("graph_edge_create", json!({"from": "x", "rel": "r ", "to": "x"})),
        ("graph_branch_create", json!({"branch": "a"})),
        ("graph_branch_create", json!({"branch": "main"})),
    ];
    for (tool, arguments) in again {
        let refused = lab.no("CONFLICT", tool, arguments);
        lab.follow(&refused["suggestions"][0]);
    }
    assert_eq!(nodes(&lab, "main"), "x=T@1");
}

#[rstest]
#[case("graph_node_get", json!({"node": "y"}), "UNKNOWN_ID")]
#[case("graph_node_get", json!({"node": "x", "branch": "b"}), "UNKNOWN_ID")]
#[case("graph_node_list", json!({"branch": "b"}), "UNKNOWN_ID")]
#[case("graph_branch_create", json!({"branch": "c", "from": "b"}), "UNKNOWN_ID")]
#[case("graph_edge_create", json!({"from": "x", "rel": "r", "to": "y"}), "UNKNOWN_ID")]
#[case("graph_edge_create", json!({"from": "y", "rel": "r", "to": "x"}), "UNKNOWN_ID")]
#[case("graph_merge", json!({"from": "b", "into": "main"}), "UNKNOWN_ID")]
#[case("graph_merge", json!({"from": "main", "into": "b"}), "UNKNOWN_ID")]
#[case("graph_conflict_get", json!({"conflict": "CONFLICT-00000000000000000000000000000000"}), "UNKNOWN_ID")]
#[case("graph_conflict_get", json!({"conflict": "CONFLICT-0"}), "INVALID_INPUT")]
#[case("graph_merge", json!({"from": "main", "into": "main"}), "INVALID_INPUT")]
#[case("graph_node_create", json!({"node": "a|b", "type": "T"}), "INVALID_NAME")]
#[case("graph_node_create", json!({"node": "y", "type": "a\u{0}b"}), "INVALID_NAME")]
#[case("graph_node_create", json!({"node": "y", "type": "T", "props": {"k": 1}}), "INVALID_INPUT")]
#[case("graph_node_create", json!({"node": "y", "type": "T", "branch": "-"}), "INVALID_NAME")]
#[case("graph_edge_create", json!({"from": "x", "rel": "a|b", "to": "x"}), "INVALID_NAME")]
#[case("graph_branch_create", json!({"branch": " a"}), "INVALID_NAME")]
fn refused(#[case] tool: &str, #[case] arguments: Value, #[case] code: &str) {
    let lab = Lab::new();
    play(&lab, "main:x=T");
    let refused = lab.no(code, tool, arguments);
    if code == "UNKNOWN_ID" {
        lab.follow(&refused["suggestions"][0]);
    }
    assert_eq!(nodes(&lab, "main"), "x=T@1");
}

#[test]
fn a_branch_is_a_copy_and_goes_its_own_way() {
    let lab = Lab::new();
    play(&lab, "main:x=T main:x=U main:x>x +a a:x=V a:y=T a:x>y");
    assert_eq!(nodes(&lab, "main"), "x=U@2");
    assert_eq!(nodes(&lab, "a"), "x=V@3 y=T@1");
    assert_eq!(lab.w("graph_edge_list", json!({}))["total"], 1);
    assert_eq!(all(&lab.w("graph_edge_list", json!({"branch": "a"})), "to"), ["x", "y"]);
}

#[rstest]
// Only `from` changed it, or made it.
#[case("main:x=T +a a:x=U a:y=T a->main", 2, "x=U@2 y=T@1")]
// Only `into` did.
#[case("main:x=T +a main:x=U main:y=T a->main", 0, "x=U@2 y=T@1")]
// Both did the same.
#[case("main:x=T +a main:x=U a:x=V a:x=U main:y=T a:y=T a->main", 0, "x=U@2 y=T@1")]
// It was changed and changed back.
#[case("main:x=T +a a:x=U a:x=T a->main", 0, "x=T@1")]
#[case("main:x=T +a a:x=U main:x=V main:x=T a->main", 1, "x=U@4")]
// Edges, and nodes that come with them.
#[case("main:x=T +a a:y=T a:x>y a:x>x main:x>x a->main", 2, "x=T@1 y=T@1")]
// What was merged is not merged again; what came since is.
#[case("main:x=T +a a:x=U a->main a->main", 0, "x=U@2")]
#[case("main:x=T +a a:x=U a->main a:x=V a->main", 1, "x=V@3")]
#[case("main:x=T +a a:x=U a->main main:x=V a->main", 0, "x=V@3")]
// Back and forth.
#[case("main:x=T +a a:x=U a->main main:x=V main->a a:x=W a->main", 1, "x=W@4")]
// Branches that parted from the same third one.
#[case("main:x=T +a main:x=U +b a:y=T a->b b->main", 1, "x=U@2 y=T@1")]
#[case("main:x=T +a a:x=U +b<a b:x=V b->main", 1, "x=V@2")]
fn a_merge(#[case] script: &str, #[case] merged: u64, #[case] after: &str) {
    let lab = Lab::new();
    let merges = play(&lab, script);
    assert_eq!(merges.last().unwrap(), &json!({"merged": merged, "conflicts": []}));
    assert_eq!(nodes(&lab, "main"), after);
}

#[test]
fn a_conflict_is_reported_completely_and_identically() {
    let lab = Lab::new();
    let merges = play(&lab, "main:x=T +a a:x=U a:y=T main:x=V a->main a->main");
    // The first 32 digits of the SHA-256 of ["w","a","main","graph","node","x",1,2,2], by another program.
    let id = "CONFLICT-43e9ab34ce378d057ecc881664bc7b13";
    let side = |kind: &str| json!({"type": kind, "props": {}});
    let conflict = json!({
        "id": id, "kind": "node", "key": "x", "from": "a", "into": "main", "status": "open",
        "base": side("T"), "ours": side("V"), "theirs": side("U"), "revision": 0,
    });
    assert_eq!(merges[0], json!({"merged": 1, "conflicts": [conflict]}));
    assert_eq!(merges[1], json!({"merged": 0, "conflicts": [conflict]}));
    assert_eq!(lab.w("graph_conflict_get", json!({"conflict": id})), json!({"conflict": conflict}));
    assert_eq!(lab.w("graph_conflict_list", json!({}))["total"], 1);
    assert_eq!(nodes(&lab, "main"), "x=V@2 y=T@1");
}

#[test]
fn a_node_that_both_made_differently_has_no_base() {
    let lab = Lab::new();
    play(&lab, "+a");
    let node = "\u{e4} \" x";
    lab.w("graph_node_create", json!({"node": node, "type": "T"}));
    lab.w(
        "graph_node_create",
        json!({"node": node, "type": "T", "branch": "a", "props": {"k": ""}}),
    );
    let merges = play(&lab, "a->main");
    // Of ["w","a","main","graph","node","ä \" x",0,1,1].
    assert_eq!(merges[0]["conflicts"][0]["id"], "CONFLICT-282cb5e3af7b6fb8e8a8a3612c7a44c8");
    assert_eq!(merges[0]["conflicts"][0]["base"], Value::Null);
}

#[rstest]
#[case("ours", "x=V@2", "x=V@2")]
#[case("theirs", "x=U@3", "x=U@3")]
fn resolved(#[case] take: &str, #[case] after: &str, #[case] after_another_merge: &str) {
    let lab = Lab::new();
    let merges = play(&lab, "main:x=T +a a:x=U main:x=V a->main");
    let id = merges[0]["conflicts"][0]["id"].clone();
    let resolve = |take: &str, expected: u64| json!({"conflict": id, "take": take, "expected_revision": expected});
    let refused = lab.no("REVISION_MISMATCH", "graph_conflict_resolve", resolve(take, 1));
    assert_eq!(refused["suggestions"].as_array().unwrap().len(), 2);
    assert_eq!(nodes(&lab, "main"), "x=V@2");
    let now = lab.w("graph_conflict_resolve", resolve(take, 0));
    assert_eq!(
        (&now["conflict"]["status"], &now["conflict"]["revision"]),
        (&json!("resolved"), &json!(1))
    );
    assert_eq!(now["conflict"]["ours"]["type"], "V", "the conflict keeps the old state");
    assert_eq!(nodes(&lab, "main"), after);
    let again = play(&lab, "a->main");
    assert_eq!(again[0], json!({"merged": 0, "conflicts": []}));
    assert_eq!(nodes(&lab, "main"), after_another_merge);
    assert_eq!(lab.w("graph_conflict_list", json!({}))["total"], 1);
    let settled = lab.no("CONFLICT", "graph_conflict_resolve", resolve("theirs", 1));
    assert_eq!(lab.follow(&settled["suggestions"][0]), now);
    let stale = lab.no("REVISION_MISMATCH", "graph_conflict_resolve", resolve("ours", 0));
    let targets: Vec<_> =
        stale["suggestions"].as_array().unwrap().iter().map(|s| &s["target"]).collect();
    assert_eq!(targets, ["graph_conflict_get"], "the same write would be refused");
}

#[test]
fn theirs_is_the_state_of_from_at_the_merge() {
    let lab = Lab::new();
    let merges = play(&lab, "main:x=T +a a:x=U main:x=V a->main a:x=W");
    let id = &merges[0]["conflicts"][0]["id"];
    lab.w("graph_conflict_resolve", json!({"conflict": id, "take": "theirs"}));
    assert_eq!(nodes(&lab, "main"), "x=U@3");
    assert_eq!(play(&lab, "a->main")[0], json!({"merged": 1, "conflicts": []}));
    assert_eq!(nodes(&lab, "main"), "x=W@4");
}

/// Resolves the conflict that the last merge reported.
fn resolve(lab: &Lab, merges: &[Value], take: &str) {
    let id = &merges.last().unwrap()["conflicts"][0]["id"];
    lab.w("graph_conflict_resolve", json!({"conflict": id, "take": take}));
}

#[test]
fn an_old_conflict_does_not_undo_a_later_merge() {
    let lab = Lab::new();
    let old = play(&lab, "main:x=T +a a:x=U main:x=V a->main");
    let new = play(&lab, "a:x=W a->main");
    assert_ne!(old[0]["conflicts"][0]["id"], new[0]["conflicts"][0]["id"]);
    resolve(&lab, &new, "ours");
    resolve(&lab, &old, "ours");
    assert_eq!(play(&lab, "a->main")[0], json!({"merged": 0, "conflicts": []}));
    assert_eq!(nodes(&lab, "main"), "x=V@2");
}

#[test]
fn theirs_is_not_written_where_it_stands_already() {
    let lab = Lab::new();
    let merges = play(&lab, "main:x=T +a a:x=U main:x=V a->main main:x=U");
    resolve(&lab, &merges, "theirs");
    assert_eq!(nodes(&lab, "main"), "x=U@3");
}

#[test]
fn a_branch_of_a_branch_parted_from_main_where_its_parent_did() {
    let lab = Lab::new();
    let merges = play(&lab, "main:x=T +a a:x=U +b<a b:x=V main:x=W b->main");
    // Of ["w","b","main","graph","node","x",1,3,2].
    assert_eq!(merges[0]["conflicts"][0]["id"], "CONFLICT-4613fea81f72322378a06b4c434afd65");
    assert_eq!(merges[0]["conflicts"][0]["base"]["type"], "T");
}

#[test]
fn resolved_nodes_are_merged_back() {
    let lab = Lab::new();
    let merges = play(&lab, "main:x=T +a a:x=U main:x=V a->main");
    resolve(&lab, &merges, "ours");
    assert_eq!(play(&lab, "main->a")[0], json!({"merged": 1, "conflicts": []}));
    assert_eq!(nodes(&lab, "a"), "x=V@3");
}
