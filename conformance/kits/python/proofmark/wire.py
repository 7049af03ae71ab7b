"""Lines of JSON over two file descriptors. Threads do the blocking reads and writes, so that any kind of
file can be stdin or stdout and a reader that is slow holds up nobody but the writer."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from .errors import ADAPTER_BROKE, PARSE_ERROR, ProtocolError

MAX_LINE = 16 * 1024 * 1024
MAX_DEPTH = 100
_CHUNK = 1024 * 1024
_HIGH_WATER = 4 * 1024 * 1024
_BATCHES_AHEAD = 8


def _integer(digits: str) -> int | float:
    if digits == "-0":
        return -0.0  # int() would lose the sign.
    if len(digits) > 300:
        _real(digits)
    return int(digits)


def _real(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is beyond a double")
    return number


def _constant(name: str) -> float:
    raise ValueError(f"`{name}` is not JSON")


_decoder = json.JSONDecoder(parse_int=_integer, parse_float=_real, parse_constant=_constant)
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def decode(line: bytes) -> Any:
    """Parses one message. Keeps all digits of integers, the sign of `-0`, and lone surrogates."""
    try:
        return _decoder.decode(line.decode("utf-8"))
    except RecursionError:
        raise ProtocolError(PARSE_ERROR, f"the JSON nests deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise ProtocolError(PARSE_ERROR, f"the line is not JSON: {error}") from None


def encode(message: Any) -> bytes:
    """Serializes one message with its newline. Raises if the wire cannot carry it."""
    try:
        text = _encoder.encode(message)
        _check(message, MAX_DEPTH)
        line = text.encode("utf-8") + b"\n"
    except RecursionError:
        raise ProtocolError(ADAPTER_BROKE, f"the answer nests deeper than {MAX_DEPTH}") from None
    except UnicodeEncodeError:
        raise ProtocolError(ADAPTER_BROKE, "the answer contains a lone surrogate, which UTF-8 cannot encode") from None
    except (TypeError, ValueError) as error:
        raise ProtocolError(ADAPTER_BROKE, f"the answer is not JSON: {error}") from None
    if len(line) > MAX_LINE:
        raise ProtocolError(ADAPTER_BROKE, f"the answer has {len(line)} bytes, but a line has at most {MAX_LINE}")
    return line


def _check(value: Any, room: int) -> None:
    """Refuses values that the encoder accepts but the other side would reject or misread."""
    if isinstance(value, (dict, list, tuple)):
        if room == 0:
            raise RecursionError
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    raise TypeError(f"the key {key!r} is not a string")
            value = value.values()
        for item in value:
            _check(item, room - 1)
    elif isinstance(value, int) and value.bit_length() > 1023:
        _real(str(value))


def is_id(value: Any) -> bool:
    if isinstance(value, str):
        # An answer must be able to quote it.
        return not any("\ud800" <= char <= "\udfff" for char in value)
    return isinstance(value, int) and not isinstance(value, bool)


def read_lines(fd: int, deliver: Callable[[list[bytes | None]], None]) -> None:
    """Calls `deliver` with the lines of each read. None stands for a line that was too long and was dropped."""
    parts: list[bytes] = []
    length = 0
    while chunk := os.read(fd, _CHUNK):
        lines: list[bytes | None] = []
        # Only at b"\n": a string may contain U+2028 or U+0085.
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            parts.append(piece)
            length += len(piece)
            lines.append(None if length > MAX_LINE else b"".join(parts))
            parts, length = [], 0
        length += len(rest)
        if length > MAX_LINE:
            parts.clear()
        else:
            parts.append(rest)
        if lines:
            deliver(lines)
    if length:
        deliver([None if length > MAX_LINE else b"".join(parts)])


class Reader:
    """Reads a file descriptor in a thread and passes lines to a loop, with a bounded read-ahead."""

    def __init__(self, fd: int, on_line: Callable[[bytes | None], None], on_end: Callable[[], None]) -> None:
        self._fd = fd
        self._on_line = on_line
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._ahead = threading.Semaphore(_BATCHES_AHEAD)
        threading.Thread(target=self._read, name="proofmark-reader", daemon=True).start()

    def _read(self) -> None:
        try:
            read_lines(self._fd, self._deliver)
        except OSError as error:
            print(f"cannot read stdin: {error}", file=sys.stderr)
        except _LoopGone:
            return
        try:
            self._loop.call_soon_threadsafe(self._on_end)
        except RuntimeError:
            pass

    def _deliver(self, lines: list[bytes | None]) -> None:
        self._ahead.acquire()
        try:
            self._loop.call_soon_threadsafe(self._handle, lines)
        except RuntimeError:
            raise _LoopGone from None

    def _handle(self, lines: list[bytes | None]) -> None:
        self._ahead.release()
        for line in lines:
            self._on_line(line)


class _LoopGone(Exception):
    pass


class Writer:
    """Writes lines to a file descriptor in a thread, in the order of `send`."""

    def __init__(self, fd: int, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._room = asyncio.Event()
        self._room.set()
        self._thread = threading.Thread(target=self._write, name="proofmark-writer", daemon=True)
        self._thread.start()

    def send(self, line: bytes) -> None:
        self._waiting += len(line)
        if self._waiting > _HIGH_WATER:
            self._room.clear()
        self._lines.put(line)

    async def drain(self) -> None:
        """Waits while too much output is unread."""
        await self._room.wait()

    def finish(self, seconds: float) -> None:
        """Writes the remaining output. Blocks, but gives up after `seconds` if nobody reads."""
        self._lines.put(None)
        self._thread.join(seconds)

    def _write(self) -> None:
        ended = False
        while not ended:
            batch = [self._lines.get()]
            while not self._lines.empty():
                batch.append(self._lines.get())
            ended = batch[-1] is None
            data = b"".join(line for line in batch if line is not None)
            try:
                _write_all(self._fd, data)
            except OSError:
                self._tell(self._on_broken)
                return
            self._tell(self._written, len(data))

    def _written(self, length: int) -> None:
        self._waiting -= length
        if self._waiting <= _HIGH_WATER:
            self._room.set()

    def _tell(self, callback: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            pass  # The loop has ended; nobody waits for this.


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


_taken: tuple[int, int] | None = None


def take_stdio() -> tuple[int, int]:
    """Reserves stdin and stdout for the wire and returns their new descriptors, the same ones each time.

    From here on a `print`, a C library or a child process writes to stderr, and whoever reads stdin finds its end.
    """
    global _taken
    if _taken is not None:
        return _taken
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing == 2:
        nothing = os.dup(2)  # Started without stderr, whose number must not go to the wire.
    _taken = os.dup(0), os.dup(1)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # Unbuffered, and tolerant of characters that stderr's encoding lacks.
        reconfigure(line_buffering=True, errors="backslashreplace")
    return _taken


def protect_stdout() -> None:
    """Reserves stdin and stdout early, for an implementation that prints while it is imported."""
    take_stdio()
