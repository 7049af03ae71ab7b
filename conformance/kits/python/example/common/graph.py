"""A graph with branches: copies that go their own ways, and are merged again.

A merge is of three: what `source` and `target` have, and what they had when they parted or were last merged. That third
one is, after a merge, what `source` had then: its changes have been brought over, and those of `target` have not
been brought back. A node in conflict is left out of this until the conflict is resolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from .ids import make_conflict_id
from .room import Room, weight

MAIN = "main"
Take = Literal["ours", "theirs"]
Edge = tuple[str, str, str]
"""From, relation, to. Nothing of an edge can change, so its revision stays the first one."""


@dataclass(frozen=True)
class Node:
    id: str
    type: str
    props: Mapping[str, str]
    revision: int = 1

    @property
    def weight(self) -> int:
        return weight(self.id, self.type, *self.props.keys(), *self.props.values())

    def same(self, other: Node | None) -> bool:
        """Whether both are equal, apart from their revisions."""
        return other is not None and (self.type, self.props) == (other.type, other.props)

    def content(self) -> dict[str, Any]:
        return {"type": self.type, "props": dict(self.props)}

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, **self.content(), "revision": self.revision}


def edge_to_json(edge: Edge) -> dict[str, Any]:
    source, rel, target = edge
    return {"from": source, "rel": rel, "to": target, "revision": 0}


@dataclass(frozen=True)
class Conflict:
    """A node that both branches changed, as it was when the merge found it."""

    id: str
    key: str
    source: str
    target: str
    base: Node | None
    ours: Node
    theirs: Node
    merge: int
    status: str = "open"
    revision: int = 0

    @property
    def weight(self) -> int:
        return weight(self.id) + self.ours.weight + self.theirs.weight + (0 if self.base is None else self.base.weight)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": "node",
            "key": self.key,
            "from": self.source,
            "into": self.target,
            "status": self.status,
            "base": None if self.base is None else self.base.content(),
            "ours": self.ours.content(),
            "theirs": self.theirs.content(),
            "revision": self.revision,
        }


class Branch:
    def __init__(self, name: str, nodes: dict[str, Node], edges: set[Edge]) -> None:
        self.name = name
        self.revision = 0
        self.nodes = nodes
        self.edges = edges

    @property
    def weight(self) -> int:
        return weight(self.name) + sum(node.weight for node in self.nodes.values()) + sum(weight(*edge) for edge in self.edges)

    def to_json(self) -> dict[str, Any]:
        return {"id": self.name, "revision": self.revision}


@dataclass(frozen=True)
class _Base:
    """A node when two branches parted (merge 0), or at one of the graph's merges of the two."""

    node: Node
    merge: int


class _Parting:
    """What two branches had in common last. Never changed, so that branches can share it."""

    def __init__(self, bases: dict[str, _Base]) -> None:
        self.bases = bases
        self.weight = weight() + sum(weight() + base.node.weight for base in bases.values())


class Graph:
    def __init__(self, workspace: str, room: Room) -> None:
        self.branches: dict[str, Branch] = {MAIN: Branch(MAIN, {}, set())}
        self.conflicts: dict[str, Conflict] = {}
        self._workspace = workspace
        self._room = room
        self._partings: dict[frozenset[str], _Parting] = {}
        self._merges = 0

    def add_branch(self, name: str, source: Branch) -> Branch:
        branch = Branch(name, dict(source.nodes), set(source.edges))
        # It parted from the other branches where its source did.
        partings = {
            frozenset({name, other}): self._partings[frozenset({source.name, other})]
            for other in self.branches
            if other != source.name
        }
        partings[frozenset({name, source.name})] = _Parting(
            {key: _Base(node, self._merges) for key, node in source.nodes.items()}
        )
        self._room.take(branch.weight + sum(parting.weight for parting in partings.values()))
        self.branches[name] = branch
        self._partings |= partings
        return branch

    def put_node(self, branch: Branch, node: Node) -> None:
        replaced = branch.nodes.get(node.id)
        self._room.take(node.weight - (0 if replaced is None else replaced.weight))
        branch.nodes[node.id] = node

    def add_edge(self, branch: Branch, edge: Edge) -> None:
        self._room.take(weight(*edge))
        branch.edges.add(edge)

    def merge(self, source: Branch, target: Branch) -> tuple[int, list[Conflict]]:
        """Returns how many nodes and edges were merged, and the conflicts."""
        pair = frozenset({source.name, target.name})
        parting = self._partings[pair]
        merge = self._merges + 1
        bases = dict(parting.bases)
        taken: list[Node] = []
        conflicts: list[Conflict] = []
        for key, theirs in sorted(source.nodes.items()):
            ours = target.nodes.get(key)
            base = parting.bases[key].node if key in parting.bases else None
            if not theirs.same(ours) and not theirs.same(base):
                if ours is not None and not ours.same(base):
                    conflicts.append(self._conflict(source, target, base, ours, theirs, merge))
                    continue
                taken.append(replace(theirs, revision=1 if ours is None else ours.revision + 1))
            bases[key] = _Base(theirs, merge)
        edges = source.edges - target.edges
        merged = _Parting(bases)
        self._room.take(
            merged.weight
            - parting.weight
            + sum(node.weight for node in taken)
            - sum(target.nodes[node.id].weight for node in taken if node.id in target.nodes)
            + sum(weight(*edge) for edge in edges)
            + sum(conflict.weight for conflict in conflicts if conflict.id not in self.conflicts)
        )
        self._merges = merge
        self._partings[pair] = merged
        target.nodes |= {node.id: node for node in taken}
        target.edges |= edges
        self.conflicts |= {conflict.id: conflict for conflict in conflicts}
        return len(taken) + len(edges), conflicts

    def _conflict(
        self, source: Branch, target: Branch, base: Node | None, ours: Node, theirs: Node, merge: int
    ) -> Conflict:
        revision = 0 if base is None else base.revision
        conflict_id = make_conflict_id(
            self._workspace, source.name, target.name, ours.id, revision, theirs.revision, ours.revision
        )
        known = self.conflicts.get(conflict_id)
        return known or Conflict(conflict_id, ours.id, source.name, target.name, base, ours, theirs, merge)

    def resolve(self, conflict: Conflict, take: Take) -> Conflict:
        """Resolves an open conflict. `theirs` overwrites later changes of the node."""
        target = self.branches[conflict.target]
        now = target.nodes[conflict.key]
        then = now if take == "ours" else replace(conflict.theirs, revision=now.revision + 1)
        pair = frozenset({conflict.source, conflict.target})
        parting = settled = self._partings[pair]
        base = parting.bases.get(conflict.key)
        # A later merge, or a later conflict resolved first, is newer than this one.
        if base is None or base.merge < conflict.merge:
            settled = _Parting(parting.bases | {conflict.key: _Base(conflict.theirs, conflict.merge)})
        self._room.take(then.weight - now.weight + settled.weight - parting.weight)
        target.nodes[conflict.key] = then
        self._partings[pair] = settled
        resolved = replace(conflict, status="resolved", revision=conflict.revision + 1)
        self.conflicts[conflict.id] = resolved
        return resolved
