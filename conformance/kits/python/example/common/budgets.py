"""Budgets: an answer never exceeds the caller's caps, and it says what was left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import Code, Refusal, suggest
from .text import compact, utf8_length

T = TypeVar("T")

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000
_EMPTY_LIST = len("[]")


def page(
    tool: str, args: Mapping[str, Any], entries: Sequence[T], show: Callable[[T], dict[str, Any]]
) -> dict[str, Any]:
    """The list that `limit`, `offset` and `max_chars` of the arguments leave of all entries."""
    limit: int = args.get("limit", DEFAULT_LIMIT)
    offset: int = args.get("offset", 0)
    cap: int | None = args.get("max_chars")
    if cap is not None and cap < _EMPTY_LIST:
        raise Refusal(
            Code.BUDGET_EXCEEDED,
            f"not even an empty list fits in `max_chars` {cap}",
            f"give `max_chars` of {_EMPTY_LIST} or more, or leave it out",
            suggest(tool, "the same list, with the smallest cap that it can keep", {**args, "max_chars": _EMPTY_LIST}),
        )
    items, used = _fitting([show(entry) for entry in entries[offset : offset + limit]], cap)
    shown = len(items)
    left_out = max(len(entries) - offset - shown, 0)
    answer: dict[str, Any] = {"items": items, "total": len(entries), "truncated": left_out > 0}
    if left_out and cap is not None and shown < min(limit, len(entries) - offset):
        answer["budget"] = {"used": used, "limit": cap}
    elif left_out:
        answer["budget"] = {"used": shown, "limit": limit}
    return answer


def _fitting(items: list[dict[str, Any]], cap: int | None) -> tuple[list[dict[str, Any]], int]:
    """The longest prefix of the items that fits in so many bytes of JSON, and its size."""
    if cap is None:
        return items, 0
    used = _EMPTY_LIST
    for index, item in enumerate(items):
        length = utf8_length(compact(item)) + (1 if index else 0)
        if used + length > cap:
            return items[:index], used
        used += length
    return items, used


@dataclass(frozen=True)
class _Cut:
    text: str
    used: int
    limit: int


def cut_text(text: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The text within `max_chars`, `max_bytes` and `max_lines` of the arguments; reports the knob that cuts most."""
    cuts = [
        cut(text, args[knob])
        for knob, cut in (("max_chars", _cut_bytes), ("max_bytes", _cut_bytes), ("max_lines", _cut_lines))
        if knob in args
    ]
    shortest = min(cuts, key=lambda cut: len(cut.text), default=None)  # The first of those that cut alike.
    if shortest is None or len(shortest.text) == len(text):
        return {"text": text, "truncated": False}
    return {"text": shortest.text, "truncated": True, "budget": {"used": shortest.used, "limit": shortest.limit}}


def _cut_bytes(text: str, limit: int) -> _Cut:
    # Drop the rest of a split character.
    kept = text.encode("utf-8")[:limit].decode("utf-8", "ignore")
    return _Cut(kept, utf8_length(kept), limit)


def _cut_lines(text: str, limit: int) -> _Cut:
    end = lines = 0
    while lines < limit and end < len(text):
        newline = text.find("\n", end)
        end = len(text) if newline == -1 else newline + 1
        lines += 1
    return _Cut(text[:end], lines, limit)
