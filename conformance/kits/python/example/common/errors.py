"""Refusals: a code for programs, a sentence for people, a hint, and calls that would help."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

Suggestion = dict[str, Any]
Priority = Literal["high", "medium", "low"]


class Code(StrEnum):
    """The codes that this server uses, of those that the contract recommends."""

    UNKNOWN_WORKSPACE = "UNKNOWN_WORKSPACE"
    UNKNOWN_ID = "UNKNOWN_ID"
    INVALID_NAME = "INVALID_NAME"
    INVALID_INPUT = "INVALID_INPUT"
    REVISION_MISMATCH = "REVISION_MISMATCH"
    EXPECTED_TARGET_MISMATCH = "EXPECTED_TARGET_MISMATCH"
    STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID = "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID"
    CHECKPOINTS_NOT_CONFIRMED = "CHECKPOINTS_NOT_CONFIRMED"
    CONFLICT = "CONFLICT"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"


class Refusal(Exception):
    """A refused call. Raise it only if nothing has changed."""

    def __init__(self, code: Code, message: str, recovery: str, *suggestions: Suggestion) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.recovery = recovery
        self.suggestions = list(suggestions)

    def to_json(self) -> dict[str, Any]:
        return {"code": str(self.code), "message": self.message, "recovery": self.recovery}


def suggest(target: str, reason: str, params: Mapping[str, Any], priority: Priority = "medium") -> Suggestion:
    """A suggested call that succeeds as it stands; the caller has checked that, hence `validated`."""
    return {
        "action": "call_tool",
        "target": target,
        "reason": reason,
        "priority": priority,
        "validated": True,
        "params": dict(params),
    }


def invalid(message: str, recovery: str) -> Refusal:
    return Refusal(Code.INVALID_INPUT, message, recovery)


def invalid_name(message: str, recovery: str) -> Refusal:
    return Refusal(Code.INVALID_NAME, message, recovery)


_QUOTED = 80


def quote(text: str) -> str:
    """A caller's text for a message: shortened, and always valid UTF-8."""
    short = text if len(text) <= _QUOTED else text[:_QUOTED] + "…"
    return "`" + short.encode("utf-8", "backslashreplace").decode("utf-8") + "`"
