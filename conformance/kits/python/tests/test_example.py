"""Promises of the worked example that the suite cannot check from outside."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from .harness import KIT

sys.path.insert(0, str(KIT / "example"))

from sage import files
from sage.chronicle import Chronicle, event_id
from sage.errors import TypedError, make_error
from sage.utils import canonical_json, parse_json, sha256

EVENT: dict[str, Any] = {"type": "NOTE", "timestamp": "2024-01-01T12:00:00.000Z", "actor": {"agent": "sage", "id": "s-1"}}


class Memory(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.chronicle = Chronicle(self.root)

    def refused(self, code: str, path: str) -> TypedError:
        with self.assertRaises(TypedError) as caught:
            self.chronicle.append_event(path, EVENT)
        self.assertEqual(caught.exception.code, code, path)
        with self.assertRaises(TypedError):
            self.chronicle.read(path)
        return caught.exception

    def numbers(self, path: str = "a.sage") -> list[int]:
        return [event["n"] for event in self.chronicle.read(path)]

    def append(self, n: int, **more: Any) -> None:
        self.chronicle.append_event("a.sage", {**EVENT, "n": n, **more})


class Paths(Memory):
    def test_no_link_leads_out(self) -> None:
        outside = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "file.sage").symlink_to(outside / "stolen.sage")
        (self.root / "folder").symlink_to(outside)
        for path in ("file.sage", "folder/stolen.sage", "folder/new/stolen.sage"):
            self.refused("EVALIDATION", path)
        self.assertEqual(os.listdir(outside), [])

    def test_a_link_that_stays_inside_is_followed(self) -> None:
        (self.root / "real").mkdir()
        (self.root / "alias").symlink_to("real")
        self.chronicle.append_event("alias/a.sage", EVENT)
        self.assertEqual(len(self.chronicle.read("real/a.sage")), 1)

    def test_a_link_that_is_put_there_in_between_leads_nowhere(self) -> None:
        outside = Path(self.enterContext(tempfile.TemporaryDirectory()))
        located = files.locate(str(self.root), "folder/a.sage")
        (self.root / "folder").symlink_to(outside)
        with mock.patch("sage.files.locate", return_value=located), mock.patch("sage.chronicle.locate", return_value=located):
            self.refused("EIO", "folder/a.sage")
        self.assertEqual(os.listdir(outside), [])

    def test_a_non_regular_file_is_an_io_error_without_waiting(self) -> None:
        os.mkfifo(self.root / "pipe.sage")
        (self.root / "folder.sage").mkdir()
        for path in ("pipe.sage", "folder.sage", "n" * 300 + ".sage", "d/" * 500_000 + "a.sage"):
            error = self.refused("EIO", path)
            self.assertIn("systemCode", error.properties)

    def test_names_that_no_file_has(self) -> None:
        for path in ("a\0.sage", "\ud800.sage", "/a.sage", "a/../b.sage", "a.txt", "a.sage/", ""):
            self.refused("EVALIDATION", path)


class Appends(Memory):
    def test_a_write_that_fails_leaves_nothing(self) -> None:
        self.append(1)
        before = (self.root / "a.sage").read_bytes()
        real_write = os.write
        writes = 0

        def full_disk(fd: int, data: memoryview) -> int:
            nonlocal writes
            writes += 1
            if writes > 1:
                raise OSError(errno.ENOSPC, "no space left on device")
            return real_write(fd, data[:10])

        with mock.patch("sage.files.os.write", full_disk), self.assertRaises(TypedError) as caught:
            self.append(2)
        self.assertEqual(caught.exception.properties["systemCode"], "ENOSPC")
        self.assertEqual((self.root / "a.sage").read_bytes(), before)
        self.append(3)
        self.assertEqual(self.numbers(), [1, 3])

    def test_a_partial_line_stays_and_hides_nothing(self) -> None:
        self.append(1)
        with open(self.root / "a.sage", "ab") as file:
            file.write(b'{"type":"NO')
        before = (self.root / "a.sage").read_bytes()
        self.assertEqual(self.numbers(), [1])
        self.append(2)
        self.assertEqual(self.numbers(), [1, 2])
        self.assertTrue((self.root / "a.sage").read_bytes().startswith(before))

    def test_a_repeat_that_follows_its_equal_is_dropped_and_a_look_alike_is_not(self) -> None:
        for n in (1, 1, True, 1):
            self.append(n)
        self.assertEqual([json.dumps(n) for n in self.numbers()], ["1", "true", "1"])

    def test_a_file_that_is_replaced_while_an_append_waits_gets_the_event(self) -> None:
        self.append(1)
        lock = self.chronicle.lock("a.sage")
        napping = threading.Event()
        appended = threading.Thread(target=self.append, args=(2,))
        with (
            mock.patch.object(files, "gate", lambda path: files._Gate()),
            mock.patch("sage.files.time.sleep", lambda seconds: napping.set()),
        ):
            appended.start()
            self.assertTrue(napping.wait(20))
            os.rename(self.root / "a.sage", self.root / "old.sage")
            lock.release()
            appended.join(20)
        self.assertEqual((self.numbers("old.sage"), self.numbers()), ([1], [2]))

    def test_hundreds_may_wait_with_few_descriptors(self) -> None:
        lock = self.chronicle.lock("a.sage")
        threads = [threading.Thread(target=self.append, args=(n,)) for n in range(300)]
        before = len(os.listdir("/proc/self/fd"))
        for thread in threads:
            thread.start()
        self.assertLess(len(os.listdir("/proc/self/fd")), before + 10)
        lock.release()
        for thread in threads:
            thread.join(20)
        self.assertEqual(sorted(self.numbers()), list(range(300)))

    def test_a_lock_that_is_not_to_be_had_names_its_holder(self) -> None:
        with self.chronicle.lock("a.sage"), self.assertRaises(TypedError) as caught:
            self.chronicle.append_event("a.sage", EVENT, 0)
        self.assertEqual(caught.exception.code, "ELOCK_TIMEOUT")
        self.assertEqual(caught.exception.properties.get("holder", f"process {os.getpid()}"), f"process {os.getpid()}")

    def test_the_tail_is_found_across_blocks(self) -> None:
        for n in range(8):
            self.append(n, text="x" * (n * 7000))
        for block in (1, 7, 1000, 1 << 16):
            with mock.patch.object(files, "_FIRST_BLOCK", block), mock.patch.object(files, "_LARGEST_BLOCK", block):
                for n in (1, 3, 8, 9):
                    tail = [event["n"] for event in self.chronicle.tail("a.sage", n)]
                    self.assertEqual(tail, list(range(8))[-n:], (block, n))


class Foundations(unittest.TestCase):
    def test_an_id_leaves_itself_out(self) -> None:
        self.assertEqual(event_id({**EVENT, "eventId": "x"}), event_id(EVENT))
        self.assertEqual(event_id(EVENT), sha256(canonical_json(EVENT)))

    def test_keys_are_in_the_order_of_utf16(self) -> None:
        self.assertEqual(canonical_json({"\U0001f600": 1, "\uff5e": 2, "é": 3, "z": 4}), '{"z":4,"é":3,"\U0001f600":1,"\uff5e":2}')

    def test_values_without_a_canonical_form_are_refused(self) -> None:
        circle: list[Any] = []
        circle.append(circle)
        for value in (float("nan"), float("inf"), 10**400, "\ud800", {"\ud800": 1}, {1: 2}, {1}, circle):
            with self.assertRaises(TypedError) as caught:
                canonical_json(value, "thing")
            self.assertEqual(caught.exception.properties["details"][0]["field"], "thing")

    def test_hostile_json_is_refused(self) -> None:
        for text in ("[" * 1_000_000, "1e400", "9" * 5000, "NaN", "", "[1,]"):
            with self.assertRaises(TypedError):
                parse_json(text)

    def test_a_systems_code_does_not_replace_the_errors(self) -> None:
        error = make_error("EIO", "m", {"operation": "read", "code": "ENOENT"})
        self.assertEqual((error.to_json()["code"], error.to_json()["systemCode"]), ("EIO", "ENOENT"))


if __name__ == "__main__":
    unittest.main()
