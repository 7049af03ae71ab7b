"""Promises of the example's tools that the suite cannot check from outside."""

from __future__ import annotations

import asyncio
import difflib
import os
import random
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from .harness import KIT

sys.path.insert(0, str(KIT / "example"))

from sage import process
from sage.errors import TypedError
from sage.patch import MalformedError, MisfitError, parse_patch
from sage.patterns import compile_pattern
from sage.schema import Schema, SchemaError
from sage.standard import standard_registry
from sage.tools import Tool, ToolContext, ToolResult, execute
from sage.vault import Secrets
from sage.workspace import Workspace, is_protected


class Schemas(unittest.TestCase):
    def check(self, schema: dict[str, Any], value: Any, *fields: str) -> None:
        self.assertEqual(sorted(fault["field"] for fault in Schema(schema).faults(value)), sorted(fields), (schema, value))

    def test_every_fault_is_named_by_its_path(self) -> None:
        schema = {
            "type": "object",
            "properties": {"a": {"type": "string"}, "list": {"items": {"properties": {"n": {"type": "integer"}}}}},
            "required": ["a", "b"],
        }
        self.check(schema, {"a": 1, "list": [{"n": 1.0}, {"n": 1.5, "x": 0}], "y": 0}, "a", "b", "list.1.n", "list.1.x", "y")
        self.check(schema, [], "input")

    def test_unmentioned_properties_are_refused(self) -> None:
        parts: list[Any] = [{"properties": {"a": {}}}, {"properties": {"b": {}}}]
        self.check({"type": "object", "allOf": parts}, {"a": 1, "b": 2, "c": 3}, "c")
        self.check({"anyOf": parts}, {"b": 2})
        self.check({"$ref": "#/$defs/p", "$defs": {"p": parts[0]}}, {"a": 1, "c": 3}, "c")
        self.check({"type": "object"}, {"a": 1}, "a")
        for allowing in ("additionalProperties", "unevaluatedProperties"):
            self.check({"type": "object", allowing: True}, {"a": 1})
        self.check({"type": "object", "patternProperties": {"^x-": {}}}, {"x-a": 1, "b": 2}, "b")
        self.check({}, {"a": 1})

    def test_a_failing_alternative_is_one_fault(self) -> None:
        self.check({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"c": 1, "d": 2}, "input")

    def test_numbers_and_booleans_are_jsons(self) -> None:
        self.check({"enum": [1, "a"]}, True, "input")
        self.check({"const": 1}, 1.0)
        self.check({"uniqueItems": True}, [1, True, 1.0], "input")
        self.check({"multipleOf": 0.1}, 0.3)
        self.check({"type": "integer"}, True, "input")

    def test_a_schema_may_refer_to_itself_below(self) -> None:
        tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
        self.check(tree, {"children": [{"children": [{"x": 1}]}]}, "children.0.children.0.x")

    def test_ineffective_or_endless_schemas_are_refused(self) -> None:
        schemas: list[Any] = [
            {"propertys": {}},
            {"properties": {"a": {"$dynamicRef": "#"}}},
            {"items": [{}]},
            {"type": "text"},
            {"required": "a"},
            {"minLength": -1},
            {"pattern": "("},
            {"pattern": r"\p{L}"},
            {"$ref": "https://example.org/schema"},
            {"$ref": "#/$defs/none"},
            {"$ref": "#/title", "title": "no schema"},
            {"$ref": "#"},
            {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}},
            {"$ref": "#/default/a", "default": {"a": {"type": 5}}},
            True,
            [],
            None,
        ]
        for schema in schemas:
            with self.subTest(schema), self.assertRaises(SchemaError):
                Schema(schema)

    def test_patterns_are_ecmascripts(self) -> None:
        for pattern, text, matches in (
            (r"^\d+$", "12\n", False),
            (r"^\d+$", "١٢", False),
            (r"^\w+$", "é", False),
            (r"^\s$", "\ufeff", True),
            (r"^[$\d]+$", "$1", True),
            (r"^[[]$", "[", True),
            (r"^(?<year>\d{4})$", "2024", True),
            (r"^\u{1F600}$", "\U0001f600", True),
            (r"b", "abc", True),
        ):
            self.assertEqual(compile_pattern(pattern).search(text) is not None, matches, pattern)


class Patches(unittest.TestCase):
    def check(self, before: str, patch: str, after: str) -> None:
        self.assertEqual(parse_patch(patch).apply(before.encode()), after.encode(), patch)

    def test_whatever_differs_can_be_patched(self) -> None:
        chance = random.Random(7)
        for _ in range(300):
            old, new = ([chance.choice("abc\r") + "\n" for _ in range(chance.randrange(12))] for _ in range(2))
            diff = "".join(difflib.unified_diff(old, new, n=chance.randrange(4)))
            if diff:
                self.check("".join(old), diff, "".join(new))

    def test_hunks_move_to_the_nearest_place_in_their_order(self) -> None:
        self.check("x\nx\na\n", "@@ -1 +1 @@\n-a\n+b\n", "x\nx\nb\n")
        self.check("a\nx\nx\nx\na\n", "@@ -4 +4 @@\n-a\n+b\n", "a\nx\nx\nx\nb\n")
        self.check("x\na\nx\n", "@@ -999999999 +1 @@\n-a\n+b\n", "x\nb\nx\n")
        self.check("a\nx\na\n", "@@ -2 +2 @@\n-a\n+b\n", "a\nx\nb\n")
        with self.assertRaises(MisfitError):
            parse_patch("@@ -2 +2 @@\n-b\n+B\n@@ -3 +3 @@\n-a\n+A\n").apply(b"a\nb\n")

    def test_the_last_newline(self) -> None:
        none = "\\ No newline at end of file\n"
        self.check("a", f"@@ -1 +1 @@\n-a\n{none}+a\n", "a\n")
        self.check("a\n", f"@@ -1 +1 @@\n-a\n+a\n{none}", "a")
        for before, patch in (("a\nb\n", f"@@ -1 +1 @@\n-a\n+c\n{none}"), ("a", "@@ -1 +1,2 @@\n a\n+b\n"), ("a", "@@ -1,0 +2 @@\n+b\n")):
            with self.assertRaises(MisfitError):
                parse_patch(patch).apply(before.encode())

    def test_carriage_returns_belong_to_their_lines(self) -> None:
        self.check("a\r\nb\r\n", "@@ -2 +2 @@\n-b\r\n+c\r\n", "a\r\nc\r\n")
        with self.assertRaises(MisfitError):
            parse_patch("@@ -1 +1 @@\n-a\n+b\n").apply(b"a\r\n")

    def test_lost_spaces_and_newlines_are_tolerated(self) -> None:
        self.check("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c", "a\n\nc\n")

    def test_a_patch_may_stand_in_a_mail(self) -> None:
        mail = "Subject: louder\n\n---\n a | 2 +-\n\ndiff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n-- \n2.47\n"
        self.check("a\n", mail, "b\n")

    def test_a_hunk_of_the_files_beginning_or_end_fits_nowhere_else(self) -> None:
        for before, patch in (("x\na\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"), ("a\nb\nx\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n")):
            with self.assertRaises(MisfitError):
                parse_patch(patch).apply(before.encode())

    def test_texts_that_are_not_a_patch_of_one_file(self) -> None:
        hunk = "@@ -1 +1 @@\n-a\n+b\n"
        for text in (
            "",
            "hello",
            "--- a\n+++ b\n",
            f"--- a\n{hunk}",
            f"--- a\n+++ a\n{hunk}--- b\n+++ b\n{hunk}",
            f"diff --git a/a b/a\n{hunk}diff --git a/b b/b\n{hunk}",
            f"--- /dev/null\n+++ a\n{hunk}",
            f"--- a\n+++ /dev/null\n{hunk}",
            f"{hunk} a\n",
            f"{hunk}prose\n{hunk}",
            "@@ -1 +1 @@\n a\n",
            "@@ -1,2 +1 @@\n-a\n+b\n",
            "@@ -1 +1,2 @@\n-a\n+b\n-c\n",
            "@@ -0 +1 @@\n-a\n+b\n",
            "@@ -1,0 +1,0 @@\n",
            "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n",
        ):
            with self.subTest(text), self.assertRaises(MalformedError):
                parse_patch(text)


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.workspace = Workspace(self.root)

    def write(self, file: str, data: bytes = b"new") -> None:
        with self.workspace.change(file) as change:
            change.replace(data)

    def refused(self, code: str, file: str) -> None:
        with self.assertRaises(TypedError) as caught:
            self.write(file)
        self.assertEqual(caught.exception.code, code, file)

    def test_names_that_some_file_system_takes_for_the_chronicles_folder(self) -> None:
        for name in (".sage", ".SAGE", ".sage.", ".sage. ", ".sa\u200cge", "\uff0esage", ".\u017fage", ".sage\u3000", ".sa\ufe00ge"):
            self.assertTrue(is_protected(name), ascii(name))
        for name in ("sage", "a.sage", ".sages", ".", "..", "", ".sag\u00e9", " .sage"):
            self.assertFalse(is_protected(name), ascii(name))

    def test_a_link_into_the_chronicles_folder_is_no_way_in(self) -> None:
        (self.root / ".sage").mkdir()
        (self.root / "alias").symlink_to(".sage")
        (self.root / "file").symlink_to(".sage/new")
        self.refused("EPERMISSION", "alias/a")
        self.refused("EPERMISSION", "file")
        self.assertEqual(os.listdir(self.root / ".sage"), [])

    def test_a_link_that_is_put_there_in_between_leads_nowhere(self) -> None:
        outside = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "folder").symlink_to(outside)
        with mock.patch("sage.workspace.locate", return_value=["folder", "a"]):
            self.refused("EIO", "folder/a")
        self.assertEqual(os.listdir(outside), [])

    def test_a_hard_link_is_replaced_and_not_written_through(self) -> None:
        outside = Path(self.enterContext(tempfile.TemporaryDirectory())) / "kept"
        outside.write_text("old")
        os.link(outside, self.root / "a")
        self.write("a")
        self.assertEqual((outside.read_text(), (self.root / "a").read_text()), ("old", "new"))

    def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(self) -> None:
        (self.root / "a").write_text("old")
        with mock.patch("sage.workspace.write_whole", side_effect=OSError(28, "no space")):
            self.refused("EIO", "a")
        self.assertEqual((os.listdir(self.root), (self.root / "a").read_text()), (["a"], "old"))

    def test_a_refusal_makes_no_folders(self) -> None:
        self.refused("EIO", "new/folder/" + "n" * 300)
        self.assertEqual(os.listdir(self.root), [])

    def test_mode_bits_stay(self) -> None:
        (self.root / "run.sh").write_text("old")
        (self.root / "run.sh").chmod(0o750)
        self.write("run.sh")
        self.assertEqual((self.root / "run.sh").stat().st_mode & 0o7777, 0o750)

    def test_non_regular_files_are_refused_at_once(self) -> None:
        os.mkfifo(self.root / "pipe")
        (self.root / "loop").symlink_to("loop")
        for file in ("pipe", "loop", ".", "folder/"):
            self.refused("EIO", file)
            with self.assertRaises(TypedError):
                self.workspace.read(file)


class Commands(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_shell(self, script: str, timeout_ms: float | None = None) -> process.Completed:
        return asyncio.run(process.run("/bin/sh", ["-c", script], cwd=self.root, env={}, timeout_ms=timeout_ms))

    def assert_gone(self, *names: str) -> None:
        for name in names:
            self.assertFalse(Path("/proc", (self.root / name).read_text().strip()).exists(), name)

    _CHILDREN = "sleep 60 & echo $! >a; setsid sh -c 'echo $$ >b; sleep 60' & while ! [ -s b ]; do :; done; "

    def test_nothing_outlives_a_command(self) -> None:
        self.assertEqual(self.run_shell(self._CHILDREN + "echo done").stdout, "done\n")
        self.assert_gone("a", "b")

    def test_nothing_outlives_a_time_limit(self) -> None:
        with self.assertRaises(TypedError) as caught:
            self.run_shell(self._CHILDREN + "sleep 60", 300)
        self.assertEqual(caught.exception.code, "ETIMEOUT")
        self.assert_gone("a", "b")

    def test_nothing_outlives_a_cancelled_call(self) -> None:
        async def cancel() -> None:
            running = asyncio.create_task(process.run("/bin/sh", ["-c", self._CHILDREN + "sleep 60"], cwd=self.root, env={}))
            while not (self.root / "b").exists() or not (self.root / "b").read_text():
                await asyncio.sleep(0.01)
            running.cancel()
            await asyncio.wait({running})

        asyncio.run(cancel())
        self.assert_gone("a", "b")

    def test_a_command_that_kills_its_supervisor_gains_no_time(self) -> None:
        before = time.monotonic()
        with self.assertRaises(TypedError) as caught:
            self.run_shell("echo $$ >a; kill -9 $PPID; sleep 60")
        self.assertEqual(caught.exception.code, "EIO")
        self.assertLess(time.monotonic() - before, 30)

    def test_output_is_cut_between_characters(self) -> None:
        with mock.patch.object(process, "MAX_OUTPUT", 5):
            done = self.run_shell("printf 'ééé'; printf 'ab\\377c' >&2")
        self.assertEqual(done.stdout.partition("\n")[0], "éé")
        self.assertIn("truncated", done.stdout)
        self.assertEqual(done.stderr, "ab\ufffdc")

    def test_signals_are_not_inherited_ignored(self) -> None:
        self.assertEqual(self.run_shell("kill -PIPE $$").code, 128 + 13)


class Vault:
    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked: list[str] = []

    async def get(self, key: str) -> str | None:
        self.asked.append(key)
        return self.values.get(key)


class Injection(unittest.TestCase):
    def inject(self, vault: Vault, value: Any) -> tuple[Secrets, Any]:
        secrets = Secrets(vault)
        return secrets, asyncio.run(secrets.inject(value))

    def test_values_are_not_scanned_again_and_each_is_fetched_once(self) -> None:
        vault = Vault(A="$ENV.B", B="b", A_1="long")
        value = {"$ENV.A": ["$ENV.A$ENV.A_1", {"x": "$ENV.A-$ENV.1-$env.A"}], "n": 1}
        self.assertEqual(self.inject(vault, value)[1], {"$ENV.A": ["$ENV.Blong", {"x": "$ENV.B-$ENV.1-$env.A"}], "n": 1})
        self.assertEqual(vault.asked, ["A", "A_1"])

    def test_no_value_is_left_whatever_it_looks_like(self) -> None:
        for values in ({"A": "s3", "B": "s3cret"}, {"A": "SECRET"}, {"A": "[", "B": "]x"}, {"A": "a", "B": "b"}, {"E": "", "A": "aa"}):
            secrets, _ = self.inject(Vault(**values), " ".join(f"$ENV.{name}" for name in values))
            clean = secrets.redact({"s3cret": ["aaa s3cret]x SECRET abab", 5]})
            for secret in filter(None, values.values()):
                self.assertNotIn(secret, "".join(clean) + clean[next(iter(clean))][0])

    def test_secrets_are_found_as_programs_print_them(self) -> None:
        secrets, _ = self.inject(Vault(K='q"\\é', L="first line\nsecond line\n}"), "$ENV.K $ENV.L")
        self.assertEqual(secrets.redact('{"k": "q\\"\\\\\\u00e9"}'), '{"k": "[SECRET:K]"}')
        self.assertEqual(secrets.redact("> second line <\n}"), "> [SECRET:L] <\n}")

    def test_overlapping_and_cut_secrets_are_redacted(self) -> None:
        secrets, _ = self.inject(Vault(A="left-mid", B="mid-right"), "$ENV.A $ENV.B")
        self.assertEqual(secrets.redact("(left-mid-right)"), "([SECRET:A])")
        self.assertEqual(secrets.redact(f"left-mid left-m{process.CUT}"), f"[SECRET:A] {process.CUT}")

    def test_a_mark_names_the_secret(self) -> None:
        secrets, _ = self.inject(Vault(KEY="s3cret"), "$ENV.KEY")
        self.assertEqual(secrets.redact({"k-s3cret": "is s3cret"}), {"k-[SECRET:KEY]": "is [SECRET:KEY]"})


class Still:
    def now(self) -> str:
        return "2024-01-01T00:00:00.000Z"


class NoGraph:
    async def query(self, query: str, params: Any = None, commit: Any = None) -> list[dict[str, Any]]:
        raise AssertionError


class Leaky(Tool):
    async def execute(self, input: Any, context: ToolContext) -> ToolResult:
        assert context.logger is not None
        context.logger({"ts": "t", "name": self.name, "msg": input["key"], "data": {input["key"]: 1}})
        raise TypedError("EIO", f"no luck with {input['key']}", {"operation": "read", "path": input["key"]})


class Runtime(unittest.TestCase):
    def execute(self, name: str, input: Any, *tools: Tool, **context: Any) -> ToolResult:
        registry = standard_registry(NoGraph())
        for tool in tools:
            registry.register(tool)
        with tempfile.TemporaryDirectory() as root:
            return asyncio.run(execute(registry, Still(), name, input, ToolContext(Path(root), **context)))

    def test_neither_logs_nor_errors_tell_a_secret(self) -> None:
        logs: list[Any] = []
        leaky = Leaky("Leaky", {"properties": {"key": {"type": "string"}}})
        result = self.execute("Leaky", {"key": "$ENV.K"}, leaky, logger=logs.append, secret_provider=Vault(K="s3cret"))
        self.assertEqual(result["error"]["path"], "[SECRET:K]")
        self.assertNotIn("s3cret", repr((result, logs)))

    def test_without_a_permission_no_secret_is_fetched(self) -> None:
        vault = Vault(K="s3cret")
        result = self.execute("Write", {"file": "$ENV.K", "content": ""}, secret_provider=vault)
        self.assertEqual((result["error"]["code"], result["error"]["resource"], vault.asked), ("EPERMISSION", "$ENV.K", []))

    def test_a_wrong_input_is_reported_without_its_secret(self) -> None:
        vault = Vault(K="s3cret")
        result = self.execute("Read", {"file": 5, "x": "$ENV.K"}, secret_provider=vault)
        self.assertEqual({fault["field"] for fault in result["error"]["details"]}, {"file", "x"})
        self.assertNotIn("s3cret", repr(result))

    def test_a_registry_hands_out_copies(self) -> None:
        registry = standard_registry(NoGraph())
        registry.get_tool_schemas()[0]["parameters"].clear()
        self.assertEqual([tool["name"] for tool in registry.get_tool_schemas()], ["Bash", "Edit", "GraphQuery", "Read", "Write"])
        self.assertTrue(all(tool["parameters"] for tool in registry.get_tool_schemas()))


if __name__ == "__main__":
    unittest.main()
