"""The five tools that every registry has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from . import process
from .errors import TypedError, detail, validation_error
from .patch import MalformedError, MisfitError, Patch, parse_patch
from .tools import Tool, ToolContext, ToolRegistry, ToolResult, success
from .workspace import Change, Workspace

_FILE = {"type": "string", "minLength": 1, "pattern": "^[^\\u0000]*$", "description": "A path within the workspace."}


class Graph(Protocol):
    async def query(
        self, query: str, params: dict[str, Any] | None = None, commit: str | None = None
    ) -> list[dict[str, Any]]: ...


def standard_registry(graph: Graph) -> ToolRegistry:
    return ToolRegistry(GraphQuery(graph), Read(), Write(), Edit(), Bash())


def _schema(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
    }


class GraphQuery(Tool):
    def __init__(self, graph: Graph) -> None:
        schema = _schema(
            {"query": {"type": "string"}},
            params={"type": "object", "additionalProperties": True},
            commit={"type": "string"},
        )
        super().__init__("GraphQuery", schema, "Asks the code graph, at a commit or at the last one.")
        self._graph = graph

    async def execute(self, input: Any, context: ToolContext) -> ToolResult:
        return success(rows=await self._graph.query(**input))


class Read(Tool):
    def __init__(self) -> None:
        super().__init__("Read", _schema({"file": _FILE}), "Reads a text file.")

    async def execute(self, input: Any, context: ToolContext) -> ToolResult:
        file = input["file"]
        data = await asyncio.to_thread(Workspace(context.cwd).read, file)
        try:
            return success(content=data.decode("utf-8"))
        except UnicodeDecodeError:
            raise TypedError("EIO", f"`{file}` is not UTF-8", {"operation": "read", "path": file}, name="IOError") from None


class Write(Tool):
    def __init__(self) -> None:
        super().__init__("Write", _schema({"file": _FILE, "content": {"type": "string"}}), "Writes a whole text file.")

    async def execute(self, input: Any, context: ToolContext) -> ToolResult:
        try:
            data = input["content"].encode("utf-8")
        except UnicodeEncodeError:
            raise validation_error("the content has no UTF-8", detail("content", "has a lone surrogate")) from None

        def write(change: Change) -> None:
            if context.dry_run:
                change.check()
            else:
                change.replace(data)

        await _change(context, input["file"], write)
        return success(bytes=len(data))


class Edit(Tool):
    def __init__(self) -> None:
        schema = _schema(
            {"file": _FILE, "patch": {"type": "string", "description": "A unified diff of this one file."}},
            strategy={"type": "string", "enum": ["apply", "check"]},
        )
        super().__init__("Edit", schema, "Applies a patch to a file, or checks whether it would fit.")

    async def execute(self, input: Any, context: ToolContext) -> ToolResult:
        checks = input.get("strategy") == "check"
        try:
            patch = parse_patch(input["patch"])
            await _change(context, input["file"], lambda change: _edit(change, patch, touch=not checks and not context.dry_run))
        except (MalformedError, MisfitError, UnicodeEncodeError) as error:
            if checks and isinstance(error, MisfitError):
                return success(patched=False)
            raise validation_error("the patch cannot be applied", detail("patch", str(error))) from None
        return success(patched=True) if checks else success(patched=True, diff=input["patch"])


def _edit(change: Change, patch: Patch, touch: bool) -> None:
    if patch.creates and change.exists():
        raise MisfitError("the patch makes the file, which is there already")
    after = patch.apply(b"" if patch.creates else change.read())
    change.check()
    if touch and patch.deletes:
        change.remove()
    elif touch:
        change.replace(after)


async def _change(context: ToolContext, file: str, action: Callable[[Change], None]) -> None:
    def act() -> None:
        with Workspace(context.cwd).change(file) as change:
            action(change)

    await asyncio.to_thread(act)


class Bash(Tool):
    def __init__(self) -> None:
        schema = _schema(
            {"command": {"type": "string", "description": "A program; no shell reads it."}},
            args={"type": "array", "items": {"type": "string"}},
            timeoutMs={"type": "integer", "minimum": 1},
        )
        super().__init__("Bash", schema, "Runs a program in the workspace.")

    async def execute(self, input: Any, context: ToolContext) -> ToolResult:
        if context.dry_run:
            return success(code=0, stdout="", stderr="")
        done = await process.run(
            input["command"],
            input.get("args", []),
            cwd=context.cwd,
            env=context.env,
            timeout_ms=input.get("timeoutMs"),
        )
        return success(code=done.code, stdout=done.stdout, stderr=done.stderr)
