"""The tools of the graph: branches, nodes, edges, merges and their conflicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import kinds
from .budgets import page
from .errors import Code, Refusal, invalid, quote, suggest
from .graph import MAIN, Branch, Conflict, Graph, Node, edge_to_json
from .kinds import optional
from .store import Store
from .tools import Args, Tool, already_there, check_change, check_revision, find_workspace, unknown_id


def _graph(store: Store, args: Args) -> Graph:
    return find_workspace(store, args).graph


def _named_branch(graph: Graph, name: str) -> Branch:
    branch = graph.branches.get(name)
    if branch is None:
        raise unknown_id(f"branch {quote(name)}", "create it with graph_branch_create, or leave it out, which means `main`")
    return branch


def _branch(graph: Graph, args: Args) -> Branch:
    return _named_branch(graph, args.get("branch", MAIN))


def _in_branch(args: Args, branch: Branch, **more: str) -> dict[str, Any]:
    return {"workspace": args["workspace"], "branch": branch.name, **more}


def _node(branch: Branch, args: Args, member: str) -> Node:
    node = branch.nodes.get(args[member])
    if node is None:
        nodes = suggest("graph_node_list", "the branch's nodes", _in_branch(args, branch))
        raise unknown_id(
            f"node {quote(args[member])} in branch `{branch.name}`",
            "create it with graph_node_create, or name one that graph_node_list tells",
            nodes,
        )
    return node


def graph_branch_create(store: Store, args: Args) -> dict[str, Any]:
    graph = _graph(store, args)
    source = _named_branch(graph, args.get("from", MAIN))
    if args["branch"] in graph.branches:
        nodes = suggest("graph_node_list", "what it holds", {"workspace": args["workspace"], "branch": args["branch"]})
        raise already_there(f"a branch {quote(args['branch'])}", "use it, or choose another name", nodes)
    return {"branch": graph.add_branch(args["branch"], source).to_json()}


def graph_node_create(store: Store, args: Args) -> dict[str, Any]:
    graph = _graph(store, args)
    branch = _branch(graph, args)
    node = Node(args["node"], args["type"], args.get("props", {}))
    if node.id in branch.nodes:
        fetch = suggest("graph_node_get", "the node that is there", _in_branch(args, branch, node=node.id))
        raise already_there(f"a node {quote(node.id)}", "change it with graph_node_patch, or choose another id", fetch)
    graph.put_node(branch, node)
    return {"node": node.to_json()}


def graph_node_get(store: Store, args: Args) -> dict[str, Any]:
    return {"node": _node(_branch(_graph(store, args), args), args, "node").to_json()}


def graph_node_patch(store: Store, args: Args) -> dict[str, Any]:
    check_change(args, "type", "props")
    graph = _graph(store, args)
    branch = _branch(graph, args)
    node = _node(branch, args, "node")
    fetch = suggest("graph_node_get", "the node as it is now", _in_branch(args, branch, node=node.id))
    check_revision(args, node.revision, fetch, ("graph_node_patch", args))
    patched = replace(
        node,
        type=args.get("type", node.type),
        props=args.get("props", node.props),
        revision=node.revision + 1,
    )
    graph.put_node(branch, patched)
    return {"node": patched.to_json()}


def graph_node_list(store: Store, args: Args) -> dict[str, Any]:
    nodes = _branch(_graph(store, args), args).nodes
    # Python compares strings by code points, which is the promised order.
    return page("graph_node_list", args, [nodes[key] for key in sorted(nodes)], Node.to_json)


def graph_edge_create(store: Store, args: Args) -> dict[str, Any]:
    graph = _graph(store, args)
    branch = _branch(graph, args)
    edge = (_node(branch, args, "from").id, args["rel"], _node(branch, args, "to").id)
    if edge in branch.edges:
        edges = suggest("graph_edge_list", "the branch's edges", _in_branch(args, branch))
        raise already_there(f"such an edge {quote(args['rel'])}", "nothing is left to do", edges)
    graph.add_edge(branch, edge)
    return {"edge": edge_to_json(edge)}


def graph_edge_list(store: Store, args: Args) -> dict[str, Any]:
    return page("graph_edge_list", args, sorted(_branch(_graph(store, args), args).edges), edge_to_json)


def graph_merge(store: Store, args: Args) -> dict[str, Any]:
    if args["from"] == args["into"]:
        raise invalid("a branch cannot be merged into itself", "give two branches")
    graph = _graph(store, args)
    merged, conflicts = graph.merge(_named_branch(graph, args["from"]), _named_branch(graph, args["into"]))
    return {"merged": merged, "conflicts": [conflict.to_json() for conflict in conflicts]}


def _conflict(graph: Graph, args: Args) -> Conflict:
    conflict = graph.conflicts.get(args["conflict"])
    if conflict is None:
        conflicts = suggest("graph_conflict_list", "the conflicts that are there", {"workspace": args["workspace"]})
        raise unknown_id(f"conflict `{args['conflict']}`", "name a conflict that graph_conflict_list tells", conflicts)
    return conflict


def graph_conflict_get(store: Store, args: Args) -> dict[str, Any]:
    return {"conflict": _conflict(_graph(store, args), args).to_json()}


def graph_conflict_resolve(store: Store, args: Args) -> dict[str, Any]:
    graph = _graph(store, args)
    conflict = _conflict(graph, args)
    there = {"workspace": args["workspace"], "conflict": conflict.id}
    fetch = suggest("graph_conflict_get", "the conflict as it is now", there)
    is_open = conflict.status == "open"
    check_revision(args, conflict.revision, fetch, ("graph_conflict_resolve", args) if is_open else None)
    if not is_open:
        raise Refusal(Code.CONFLICT, f"`{conflict.id}` is resolved already", "to change the node again, patch it", fetch)
    return {"conflict": graph.resolve(conflict, args["take"]).to_json()}


def graph_conflict_list(store: Store, args: Args) -> dict[str, Any]:
    return page("graph_conflict_list", args, list(_graph(store, args).conflicts.values()), Conflict.to_json)


_WORKSPACE = kinds.WORKSPACE
_BRANCH = (_WORKSPACE, optional(kinds.BRANCH))
_NODE = (*_BRANCH, kinds.NODE)
_PATCHED = (optional(kinds.TYPE), optional(kinds.PROPS), *kinds.EXPECTED)
_EDGE = (kinds.FROM_NODE, kinds.REL, kinds.TO_NODE)
_RESOLVED = (_WORKSPACE, kinds.CONFLICT, kinds.TAKE, *kinds.EXPECTED)

TOOLS = (
    Tool(
        "graph_branch_create",
        "Copy a branch, `main` if none is named.",
        (_WORKSPACE, kinds.BRANCH, optional(kinds.FROM_BRANCH)),
        graph_branch_create,
    ),
    Tool("graph_node_create", "Make a node.", (*_NODE, kinds.TYPE, optional(kinds.PROPS)), graph_node_create),
    Tool("graph_node_get", "A node.", _NODE, graph_node_get),
    Tool("graph_node_patch", "Change a node; `props` replaces all of them.", (*_NODE, *_PATCHED), graph_node_patch),
    Tool("graph_node_list", "A branch's nodes in the order of their ids.", (*_BRANCH, *kinds.PAGE), graph_node_list),
    Tool("graph_edge_create", "Make an edge between two nodes.", (*_BRANCH, *_EDGE), graph_edge_create),
    Tool("graph_edge_list", "A branch's edges.", (*_BRANCH, *kinds.PAGE), graph_edge_list),
    Tool(
        "graph_merge",
        "Bring what changed in one branch into another.",
        (_WORKSPACE, kinds.FROM_BRANCH, kinds.INTO_BRANCH),
        graph_merge,
    ),
    Tool("graph_conflict_get", "A conflict of a merge.", (_WORKSPACE, kinds.CONFLICT), graph_conflict_get),
    Tool("graph_conflict_resolve", "End a conflict: keep ours, or take theirs.", _RESOLVED, graph_conflict_resolve),
    Tool("graph_conflict_list", "All conflicts, the oldest first.", (_WORKSPACE, *kinds.PAGE), graph_conflict_list),
)
