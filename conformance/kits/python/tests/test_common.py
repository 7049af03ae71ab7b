"""`common`: identifiers, kinds, revisions, targets and checkpoints."""

from __future__ import annotations

import unittest
from typing import Any

from .common_client import TOOLS, Client


class Identifiers(Client):
    def test_workspaces_at_and_beyond_their_limits(self) -> None:
        for name in ("a", "9", "A._/-z", "x" * 128):
            self.assertEqual(self.ok("workspaces_create", workspace=name), {"workspace": {"id": name, "revision": 0}})
        for name in ("", "x" * 129, "-a", ".a", "/a", "_a", "a b", "é", "a\n", "a|b", " a", "٣"):
            self.refused("INVALID_NAME", "workspaces_create", workspace=name)
            self.refused("INVALID_NAME", "plans_list", workspace=name)
        self.refused("CONFLICT", "workspaces_create", workspace="w")

    def test_plans_tasks_and_steps_are_counted_in_each_workspace(self) -> None:
        self.ok("workspaces_create", workspace="v")
        self.assertEqual([self.plan(), self.plan(), self.plan(workspace="v")], ["PLAN-001", "PLAN-002", "PLAN-001"])
        self.assertEqual([self.task(plan="PLAN-001") for _ in range(1001)][::500], ["TASK-001", "TASK-501", "TASK-1001"])
        self.assertRegex(self.step("TASK-001")["id"], r"^STEP-[A-Za-z0-9]{8,}$")

    def test_an_id_that_names_nothing_and_one_that_is_none(self) -> None:
        self.plan()
        for plan in ("PLAN-002", "PLAN-0001", "PLAN-" + "9" * 5000, "TASK-001"):
            self.refused("UNKNOWN_ID", "plans_get", workspace="w", plan=plan)
        for plan in ("PLAN-01", "plan-001", "PLAN-001\n", "PLAN-٠٠١", "", "STEP-00000001"):
            self.refused("INVALID_INPUT", "plans_get", workspace="w", plan=plan)
        self.ok("workspaces_create", workspace="v")
        self.refused("UNKNOWN_ID", "plans_get", workspace="v", plan="PLAN-001")
        self.refused("UNKNOWN_WORKSPACE", "plans_get", workspace="u", plan="PLAN-001")

    def test_step_ids_are_of_their_task(self) -> None:
        one, other = self.task(), self.task()
        step = self.step(one)["id"]
        self.assertEqual(self.ok("steps_get", workspace="w", task=one, step=step)["step"]["path"], "s:0")
        self.refused("UNKNOWN_ID", "steps_get", workspace="w", task=other, step=step)
        self.refused("UNKNOWN_ID", "steps_get", workspace="w", task=one, step="NODE-abcdefgh")
        for ill in ("STEP-1234567", "STEP-1234567_", "STEP-12345678\n", "step-12345678"):
            self.refused("INVALID_INPUT", "steps_get", workspace="w", task=one, step=ill)

    def test_paths(self) -> None:
        task = self.task()
        made = [self.step(task, **parent)["path"] for parent in ({}, {"parent": "s:0"}, {}, {"parent": "s:0"}, {"parent": "s:0.s:1"})]
        self.assertEqual(made, ["s:0", "s:0.s:0", "s:1", "s:0.s:1", "s:0.s:1.s:0"])
        for _ in range(9):
            self.step(task)
        listed = [step["path"] for step in self.ok("steps_list", workspace="w", task=task)["items"]]
        self.assertEqual(listed, ["s:0", "s:0.s:0", "s:0.s:1", "s:0.s:1.s:0", *(f"s:{index}" for index in range(1, 11))])
        for path in ("s:11", "s:1.s:0", "s:" + "9" * 5000):
            self.refused("UNKNOWN_ID", "steps_get", workspace="w", task=task, path=path)
            self.refused("UNKNOWN_ID", "steps_create", workspace="w", task=task, title="t", parent=path)
        for path in ("", "s:", "s:-1", "0", "s:0.", "s:0.0", "s:0\n", "s:٠"):
            self.refused("INVALID_INPUT", "steps_get", workspace="w", task=task, path=path)

    def test_graph_names_are_canonical(self) -> None:
        self.assertEqual(self.node("\u3000 é😀\t\n", type="\u00a0a|b ")["id"], "é😀")
        self.assertEqual(self.ok("graph_node_get", workspace="w", node=" é😀 ")["node"]["type"], "a|b")
        self.refused("CONFLICT", "graph_node_create", workspace="w", node="\u2028é😀", type="T")
        self.assertEqual(len(self.node(" " + "😀" * 256 + " ")["id"]), 256)
        for node in ("", " \t", "😀" * 257, "a|b", "a\x00b", "a\nb", "\x1fa", "a\x7f", "a\x85b", "a\x9fb"):
            self.refused("INVALID_NAME", "graph_node_create", workspace="w", node=node, type="T")
        self.node("formats", type="a\u200bb")
        self.node("long", type="😀" * 128)
        for type_name in ("😀" * 129, " ", "a\tb"):
            self.refused("INVALID_NAME", "graph_node_create", workspace="w", node="n", type=type_name)
        for rel in ("r" * 129, "a|b", "", "a\rb"):
            self.refused("INVALID_NAME", "graph_edge_create", workspace="w", **{"from": "é😀"}, rel=rel, to="é😀")
        edge = self.ok("graph_edge_create", workspace="w", **{"from": " é😀"}, rel=" r " + "r" * 125 + " ", to="é😀 ")["edge"]
        self.assertEqual(edge, {"from": "é😀", "rel": "r " + "r" * 125, "to": "é😀", "revision": 0})


class Kinds(Client):
    def test_every_tool_refuses_unknown_members_and_wrong_types(self) -> None:
        for name, tool in TOOLS.items():
            required = {field.name: 7 for field in tool.fields if field.required}
            self.refused("INVALID_INPUT", name, **required, bogus=1)
            for field in tool.fields:
                others: list[Any] = [None, [], 1 if field.name == "strict_targeting" else True, 1.5, "-1"]
                for value in others:
                    if isinstance(value, str) and field.kind.schema["type"] == "string":
                        continue
                    self.refused("INVALID_INPUT", name, **{**self.plausible(name), field.name: value})
        no_objects: list[Any] = [[], "x", 1, None]
        for arguments in no_objects:
            self.assertEqual(self.tool("workspaces_list", arguments)["error"]["code"], "INVALID_INPUT")

    def plausible(self, tool: str) -> dict[str, Any]:
        values: dict[str, Any] = {"conflict": "CONFLICT-" + "0" * 32, "take": "ours", "title": "t", "workspace": "w"}
        values |= {"plan": "PLAN-001", "task": "TASK-001"}
        return {field.name: values.get(field.name, "x") for field in TOOLS[tool].fields if field.required}

    def test_members_that_are_missing(self) -> None:
        for name in TOOLS:
            given = self.plausible(name)
            for member in given:
                self.refused("INVALID_INPUT", name, **{key: value for key, value in given.items() if key != member})

    def test_titles(self) -> None:
        for title in ("x", "😀" * 500, " "):
            self.assertEqual(self.ok("plans_create", workspace="w", title=title)["plan"]["title"], title)
        for title in ("", "😀" * 501, "half \ud83d"):
            self.refused("INVALID_INPUT", "plans_create", workspace="w", title=title)

    def test_props_are_strings(self) -> None:
        self.assertEqual(self.node("n", props={"": "", "é": "\n"})["props"], {"": "", "é": "\n"})
        for props in ({"a": 1}, {"a": None}, ["a"], {"\ud800": "a"}, {"a": "\udfff"}):
            self.refused("INVALID_INPUT", "graph_node_patch", workspace="w", node="n", props=props)
        self.assertEqual(self.ok("graph_node_get", workspace="w", node="n")["node"]["revision"], 1)

    def test_an_integer_is_one_however_it_is_written(self) -> None:
        self.assertEqual(self.ok("workspaces_list", limit=1.0)["total"], 1)


class Revisions(Client):
    def test_every_write_adds_one(self) -> None:
        plan, task = self.plan(), self.task()
        step = self.step(task)["id"]
        self.node("n")
        writes = {
            "plans_patch": {"plan": plan, "title": "same"},
            "tasks_patch": {"task": task, "title": "same"},
            "steps_patch": {"task": task, "step": step, "title": "same"},
            "graph_node_patch": {"node": "n", "type": "same"},
        }
        for tool, write in writes.items():
            first = 1 if tool == "graph_node_patch" else 0
            for number in range(first, first + 3):
                (entity,) = self.ok(tool, workspace="w", **write, expected_revision=number).values()
                self.assertEqual(entity["revision"], number + 1)

    def test_a_mismatch_changes_nothing_and_its_suggestions_can_be_followed(self) -> None:
        task = self.task()
        for name in ("expected_revision", "expected_version"):
            for expected in (-1, 1, 10**30):
                suggestions = self.refused("REVISION_MISMATCH", "tasks_patch", workspace="w", task=task, title="x", **{name: expected})
                self.assertEqual([one["target"] for one in suggestions], ["tasks_patch", "tasks_get"])
                self.assertEqual(self.follow(suggestions[1])["task"]["revision"], 0)
        self.assertEqual(self.follow(suggestions[0])["task"]["title"], "x")

    def test_two_expectations_are_one_or_refused(self) -> None:
        plan = self.plan()
        self.refused("INVALID_INPUT", "plans_patch", workspace="w", plan=plan, title="x", expected_revision=0, expected_version=1)
        self.ok("plans_patch", workspace="w", plan=plan, title="x", expected_revision=0, expected_version=0)

    def test_a_patch_of_nothing_is_refused(self) -> None:
        task = self.task()
        self.step(task)
        self.node("n")
        self.refused("INVALID_INPUT", "tasks_patch", workspace="w", task=task, expected_revision=0)
        self.refused("INVALID_INPUT", "steps_patch", workspace="w", task=task, path="s:0")
        self.refused("INVALID_INPUT", "steps_patch", workspace="w", task=task, path="s:0", checkpoints={})
        self.refused("INVALID_INPUT", "graph_node_patch", workspace="w", node="n")


class Targets(Client):
    def patched(self, code: str | None, **more: Any) -> Any:
        arguments = {"workspace": "w", "status": "done", **more}
        if code is None:
            return self.ok("tasks_patch", **arguments)["task"]["id"]
        return [self.follow(suggestion) for suggestion in self.refused(code, "tasks_patch", **arguments)]

    def test_the_task_in_focus_is_meant_when_none_is_named(self) -> None:
        one, other = self.task(), self.task()
        self.patched("INVALID_INPUT")
        self.patched("STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID", strict_targeting=True)
        self.assertEqual(self.ok("tasks_focus", workspace="w", task=one)["task"]["revision"], 0)
        self.assertEqual(self.patched(None), one)
        self.assertEqual(self.patched(None, task=other), other)
        self.assertEqual(self.patched(None, strict_targeting=False), one)
        self.assertEqual(self.patched(None, task=other, strict_targeting=True), other)
        self.assertEqual(self.patched(None, strict_targeting=True, expected_target_id=one), one)
        self.patched("STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID", strict_targeting=True)
        self.patched("EXPECTED_TARGET_MISMATCH", expected_target_id=other)
        self.patched("EXPECTED_TARGET_MISMATCH", task=other, expected_target_id=one)
        self.patched("EXPECTED_TARGET_MISMATCH", task=other, expected_target_id="TASK-999")
        self.patched("INVALID_INPUT", task=other, expected_target_id="other")
        self.assertEqual(self.ok("tasks_get", workspace="w", task=one)["task"]["revision"], 3)
        self.assertEqual(self.ok("tasks_get", workspace="w", task=other)["task"]["revision"], 2)

    def test_a_suggested_write_names_the_task_that_was_in_focus(self) -> None:
        one, other = self.task(), self.task()
        self.ok("tasks_focus", workspace="w", task=one)
        suggestion = self.refused("REVISION_MISMATCH", "tasks_patch", workspace="w", title="x", expected_version=9)[0]
        self.ok("tasks_focus", workspace="w", task=other)
        self.assertEqual(self.follow(suggestion)["task"]["id"], one)


class Checkpoints(Client):
    def test_a_step_is_done_when_both_are_confirmed(self) -> None:
        task = self.task()
        step = self.step(task)
        self.assertEqual((step["status"], step["checkpoints"]), ("open", {"criteria": False, "tests": False}))
        there = {"workspace": "w", "task": task, "path": "s:0"}
        self.refused("CHECKPOINTS_NOT_CONFIRMED", "steps_patch", **there, status="done")
        self.ok("steps_patch", **there, checkpoints={"criteria": True})
        (suggestion,) = self.refused("CHECKPOINTS_NOT_CONFIRMED", "steps_patch", **there, status="done", title="x", expected_version=1)
        closed = self.follow(suggestion)["step"]
        self.assertEqual((closed["status"], closed["title"], closed["revision"]), ("done", "x", 2))
        self.refused("CHECKPOINTS_NOT_CONFIRMED", "steps_patch", **there, checkpoints={"tests": False})
        self.ok("steps_patch", **there, checkpoints={"tests": False}, status="open")
        self.ok("steps_patch", **there, checkpoints={"tests": True}, status="done")

    def test_a_write_that_would_fail_again_is_not_suggested(self) -> None:
        task = self.task()
        self.step(task)
        suggestions = self.refused(
            "REVISION_MISMATCH", "steps_patch", workspace="w", task=task, path="s:0", status="done", expected_revision=5
        )
        self.assertEqual([suggestion["target"] for suggestion in suggestions], ["steps_get"])
        self.follow(suggestions[0])

    def test_a_step_has_one_address(self) -> None:
        task = self.task()
        step = self.step(task)["id"]
        self.refused("INVALID_INPUT", "steps_get", workspace="w", task=task)
        self.refused("INVALID_INPUT", "steps_get", workspace="w", task=task, step=step, path="s:0")
        ill: list[Any] = [{"criteria": 1}, {"other": True}, [], {"criteria": True, "other": True}]
        for checkpoints in ill:
            self.refused("INVALID_INPUT", "steps_patch", workspace="w", task=task, step=step, checkpoints=checkpoints)


class Helpful(Client):
    def test_unknown_and_duplicate_ids_come_with_suggestions_that_succeed(self) -> None:
        task = self.task()
        self.node("n")
        refused = (
            ("UNKNOWN_ID", "plans_get", {"plan": "PLAN-999"}),
            ("UNKNOWN_ID", "tasks_get", {"task": "TASK-999"}),
            ("UNKNOWN_ID", "steps_get", {"task": task, "path": "s:7"}),
            ("UNKNOWN_ID", "graph_node_get", {"node": "m"}),
            ("UNKNOWN_ID", "graph_conflict_get", {"conflict": "CONFLICT-" + "0" * 32}),
            ("CONFLICT", "graph_node_create", {"node": "n", "type": "T"}),
            ("CONFLICT", "graph_branch_create", {"branch": "main"}),
            ("UNKNOWN_WORKSPACE", "plans_list", {"workspace": "u"}),
            ("BUDGET_EXCEEDED", "plans_list", {"max_chars": 1}),
        )
        for code, tool, arguments in refused:
            suggestions = self.refused(code, tool, **{"workspace": "w", **arguments})
            self.assertNotEqual(suggestions, [], tool)
            for suggestion in suggestions:
                self.follow(suggestion)


class Full(Client):
    capacity = 20_000

    def test_a_full_store_refuses_writes_and_still_answers(self) -> None:
        task = self.task(notes="x" * 5000)
        self.refused("BUDGET_EXCEEDED", "tasks_patch", workspace="w", task=task, notes="y" * 20_000)
        self.assertEqual(self.ok("tasks_get", workspace="w", task=task)["task"]["notesBytes"], 5000)
        for _ in range(100):
            self.ok("tasks_patch", workspace="w", task=task, notes="z" * 5000)
        self.ok("graph_node_create", workspace="w", node="n", type="T", props={"p": "x" * 4000})
        self.refused("BUDGET_EXCEEDED", "graph_branch_create", workspace="w", branch="b")
        self.refused("UNKNOWN_ID", "graph_node_list", workspace="w", branch="b")


if __name__ == "__main__":
    unittest.main()
