"""The collaborators that the harness plays, as objects to pass to an implementation.

Each is a thin cover of `session.fake(…)`. Their methods raise `FakeError` where the collaborator fails; an
implementation with errors of its own translates it, or lets it pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from .errors import ADAPTER_BROKE, ProtocolError
from .session import Call, Fake, Session, current_call

Log = Callable[[Any], object]


class SecretProvider:
    """The fake `secrets`."""

    def __init__(self, session: Session) -> None:
        self._fake = session.fake("secrets")

    async def get(self, key: str) -> str | None:
        """The secret, or None if there is none of that key."""
        secret: str | None = await self._fake.call("get", {"key": key})
        return secret


class Graph:
    """The fake `graph`."""

    def __init__(self, session: Session) -> None:
        self._fake = session.fake("graph")

    async def query(
        self, query: str, params: Mapping[str, Any] | None = None, commit: str | None = None
    ) -> list[dict[str, Any]]:
        """The rows that a query finds. Arguments that are None are not sent."""
        args = {"query": query, "params": params, "commit": commit}
        given = {name: value for name, value in args.items() if value is not None}
        rows: list[dict[str, Any]] = await self._fake.call("query", given)
        return rows


class ScriptedTool:
    """A tool of that name, played by the fake `tools`."""

    def __init__(self, session: Session, name: str) -> None:
        self.name = name
        self._fake = session.fake("tools")

    async def execute(self, input: Any, log: Log | None = None) -> dict[str, Any]:
        """The tool's result. Scripted log entries go to `log` first, one by one."""
        result = dict(await self._fake.call("execute", {"name": self.name, "input": input}))
        for entry in result.pop("log", []):
            if log is not None:
                log(entry)
        return result


class LlmProvider:
    """A provider of that name, played by the fake `llm`."""

    def __init__(self, session: Session, name: str) -> None:
        self.name = name
        self._fake = session.fake("llm")

    async def models(self) -> list[dict[str, Any]]:
        models: list[dict[str, Any]] = await self._fake.call("models", {"provider": self.name})
        return models

    async def chat(self, options: Mapping[str, Any]) -> dict[str, str] | ProviderStream:
        """`{"text": …}` from a provider that cannot stream, else its stream, which the caller closes.

        Whoever gives up waiting for it (a time limit) owes nothing: a stream that comes too late is stopped, unless
        the call has been answered by then and nobody may ask anything any more.
        """
        call = current_call.get(None)
        asked = self._fake.start("chat", {"provider": self.name, "options": dict(options)})
        try:
            answer = await asyncio.shield(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(lambda asked: self._stop_late_stream(asked, call))
            raise
        if "stream" in answer:
            return ProviderStream(self._fake, answer["stream"], call)
        if "text" in answer:
            return {"text": answer["text"]}
        raise ProtocolError(ADAPTER_BROKE, "a chat is answered with a `text` or a `stream`")

    def _stop_late_stream(self, asked: asyncio.Future[Any], call: Call | None) -> None:
        if not asked.cancelled() and asked.exception() is None and "stream" in asked.result():
            # Nobody can use the stream, so stop it here.
            ProviderStream(self._fake, asked.result()["stream"], call)


class ProviderStream:
    """A stream of the fake `llm`: an async iterator that fetches one event at a time, and only when asked to.

    `stop` is sent at once, even while a fetch is under way, when the stream is closed, when the task that waits for an event
    is cancelled, and when nobody has the stream any more. A stream that has ended by itself is not stopped, and none is after
    the answer of the call that it belongs to.
    """

    def __init__(self, fake: Fake, stream: Any, call: Call | None = None) -> None:
        self._fake = fake
        self._call = call
        self._args = {"stream": stream}
        self._fetching = False
        self._over = False
        self._stopped: asyncio.Future[Any] | None = None

    def __aiter__(self) -> ProviderStream:
        return self

    async def __anext__(self) -> Any:
        if self._fetching:
            raise RuntimeError("this stream is already waiting for an event; await one at a time")
        if self._over:
            raise StopAsyncIteration
        self._fetching = True
        try:
            # Shielded: the harness answers even if nobody waits any more.
            answer = await asyncio.shield(_forget(self._fake.start("next", self._args)))
        except asyncio.CancelledError:
            self._stop()
            raise
        except BaseException:
            self._over = True
            raise
        finally:
            self._fetching = False
        if "event" in answer and not self._over:
            return answer["event"]
        self._over = True
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stops the stream, and returns when the provider has confirmed."""
        self._stop()
        if self._stopped is not None:
            await asyncio.shield(self._stopped)

    def __del__(self) -> None:
        if self._must_stop():
            # It may run in another thread, or after the loop has closed.
            self._fake.start_soon("stop", self._args)

    def _stop(self) -> None:
        if self._must_stop():
            self._stopped = _forget(self._fake.start("stop", self._args))
        self._over = True

    def _must_stop(self) -> bool:
        return not self._over and not (self._call is not None and self._call.answered)


def _forget(asked: asyncio.Future[Any]) -> asyncio.Future[Any]:
    """Ignores the error of an answer that nobody waits for any more."""
    asked.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
    return asked
