"""`common`: pages and cuts are hard caps, and say what they left out."""

from __future__ import annotations

import unittest
from typing import Any

from .common_client import Client, bytes_of


class Pages(Client):
    def setUp(self) -> None:
        super().setUp()
        for index in range(5):
            self.plan("é😀\"\\\n\x01\x7f/" * index + "x")

    def page(self, **knobs: Any) -> tuple[list[int], bool, Any]:
        answer = self.ok("plans_list", workspace="w", **knobs)
        self.assertEqual(answer["total"], 5)
        self.assertEqual("budget" in answer, answer["truncated"])
        return [int(plan["id"][-3:]) for plan in answer["items"]], answer["truncated"], answer.get("budget")

    def test_limit_and_offset(self) -> None:
        self.assertEqual(self.page(), ([1, 2, 3, 4, 5], False, None))
        self.assertEqual(self.page(limit=5), ([1, 2, 3, 4, 5], False, None))
        self.assertEqual(self.page(limit=4), ([1, 2, 3, 4], True, {"used": 4, "limit": 4}))
        self.assertEqual(self.page(limit=2, offset=3), ([4, 5], False, None))
        self.assertEqual(self.page(limit=2, offset=2), ([3, 4], True, {"used": 2, "limit": 2}))
        self.assertEqual(self.page(offset=5), ([], False, None))
        self.assertEqual(self.page(offset=10**30), ([], False, None))
        self.assertEqual(self.page(limit=1000), ([1, 2, 3, 4, 5], False, None))
        for knobs in ({"limit": 0}, {"limit": 1001}, {"limit": -1}, {"offset": -1}, {"max_chars": -1}, {"limit": "5"}):
            self.refused("INVALID_INPUT", "plans_list", workspace="w", **knobs)

    def test_fifty_are_shown_if_nothing_is_said(self) -> None:
        for _ in range(46):
            self.plan()
        answer = self.ok("plans_list", workspace="w")
        self.assertEqual((len(answer["items"]), answer["total"]), (50, 51))
        self.assertEqual((answer["truncated"], answer["budget"]), (True, {"used": 50, "limit": 50}))

    def test_max_chars_is_a_hard_cap_in_bytes_of_compact_json(self) -> None:
        items = self.ok("plans_list", workspace="w")["items"]
        for shown in range(6):
            exact = bytes_of(items[:shown])
            whole = shown == 5
            expected = (list(range(1, shown + 1)), not whole, None if whole else {"used": exact, "limit": exact})
            self.assertEqual(self.page(max_chars=exact), expected)
            if shown:
                fewer = bytes_of(items[: shown - 1])
                self.assertEqual(self.page(max_chars=exact - 1)[2], {"used": fewer, "limit": exact - 1})
        for cap in (0, 1):
            (suggestion,) = self.refused("BUDGET_EXCEEDED", "plans_list", workspace="w", max_chars=cap)
            self.assertEqual(self.follow(suggestion)["items"], [])

    def test_the_knob_that_cut_is_reported(self) -> None:
        items = self.ok("plans_list", workspace="w")["items"]
        two = bytes_of(items[:2])
        self.assertEqual(self.page(limit=2, max_chars=two), ([1, 2], True, {"used": 2, "limit": 2}))
        self.assertEqual(self.page(limit=3, max_chars=two), ([1, 2], True, {"used": two, "limit": two}))
        self.assertEqual(self.page(limit=2, max_chars=two - 1)[2], {"used": bytes_of(items[:1]), "limit": two - 1})
        self.assertEqual(self.page(offset=5, max_chars=2), ([], False, None))

    def test_an_empty_list_is_whole_in_two_bytes(self) -> None:
        self.assertEqual(self.ok("tasks_list", workspace="w", max_chars=2), {"items": [], "total": 0, "truncated": False})
        self.refused("BUDGET_EXCEEDED", "tasks_list", workspace="w", max_chars=1)

    def test_tasks_of_one_plan(self) -> None:
        one, other = self.task(plan="PLAN-001"), self.task(plan="PLAN-002")
        listed = self.ok("tasks_list", workspace="w", plan="PLAN-002")
        self.assertEqual(([task["id"] for task in listed["items"]], listed["total"]), ([other], 1))
        self.assertEqual(self.ok("tasks_list", workspace="w", limit=1)["items"][0]["id"], one)
        self.refused("UNKNOWN_ID", "tasks_list", workspace="w", plan="PLAN-999")


class Notes(Client):
    def check(self, notes: str, knobs: dict[str, int], text: str, budget: tuple[int, int] | None = None) -> None:
        task = self.task(notes=notes)
        expected: dict[str, Any] = {"text": text, "truncated": budget is not None}
        if budget is not None:
            expected["budget"] = {"used": budget[0], "limit": budget[1]}
        self.assertEqual(self.ok("tasks_notes", workspace="w", task=task, **knobs), expected, (notes, knobs))

    def test_bytes_are_cut_between_characters(self) -> None:
        for knob in ("max_chars", "max_bytes"):
            self.check("aé😀z", {knob: 8}, "aé😀z")
            self.check("aé😀z", {knob: 7}, "aé😀", (7, 7))
            self.check("aé😀z", {knob: 6}, "aé", (3, 6))
            self.check("aé😀z", {knob: 2}, "a", (1, 2))
            self.check("aé😀z", {knob: 0}, "", (0, 0))
            self.check("", {knob: 0}, "")
            self.check("e\u0301", {knob: 1}, "e", (1, 1))

    def test_lines_are_cut_after_their_ends(self) -> None:
        self.check("a\nb\n", {"max_lines": 2}, "a\nb\n")
        self.check("a\nb\nc", {"max_lines": 3}, "a\nb\nc")
        self.check("a\nb\nc", {"max_lines": 2}, "a\nb\n", (2, 2))
        self.check("a\r\nb", {"max_lines": 1}, "a\r\n", (1, 1))
        self.check("\n\n\n", {"max_lines": 2}, "\n\n", (2, 2))
        self.check("a\u2028b\rc", {"max_lines": 1}, "a\u2028b\rc")
        self.check("a", {"max_lines": 0}, "", (0, 0))
        self.check("", {"max_lines": 0}, "")

    def test_the_shortest_text_wins_and_the_first_of_equals_is_reported(self) -> None:
        self.check("ab\ncd\nef", {"max_chars": 7, "max_bytes": 5, "max_lines": 2}, "ab\ncd", (5, 5))
        self.check("ab\ncd\nef", {"max_chars": 6, "max_lines": 2}, "ab\ncd\n", (6, 6))
        self.check("ab\ncd\nef", {"max_chars": 7, "max_lines": 1}, "ab\n", (1, 1))
        self.check("aé", {"max_chars": 2, "max_bytes": 1}, "a", (1, 2))
        self.check("ab", {"max_chars": 2, "max_bytes": 9, "max_lines": 1}, "ab")

    def test_without_a_knob_nothing_is_cut(self) -> None:
        self.check("x\n" * 10_000, {}, "x\n" * 10_000)

    def test_knobs_are_integers_of_0_or_more(self) -> None:
        task = self.task()
        for knob in ("max_chars", "max_bytes", "max_lines"):
            for value in (-1, 0.5, "1", None, True):
                self.refused("INVALID_INPUT", "tasks_notes", workspace="w", task=task, **{knob: value})
            self.ok("tasks_notes", workspace="w", task=task, **{knob: 10**30})

    def test_notes_are_counted_in_bytes(self) -> None:
        task = self.task(notes="aé😀")
        self.assertEqual(self.ok("tasks_get", workspace="w", task=task)["task"]["notesBytes"], 7)
        patched = self.ok("tasks_patch", workspace="w", task=task, notes="")["task"]
        self.assertEqual((patched["notesBytes"], patched["revision"]), (0, 1))


if __name__ == "__main__":
    unittest.main()
