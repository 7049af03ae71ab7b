//! Merging: the state of two branches when they parted, and their changes since.
//!
//! For each two branches, the server keeps a base for every node that one of them wrote since they parted or were
//! last merged. A node without a base is the same in both. So a node's base is recorded at its first write, and a
//! merge looks only at nodes with a base. Edges are only created, never changed, so they need no base: an edge that
//! only `from` has was created in `from`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::graph::{Scope, copied, known};
use super::{Call, Outcome, fetch, one, unknown};
use crate::args::Take;
use crate::ids::ConflictId;
use crate::names::{BranchName, GraphNodeId, WorkspaceId};
use crate::records::{Base, Branch, Conflict, ConflictStatus, Content, Edge, Node};
use crate::refusal::{Code, Refusal};
use crate::tables::Draft;

/// Two branches, in either order.
type Pair = (WorkspaceId, BranchName, BranchName);

fn pair(workspace: &WorkspaceId, one: &BranchName, other: &BranchName) -> Pair {
    let (first, second) = if one < other { (one, other) } else { (other, one) };
    (workspace.clone(), first.clone(), second.clone())
}

fn others(draft: &Draft, (workspace, branch): &Scope) -> Vec<BranchName> {
    let names = draft.rows::<Branch>(workspace).map(|(name, _)| name);
    names.filter(|name| *name != branch).cloned().collect()
}

/// Writes a node, after recording its base towards every other branch.
pub(super) fn write(draft: &mut Draft, scope: &Scope, id: &GraphNodeId, content: Content) -> Node {
    let before = draft.get::<Node>(scope, id).cloned();
    let revision = before.as_ref().map_or(0, |node| node.revision);
    for other in others(draft, scope) {
        let pair = pair(&scope.0, &scope.1, &other);
        if draft.get::<Base>(&pair, id).is_none() {
            let there = draft.get::<Node>(&(scope.0.clone(), other.clone()), id);
            let revisions = BTreeMap::from([
                (scope.1.clone(), revision),
                (other, there.map_or(0, |node| node.revision)),
            ]);
            let content = before.as_ref().map(|node| node.content.clone());
            draft.put(&pair, id, Base { content, revisions });
        }
    }
    let node = Node { content, revision: revision + 1 };
    draft.put(scope, id, node.clone());
    node
}

/// `name` parts from `from`. It inherits the bases of `from` towards all third branches.
pub(super) fn part(draft: &mut Draft, from: &Scope, name: &BranchName) {
    let (workspace, parent) = from;
    for other in others(draft, from) {
        for (id, mut base) in copied(draft.rows::<Base>(&pair(workspace, parent, &other))) {
            if let Some(revision) = base.revisions.remove(parent) {
                base.revisions.insert(name.clone(), revision);
            }
            draft.put(&pair(workspace, name, &other), &id, base);
        }
    }
}

pub(super) fn merge(draft: &mut Draft, call: &Call) -> Outcome {
    let from: BranchName = call.args.required("from")?;
    let into: BranchName = call.args.required("into")?;
    if from == into {
        let message = "`from` and `into` are the same branch; name two";
        return Err(Refusal::invalid_input(message));
    }
    let workspace = call.workspace(draft)?;
    let from = known(draft, &workspace, from)?;
    let into = known(draft, &workspace, into)?;
    let pair = pair(&workspace, &from.1, &into.1);
    let mut merged = 0_u64;
    let mut conflicts = Vec::new();
    for (id, base) in copied(draft.rows::<Base>(&pair)) {
        let theirs = draft.get::<Node>(&from, &id).cloned();
        let ours = draft.get::<Node>(&into, &id).cloned();
        let (their_content, our_content) = (content(&theirs), content(&ours));
        if their_content == our_content {
            draft.remove::<Base>(&pair, &id);
        } else if their_content == base.content {
            // Only `into` changed it.
        } else if let Some(theirs) = &their_content
            && our_content == base.content
        {
            write(draft, &into, &id, theirs.clone());
            draft.remove::<Base>(&pair, &id);
            merged += 1;
        } else {
            conflicts.push(conflict(draft, &from, &into, &id, &base, theirs, ours));
        }
    }
    let missing = draft.rows::<Edge>(&from).map(|(name, _)| name);
    let missing: Vec<_> =
        missing.filter(|name| draft.get::<Edge>(&into, name).is_none()).cloned().collect();
    for name in missing {
        draft.put(&into, &name, Edge::default());
        merged += 1;
    }
    let mut result = one("merged", merged.into());
    result.insert("conflicts".to_owned(), Value::Array(conflicts));
    Ok(result)
}

fn content(node: &Option<Node>) -> Option<Content> {
    node.as_ref().map(|node| node.content.clone())
}

/// The conflict of this node; created unless it exists.
fn conflict(
    draft: &mut Draft,
    from: &Scope,
    into: &Scope,
    key: &GraphNodeId,
    base: &Base,
    theirs: Option<Node>,
    ours: Option<Node>,
) -> Value {
    let revision = |node: &Option<Node>| node.as_ref().map_or(0, |node| node.revision);
    let base_revision = base.revision_in(&from.1);
    let identity = json!([
        from.0,
        from.1,
        into.1,
        "graph",
        "node",
        key,
        base_revision,
        revision(&theirs),
        revision(&ours),
    ]);
    let id = ConflictId::of(&Sha256::digest(identity.to_string()));
    if let Some(conflict) = draft.get::<Conflict>(&from.0, &id) {
        return conflict.view(&id);
    }
    let conflict = Conflict {
        key: key.clone(),
        from: from.1.clone(),
        into: into.1.clone(),
        status: ConflictStatus::Open,
        base: base.content.clone(),
        ours: content(&ours),
        theirs: content(&theirs),
        revision: 0,
        base_revision,
        theirs_revision: revision(&theirs),
    };
    let view = conflict.view(&id);
    draft.put(&from.0, &id, conflict);
    view
}

fn find<'d>(
    draft: &'d Draft,
    workspace: &WorkspaceId,
    id: &ConflictId,
) -> Result<&'d Conflict, Refusal> {
    draft.get(workspace, id).ok_or_else(|| {
        unknown("conflict", id.as_str(), "graph_conflict_list", json!({ "workspace": workspace }))
    })
}

pub(super) fn get(draft: &mut Draft, call: &Call) -> Outcome {
    let workspace = call.workspace(draft)?;
    let id: ConflictId = call.args.required("conflict")?;
    Ok(one("conflict", find(draft, &workspace, &id)?.view(&id)))
}

pub(super) fn resolve(draft: &mut Draft, call: &Call) -> Outcome {
    let expected = call.expected()?;
    let take: Take = call.args.required("take")?;
    let workspace = call.workspace(draft)?;
    let id: ConflictId = call.args.required("conflict")?;
    let mut conflict = find(draft, &workspace, &id)?.clone();
    let now = fetch("graph_conflict_get", json!({ "workspace": workspace, "conflict": id }));
    call.check_revision(expected, conflict.revision, now.clone())?;
    if conflict.status == ConflictStatus::Resolved {
        let message = format!("conflict `{id}` is resolved already");
        return Err(Refusal::new(Code::Conflict, message, "patch the node itself").with(now));
    }
    let into = (workspace.clone(), conflict.into.clone());
    let there = draft.get::<Node>(&into, &conflict.key).map(|node| node.content.clone());
    if let Some(theirs) = &conflict.theirs
        && take == Take::Theirs
        && there.as_ref() != Some(theirs)
    {
        write(draft, &into, &conflict.key, theirs.clone());
    }
    settle(draft, &workspace, &conflict);
    conflict.status = ConflictStatus::Resolved;
    conflict.revision += 1;
    let view = conflict.view(&id);
    draft.put(&workspace, &id, conflict);
    Ok(one("conflict", view))
}

/// The new base of both is what `from` had at the merge, unless a later merge went further.
fn settle(draft: &mut Draft, workspace: &WorkspaceId, conflict: &Conflict) {
    let pair = pair(workspace, &conflict.from, &conflict.into);
    let Some(base) = draft.get::<Base>(&pair, &conflict.key) else { return };
    if base.revision_in(&conflict.from) != conflict.base_revision {
        return;
    }
    let into = (workspace.clone(), conflict.into.clone());
    let ours = draft.get::<Node>(&into, &conflict.key).map_or(0, |node| node.revision);
    let revisions = BTreeMap::from([
        (conflict.from.clone(), conflict.theirs_revision),
        (conflict.into.clone(), ours),
    ]);
    draft.put(&pair, &conflict.key, Base { content: conflict.theirs.clone(), revisions });
}

pub(super) fn list(draft: &mut Draft, call: &Call) -> Outcome {
    let workspace = call.workspace(draft)?;
    let mut rows: Vec<_> = draft.rows::<Conflict>(&workspace).collect();
    // By content: ids are digests, and their order means nothing.
    rows.sort_by(|(id, one), (other_id, other)| {
        let about = |conflict: &Conflict| {
            (conflict.into.clone(), conflict.from.clone(), conflict.key.clone())
        };
        about(one).cmp(&about(other)).then_with(|| id.cmp(other_id))
    });
    call.list(rows.into_iter(), |(id, conflict)| conflict.view(id))
}
