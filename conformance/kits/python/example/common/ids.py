"""Identifiers: validation, canonical forms, and generation of server-made ids."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from .errors import invalid, invalid_name, quote
from .text import compact

# Always with `fullmatch`: `$` would let a newline at the end pass.
_WORKSPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_PLAN_OR_TASK = re.compile(r"(PLAN|TASK)-[0-9]{3,}")
_STEP = re.compile(r"(STEP|NODE)-[A-Za-z0-9]{8,}")
_STEP_PATH = re.compile(r"s:[0-9]+(\.s:[0-9]+)*")
_CONFLICT = re.compile(r"CONFLICT-[0-9a-f]{32}")

_WORKSPACE_LENGTH = 128
NODE_LENGTH = 256
TYPE_LENGTH = 128
REL_LENGTH = 128

# White space as Unicode has it. `str.strip()` would take off U+001C to U+001F too, which are control characters only.
_WHITE_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"

WORKSPACE_PATTERN = f"^{_WORKSPACE.pattern}$"
PLAN_OR_TASK_PATTERN = f"^{_PLAN_OR_TASK.pattern}$"
STEP_PATTERN = f"^{_STEP.pattern}$"
STEP_PATH_PATTERN = f"^{_STEP_PATH.pattern}$"
CONFLICT_PATTERN = f"^{_CONFLICT.pattern}$"

Path = tuple[int, ...]


def workspace_name(member: str, value: str) -> str:
    """A WorkspaceId or a branch name; both have the same form."""
    if not 1 <= len(value) <= _WORKSPACE_LENGTH or not _WORKSPACE.fullmatch(value):
        raise invalid_name(
            f"`{member}` {quote(value)} is not a name of this kind",
            f"give 1 to {_WORKSPACE_LENGTH} characters that match {WORKSPACE_PATTERN}",
        )
    return value


def plan_or_task_id(member: str, value: str) -> str:
    return _matching(_PLAN_OR_TASK, member, value)


def step_id(member: str, value: str) -> str:
    return _matching(_STEP, member, value)


def conflict_id(member: str, value: str) -> str:
    return _matching(_CONFLICT, member, value)


def _matching(pattern: re.Pattern[str], member: str, value: str) -> str:
    if not pattern.fullmatch(value):
        raise invalid(f"`{member}` {quote(value)} is not an id of this kind", f"give an id that matches ^{pattern.pattern}$")
    return value


_INDEX_DIGITS = 18


def step_path(member: str, value: str) -> Path:
    """The indexes of a StepPath. `s:00` is the same index as `s:0`."""
    _matching(_STEP_PATH, member, value)
    digits = [part.removeprefix("s:").lstrip("0") or "0" for part in value.split(".")]
    # No task has so many steps. Such an index names nothing, and Python would not even read it if it is long enough.
    return tuple(-1 if len(index) > _INDEX_DIGITS else int(index) for index in digits)


def write_path(path: Path) -> str:
    return ".".join(f"s:{index}" for index in path)


def graph_name(member: str, value: str, length: int, bar: bool) -> str:
    """The canonical form of a GraphNodeId, GraphType or GraphRel. `bar` says whether it may hold `|`."""
    name = value.strip(_WHITE_SPACE)
    rule = f"give 1 to {length} characters, no control characters{'' if bar else ' and no `|`'}"
    if not name:
        raise invalid_name(f"`{member}` is empty", rule)
    if len(name) > length:
        raise invalid_name(f"`{member}` has {len(name)} characters", rule)
    if not bar and "|" in name:
        raise invalid_name(f"`{member}` {quote(name)} has a `|`", rule)
    if any(unicodedata.category(char) == "Cc" for char in name):
        raise invalid_name(f"`{member}` has a control character", rule)
    return name


def make_plan_id(number: int) -> str:
    return f"PLAN-{number:03}"


def make_task_id(number: int) -> str:
    return f"TASK-{number:03}"


def make_step_id(number: int) -> str:
    return f"STEP-{number:08X}"


def make_conflict_id(workspace: str, source: str, target: str, key: str, base: int, theirs: int, ours: int) -> str:
    """The same conflict has the same id in every process; the last three are revisions, 0 where there was no node."""
    made_of = [workspace, source, target, "graph", "node", key, base, theirs, ours]
    return "CONFLICT-" + hashlib.sha256(compact(made_of).encode("utf-8")).hexdigest()[:32]
