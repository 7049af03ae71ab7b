"""Sandboxed capabilities: tools, the registry that finds them, and the runtime that executes them.

The runtime decides in this order: is there such a tool, is it permitted, are its secrets there, is its input
valid. Only then does the tool run, and no secret's value leaves it.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from .errors import TypedError, detail, validation_error
from .schema import Schema, SchemaError
from .vault import Secrets
from .utils import Clock, SecretProvider

ToolLog = dict[str, Any]
"""`ts`, `name`, `msg`, and perhaps `data`."""

ToolResult = dict[str, Any]
"""`ok`, and what belongs to it: `data` or `error`, and `meta`."""


@dataclass(frozen=True)
class ToolContext:
    """What a tool may use."""

    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    permissions: Collection[str] = ()
    logger: Callable[[ToolLog], object] | None = None
    secret_provider: SecretProvider | None = None


class Tool(ABC):
    """A narrow, auditable action."""

    def __init__(
        self, name: str, schema: Mapping[str, Any], description: str | None = None, version: str | None = None
    ) -> None:
        faults = [] if isinstance(name, str) and name else [detail("name", "must be a string that is not empty", name)]
        for member, value in (("description", description), ("version", version)):
            if value is not None and not isinstance(value, str):
                faults.append(detail(member, "must be a string", value, "string"))
        try:
            self._compiled = Schema(schema)
        except SchemaError as error:
            faults.append(detail("schema", str(error)))
        if faults:
            raise validation_error(f"no tool: {faults[0]['field']} {faults[0]['reason']}", *faults)
        self.name = name
        self.schema = copy.deepcopy(dict(schema))
        self.description = description
        self.version = version

    def validate(self, input: Any) -> Any:
        """The input, if it fits the schema."""
        faults = self._compiled.faults(input)
        if faults:
            raise validation_error(f"the input of `{self.name}` does not fit its schema", *faults)
        return input

    @abstractmethod
    async def execute(self, input: Any, context: ToolContext) -> ToolResult:
        """Runs the tool on a valid input. Raises `TypedError`, or returns a result that is not `ok`."""


class ToolRegistry:
    """Finds tools by their names."""

    def __init__(self, *tools: Tool) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        if tool.name in self._tools:
            raise validation_error(f"there is a tool `{tool.name}` already", detail("name", "is taken", tool.name))
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool:
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise validation_error(f"there is no tool `{name}`", detail("name", "is the name of no tool", name))
        return tool

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tool descriptions for a model, sorted by name."""
        return [
            {"name": tool.name, "parameters": copy.deepcopy(tool.schema)}
            | ({} if tool.description is None else {"description": tool.description})
            for _, tool in sorted(self._tools.items())
        ]


# Tools that need a permission of their own name, with the operation and the input member that names the resource.
_GUARDED = {"Write": ("write", "file"), "Edit": ("write", "file"), "Bash": ("execute", "command")}


async def execute(registry: ToolRegistry, clock: Clock, name: str, input: Any, context: ToolContext) -> ToolResult:
    """Executes a tool. A refusal by the tool or a policy is a result without `ok`; typed errors are never raised."""
    started = clock.now()
    secrets = Secrets(context.secret_provider)
    try:
        result = await _execute(registry.get(name), secrets, input, context)
    except TypedError as error:
        result = failure(error)
    return _redacted(result, secrets) | {"meta": _meta(started, clock.now())}


async def _execute(tool: Tool, secrets: Secrets, input: Any, context: ToolContext) -> ToolResult:
    _check_permission(tool.name, input, context)
    valid = tool.validate(await secrets.inject(input))
    logger = context.logger
    if logger is not None:
        context = replace(context, logger=lambda entry: logger(_redacted_members(entry, secrets)))
    return await tool.execute(valid, context)


def _check_permission(name: str, input: Any, context: ToolContext) -> None:
    if name not in _GUARDED or name in context.permissions:
        return
    operation, member = _GUARDED[name]
    given = input.get(member) if isinstance(input, dict) else None
    resource = given if isinstance(given, str) else name
    raise permission_error(resource, operation, f"`{name}` needs the permission `{name}`")


def permission_error(resource: str, operation: str, policy: str) -> TypedError:
    properties = {"resource": resource, "operation": operation, "policy": policy}
    return TypedError("EPERMISSION", f"to {operation} `{resource}` is refused: {policy}", properties, name="PermissionError")


def success(**data: Any) -> ToolResult:
    return {"ok": True, "data": data}


def failure(error: TypedError) -> ToolResult:
    return {"ok": False, "error": {**error.properties, "code": error.code, "message": error.message}}


def _redacted(result: ToolResult, secrets: Secrets) -> ToolResult:
    clean = _redacted_members(result, secrets)
    if isinstance(result.get("error"), dict):
        # Codes are a fixed set that programs rely on, so they are not redacted.
        code = {name: result["error"][name] for name in ("code",) if name in result["error"]}
        clean["error"] = _redacted_members(result["error"], secrets) | code
    return clean


def _redacted_members(holder: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Redacts values. Member names belong to the contract and stay."""
    return {name: secrets.redact(value) for name, value in holder.items()}


def _meta(started: str, ended: str) -> dict[str, Any]:
    duration = datetime.fromisoformat(ended) - datetime.fromisoformat(started)
    return {"startedAt": started, "endedAt": ended, "durationMs": duration // timedelta(milliseconds=1)}
