"""The session that a handler gets besides its arguments: workspace, clock, random tape and fakes."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextvars import ContextVar
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeVar

from .errors import INVALID_PARAMS, ProtocolError, TapeEmptyError, UnknownHandleError

T = TypeVar("T")


class Clock:
    """The session's scripted clock. Never use the real time instead."""

    def __init__(self, start: str, step_ms: int) -> None:
        self._first = start
        self._start = datetime.fromisoformat(start)
        self._step = timedelta(milliseconds=step_ms)
        self._readings = 0
        self._lock = threading.Lock()

    def now(self) -> str:
        """The next reading, in ISO 8601."""
        with self._lock:
            reading = self._readings
            self._readings += 1
        if reading == 0:
            return self._first
        moment = self._start + self._step * reading
        precision = "milliseconds" if moment.microsecond % 1000 == 0 else "microseconds"
        return moment.isoformat(timespec=precision).replace("+00:00", "Z")


class Random:
    """The session's two tapes."""

    def __init__(self, ints: list[int], floats: list[float]) -> None:
        self._ints: Iterator[int] = iter(list(ints))
        self._floats: Iterator[float] = iter(list(floats))

    def int(self) -> int:
        return _next(self._ints, "integer")

    def float(self) -> float:
        return float(_next(self._floats, "float"))


def _next(tape: Iterator[T], kind: str) -> T:
    try:
        return next(tape)
    except StopIteration:
        raise TapeEmptyError(f"the tape has no further {kind}") from None


class Link(Protocol):
    """The connection to the harness."""

    loop: asyncio.AbstractEventLoop
    thread: int

    def ask(self, session: str, fake: str, method: str, args: Mapping[str, Any]) -> asyncio.Future[Any]: ...

    def tell(self, session: str, call: int | str, item: Any) -> None: ...

    async def drain(self) -> None: ...


class Call:
    """A call in progress. Events belong to it until it is answered."""

    def __init__(self, call_id: int | str) -> None:
        self.id = call_id
        self.answered = False


current_call: ContextVar[Call] = ContextVar("current_call")


class Fake:
    """A collaborator that the harness plays."""

    def __init__(self, link: Link, session: str, name: str) -> None:
        self._link = link
        self._session = session
        self.name = name

    async def call(self, method: str, args: Mapping[str, Any] | None = None) -> Any:
        """Returns the collaborator's value, or raises `FakeError` if it fails."""
        return await self.start(method, args)

    def start(self, method: str, args: Mapping[str, Any] | None = None) -> asyncio.Future[Any]:
        """Asks at once and returns a future. Call it only on the loop's thread."""
        return self._link.ask(self._session, self.name, method, args or {})

    def start_soon(self, method: str, args: Mapping[str, Any] | None = None) -> None:
        """Asks without waiting for the answer, from any thread or finalizer. Never raises."""

        def ask() -> None:
            try:
                self.start(method, args).add_done_callback(lambda asked: asked.cancelled() or asked.exception())
            except ProtocolError:
                pass  # The harness is gone.

        if threading.get_ident() == self._link.thread and not self._link.loop.is_closed():
            ask()
            return
        try:
            self._link.loop.call_soon_threadsafe(ask)
        except RuntimeError:
            pass  # So is the loop.


class Session:
    """One session, from `open` to `close`. Sessions share nothing."""

    def __init__(self, link: Link, params: Mapping[str, Any]) -> None:
        self._link = link
        self.id: str = _member(params, "session", str)
        contract = params.get("contract")
        self.contract: str | None = contract if isinstance(contract, str) else None
        """The contract whose case runs in this session: for adapters with servers of several contracts."""
        workspace = params.get("workspace")
        if workspace is not None and not (isinstance(workspace, str) and workspace.startswith("/")):
            raise ProtocolError(INVALID_PARAMS, "`workspace` must be an absolute path")
        self._workspace = None if workspace is None else Path(workspace)
        self.clock = _clock(_member(params, "clock", dict))
        self.random = _random(_member(params, "random", dict))
        self.fakes: tuple[str, ...] = tuple(_member(params, "fakes", list))
        if not all(isinstance(name, str) for name in self.fakes):
            raise ProtocolError(INVALID_PARAMS, "`fakes` must be a list of strings")
        self.state: dict[str, Any] = {}
        """For the adapter's own state of a session."""
        self._objects: dict[str, Any] = {}
        self._minted = 0
        self._objects_lock = threading.Lock()
        self._closing: list[Callable[[], object]] = []
        self._closed = False

    @property
    def workspace(self) -> Path:
        """The session's folder."""
        if self._workspace is None:
            raise ProtocolError(INVALID_PARAMS, f"session `{self.id}` was opened without a workspace")
        return self._workspace

    @property
    def has_workspace(self) -> bool:
        return self._workspace is not None

    def fake(self, name: str) -> Fake:
        return Fake(self._link, self.id, name)

    async def event(self, item: Any) -> None:
        """Sends an item of the stream or log of the current call."""
        self._tell(current_call.get(None), item)
        await self._link.drain()

    def emitter(self) -> Callable[[Any], None]:
        """For loggers and other callbacks, which cannot `await`: a plain function that sends its argument as an item of
        the call under way now. It may be called from any thread, until the call is answered."""
        call = current_call.get(None)

        def emit(item: Any) -> None:
            if threading.get_ident() == self._link.thread:
                self._tell(call, item)
            else:
                self.wait(self._tell_from_thread(call, item))

        return emit

    async def _tell_from_thread(self, call: Call | None, item: Any) -> None:
        self._tell(call, item)
        await self._link.drain()

    def _tell(self, call: Call | None, item: Any) -> None:
        if call is None or call.answered:
            raise RuntimeError("there is no current call for this event; send events only from a handler")
        self._link.tell(self.id, call.id, item)

    def wait(self, awaitable: Coroutine[Any, Any, T]) -> T:
        """For handlers that are plain functions: `session.wait(session.fake("secrets").call(…))`."""
        if threading.get_ident() == self._link.thread:
            awaitable.close()
            raise RuntimeError("an async handler must `await`; waiting here would block every call")
        return asyncio.run_coroutine_threadsafe(awaitable, self._link.loop).result()

    def put(self, value: Any) -> str:
        """Stores an object under a new handle."""
        with self._objects_lock:
            self._minted += 1
            handle = f"h{self._minted}"
            self._objects[handle] = value
        return handle

    def get(self, handle: str) -> Any:
        try:
            return self._objects[handle]
        except (KeyError, TypeError):
            raise UnknownHandleError(f"no object has the handle {handle!r}") from None

    def remove(self, handle: str) -> Any:
        """Removes a handle and returns its object."""
        value = self.get(handle)
        self._objects.pop(handle, None)
        return value

    def on_close(self, callback: Callable[[], object]) -> None:
        """Registers a function, plain or async, to run when the session ends; the last one runs first."""
        self._closing.append(callback)
        if self._closed:  # Given by a handler that went on in its thread after the session had ended.
            asyncio.run_coroutine_threadsafe(self.close(), self._link.loop)

    async def close(self) -> None:
        self._closed = True
        failures: list[Exception] = []
        while self._closing:
            try:
                result = self._closing.pop()()
                if inspect.isawaitable(result):
                    await result
            except Exception as error:  # The others must run all the same.
                failures.append(error)
        self._objects.clear()
        if failures:
            raise failures[0]


def _member(params: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = params.get(name)
    if not isinstance(value, kind):
        raise ProtocolError(INVALID_PARAMS, f"`{name}` is missing or has the wrong type")
    return value


def whole(number: Any) -> int | None:
    """JSON has one kind of number: `1000.0` is an integer too."""
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    return int(number) if number == int(number) else None


def _clock(params: dict[str, Any]) -> Clock:
    step = whole(params.get("stepMs"))
    if step is None:
        raise ProtocolError(INVALID_PARAMS, "`clock.stepMs` is not an integer")
    try:
        return Clock(_member(params, "start", str), step)
    except (ValueError, OverflowError) as error:
        raise ProtocolError(INVALID_PARAMS, f"cannot read `clock`: {error}") from None


def _random(params: dict[str, Any]) -> Random:
    ints = [whole(number) for number in _member(params, "ints", list)]
    floats = _member(params, "floats", list)
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in floats):
        raise ProtocolError(INVALID_PARAMS, "`random.floats` must contain only numbers")
    known = [number for number in ints if number is not None]
    if len(known) != len(ints):
        raise ProtocolError(INVALID_PARAMS, "`random.ints` must contain only integers")
    return Random(known, floats)


