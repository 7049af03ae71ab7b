"""Runs commands without a shell, with a timeout, and leaves no process behind."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import TypedError, io_error

MAX_OUTPUT = 1024 * 1024
CUT = "\n[truncated]\n"
"""Marks where output was cut."""
_CHUNK = 65536
_PATIENCE_SECONDS = 1
_SUPERVISOR = Path(__file__).with_name("supervisor.py")


@dataclass
class Completed:
    code: int
    stdout: str
    stderr: str


async def run(
    command: str, args: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_ms: float | None = None
) -> Completed:
    """Runs a command to its end. When this returns, raises or is cancelled, none of its processes is left."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            supervisor = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", str(_SUPERVISOR),
                stdin=theirs.fileno(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        reader, writer = await asyncio.open_connection(sock=ours)
    except BaseException:
        ours.close()
        raise
    assert supervisor.stdout is not None and supervisor.stderr is not None
    outputs = [asyncio.create_task(_output(stream)) for stream in (supervisor.stdout, supervisor.stderr)]
    patience = None
    group = None
    try:
        request = {"command": command, "args": list(args), "env": dict(env), "cwd": str(cwd)}
        writer.write(json.dumps(request).encode() + b"\n")
        group = (await _message(reader))["group"]
        code = await _code(reader, command, timeout_ms)
    except EOFError:
        # The command killed its supervisor. Its process group can still be killed.
        patience = _PATIENCE_SECONDS
        if group is not None:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        raise TypedError("EIO", f"the supervisor of `{command}` was killed", {"operation": "execute"}) from None
    finally:
        # Closing its stdin makes the supervisor kill everything left and exit.
        writer.close()
        _, unfinished = await asyncio.wait(outputs, timeout=patience)
        for output in unfinished:
            output.cancel()
        if not unfinished:
            await supervisor.wait()
    return Completed(code, outputs[0].result(), outputs[1].result())


async def _code(reader: asyncio.StreamReader, command: str, timeout_ms: float | None) -> int:
    before = time.monotonic()
    try:
        async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
            ended = await _message(reader)
    except TimeoutError:
        elapsed = int((time.monotonic() - before) * 1000)
        properties = {"timeoutMs": timeout_ms, "elapsedMs": max(elapsed, timeout_ms or 0), "operation": "execute"}
        raise TypedError("ETIMEOUT", f"`{command}` ran for {timeout_ms} ms", properties, name="TimeoutError") from None
    if "errno" in ended:
        raise io_error("execute", command, OSError(ended["errno"], os.strerror(ended["errno"])))
    return ended["code"]


async def _message(reader: asyncio.StreamReader) -> dict[str, int]:
    try:
        line = await reader.readline()
    except ConnectionError:
        line = b""
    if not line:
        raise EOFError("the supervisor is gone")
    message: dict[str, int] = json.loads(line)
    return message


async def _output(stream: asyncio.StreamReader) -> str:
    """The text of a stream. Output beyond the limit is read, so that the command does not block, and dropped."""
    kept = bytearray()
    cut = False
    while chunk := await stream.read(_CHUNK):
        cut = cut or len(kept) + len(chunk) > MAX_OUTPUT
        kept += chunk[: MAX_OUTPUT - len(kept)]
    # Drop a character split by the cut; replace invalid UTF-8.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(kept), final=not cut)
    return text + CUT if cut else text
