"""Unified diffs of one file: read, fitted and applied, without fuzz. All of a patch applies, or none of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*)?")
_NOWHERE = b"/dev/null"


class MalformedError(Exception):
    """The text is not a patch of one file."""


class MisfitError(Exception):
    """The patch is valid, but does not fit this file."""


@dataclass
class Hunk:
    old_start: int
    new_start: int
    lines: list[tuple[bytes, bytes]] = field(default_factory=list)
    """A sign, which is one of ` `, `-` and `+`, and the line with its newline, if it has one."""

    def old(self) -> list[bytes]:
        return [line for sign, line in self.lines if sign != b"+"]

    def new(self) -> list[bytes]:
        return [line for sign, line in self.lines if sign != b"-"]

    def context(self) -> tuple[int, int]:
        """The number of context lines before the first change and after the last one."""
        changes = [index for index, (sign, _) in enumerate(self.lines) if sign != b" "]
        return changes[0], len(self.lines) - 1 - changes[-1]


@dataclass
class Patch:
    hunks: list[Hunk]
    creates: bool = False
    deletes: bool = False

    def apply(self, content: bytes) -> bytes:
        """The content after the patch. A hunk may stand elsewhere than it says: the nearest place that fits is
        taken, after the hunk before it."""
        lines = _lines(content)
        result: list[bytes] = []
        taken = 0
        shift = 0
        for number, hunk in enumerate(self.hunks, 1):
            old = hunk.old()
            stated = hunk.old_start - 1 if old else hunk.old_start
            place = _find(lines, hunk, stated + shift, taken)
            if place is None:
                raise MisfitError(f"hunk {number} does not fit")
            shift = place - stated
            result += lines[taken:place] + hunk.new()
            taken = place + len(old)
        result += lines[taken:]
        if any(not line.endswith(b"\n") for line in result[:-1]):
            raise MisfitError("a line without a newline would stand before others")
        if self.deletes and result:
            raise MisfitError("the patch deletes the file, and leaves some of it")
        return b"".join(result)


def _lines(content: bytes) -> list[bytes]:
    """The lines with their newlines. Split at b"\\n" alone, so that a carriage return is a part of its line."""
    *whole, last = content.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _find(lines: list[bytes], hunk: Hunk, stated: int, first: int) -> int | None:
    wanted = hunk.old()
    last = len(lines) - len(wanted)
    if not wanted:
        return stated if first <= stated <= last else None  # It fits everywhere: only its number says where.
    before, after = hunk.context()
    # Less context on one side means the beginning or the end of the file; the hunk fits nowhere else.
    if hunk.old_start == 1 and before < after:
        last = min(last, 0)
    if after == 0 and before > 0:
        first = max(first, last)
    for place in _nearest(stated, first, last):
        if lines[place : place + len(wanted)] == wanted:
            return place
    return None


def _nearest(stated: int, first: int, last: int) -> Iterator[int]:
    start = min(max(stated, first), last)  # A number may be far beyond any file.
    for distance in range(last - first + 1):
        for place in dict.fromkeys((start + distance, start - distance)):
            if first <= place <= last:
                yield place


def parse_patch(text: str) -> Patch:
    return _Parser(_lines(text.encode("utf-8"))).patch()


class _Parser:
    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self._at = 0

    def patch(self) -> Patch:
        patch = Patch([])
        self._skip_prose()
        if self._is_file_header():
            old, new = self._header(), self._header()
            patch.creates, patch.deletes = old == _NOWHERE, new == _NOWHERE
        while self._peek().startswith(b"@@"):
            patch.hunks.append(self._hunk())
        self._check_rest()
        if not patch.hunks:
            raise MalformedError("there is no hunk")
        if patch.creates and (patch.deletes or any(hunk.old() for hunk in patch.hunks)):
            raise MalformedError("a file that is made has no lines before")
        if patch.deletes and any(hunk.new() for hunk in patch.hunks):
            raise MalformedError("a file that is deleted has no lines after")
        return patch

    def _skip_prose(self) -> None:
        """Skips the text before a patch in a mail, and git's extra headers."""
        while self._at < len(self._lines) and not self._is_file_header():
            if self._peek().startswith(b"@@"):
                if self._at > 0 and self._lines[self._at - 1].startswith((b"--- ", b"+++ ")):
                    raise MalformedError("one of the two headers of the file is missing")
                return
            self._at += 1

    def _check_rest(self) -> None:
        """A signature may follow, but no uncounted hunk line and no other file."""
        first = self._peek()
        if first.startswith((b" ", b"+", b"-")) and first != b"-- " and not self._is_file_header():
            raise MalformedError(f"line {self._at + 1} belongs to a hunk that does not count it")
        while self._at < len(self._lines):
            if self._is_file_header() or self._peek().startswith((b"@@ -", b"diff --git ")):
                raise MalformedError("the patch is for more than one file, or is interrupted")
            self._at += 1

    def _is_file_header(self) -> bool:
        two = self._lines[self._at : self._at + 2]
        return len(two) == 2 and two[0].startswith(b"--- ") and two[1].startswith(b"+++ ")

    def _peek(self) -> bytes:
        """The next line, without its line end."""
        return self._lines[self._at].rstrip(b"\r\n") if self._at < len(self._lines) else b""

    def _header(self) -> bytes:
        name = self._peek()[4:].split(b"\t")[0].strip()
        self._at += 1
        return name

    def _hunk(self) -> Hunk:
        header = _HUNK.fullmatch(self._peek())
        if header is None:
            raise MalformedError(f"line {self._at + 1} is not a hunk header")
        self._at += 1
        hunk = Hunk(int(header[1]), int(header[3]))
        old, new = int(header[2] or 1), int(header[4] or 1)
        if (old > 0 and hunk.old_start == 0) or (new > 0 and hunk.new_start == 0):
            raise MalformedError(f"line {self._at} counts lines that cannot be")
        while old > 0 or new > 0:
            sign = self._body_line(hunk)
            old -= sign != b"+"
            new -= sign != b"-"
        if old < 0 or new < 0:
            raise MalformedError(f"a hunk has other lines than it counts, at line {self._at}")
        if all(sign == b" " for sign, _ in hunk.lines):
            raise MalformedError(f"the hunk that ends at line {self._at} changes nothing")
        self._no_newline(hunk)
        return hunk

    def _body_line(self, hunk: Hunk) -> bytes:
        self._no_newline(hunk)
        if self._at >= len(self._lines):
            raise MalformedError("the last hunk has fewer lines than it counts")
        line = self._lines[self._at]
        self._at += 1
        if not line.endswith(b"\n"):
            line += b"\n"  # The patch's own last newline got lost.
        if line in (b"\n", b"\r\n"):
            line = b" " + line  # So did the blank of an empty line.
        if line[:1] not in (b" ", b"-", b"+"):
            raise MalformedError(f"line {self._at} is not a hunk line")
        hunk.lines.append((line[:1], line[1:]))
        return line[:1]

    def _no_newline(self, hunk: Hunk) -> None:
        r"""`\ No newline at end of file` refers to the line before it."""
        if self._peek().startswith(b"\\"):
            if not hunk.lines:
                raise MalformedError(f"line {self._at + 1} speaks of no line")
            sign, line = hunk.lines[-1]
            hunk.lines[-1] = sign, line.removesuffix(b"\n")
            self._at += 1
