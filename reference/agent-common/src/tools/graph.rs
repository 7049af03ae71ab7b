//! The graph: branches, nodes and edges.

use serde_json::{Value, json};

use super::{Call, Outcome, fetch, merge, one, unknown};
use crate::args::Props;
use crate::names::{BranchName, GraphNodeId, GraphType, WorkspaceId};
use crate::records::{Branch, Content, Edge, EdgeName, Node};
use crate::refusal::{Code, Refusal};
use crate::tables::Draft;

/// A branch of a workspace: what nodes and edges belong to.
pub(super) type Scope = (WorkspaceId, BranchName);

/// `branch`, if the workspace has it.
pub(super) fn known(
    draft: &Draft,
    workspace: &WorkspaceId,
    branch: BranchName,
) -> Result<Scope, Refusal> {
    if draft.get::<Branch>(workspace, &branch).is_some() {
        return Ok((workspace.clone(), branch));
    }
    // There is no list of branches; `main` always exists.
    let params = json!({ "workspace": workspace });
    Err(unknown("branch", branch.as_str(), "graph_node_list", params))
}

/// The branch of `call`: the one that it names, or `main`.
fn scope(draft: &Draft, call: &Call) -> Result<Scope, Refusal> {
    let branch = call.args.optional("branch")?.unwrap_or_else(BranchName::main);
    known(draft, &call.workspace(draft)?, branch)
}

fn find<'d>(draft: &'d Draft, scope: &Scope, id: &GraphNodeId) -> Result<&'d Node, Refusal> {
    draft.get(scope, id).ok_or_else(|| {
        let params = json!({ "workspace": scope.0, "branch": scope.1 });
        unknown("node", id.as_str(), "graph_node_list", params)
    })
}

fn get_of(scope: &Scope, id: &GraphNodeId) -> Value {
    json!({ "workspace": scope.0, "branch": scope.1, "node": id })
}

fn there_already(what: &str) -> Refusal {
    Refusal::new(Code::Conflict, format!("{what} is there already"), "use what is there")
}

pub(super) fn create_branch(draft: &mut Draft, call: &Call) -> Outcome {
    let name: BranchName = call.args.required("branch")?;
    let from = call.args.optional("from")?.unwrap_or_else(BranchName::main);
    let workspace = call.workspace(draft)?;
    let from = known(draft, &workspace, from)?;
    if draft.get::<Branch>(&workspace, &name).is_some() {
        let params = json!({ "workspace": workspace, "branch": name });
        let refusal = there_already(&format!("branch `{name}`"));
        return Err(refusal.with(fetch("graph_node_list", params)));
    }
    let nodes: Vec<_> = copied(draft.rows::<Node>(&from));
    let edges: Vec<_> = copied(draft.rows::<Edge>(&from));
    merge::part(draft, &from, &name);
    let to = (workspace, name);
    for (id, node) in nodes {
        draft.put(&to, &id, node);
    }
    for (edge, record) in edges {
        draft.put(&to, &edge, record);
    }
    let branch = Branch::default();
    let view = branch.view(&to.1);
    draft.put(&to.0, &to.1, branch);
    Ok(one("branch", view))
}

/// A copy of the records, because the draft changes during the loop.
pub(super) fn copied<'d, N: Clone + 'd, R: Clone + 'd>(
    rows: impl Iterator<Item = (&'d N, &'d R)>,
) -> Vec<(N, R)> {
    rows.map(|(name, record)| (name.clone(), record.clone())).collect()
}

pub(super) fn create_node(draft: &mut Draft, call: &Call) -> Outcome {
    let id: GraphNodeId = call.args.required("node")?;
    let kind: GraphType = call.args.required("type")?;
    let props = call.args.optional::<Props>("props")?.unwrap_or_default();
    let scope = scope(draft, call)?;
    if draft.get::<Node>(&scope, &id).is_some() {
        let refusal = there_already(&format!("node `{id}`"));
        return Err(refusal.with(fetch("graph_node_get", get_of(&scope, &id))));
    }
    Ok(one("node", merge::write(draft, &scope, &id, Content { kind, props }).view(&id)))
}

pub(super) fn get_node(draft: &mut Draft, call: &Call) -> Outcome {
    let id: GraphNodeId = call.args.required("node")?;
    let scope = scope(draft, call)?;
    Ok(one("node", find(draft, &scope, &id)?.view(&id)))
}

pub(super) fn patch_node(draft: &mut Draft, call: &Call) -> Outcome {
    let expected = call.expected()?;
    let id: GraphNodeId = call.args.required("node")?;
    let kind: Option<GraphType> = call.args.optional("type")?;
    let props: Option<Props> = call.args.optional("props")?;
    call.changes_one_of(&["type", "props"])?;
    let scope = scope(draft, call)?;
    let node = find(draft, &scope, &id)?;
    let now = fetch("graph_node_get", get_of(&scope, &id));
    call.check_revision(expected, node.revision, now)?;
    let mut content = node.content.clone();
    if let Some(kind) = kind {
        content.kind = kind;
    }
    if let Some(props) = props {
        content.props = props;
    }
    Ok(one("node", merge::write(draft, &scope, &id, content).view(&id)))
}

pub(super) fn list_nodes(draft: &mut Draft, call: &Call) -> Outcome {
    let scope = scope(draft, call)?;
    call.list(draft.rows::<Node>(&scope), |(id, node)| node.view(id))
}

pub(super) fn create_edge(draft: &mut Draft, call: &Call) -> Outcome {
    let name: EdgeName =
        (call.args.required("from")?, call.args.required("rel")?, call.args.required("to")?);
    let scope = scope(draft, call)?;
    find(draft, &scope, &name.0)?;
    find(draft, &scope, &name.2)?;
    if draft.get::<Edge>(&scope, &name).is_some() {
        let what = format!("edge `{}` -`{}`-> `{}`", name.0, name.1, name.2);
        let params = json!({ "workspace": scope.0, "branch": scope.1 });
        return Err(there_already(&what).with(fetch("graph_edge_list", params)));
    }
    let edge = Edge::default();
    let view = edge.view(&name);
    draft.put(&scope, &name, edge);
    Ok(one("edge", view))
}

pub(super) fn list_edges(draft: &mut Draft, call: &Call) -> Outcome {
    let scope = scope(draft, call)?;
    call.list(draft.rows::<Edge>(&scope), |(name, edge)| edge.view(name))
}
