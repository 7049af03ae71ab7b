//! Merging held against a naive model: whole copies instead of bases noted on the first write.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::lab::Lab;

const BRANCHES: [&str; 3] = ["main", "a", "b"];
const NODES: [&str; 2] = ["x", "y"];

#[derive(Debug, Clone)]
enum Act {
    Write { branch: &'static str, node: &'static str, kind: u8 },
    Part { branch: &'static str, from: &'static str },
    Merge { from: &'static str, into: &'static str },
    Resolve { which: usize, take: &'static str },
}

fn act() -> impl Strategy<Value = Act> {
    let branch = || prop::sample::select(&BRANCHES[..]);
    prop_oneof![
        5 => (branch(), prop::sample::select(&NODES[..]), 0..3_u8)
            .prop_map(|(branch, node, kind)| Act::Write { branch, node, kind }),
        2 => (branch(), branch()).prop_map(|(branch, from)| Act::Part { branch, from }),
        5 => (branch(), branch()).prop_map(|(from, into)| Act::Merge { from, into }),
        3 => (0..6_usize, prop::sample::select(&["ours", "theirs"][..]))
            .prop_map(|(which, take)| Act::Resolve { which, take }),
    ]
}

/// A kind and a revision; nothing where there is no node.
type State = BTreeMap<&'static str, (u8, u64)>;
type Pair = BTreeSet<&'static str>;

/// What a node was, and its revision in each of the two branches.
#[derive(Debug, Clone, Default)]
struct Was {
    kind: Option<u8>,
    revisions: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Clone)]
struct Clash {
    from: &'static str,
    into: &'static str,
    node: &'static str,
    base_revision: u64,
    theirs: (u8, u64),
    open: bool,
}

#[derive(Default)]
struct Model {
    branches: BTreeMap<&'static str, State>,
    bases: BTreeMap<Pair, BTreeMap<&'static str, Was>>,
    clashes: BTreeMap<String, Clash>,
}

impl Model {
    fn write(&mut self, branch: &'static str, node: &'static str, kind: u8) {
        let state = self.branches.get_mut(branch).unwrap();
        let revision = state.get(node).map_or(0, |(_, revision)| *revision);
        state.insert(node, (kind, revision + 1));
    }

    fn now(&self, one: &'static str, other: &'static str, node: &str) -> Was {
        let at = |branch: &'static str| self.branches[branch].get(node).copied();
        Was {
            kind: at(one).map(|(kind, _)| kind),
            revisions: [one, other].map(|name| (name, at(name).map_or(0, |(_, r)| r))).into(),
        }
    }

    fn part(&mut self, branch: &'static str, from: &'static str) {
        let copy = self.branches[from].clone();
        for other in self.branches.keys().copied().collect::<Vec<_>>() {
            let mut base = if other == from {
                NODES.map(|node| (node, self.now(from, from, node))).into()
            } else {
                self.bases[&Pair::from([from, other])].clone()
            };
            for was in base.values_mut() {
                let revision = was.revisions[from];
                was.revisions.insert(branch, revision);
            }
            self.bases.insert(Pair::from([branch, other]), base);
        }
        self.branches.insert(branch, copy);
    }

    /// How many were taken over, and the ids of the conflicts.
    fn merge(&mut self, from: &'static str, into: &'static str) -> (u64, Vec<String>) {
        let pair = Pair::from([from, into]);
        let (mut merged, mut ids) = (0, Vec::new());
        for node in NODES {
            let was = self.bases[&pair].get(node).cloned().unwrap_or_default();
            let theirs = self.branches[from].get(node).copied();
            let ours = self.branches[into].get(node).copied();
            let (their_kind, our_kind) = (theirs.map(|t| t.0), ours.map(|o| o.0));
            if their_kind == our_kind {
            } else if their_kind == was.kind {
                continue;
            } else if our_kind == was.kind {
                self.write(into, node, their_kind.unwrap());
                merged += 1;
            } else {
                let (theirs, ours) = (theirs.unwrap(), ours.unwrap());
                let base_revision = was.revisions.get(from).copied().unwrap_or(0);
                let answer = format!(
                    r#"["w","{from}","{into}","graph","node","{node}",{base_revision},{},{}]"#,
                    theirs.1, ours.1
                );
                let id = format!("CONFLICT-{}", &hex::encode(Sha256::digest(answer))[..32]);
                let clash = Clash { from, into, node, base_revision, theirs, open: true };
                self.clashes.entry(id.clone()).or_insert(clash);
                ids.push(id);
                continue;
            }
            let now = self.now(from, into, node);
            self.bases.get_mut(&pair).unwrap().insert(node, now);
        }
        (merged, ids)
    }

    fn resolve(&mut self, id: &str, take: &str) -> bool {
        let clash = self.clashes[id].clone();
        if !clash.open {
            return false;
        }
        self.clashes.get_mut(id).unwrap().open = false;
        let ours = self.branches[clash.into][clash.node];
        if take == "theirs" && ours.0 != clash.theirs.0 {
            self.write(clash.into, clash.node, clash.theirs.0);
        }
        let ours = self.branches[clash.into][clash.node];
        let bases = self.bases.get_mut(&Pair::from([clash.from, clash.into])).unwrap();
        let was = bases.entry(clash.node).or_default();
        if was.revisions.get(clash.from).copied().unwrap_or(0) == clash.base_revision {
            let revisions = [(clash.from, clash.theirs.1), (clash.into, ours.1)].into();
            *was = Was { kind: Some(clash.theirs.0), revisions };
        }
        true
    }
}

fn seen(lab: &Lab, branch: &str) -> Vec<(String, String, u64)> {
    let list = lab.w("graph_node_list", json!({"branch": branch}));
    let item = |node: &Value| {
        let text = |name: &str| node[name].as_str().unwrap().to_owned();
        (text("id"), text("type"), node["revision"].as_u64().unwrap())
    };
    list["items"].as_array().unwrap().iter().map(item).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merges_are_those_of_a_naive_model(acts in prop::collection::vec(act(), 1..80)) {
        let lab = Lab::new();
        let mut model = Model::default();
        model.branches.insert("main", State::new());
        for act in acts {
            match act.clone() {
                Act::Write { branch, node, kind } if model.branches.contains_key(branch) => {
                    let there = model.branches[branch].contains_key(node);
                    let tool = if there { "graph_node_patch" } else { "graph_node_create" };
                    lab.w(tool, json!({"branch": branch, "node": node, "type": format!("T{kind}")}));
                    model.write(branch, node, kind);
                }
                Act::Part { branch, from }
                    if !model.branches.contains_key(branch) && model.branches.contains_key(from) =>
                {
                    lab.w("graph_branch_create", json!({"branch": branch, "from": from}));
                    model.part(branch, from);
                }
                Act::Merge { from, into }
                    if from != into
                        && model.branches.contains_key(from)
                        && model.branches.contains_key(into) =>
                {
                    let (merged, conflicts) = model.merge(from, into);
                    let merge = json!({"from": from, "into": into});
                    let answer = lab.w("graph_merge", merge.clone());
                    let ids: Vec<_> = answer["conflicts"].as_array().unwrap().iter().map(|c| c["id"].clone()).collect();
                    prop_assert_eq!(&answer["merged"], merged);
                    prop_assert_eq!(ids, conflicts);
                    for conflict in answer["conflicts"].as_array().unwrap() {
                        prop_assert_eq!(&conflict["status"], "open");
                    }
                    let state = seen(&lab, into);
                    let again = lab.w("graph_merge", merge);
                    prop_assert_eq!(&again["merged"], 0);
                    prop_assert_eq!(&again["conflicts"], &answer["conflicts"]);
                    prop_assert_eq!(seen(&lab, into), state);
                }
                Act::Resolve { which, take } => {
                    let Some(id) = model.clashes.keys().nth(which).cloned() else { continue };
                    let resolve = json!({"workspace": "w", "conflict": id, "take": take});
                    let resolved = lab.call("graph_conflict_resolve", &resolve);
                    prop_assert_eq!(&resolved["success"], model.resolve(&id, take));
                }
                _ => continue,
            }
            for (branch, state) in &model.branches {
                let expected: Vec<_> = state
                    .iter()
                    .map(|(node, (kind, revision))| ((*node).to_owned(), format!("T{kind}"), *revision))
                    .collect();
                prop_assert_eq!(seen(&lab, branch), expected, "{} after {:?}", branch, act);
            }
            prop_assert_eq!(&lab.w("graph_conflict_list", json!({}))["total"], model.clashes.len());
        }
    }
}
