"""The worked example behind the kit: `sage`, a library, and `common`, a server. Neither knows anything of Proofmark."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

# The kit is vendored beside an adapter; here it is one folder up.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from proofmark import Adapter, ContractError, FakeError, Graph, LlmProvider, ScriptedTool, SecretProvider, Session
from sage.chronicle import DEFAULT_LOCK_TIMEOUT_MS, DEFAULT_TAIL, Chronicle
from sage.errors import raise_error
from sage.files import LockedFile
from sage.llm import DEFAULT_ROUNDS, LLM, ToolRunner
from sage.standard import standard_registry
from sage.tools import Tool, ToolContext, ToolRegistry, ToolResult, execute
from sage.utils import TypedError, canonical_json, err, parse_json, sha256


def as_contract_error(error: BaseException) -> ContractError | None:
    """The library's errors are already flat; this tells the kit which exceptions are theirs."""
    return ContractError.from_json(error.to_json()) if isinstance(error, TypedError) else None


adapter = Adapter(
    name="sage-python",
    version="0.1.0",
    contracts=["sage.utils", "sage.errors", "sage.chronicle", "sage.tools", "sage.llm", "common"],
    hooks=["chronicle.lock", "llm.registry", "llm.cache"],
    translate_error=as_contract_error,
)


COMMON_SERVER = Path(__file__).resolve().parent / "common_server.py"


@adapter.on_open
async def name_server(session: Session) -> dict[str, Any]:
    """Opens the server for every session; contracts without a wire ignore it."""
    return {"wire": {"mcp": {"command": [sys.executable, str(COMMON_SERVER)]}}}


@adapter.operation("utils.canonicalJSONStringify")
async def canonical(session: Session, args: dict[str, Any]) -> str:
    if "json" in args:
        return canonical_json(parse_json(args["json"]), "json")
    return canonical_json(args["value"])


@adapter.operation("utils.sha256")
async def hash_text(session: Session, args: dict[str, Any]) -> str:
    return sha256(bytes.fromhex(args["hex"]) if "hex" in args else args["text"])


@adapter.operation("utils.err")
async def make_typed_error(session: Session, args: dict[str, Any]) -> dict[str, Any]:
    return err(args.get("code"), args.get("message"), args.get("cause")).to_json()  # type: ignore[arg-type]


@adapter.operation("utils.clock.now")
async def now(session: Session, args: dict[str, Any]) -> str:
    return session.clock.now()


@adapter.operation("utils.random.int")
async def random_int(session: Session, args: dict[str, Any]) -> int:
    return session.random.int()


@adapter.operation("utils.random.float")
async def random_float(session: Session, args: dict[str, Any]) -> float:
    return session.random.float()


@adapter.operation("utils.secrets.get")
async def get_secret(session: Session, args: dict[str, Any]) -> str | None:
    return await SecretProvider(session).get(args["key"])


@adapter.operation("errors.raise")
async def raise_typed_error(session: Session, args: dict[str, Any]) -> None:
    raise_error(args.get("code"), args.get("message"), args.get("properties"), args.get("cause"))  # type: ignore[arg-type]


# The chronicle's operations are plain functions: they wait for locks and disks, in threads.


def _chronicle(session: Session) -> Chronicle:
    chronicle: Chronicle | None = session.state.get("chronicle")
    if chronicle is None:
        chronicle = session.state["chronicle"] = Chronicle(session.workspace)
    return chronicle


@adapter.operation("chronicle.appendEvent")
def append_event(session: Session, args: dict[str, Any]) -> None:
    _chronicle(session).append_event(args.get("path"), args.get("event"), _timeout(args))  # type: ignore[arg-type]


@adapter.operation("chronicle.appendEventWithId")
def append_event_with_id(session: Session, args: dict[str, Any]) -> None:
    _chronicle(session).append_event_with_id(args.get("path"), args.get("event"), _timeout(args))  # type: ignore[arg-type]


def _timeout(args: dict[str, Any]) -> Any:
    return args.get("lockTimeoutMs", DEFAULT_LOCK_TIMEOUT_MS)


@adapter.operation("chronicle.readChronicle")
def read_chronicle(session: Session, args: dict[str, Any]) -> list[dict[str, Any]]:
    return _chronicle(session).read(args.get("path"))  # type: ignore[arg-type]


@adapter.operation("chronicle.tailChronicle")
def tail_chronicle(session: Session, args: dict[str, Any]) -> list[dict[str, Any]]:
    return _chronicle(session).tail(args.get("path"), args.get("n", DEFAULT_TAIL))  # type: ignore[arg-type]


@adapter.operation("chronicle.holdLock")
def hold_lock(session: Session, args: dict[str, Any]) -> None:
    lock = _chronicle(session).lock(args["path"])
    held: dict[str, LockedFile] = session.state.setdefault("held", {})
    held[args["path"]] = lock
    session.on_close(lambda: _release(session, args["path"]))


@adapter.operation("chronicle.releaseLock")
def release_lock(session: Session, args: dict[str, Any]) -> None:
    _release(session, args["path"])


def _release(session: Session, path: str) -> None:
    lock: LockedFile | None = session.state.get("held", {}).pop(path, None)
    if lock is not None:
        lock.release()


# The kit's collaborators raise the kit's errors; the library knows only its own.

T = TypeVar("T")


async def typed(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except FakeError as error:
        raise TypedError(error.code, error.message, error.properties, name=error.name or "TypedError") from error


class TypedGraph(Graph):
    async def query(self, *args: Any, **options: Any) -> list[dict[str, Any]]:
        return await typed(super().query(*args, **options))


class TypedSecrets(SecretProvider):
    async def get(self, key: str) -> str | None:
        return await typed(super().get(key))


class PlayedTool(Tool):
    """A registered tool of the library. Only its execution is played by the harness."""

    def __init__(self, session: Session, tool: dict[str, Any]) -> None:
        super().__init__(tool.get("name"), tool.get("schema"), tool.get("description"), tool.get("version"))  # type: ignore[arg-type]
        self._scripted = ScriptedTool(session, self.name)

    async def execute(self, input: Any, context: ToolContext) -> ToolResult:
        return await typed(self._scripted.execute(input, context.logger))


def _tools(session: Session) -> ToolRegistry:
    registry: ToolRegistry | None = session.state.get("tools")
    if registry is None:
        registry = session.state["tools"] = standard_registry(TypedGraph(session))
    return registry


@adapter.operation("tools.register")
async def register_tool(session: Session, args: dict[str, Any]) -> None:
    _tools(session).register(PlayedTool(session, args["tool"]))


@adapter.operation("tools.get")
async def get_tool(session: Session, args: dict[str, Any]) -> dict[str, Any]:
    tool = _tools(session).get(args["name"])
    members = {"name": tool.name, "schema": tool.schema, "description": tool.description, "version": tool.version}
    return {name: value for name, value in members.items() if value is not None}


@adapter.operation("tools.getToolSchemas")
async def get_tool_schemas(session: Session, args: dict[str, Any]) -> list[dict[str, Any]]:
    return _tools(session).get_tool_schemas()


@adapter.operation("tools.validate")
async def validate_input(session: Session, args: dict[str, Any]) -> Any:
    return _tools(session).get(args["name"]).validate(args["input"])


@adapter.operation("tools.execute")
async def execute_tool(session: Session, args: dict[str, Any]) -> ToolResult:
    given = args.get("context", {})
    context = ToolContext(
        cwd=session.workspace,
        env=given.get("env", {}),
        dry_run=given.get("dryRun", False),
        permissions=given.get("permissions", []),
        logger=session.emitter() if given.get("logger") else None,
        secret_provider=TypedSecrets(session) if given.get("secrets") else None,
    )
    return await execute(_tools(session), session.clock, args["name"], args.get("input"), context)


def _llm(session: Session) -> LLM:
    llm: LLM = session.state.setdefault("llm", LLM())
    return llm


@adapter.operation("llm.setProvider")
async def set_provider(session: Session, args: dict[str, Any]) -> None:
    _llm(session).set_provider(LlmProvider(session, args["name"]))


@adapter.operation("llm.listModels")
async def list_models(session: Session, args: dict[str, Any]) -> list[dict[str, Any]]:
    return await _llm(session).list_models(args.get("providerName"))


@adapter.operation("llm.createChatStream")
async def create_chat_stream(session: Session, args: dict[str, Any]) -> AsyncGenerator[Any, None]:
    stream = await _llm(session).create_chat_stream(
        args.get("options"),  # type: ignore[arg-type]
        tools=_runner(session, args.get("tools")),
        max_rounds=args.get("maxRounds", DEFAULT_ROUNDS),
        cache=args.get("cache", False),
    )
    async with aclosing(stream):
        taken = 0
        while taken != args.get("take") and (event := await anext(stream, None)) is not None:
            yield event
            taken += 1


def _runner(session: Session, kind: str | None) -> ToolRunner | None:
    """The runner for the tools that a model calls."""

    async def played(name: str, input: Any) -> ToolResult:
        return await typed(ScriptedTool(session, name).execute(input))

    async def from_registry(name: str, input: Any) -> ToolResult:
        return await execute(_tools(session), session.clock, name, input, ToolContext(cwd=session.workspace))

    return None if kind is None else {"fake": played, "registry": from_registry}[kind]


if __name__ == "__main__":
    adapter.run()
