"""`common`: branches, merges and their conflicts."""

from __future__ import annotations

import hashlib
import unittest
from typing import Any

from .common_client import NOW, Client, Server, Store


class Graph(Client):
    def branch(self, name: str, **more: Any) -> None:
        created = self.ok("graph_branch_create", workspace="w", branch=name, **more)
        self.assertEqual(created, {"branch": {"id": name, "revision": 0}})

    def patch(self, node: str, branch: str, value: str) -> int:
        patched = self.ok("graph_node_patch", workspace="w", branch=branch, node=node, props={"v": value})["node"]
        revision: int = patched["revision"]
        return revision

    def value(self, node: str, branch: str = "main") -> tuple[str | None, int]:
        there = self.ok("graph_node_get", workspace="w", branch=branch, node=node)["node"]
        return there["props"].get("v"), there["revision"]

    def merge(self, source: str, into: str = "main") -> tuple[int, list[dict[str, Any]]]:
        answer = self.ok("graph_merge", workspace="w", **{"from": source}, into=into)
        return answer["merged"], answer["conflicts"]

    def edge(self, source: str, target: str, branch: str = "main") -> None:
        self.ok("graph_edge_create", workspace="w", branch=branch, **{"from": source}, rel="r", to=target)

    def resolve(self, conflict: dict[str, Any], take: str) -> dict[str, Any]:
        resolved = self.ok("graph_conflict_resolve", workspace="w", conflict=conflict["id"], take=take, expected_revision=0)
        answer: dict[str, Any] = resolved["conflict"]
        return answer

    def conflicts(self) -> list[tuple[str, str]]:
        listed = self.ok("graph_conflict_list", workspace="w")["items"]
        return [(conflict["id"], conflict["status"]) for conflict in listed]

    def conflicted(self) -> dict[str, Any]:
        """A node `n` that both `main` (o, revision 2) and `b` (t, revision 4) changed since they parted (revision 1)."""
        self.node("n", props={"v": "0"})
        self.branch("b")
        self.patch("n", "main", "o")
        for value in ("t0", "t1", "t"):
            self.patch("n", "b", value)
        merged, (conflict,) = self.merge("b")
        self.assertEqual(merged, 0)
        return conflict


class Branches(Graph):
    def test_a_branch_is_a_copy_that_goes_its_own_way(self) -> None:
        self.node("n")
        self.patch("n", "main", "1")
        self.branch("b")
        self.assertEqual(self.value("n", "b"), ("1", 2))
        self.patch("n", "b", "2")
        self.node("only-here", "b")
        self.assertEqual(self.value("n"), ("1", 2))
        self.refused("UNKNOWN_ID", "graph_node_get", workspace="w", node="only-here")
        self.branch("c", **{"from": "b"})
        self.assertEqual(self.value("n", "c"), ("2", 3))

    def test_names(self) -> None:
        self.branch("x" * 128)
        for name in ("", "-b", "x" * 129, " b"):
            self.refused("INVALID_NAME", "graph_branch_create", workspace="w", branch=name)
        self.refused("UNKNOWN_ID", "graph_branch_create", workspace="w", branch="b", **{"from": "nowhere"})
        self.refused("UNKNOWN_ID", "graph_node_list", workspace="w", branch="b")
        self.refused("CONFLICT", "graph_branch_create", workspace="w", branch="main")

    def test_nodes_are_in_the_order_of_code_points(self) -> None:
        for node in ("😀", "～", "b", "a", "é", "B"):
            self.node(node)
        listed = [node["id"] for node in self.ok("graph_node_list", workspace="w")["items"]]
        self.assertEqual(listed, ["B", "a", "b", "é", "～", "😀"])

    def test_edges_join_nodes_that_are_there(self) -> None:
        self.node("a")
        self.edge("a", "a")
        arguments = {"workspace": "w", "from": "a", "rel": "r", "to": "a"}
        self.refused("CONFLICT", "graph_edge_create", **arguments)
        self.refused("UNKNOWN_ID", "graph_edge_create", **{**arguments, "to": "b"})
        self.refused("UNKNOWN_ID", "graph_edge_create", **{**arguments, "from": "b"})
        self.assertEqual(self.ok("graph_edge_list", workspace="w")["total"], 1)


class Merges(Graph):
    def test_what_only_one_changed(self) -> None:
        for node in ("ours", "theirs", "both", "neither"):
            self.node(node, props={"v": "0"})
        self.branch("b")
        self.patch("ours", "main", "1")
        self.patch("theirs", "b", "1")
        self.patch("theirs", "b", "2")
        self.patch("both", "main", "same")
        self.patch("both", "b", "same")
        self.node("new", "b", props={"v": "new"})
        self.patch("new", "b", "newer")
        self.edge("new", "ours", "b")
        self.assertEqual(self.merge("b"), (3, []))
        values = {node: self.value(node) for node in ("ours", "theirs", "both", "neither", "new")}
        expected = {"ours": ("1", 2), "theirs": ("2", 2), "both": ("same", 2), "neither": ("0", 1), "new": ("newer", 1)}
        self.assertEqual(values, expected)
        self.assertEqual(self.ok("graph_edge_list", workspace="w")["items"], [{"from": "new", "rel": "r", "to": "ours", "revision": 0}])
        self.assertEqual(self.merge("b"), (0, []))

    def test_the_last_merge_counts_as_the_parting(self) -> None:
        self.node("n")
        self.branch("b")
        for value in ("1", "2"):
            self.patch("n", "b", value)
            self.assertEqual(self.merge("b"), (1, []))
        self.patch("n", "main", "3")
        self.assertEqual(self.merge("b"), (0, []))
        self.assertEqual(self.value("n"), ("3", 4))

    def test_a_merge_back_brings_what_was_not_brought_over_yet(self) -> None:
        self.node("n")
        self.branch("b")
        self.patch("n", "main", "ours")
        self.node("m", "b")
        self.assertEqual(self.merge("b"), (1, []))
        self.assertEqual(self.merge("main", "b"), (1, []))
        self.assertEqual(self.value("n", "b"), ("ours", 2))

    def test_a_branch_of_a_branch_parted_where_its_source_did(self) -> None:
        self.node("n", props={"v": "0"})
        self.branch("b")
        self.patch("n", "b", "1")
        self.branch("c", **{"from": "b"})
        self.assertEqual(self.merge("c"), (1, []))
        self.assertEqual(self.value("n"), ("1", 2))

    def test_what_was_changed_back_is_no_change(self) -> None:
        self.node("n", props={"v": "0"})
        self.branch("b")
        self.patch("n", "b", "1")
        self.patch("n", "b", "0")
        self.patch("n", "main", "2")
        self.assertEqual(self.merge("b"), (0, []))

    def test_two_branches_that_are_there(self) -> None:
        self.refused("INVALID_INPUT", "graph_merge", workspace="w", **{"from": "main"}, into="main")
        self.refused("UNKNOWN_ID", "graph_merge", workspace="w", **{"from": "b"}, into="main")
        self.refused("UNKNOWN_ID", "graph_merge", workspace="w", **{"from": "main"}, into="b")
        self.refused("INVALID_NAME", "graph_merge", workspace="w", **{"from": "main"}, into="")


class Conflicts(Graph):
    def test_a_conflict_tells_all_three_and_leaves_the_node(self) -> None:
        conflict = self.conflicted()
        made_of = '["w","b","main","graph","node","n",1,4,2]'
        self.assertEqual(
            conflict,
            {
                "id": "CONFLICT-" + hashlib.sha256(made_of.encode()).hexdigest()[:32],
                "kind": "node",
                "key": "n",
                "from": "b",
                "into": "main",
                "status": "open",
                "base": {"type": "T", "props": {"v": "0"}},
                "ours": {"type": "T", "props": {"v": "o"}},
                "theirs": {"type": "T", "props": {"v": "t"}},
                "revision": 0,
            },
        )
        self.assertEqual(self.value("n"), ("o", 2))
        self.assertEqual(self.ok("graph_conflict_get", workspace="w", conflict=conflict["id"])["conflict"], conflict)

    def test_asked_again_it_is_the_same_one(self) -> None:
        conflict = self.conflicted()
        self.assertEqual(self.merge("b"), (0, [conflict]))
        self.assertEqual(self.conflicts(), [(conflict["id"], "open")])

    def test_another_process_gives_the_same_id(self) -> None:
        first = self.conflicted()
        self.server = Server(lambda: NOW, Store())
        self.ok("workspaces_create", workspace="w")
        self.assertEqual(self.conflicted(), first)

    def test_other_nodes_are_merged_beside_it(self) -> None:
        conflict = self.conflicted()
        self.node("m", "b")
        self.assertEqual(self.merge("b"), (1, [conflict]))

    def test_nodes_that_both_made_have_no_base(self) -> None:
        self.branch("b")
        self.node("n", props={"v": "1"})
        self.node("n", "b", props={"v": "2"})
        _, (conflict,) = self.merge("b")
        self.assertIsNone(conflict["base"])
        made_of = '["w","b","main","graph","node","n",0,1,1]'
        self.assertEqual(conflict["id"][9:], hashlib.sha256(made_of.encode()).hexdigest()[:32])

    def test_ours_keeps_the_node_and_theirs_takes_what_was_merged(self) -> None:
        for take, value in (("ours", ("o", 2)), ("theirs", ("t", 3))):
            self.server = Server(lambda: NOW, Store())
            self.ok("workspaces_create", workspace="w")
            conflict = self.conflicted()
            if take == "theirs":
                self.patch("n", "b", "later")
            resolved = self.resolve(conflict, take)
            self.assertEqual(resolved, {**conflict, "status": "resolved", "revision": 1})
            self.assertEqual(self.value("n"), value)
            self.assertEqual(self.conflicts(), [(conflict["id"], "resolved")])
            self.assertEqual(self.merge("b"), (0 if take == "ours" else 1, []))

    def test_a_resolution_goes_back_with_the_next_merge(self) -> None:
        self.resolve(self.conflicted(), "ours")
        self.assertEqual(self.merge("main", "b"), (1, []))
        self.assertEqual(self.value("n", "b"), ("o", 5))

    def test_a_change_after_the_resolution_is_a_new_conflict(self) -> None:
        first = self.conflicted()
        self.resolve(first, "ours")
        self.patch("n", "b", "t2")
        _, (second,) = self.merge("b")
        self.assertNotEqual(second["id"], first["id"])
        self.assertEqual((second["base"]["props"], second["theirs"]["props"]), ({"v": "t"}, {"v": "t2"}))

    def test_in_whatever_order_they_are_resolved_nothing_is_asked_twice(self) -> None:
        for order in ((0, 1), (1, 0)):
            self.server = Server(lambda: NOW, Store())
            self.ok("workspaces_create", workspace="w")
            conflicts = [self.conflicted()]
            self.patch("n", "b", "t2")
            conflicts += self.merge("b")[1]
            self.assertEqual(len({conflict["id"] for conflict in conflicts}), 2)
            for index in order:
                self.resolve(conflicts[index], "ours")
            self.assertEqual(self.merge("b"), (0, []))

    def test_a_resolution_can_be_refused(self) -> None:
        conflict = self.conflicted()
        there = {"workspace": "w", "conflict": conflict["id"], "take": "theirs"}
        suggestions = self.refused("REVISION_MISMATCH", "graph_conflict_resolve", **there, expected_revision=1)
        self.refused("INVALID_INPUT", "graph_conflict_resolve", **{**there, "take": "both"})
        self.assertEqual(self.value("n"), ("o", 2))
        self.assertEqual(self.follow(suggestions[0])["conflict"]["status"], "resolved")
        for code, more in (("CONFLICT", {}), ("REVISION_MISMATCH", {"expected_revision": 0})):
            (fetch,) = self.refused(code, "graph_conflict_resolve", **there, **more)
            self.assertEqual(self.follow(fetch)["conflict"]["revision"], 1)
        self.assertEqual(self.value("n"), ("t", 3))

    def test_ids_that_name_nothing_or_are_none(self) -> None:
        self.conflicted()
        self.refused("UNKNOWN_ID", "graph_conflict_get", workspace="w", conflict="CONFLICT-" + "a" * 32)
        for ill in ("CONFLICT-" + "A" * 32, "CONFLICT-" + "a" * 31, "CONFLICT-" + "a" * 33, "CONFLICT-" + "g" * 32):
            self.refused("INVALID_INPUT", "graph_conflict_get", workspace="w", conflict=ill)


if __name__ == "__main__":
    unittest.main()
