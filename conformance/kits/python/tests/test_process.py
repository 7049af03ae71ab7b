"""An adapter as a process: what else it prints, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from .harness import KIT, InProcess

PRELUDE = """
import os, subprocess, sys, threading
from proofmark import Adapter
adapter = Adapter(name="t", version="1", contracts=[])
"""


def program(body: str) -> str:
    return f"{PRELUDE}\n{body}\nadapter.run()"


class Stdout(unittest.TestCase):
    def check(self, body: str, operation_prints: bytes) -> None:
        """What the operation `noise` prints lands on stderr, and its answer is the only line on the wire."""
        with InProcess(program(f"@adapter.operation('noise')\ndef noise(session, args):\n    {body}")) as peer:
            peer.open()
            self.assertIsNone(peer.value("noise"))
            code, stderr = peer.end()
            self.assertIsNone(peer.read_line())
        self.assertEqual(code, 0)
        self.assertIn(operation_prints, stderr)

    def test_a_print(self) -> None:
        self.check("print('stray text')", b"stray text\n")

    def test_a_print_of_what_has_no_utf8(self) -> None:
        self.check("print('lone \\ud800')", b"lone \\ud800")

    def test_a_write_to_the_buffer_below(self) -> None:
        self.check("sys.stdout.buffer.write(b'raw bytes'); sys.stdout.flush()", b"raw bytes")

    def test_a_write_to_the_descriptor(self) -> None:
        self.check("os.write(1, b'descriptor one')", b"descriptor one")

    def test_a_child_process(self) -> None:
        self.check("subprocess.run(['sh', '-c', 'echo child'], check=True)", b"child\n")

    def test_a_child_process_finds_nothing_on_stdin(self) -> None:
        self.check("print('read', repr(subprocess.run(['cat'], capture_output=True).stdout))", b"read b''")

    def test_text_that_is_printed_before_the_start(self) -> None:
        body = "import proofmark; proofmark.protect_stdout(); print('early', flush=True)"
        with InProcess(program(body)) as peer:
            self.assertEqual(peer.open()["result"], {})
            self.assertIn(b"early", peer.end()[1])

    def test_without_stderr_it_is_lost_and_nothing_else(self) -> None:
        noise = "@adapter.operation('noise')\ndef noise(session, args):\n    print('nobody hears', flush=True)"
        with InProcess("import os; os.close(2)" + program(noise)) as peer:
            peer.open()
            self.assertIsNone(peer.value("noise"))


class End(unittest.TestCase):
    def test_shutdown_ends_the_process(self) -> None:
        with InProcess(KIT / "wire-adapter.py") as peer:
            self.assertIsNone(peer.ask("shutdown")["result"])
            self.assertIsNone(peer.read_line())
            self.assertEqual(peer.process.wait(2), 0)

    def test_nothing_that_is_stuck_keeps_the_process(self) -> None:
        stuck = {
            "a handler": "threading.Event().wait()",
            "a thread of the implementation": "threading.Thread(target=threading.Event().wait).start()",
            "the end of a session": "session.on_close(threading.Event().wait)",
        }
        for what, body in stuck.items():
            with self.subTest(what):
                text = program(f"@adapter.operation('stick')\ndef stick(session, args):\n    {body}")
                with InProcess(text) as peer:
                    peer.open()
                    peer.send_call("stick")
                    self.assertIsNone(peer.ask("shutdown")["result"])
                    self.assertEqual(peer.process.wait(5), 0)

    def test_exit_handlers_run(self) -> None:
        with InProcess(program("import atexit; atexit.register(os.write, 2, b'cleaned up')")) as peer:
            self.assertIn(b"cleaned up", peer.end()[1])

    def test_all_output_is_flushed_before_the_end(self) -> None:
        with InProcess(KIT / "wire-adapter.py") as peer:
            peer.open()
            megabyte = "x" * (1 << 20)
            calls = [peer.send_call("wire.echo", {"value": megabyte}) for _ in range(8)]
            peer.close_input()
            for call in calls:
                self.assertEqual(peer.answer(call)["result"], {"value": megabyte})
            self.assertIsNone(peer.read_line())

    def test_a_reader_that_has_gone_is_the_end_too(self) -> None:
        with InProcess(KIT / "wire-adapter.py") as peer:
            peer.open()
            assert peer.process.stdout is not None
            # Another open file takes its number, so that closing it again later harms nothing.
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, peer.process.stdout.fileno())
            os.close(nothing)
            peer.send_call("wire.echo", {"value": 1})
            self.assertEqual(peer.process.wait(5), 0)

    def test_stdin_may_be_a_file(self) -> None:
        with tempfile.TemporaryFile() as requests:
            requests.write(b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1}}')
            requests.seek(0)
            command = [sys.executable, str(KIT / "wire-adapter.py")]
            ended = subprocess.run(command, stdin=requests, capture_output=True, timeout=20)
        self.assertEqual(ended.stdout.count(b"\n"), 1)
        self.assertIn(b'"name":"python-wire"', ended.stdout)


class Backpressure(unittest.TestCase):
    def test_a_stream_waits_for_its_reader(self) -> None:
        text = program(
            """
sent = 0
@adapter.operation('flood')
async def flood(session, args):
    global sent
    for _ in range(64):
        await session.event('x' * (1 << 20))
        sent += 1

@adapter.operation('sent')
async def get_sent(session, args):
    return sent
"""
        )
        with InProcess(text) as peer:
            peer.open()
            flood = peer.send_call("flood")
            counted = peer.send_call("sent")
            events = 0
            answers: dict[int, Any] = {}
            while len(answers) < 2:
                message = peer.read()
                if "method" in message:
                    events += 1
                else:
                    answers[message["id"]] = message["result"]["value"]
                    if message["id"] == counted:
                        self.assertLess(message["result"]["value"], 16)
            self.assertEqual(events, 64)
            self.assertIsNone(answers[flood])


if __name__ == "__main__":
    unittest.main()
