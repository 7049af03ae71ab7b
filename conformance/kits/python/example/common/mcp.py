"""MCP over two streams of bytes: one JSON-RPC message a line, each request answered before the next is read."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from typing import Any, BinaryIO

from . import graph_tools, step_tools, work_tools
from .errors import quote
from .store import Store
from .text import compact, has_lone_surrogate
from .tools import Now, Tool

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of MCP that are spoken here, the newest first."""
MAX_LINE = 16 * 1024 * 1024

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*work_tools.TOOLS, *step_tools.TOOLS, *graph_tools.TOOLS)}


class RpcError(Exception):
    """A message that cannot be answered with a result."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Server:
    """Answers messages. The creator passes the clock; nothing here reads the real time."""

    def __init__(self, now: Now, store: Store | None = None) -> None:
        self._now = now
        self._store = store or Store()
        self._methods = {
            "initialize": self._initialize,
            "ping": lambda params: {},
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
        }

    def serve(self, lines_in: BinaryIO, lines_out: BinaryIO) -> None:
        """Serves until the input ends or the output is closed."""
        try:
            for line in read_lines(lines_in):
                answer = self.answer(line)
                if answer is not None:
                    lines_out.write(answer + b"\n")
                    lines_out.flush()
        except BrokenPipeError:
            pass

    def answer(self, line: bytes | None) -> bytes | None:
        """The answer to a line without its newline. None stands for a line that was too long."""
        if line is not None and not line.strip():
            return None
        request_id: int | str | None = None
        try:
            message = _decode(line)
            request_id = _id_of(message)
            method, params = _request_of(message)
            if "id" not in message:
                return None  # A notification: nothing to answer, and none that has to be heeded.
            if method not in self._methods:
                raise RpcError(METHOD_NOT_FOUND, f"there is no method {quote(method)}")
            body: dict[str, Any] = {"result": self._methods[method](params)}
        except _NotForUs:
            return None
        except RpcError as error:
            body = {"error": {"code": error.code, "message": error.message}}
        except Exception as error:  # A fault of this server ends the request, and not the server.
            traceback.print_exception(error, file=sys.stderr)
            body = {"error": {"code": INTERNAL_ERROR, "message": f"the server failed: {type(error).__name__}"}}
        return compact({"jsonrpc": "2.0", "id": request_id, **body}).encode("utf-8")

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        version = params.get("protocolVersion")
        if not isinstance(version, str):
            raise RpcError(INVALID_PARAMS, "`protocolVersion` is not a string")
        return {
            # As MCP requires: the client's version if supported, else the newest supported one.
            "protocolVersion": version if version in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "common-python", "version": "0.1.0"},
        }

    def _list_tools(self, params: dict[str, Any]) -> dict[str, Any]:
        if "cursor" in params:
            raise RpcError(INVALID_PARAMS, "there is no such cursor: all tools are on one page")
        return {"tools": [tool.to_json() for tool in TOOLS.values()]}

    def _call_tool(self, params: dict[str, Any]) -> dict[str, Any]:
        name = params.get("name")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "`name` is not a string")
        tool = TOOLS.get(name)
        if tool is None:
            # Without a tool there is no envelope: MCP makes this an error of the protocol.
            raise RpcError(INVALID_PARAMS, f"there is no tool {quote(name)}; call tools/list")
        envelope = tool.call(self._store, params.get("arguments", {}), self._now)
        return {
            "content": [{"type": "text", "text": compact(envelope)}],
            "structuredContent": envelope,
            "isError": not envelope["success"],
        }


def read_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a stream, split only at b"\\n". None stands for a line that was too long and was dropped."""
    too_long = False
    while piece := stream.readline(MAX_LINE + 2):
        ended = piece.endswith(b"\n")
        too_long = too_long or len(piece) - ended > MAX_LINE
        if not too_long:
            yield piece.rstrip(b"\r\n")
        elif ended:
            yield None
            too_long = False
    if too_long:
        yield None


class _NotForUs(Exception):
    """Whether the message is an answer. This server sends no requests, so it ignores answers."""


def _decode(line: bytes | None) -> dict[str, Any]:
    if line is None:
        raise RpcError(PARSE_ERROR, f"the line is longer than {MAX_LINE} bytes")
    try:
        message = _decoder.decode(line.decode("utf-8"))
    except RecursionError:
        raise RpcError(PARSE_ERROR, "the JSON nests too deep") from None
    except ValueError as error:
        raise RpcError(PARSE_ERROR, f"the line is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "the message is not an object; batches are not supported")
    return message


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is beyond a double")
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"`{name}` is not JSON")


_decoder = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)


def _id_of(message: dict[str, Any]) -> int | str | None:
    """The request's id, if it is usable in an answer."""
    request_id = message.get("id")
    if isinstance(request_id, str) and not has_lone_surrogate(request_id):
        return request_id
    return request_id if isinstance(request_id, int) and not isinstance(request_id, bool) else None


def _request_of(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "the message is not JSON-RPC 2.0")
    if "method" not in message and ("result" in message or "error" in message):
        raise _NotForUs
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "`method` is not a string")
    if "id" in message and _id_of(message) is None:
        raise RpcError(INVALID_REQUEST, "`id` is neither an integer nor a string")
    if not isinstance(params, dict):
        if "id" not in message:
            raise _NotForUs
        raise RpcError(INVALID_PARAMS, "`params` is not an object")
    return method, params
