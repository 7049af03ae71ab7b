"""The adapter: named operations on one side, the subject protocol on the other."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping
from contextlib import aclosing
from typing import Any, NoReturn, TypeVar

from . import wire
from .errors import (
    ADAPTER_BROKE,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NOT_IMPLEMENTED,
    PARSE_ERROR,
    ContractError,
    ProtocolError,
    Translate,
    contract_error,
    fake_value,
    protocol_error,
)
from .session import Call, Session, current_call, whole
from .threads import Threads

PROTOCOL = 1
_GRACE_SECONDS = 0.5
_PATIENCE_SECONDS = 1.5

Handler = Callable[[Session, dict[str, Any]], Any]
H = TypeVar("H", bound=Handler)
OpenHandler = Callable[[Session], Any]
OH = TypeVar("OH", bound=OpenHandler)


class Result:
    """The value of a call, yielded as the last item of an async generator, which cannot return one in Python."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Adapter:
    """Answers the harness on stdin and stdout with the functions registered by `operation`."""

    def __init__(
        self,
        *,
        name: str,
        version: str,
        contracts: Iterable[str],
        language: str = "python",
        hooks: Iterable[str] = (),
        options: Mapping[str, Any] | None = None,
        translate_error: Translate | None = None,
    ) -> None:
        self.hello: dict[str, Any] = {
            "protocol": PROTOCOL,
            "name": name,
            "version": version,
            "language": language,
            "contracts": list(contracts),
            "hooks": list(hooks),
            "options": dict(options or {}),
        }
        self.translate_error = translate_error
        self.operations: dict[str, Handler] = {}
        self.opened: OpenHandler | None = None

    def operation(self, name: str) -> Callable[[H], H]:
        """Registers a handler: a function of session and arguments, plain, async or a generator.

        A plain function runs in a thread and may block. An async one must not.
        """

        def register(handler: H) -> H:
            if name in self.operations:
                raise ValueError(f"operation `{name}` already has a handler")
            self.operations[name] = handler
            return handler

        return register

    def on_open(self, handler: OH) -> OH:
        """Registers what runs when a session opens: a function of the session, plain (in a thread) or async. Its
        result answers `open`: `{"wire": …}` for contracts on a wire of their own; None stands for `{}`."""
        if self.opened is not None:
            raise ValueError("`open` already has a handler")
        self.opened = handler
        return handler

    def run(self) -> NoReturn:
        """Serves on stdin and stdout until `shutdown` or the end of stdin, then exits the process."""
        wire_in, wire_out = wire.take_stdio()
        code = 0
        try:
            asyncio.run(self.serve(wire_in, wire_out, on_end=_end_in_time))
        except KeyboardInterrupt:
            code = 130
        _leave(code)

    async def serve(self, wire_in: int, wire_out: int, on_end: Callable[[], None] = lambda: None) -> None:
        """Serves on two file descriptors. Calls `on_end` at the end, before it cancels calls."""
        await _Server(self, wire_in, wire_out).run(on_end)


def _end_in_time() -> None:
    """Exits after a delay even if something hangs, such as a thread of the implementation."""
    watchdog = threading.Timer(_PATIENCE_SECONDS, os._exit, [0])
    watchdog.daemon = True
    watchdog.start()


def _leave(code: int) -> NoReturn:
    """Exits the process at once. The interpreter's own exit sometimes hangs while threads wait in a read."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # It is missing or closed.
    os._exit(code)


class _Server:
    """One run of an adapter. Everything here happens on the loop's thread."""

    def __init__(self, adapter: Adapter, wire_in: int, wire_out: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread = threading.get_ident()
        self._adapter = adapter
        self._sessions: dict[str, Session] = {}
        self._calls: dict[str, set[asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._asks = 0
        self._ended = asyncio.Event()
        self._threads = Threads()
        self._writer = wire.Writer(wire_out, self._ended.set)
        wire.Reader(wire_in, self._receive, self._ended.set)

    async def run(self, on_end: Callable[[], None]) -> None:
        await self._ended.wait()
        on_end()
        for _, future in list(self._asked.values()):
            if not future.done():
                future.set_exception(ProtocolError(ADAPTER_BROKE, "the harness is gone"))
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=_GRACE_SECONDS)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=_GRACE_SECONDS)
        for session in list(self._sessions.values()):
            try:
                await session.close()
            except Exception as error:
                print(f"session `{session.id}` did not close: {error!r}", file=sys.stderr)
        self._writer.finish(_GRACE_SECONDS)

    def _receive(self, line: bytes | None) -> None:
        if line is None:
            self._refuse(None, ProtocolError(PARSE_ERROR, f"the line is longer than {wire.MAX_LINE} bytes"))
            return
        if not line.strip(b" \t\r"):
            return
        try:
            message = wire.decode(line)
        except ProtocolError as error:
            self._refuse(None, error)
            return
        request_id = message.get("id") if isinstance(message, dict) else None
        if not wire.is_id(request_id):
            request_id = None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._refuse(request_id, ProtocolError(INVALID_REQUEST, "not a JSON-RPC 2.0 message"))
        elif "method" not in message and ("result" in message or "error" in message):
            self._answered(message)
        elif not isinstance(message.get("method"), str) or ("id" in message and request_id is None):
            self._refuse(request_id, ProtocolError(INVALID_REQUEST, "not a request: `method` or `id` is missing or wrong"))
        elif request_id is not None:
            self._request(request_id, message["method"], message.get("params", {}))
        # The rest are notifications, which get no answer. An adapter need not handle any.

    def _request(self, request_id: int | str, method: str, params: Any) -> None:
        try:
            if not isinstance(params, dict):
                raise ProtocolError(INVALID_PARAMS, "`params` is not an object")
            if method == "hello":
                self._send_result(request_id, self._hello(params))
            elif method == "open":
                self._open(request_id, params)
            elif method == "call":
                self._call(request_id, params)
            elif method == "close":
                self._close(request_id, params)
            elif method == "shutdown":
                self._send_result(request_id, None)
                self._ended.set()
            else:
                raise ProtocolError(NOT_IMPLEMENTED, f"there is no method `{method}`")
        except Exception as error:
            self._refuse(request_id, protocol_error(error))

    def _hello(self, params: dict[str, Any]) -> dict[str, Any]:
        if whole(params.get("protocol")) != PROTOCOL:
            raise ProtocolError(INVALID_PARAMS, f"this adapter speaks version {PROTOCOL} of the protocol")
        return self._adapter.hello

    def _open(self, request_id: int | str, params: dict[str, Any]) -> None:
        session = Session(self, params)
        if session.id in self._sessions:
            raise ProtocolError(INVALID_PARAMS, f"session `{session.id}` is already open")
        self._sessions[session.id] = session
        self._calls[session.id] = set()
        if self._adapter.opened is None:
            self._send_result(request_id, {})
            return
        call = Call(request_id)
        self._start_for(session, call, self._greet(call, self._adapter.opened, session))

    async def _greet(self, call: Call, handler: OpenHandler, session: Session) -> None:
        try:
            answer = handler(session) if _is_async(handler) else await self._threads.run(lambda: handler(session))
            answer = await answer if inspect.isawaitable(answer) else answer
        except BaseException as error:  # As in a call: the adapter survives any exception.
            call.answered = True
            self._refuse(call.id, protocol_error(error))
            if self._sessions.get(session.id) is session:  # Otherwise `close` came meanwhile and cleans up.
                del self._sessions[session.id], self._calls[session.id]
                await self._end(session)
            return
        call.answered = True
        self._send_result(call.id, {} if answer is None else answer)

    async def _end(self, session: Session) -> None:
        """Closes a session, and fails its pending calls of fakes."""
        try:
            await session.close()
        finally:
            for asker, future in list(self._asked.values()):
                if asker == session.id and not future.done():
                    future.set_exception(ProtocolError(ADAPTER_BROKE, f"session `{session.id}` is closed"))

    def _session(self, params: dict[str, Any]) -> Session:
        name = params.get("session")
        session = self._sessions.get(name) if isinstance(name, str) else None
        if session is None:
            raise ProtocolError(INVALID_PARAMS, f"session {name!r} is not open")
        return session

    def _close(self, request_id: int | str, params: dict[str, Any]) -> None:
        session = self._session(params)
        del self._sessions[session.id]
        for task in self._calls.pop(session.id):
            task.cancel()

        async def close() -> None:
            try:
                await self._end(session)
            except Exception as error:
                self._refuse(request_id, protocol_error(error))
            else:
                self._send_result(request_id, None)

        self._start(close())

    def _call(self, request_id: int | str, params: dict[str, Any]) -> None:
        session = self._session(params)
        operation, args = params.get("operation"), params.get("args", {})
        if not isinstance(operation, str) or not isinstance(args, dict):
            raise ProtocolError(INVALID_PARAMS, "`operation` must be a string and `args` an object")
        handler = self._adapter.operations.get(operation)
        if handler is None:
            raise ProtocolError(NOT_IMPLEMENTED, f"operation `{operation}` is not implemented")
        call = Call(request_id)
        self._start_for(session, call, self._perform(call, handler, session, args))

    def _start_for(self, session: Session, call: Call, work: Coroutine[Any, Any, None]) -> None:
        """Starts the work of a call or of `open`. Closing the session cancels it."""
        task = self._start(work)
        calls = self._calls[session.id]
        calls.add(task)

        def done(task: asyncio.Task[None]) -> None:
            calls.discard(task)
            if not call.answered:  # A task that is cancelled before its first step never runs.
                self._refuse(call.id, protocol_error(asyncio.CancelledError()))

        task.add_done_callback(done)

    async def _perform(self, call: Call, handler: Handler, session: Session, args: dict[str, Any]) -> None:
        current_call.set(call)
        try:
            answer = {"value": await self._value(handler, session, args)}
        except BaseException as error:  # Any exception: the call gets an answer, and the adapter survives.
            try:
                rejection = contract_error(error, self._adapter.translate_error)
            except Exception as broken:
                rejection, error = None, broken
            if rejection is None:
                call.answered = True
                self._refuse(call.id, protocol_error(error))
                return
            answer = {"error": rejection}
        call.answered = True
        self._send_result(call.id, answer)

    async def _value(self, handler: Handler, session: Session, args: dict[str, Any]) -> Any:
        if _is_async(handler):
            value = handler(session, args)
        else:
            value = await self._threads.run(lambda: _call_plain(handler, session, args))
        if isinstance(value, AsyncGenerator):
            return await _stream(value, session)
        return await value if inspect.isawaitable(value) else value

    def ask(self, session: str, fake: str, method: str, args: Mapping[str, Any]) -> asyncio.Future[Any]:
        if self._ended.is_set():
            raise ProtocolError(ADAPTER_BROKE, "the harness is gone")
        self._asks += 1
        request_id = self._asks
        params = {"session": session, "fake": fake, "method": method, "args": dict(args)}
        line = wire.encode({"jsonrpc": "2.0", "id": request_id, "method": "fake", "params": params})
        future = self.loop.create_future()
        self._asked[request_id] = session, future
        future.add_done_callback(lambda _: self._asked.pop(request_id, None))
        self._writer.send(line)
        return future

    def tell(self, session: str, call: int | str, item: Any) -> None:
        params = {"session": session, "call": call, "item": item}
        self._writer.send(wire.encode({"jsonrpc": "2.0", "method": "event", "params": params}))

    async def drain(self) -> None:
        await self._writer.drain()

    def _answered(self, message: dict[str, Any]) -> None:
        _, future = self._asked.get(message["id"], ("", None)) if wire.is_id(message.get("id")) else ("", None)
        if future is None or future.done():
            print(f"an answer without a request: {message.get('id')!r}", file=sys.stderr)
            return
        try:
            future.set_result(fake_value(message))
        except (ContractError, ProtocolError) as error:
            future.set_exception(error)

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self.loop.create_task(work)
        self._tasks.add(task)  # The loop holds only weak references to tasks.
        task.add_done_callback(self._tasks.discard)
        return task

    def _send_result(self, request_id: int | str, result: Any) -> None:
        try:
            self._writer.send(wire.encode({"jsonrpc": "2.0", "id": request_id, "result": result}))
        except ProtocolError as error:
            self._refuse(request_id, error)

    def _refuse(self, request_id: int | str | None, error: ProtocolError) -> None:
        # A message may quote a lone surrogate or megabytes of input.
        message = error.message[:100_000].encode("utf-8", "replace").decode("utf-8")
        body = {"code": error.code, "message": message}
        self._writer.send(wire.encode({"jsonrpc": "2.0", "id": request_id, "error": body}))


def _is_async(handler: Callable[..., Any]) -> bool:
    return any(
        check(function)
        for check in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
        for function in (handler, getattr(handler, "__call__", None))
    )


def _call_plain(handler: Handler, session: Session, args: dict[str, Any]) -> Any:
    value = handler(session, args)
    if not isinstance(value, Generator):
        return value
    while True:
        try:
            item = next(value)
        except StopIteration as end:
            return end.value
        session.wait(session.event(item))


async def _stream(items: AsyncGenerator[Any, None], session: Session) -> Any:
    async with aclosing(items):
        async for item in items:
            if isinstance(item, Result):
                return item.value
            await session.event(item)
    return None
