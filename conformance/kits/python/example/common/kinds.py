"""The kinds of tool arguments: their JSON Schema and their parsers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import ids
from .budgets import DEFAULT_LIMIT, MAX_LIMIT
from .errors import invalid, quote
from .text import has_lone_surrogate

TITLE_LENGTH = 500


@dataclass(frozen=True)
class Kind:
    schema: dict[str, Any]
    read: Callable[[str, Any], Any]
    """From a member's name and value to the value in its canonical form. Raises `Refusal`."""


@dataclass(frozen=True)
class Field:
    name: str
    kind: Kind
    required: bool = True


def optional(field: Field) -> Field:
    return Field(field.name, field.kind, required=False)


def read_arguments(fields: tuple[Field, ...], given: Any) -> dict[str, Any]:
    """The arguments of a call, validated and canonical. Absent members stay absent."""
    if not isinstance(given, Mapping):
        raise invalid("`arguments` is not an object", "give one object")
    listed = {field.name for field in fields}
    for name in given:
        if name not in listed:
            raise invalid(f"there is no member {quote(name)}", "leave it out; the tool takes: " + ", ".join(sorted(listed)))
    for field in fields:
        if field.required and field.name not in given:
            raise invalid(f"`{field.name}` is missing", f"give `{field.name}`")
    return {field.name: field.kind.read(field.name, given[field.name]) for field in fields if field.name in given}


def arguments_schema(fields: tuple[Field, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {field.name: field.kind.schema for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }


def _string(member: str, value: Any) -> str:
    if not isinstance(value, str):
        raise invalid(f"`{member}` is not a string", "give a string")
    if has_lone_surrogate(value):
        raise invalid(f"`{member}` has half a surrogate pair", "give whole characters")
    return value


def _title(member: str, value: Any) -> str:
    text = _string(member, value)
    if not 1 <= len(text) <= TITLE_LENGTH:
        raise invalid(f"`{member}` has {len(text)} characters", f"give 1 to {TITLE_LENGTH} characters")
    return text


def _named(check: Callable[[str, str], Any], **schema: Any) -> Kind:
    return Kind({"type": "string", **schema}, lambda member, value: check(member, _string(member, value)))


def _graph_name(length: int, bar: bool, what: str) -> Kind:
    rule = f"{what}: 1 to {length} characters without control characters{'' if bar else ' or `|`'}"
    return _named(lambda member, value: ids.graph_name(member, value, length, bar), minLength=1, description=rule)


def _whole(member: str, value: Any) -> int:
    # JSON has one kind of number: `5.0` is an integer too.
    if isinstance(value, bool) or not (isinstance(value, int) or isinstance(value, float) and value.is_integer()):
        raise invalid(f"`{member}` is not an integer", "give an integer")
    return int(value)


def _integer(least: int, most: int | None = None, **schema: Any) -> Kind:
    def read(member: str, value: Any) -> int:
        number = _whole(member, value)
        if number < least or (most is not None and number > most):
            ends = f"{least} or more" if most is None else f"{least} to {most}"
            raise invalid(f"`{member}` is out of its range", f"give {ends}")
        return number

    ends = {"minimum": least} | ({} if most is None else {"maximum": most})
    return Kind({"type": "integer", **ends, **schema}, read)


def _choice(*choices: str) -> Kind:
    def read(member: str, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise invalid(f"`{member}` is none of its values", "give one of: " + ", ".join(choices))
        return value

    return Kind({"type": "string", "enum": list(choices)}, read)


def _boolean(member: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise invalid(f"`{member}` is not a boolean", "give true or false")
    return value


def _checkpoints(member: str, value: Any) -> dict[str, bool]:
    if not isinstance(value, Mapping) or not value or not value.keys() <= {"criteria", "tests"}:
        raise invalid(f"`{member}` is not an object with `criteria` or `tests`", "name one checkpoint or both, and nothing else")
    return {name: _boolean(f"{member}.{name}", confirmed) for name, confirmed in value.items()}


def _props(member: str, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise invalid(f"`{member}` is not an object", "give an object of strings")
    return {_string(f"a key of {member}", key): _string(f"{member}.{quote(key)}", text) for key, text in value.items()}


_WORKSPACE_KIND = _named(ids.workspace_name, minLength=1, maxLength=128, pattern=ids.WORKSPACE_PATTERN)
_PLAN_OR_TASK_KIND = _named(ids.plan_or_task_id, pattern=ids.PLAN_OR_TASK_PATTERN)
_STEP_PATH_KIND = _named(ids.step_path, pattern=ids.STEP_PATH_PATTERN)
_NODE_KIND = _graph_name(ids.NODE_LENGTH, bar=False, what="a graph node's id")
_REVISION_KIND = Kind({"type": "integer"}, _whole)
_KNOB_KIND = _integer(0)
_BOOLEAN_KIND = Kind({"type": "boolean"}, _boolean)

WORKSPACE = Field("workspace", _WORKSPACE_KIND)
TITLE = Field("title", Kind({"type": "string", "minLength": 1, "maxLength": TITLE_LENGTH}, _title))
NOTES = Field("notes", Kind({"type": "string"}, _string))
STATUS = Field("status", _choice("open", "done"))
PLAN = Field("plan", _PLAN_OR_TASK_KIND)
TASK = Field("task", _PLAN_OR_TASK_KIND)
EXPECTED_TARGET_ID = Field("expected_target_id", _PLAN_OR_TASK_KIND)
STRICT_TARGETING = Field("strict_targeting", _BOOLEAN_KIND)
STEP = Field("step", _named(ids.step_id, pattern=ids.STEP_PATTERN))
PATH = Field("path", _STEP_PATH_KIND)
PARENT = Field("parent", _STEP_PATH_KIND)
CHECKPOINTS = Field(
    "checkpoints",
    Kind(
        {
            "type": "object",
            "properties": {"criteria": {"type": "boolean"}, "tests": {"type": "boolean"}},
            "minProperties": 1,
            "additionalProperties": False,
        },
        _checkpoints,
    ),
)
BRANCH = Field("branch", _WORKSPACE_KIND)
FROM_BRANCH = Field("from", _WORKSPACE_KIND)
INTO_BRANCH = Field("into", _WORKSPACE_KIND)
NODE = Field("node", _NODE_KIND)
FROM_NODE = Field("from", _NODE_KIND)
TO_NODE = Field("to", _NODE_KIND)
TYPE = Field("type", _graph_name(ids.TYPE_LENGTH, bar=True, what="a graph node's type"))
REL = Field("rel", _graph_name(ids.REL_LENGTH, bar=False, what="a graph relation"))
PROPS = Field("props", Kind({"type": "object", "additionalProperties": {"type": "string"}}, _props))
CONFLICT = Field("conflict", _named(ids.conflict_id, pattern=ids.CONFLICT_PATTERN))
TAKE = Field("take", _choice("ours", "theirs"))

EXPECTED = (optional(Field("expected_revision", _REVISION_KIND)), optional(Field("expected_version", _REVISION_KIND)))
MAX_CHARS = optional(Field("max_chars", _KNOB_KIND))
TEXT_KNOBS = (MAX_CHARS, optional(Field("max_bytes", _KNOB_KIND)), optional(Field("max_lines", _KNOB_KIND)))
PAGE = (
    optional(Field("limit", _integer(1, MAX_LIMIT, default=DEFAULT_LIMIT))),
    optional(Field("offset", _integer(0, default=0))),
    MAX_CHARS,
)
