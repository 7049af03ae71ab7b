"""The harness's side of the wire, for tests: an adapter in a thread or in a process, and lines to and fro."""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from proofmark import Adapter

KIT = Path(__file__).resolve().parent.parent
PATIENCE_SECONDS = 20

OPEN = {
    "session": "s1",
    "clock": {"start": "2024-01-01T12:00:00.000Z", "stepMs": 1000},
    "random": {"ints": [7, 9], "floats": [0.25, 1]},
    "fakes": ["secrets"],
}


class Peer:
    """Writes to an adapter and reads from it. Every wait has an end, so that no test hangs."""

    def __init__(self, to_adapter: int, from_adapter: int) -> None:
        self._to = to_adapter
        self._from = from_adapter
        self._rest = bytearray()
        self._next_id = 0
        self._aside: dict[int, dict[str, Any]] = {}

    def write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._to, view) :]

    def read_line(self) -> bytes | None:
        searched = 0
        while (end := self._rest.find(b"\n", searched)) == -1:
            searched = len(self._rest)
            if not select.select([self._from], [], [], PATIENCE_SECONDS)[0]:
                raise AssertionError("the adapter says nothing")
            chunk = os.read(self._from, 1024 * 1024)
            if not chunk:
                return None
            self._rest += chunk
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line

    def read(self) -> dict[str, Any]:
        line = self.read_line()
        if line is None:
            raise AssertionError("the adapter has ended")
        message: dict[str, Any] = json.loads(line)
        return message

    def send(self, method: str, params: Any = None) -> int:
        self._next_id += 1
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": {} if params is None else params}
        self.write(json.dumps(request).encode() + b"\n")
        return self._next_id

    def send_call(self, operation: str, args: dict[str, Any] | None = None, session: str = "s1") -> int:
        return self.send("call", {"session": session, "operation": operation, "args": args or {}})

    def answer(self, request_id: int) -> dict[str, Any]:
        """The answer to a request; other answers are kept for whoever asks for them."""
        while request_id not in self._aside:
            message = self.read()
            if "id" not in message or "method" in message:
                raise AssertionError(f"not an answer: {message}")
            self._aside[message["id"]] = message
        return self._aside.pop(request_id)

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        return self.answer(self.send(method, params))

    def call(self, operation: str, args: dict[str, Any] | None = None, session: str = "s1") -> dict[str, Any]:
        return self.answer(self.send_call(operation, args, session))

    def value(self, operation: str, args: dict[str, Any] | None = None, session: str = "s1") -> Any:
        answer = self.call(operation, args, session)
        if "value" not in answer.get("result", {}):
            raise AssertionError(f"no value: {answer}")
        return answer["result"]["value"]

    def open(self, **changes: Any) -> dict[str, Any]:
        return self.ask("open", {**OPEN, **changes})

    def close_input(self) -> None:
        os.close(self._to)
        self._to = -1


class InThread(Peer):
    """An adapter that is served in a thread of the test."""

    def __init__(self, adapter: Adapter) -> None:
        wire_in, to_adapter = os.pipe()
        from_adapter, wire_out = os.pipe()
        super().__init__(to_adapter, from_adapter)
        self._ends = [wire_in, wire_out, from_adapter]
        self._others = set(threading.enumerate())
        self._thread = threading.Thread(target=lambda: asyncio.run(adapter.serve(wire_in, wire_out)), daemon=True)

    def __enter__(self) -> InThread:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._to != -1:
            self.close_input()
        self._thread.join(PATIENCE_SECONDS)
        if self._thread.is_alive():
            raise AssertionError("the adapter does not end")
        # The kit's own threads may outlive `serve`. If one read after its pipe was closed, it would take the bytes of
        # the next test, whose pipe has the same number.
        for thread in set(threading.enumerate()) - self._others:
            if thread.name in ("proofmark-reader", "proofmark-writer"):
                thread.join(PATIENCE_SECONDS)
                if thread.is_alive():
                    raise AssertionError(f"{thread.name} does not end")
        for end in self._ends:
            os.close(end)


class InProcess(Peer):
    """An adapter in a process of its own, which may be a file or a text."""

    def __init__(self, program: Path | str) -> None:
        command = [sys.executable, str(program)] if isinstance(program, Path) else [sys.executable, "-c", program]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(KIT)},
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        super().__init__(os.dup(self.process.stdin.fileno()), self.process.stdout.fileno())
        self.process.stdin.close()

    def __enter__(self) -> InProcess:
        return self

    def end(self) -> tuple[int, bytes]:
        """Closes the adapter's stdin and gives its exit code and what it wrote to stderr."""
        if self._to != -1:
            self.close_input()
        assert self.process.stderr is not None
        stderr = self.process.stderr.read()
        return self.process.wait(PATIENCE_SECONDS), stderr

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._to != -1:
            self.close_input()
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
