"""A tool: its arguments and its function. Every call is answered with one envelope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import Code, Refusal, Suggestion, invalid, suggest
from .kinds import Field, arguments_schema, read_arguments
from .store import Store, Workspace

Args = dict[str, Any]
Now = Callable[[], str]


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    fields: tuple[Field, ...]
    run: Callable[[Store, Args], dict[str, Any]]
    """Maps canonical arguments to `result`. If it raises `Refusal`, nothing has changed."""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "inputSchema": arguments_schema(self.fields)}

    def call(self, store: Store, arguments: Any, now: Now) -> dict[str, Any]:
        try:
            result = self.run(store, _one_expected(read_arguments(self.fields, arguments)))
        except Refusal as refusal:
            return self._envelope(now, {}, refusal)
        return self._envelope(now, result, None)

    def _envelope(self, now: Now, result: dict[str, Any], refusal: Refusal | None) -> dict[str, Any]:
        return {
            "success": refusal is None,
            "intent": self.name,
            "result": result,
            "warnings": [],
            "suggestions": [] if refusal is None else refusal.suggestions,
            "context": {},
            "error": None if refusal is None else refusal.to_json(),
            "timestamp": now(),
        }


def find_workspace(store: Store, args: Args) -> Workspace:
    workspace = store.workspaces.get(args["workspace"])
    if workspace is None:
        raise Refusal(
            Code.UNKNOWN_WORKSPACE,
            f"there is no workspace `{args['workspace']}`",
            "create it with workspaces_create, or name one that workspaces_list tells",
            suggest("workspaces_list", "the workspaces that are there", {}),
            suggest("workspaces_create", "make it, if it is meant to be new", {"workspace": args["workspace"]}, "low"),
        )
    return workspace


def unknown_id(what: str, recovery: str, *suggestions: Suggestion) -> Refusal:
    return Refusal(Code.UNKNOWN_ID, f"there is no {what}", recovery, *suggestions)


def already_there(what: str, recovery: str, *suggestions: Suggestion) -> Refusal:
    return Refusal(Code.CONFLICT, f"there is {what} already", recovery, *suggestions)


def _one_expected(args: Args) -> Args:
    """The arguments, with `expected_revision` under this name alone."""
    alias = args.pop("expected_version", None)
    if alias is not None and args.setdefault("expected_revision", alias) != alias:
        raise invalid(
            "`expected_revision` and its alias `expected_version` differ", "give one of them, or the same number in both"
        )
    return args


def check_revision(
    args: Args, actual: int, fetch: Suggestion, retry: tuple[str, Mapping[str, Any]] | None
) -> None:
    """`retry` is a tool and the arguments of the same write, if that would succeed with the current revision."""
    expected: int | None = args.get("expected_revision")
    if expected is None or expected == actual:
        return
    suggestions = [fetch]
    if retry is not None:
        tool, params = retry
        reason = "the same write, upon the current revision"
        suggestions.insert(0, suggest(tool, reason, {**params, "expected_revision": actual}, "high"))
    raise Refusal(
        Code.REVISION_MISMATCH,
        f"expected revision {_short(expected)}, but the current one is {actual}",
        "look at the current state, then write with its revision",
        *suggestions,
    )


def _short(number: int) -> str:
    return str(number) if number.bit_length() <= 64 else "(a number beyond 64 bits)"


def check_change(args: Args, *members: str) -> None:
    if not any(member in args for member in members):
        raise invalid("the patch names nothing to change", "give at least one of: " + ", ".join(members))
