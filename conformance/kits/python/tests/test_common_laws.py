"""`common`: what holds after any calls whatever. The calls are drawn by chance, the same ones in each run."""

from __future__ import annotations

import random
import unittest
from typing import Any

from .common_client import TOOLS, Client, bytes_of

VALUES: dict[str, list[Any]] = {
    "workspace": ["w", "w", "w", "w", "v", "unknown", "-ill"],
    "title": ["t", "t", "é😀", ""],
    "notes": ["", "a\nb\n", "é😀\n" * 9],
    "plan": ["PLAN-001", "PLAN-002", "PLAN-999", "PLAN-1"],
    "task": ["TASK-001", "TASK-001", "TASK-001", "TASK-002", "TASK-999", "x"],
    "expected_target_id": ["TASK-001", "TASK-002"],
    "strict_targeting": [True, False],
    "step": ["STEP-00000001", "STEP-00000002", "STEP-zzzzzzzz"],
    "path": ["s:0", "s:0", "s:0.s:0", "s:9"],
    "parent": ["s:0", "s:0.s:0", "s:9"],
    "checkpoints": [{"criteria": True}, {"tests": True}, {"criteria": False, "tests": True}, {}],
    "status": ["open", "done", "done", "other"],
    "branch": ["main", "b", "c", "unknown"],
    "from": ["main", "b", "n"],
    "into": ["main", "b", "c"],
    "to": ["n", "m", "unknown"],
    "node": ["n", "m", " n ", "a|b"],
    "type": ["T", "U", " "],
    "rel": ["r", "s"],
    "props": [{}, {"v": "1"}, {"v": "2"}, {"v": 1}],
    "take": ["ours", "theirs"],
    "expected_revision": [0, 1, 2, -1],
    "expected_version": [0, 1, 2],
    "limit": [0, 1, 2, 1000],
    "offset": [0, 1, 9],
    "max_chars": [0, 2, 60, 100],
    "max_bytes": [0, 3, 100],
    "max_lines": [0, 1, 100],
}
CODES = {
    "UNKNOWN_WORKSPACE",
    "UNKNOWN_ID",
    "INVALID_NAME",
    "INVALID_INPUT",
    "REVISION_MISMATCH",
    "EXPECTED_TARGET_MISMATCH",
    "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID",
    "CHECKPOINTS_NOT_CONFIRMED",
    "CONFLICT",
    "BUDGET_EXCEEDED",
}


class Laws(Client):
    def setUp(self) -> None:
        super().setUp()
        self.chance = random.Random(7)
        self.conflicts = ["CONFLICT-" + "0" * 32]

    def arguments(self, tool: str) -> dict[str, Any]:
        drawn = [field for field in TOOLS[tool].fields if self.chance.random() < (0.99 if field.required else 0.3)]
        return {field.name: self.chance.choice(VALUES.get(field.name, self.conflicts)) for field in drawn}

    def state(self) -> list[Any]:
        """All that can be seen of the workspaces from outside."""
        seen: list[Any] = [self.ok("workspaces_list", limit=1000)]
        for workspace in ("w", "v"):
            for tool in ("plans_list", "tasks_list", "graph_conflict_list"):
                seen.append(self.tool(tool, {"workspace": workspace, "limit": 1000})["result"])
            for task in ("TASK-001", "TASK-002"):
                for tool in ("steps_list", "tasks_notes"):
                    seen.append(self.tool(tool, {"workspace": workspace, "task": task})["result"])
            for branch in ("main", "b", "c"):
                for tool in ("graph_node_list", "graph_edge_list"):
                    seen.append(self.tool(tool, {"workspace": workspace, "branch": branch, "limit": 1000})["result"])
        return seen

    def test_refusals_change_nothing_and_what_they_suggest_succeeds(self) -> None:
        codes: set[str] = set()
        succeeded: set[str] = set()
        for _ in range(5000):
            tool = self.chance.choice(list(TOOLS))
            arguments = self.arguments(tool)
            before = self.state() if self.chance.random() < 0.1 else None
            envelope = self.tool(tool, arguments)
            if envelope["success"]:
                succeeded.add(tool)
                self.conflicts += [conflict["id"] for conflict in envelope["result"].get("conflicts", [])][:1]
                if "items" in envelope["result"] and "max_chars" in arguments:
                    self.assertLessEqual(bytes_of(envelope["result"]["items"]), arguments["max_chars"])
                continue
            codes.add(envelope["error"]["code"])
            if before is not None:
                self.assertEqual(self.state(), before, (tool, arguments))
            if envelope["error"]["code"] != "UNKNOWN_WORKSPACE":  # It suggests to make the workspace, and none would stay unknown.
                for suggestion in envelope["suggestions"]:
                    self.follow(suggestion)
        self.assertEqual(succeeded, set(TOOLS), "the draws are too poor")
        self.assertEqual(codes, CODES, "the draws are too poor")


if __name__ == "__main__":
    unittest.main()
