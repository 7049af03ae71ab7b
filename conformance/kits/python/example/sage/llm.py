"""One interface for chats, streams and tools of any provider: it validates the model's tool calls, runs them,
sends the results to the model, and pairs every call with its result."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

from .chat import ChatOptions, Provider, StreamEvent, check_options, provider_events
from .errors import TypedError, detail, validation_error
from .schema import Schema, is_integer
from .tools import ToolResult, failure, permission_error
from .utils import canonical_json

T = TypeVar("T")
ToolRunner = Callable[[str, Any], Awaitable[ToolResult]]

DEFAULT_ROUNDS = 8
_CACHE_KEY = ("model", "messages", "tools", "temperature", "max_tokens")


class LLM:
    """The configured providers, and a cache of their answers."""

    def __init__(self) -> None:
        self._providers: dict[str, Provider] = {}
        self._current: Provider | None = None
        self._cache: dict[str, list[StreamEvent]] = {}

    def set_provider(self, provider: Provider) -> None:
        """Sets the provider of later chats."""
        self._providers[provider.name] = self._current = provider

    async def list_models(self, provider_name: str | None = None) -> list[dict[str, Any]]:
        if provider_name is None:
            return await self._provider().models()
        if not isinstance(provider_name, str) or provider_name not in self._providers:
            fault = detail("providerName", "is not the name of a provider", provider_name)
            raise validation_error(f"there is no provider `{provider_name}`", fault)
        return await self._providers[provider_name].models()

    async def create_chat_stream(
        self,
        options: ChatOptions,
        *,
        tools: ToolRunner | None = None,
        max_rounds: int = DEFAULT_ROUNDS,
        cache: bool = False,
    ) -> AsyncGenerator[StreamEvent, None]:
        """The events of a chat. Close the stream if you do not read it to its end.

        With a runner for `tools`, the provider is asked again after each round in which it called some, until it calls
        none. With `cache`, a chat that came to its end is not had a second time.
        """
        provider = self._provider()
        schemas = check_options(options)
        if not is_integer(max_rounds) or max_rounds < 1:
            raise validation_error("the number of rounds is wrong", detail("maxRounds", "must be a positive integer", max_rounds))
        chat = _Chat(provider, copy.deepcopy(dict(options)), schemas, tools, max_rounds)
        return self._cached(chat) if cache else chat.events()

    def _provider(self) -> Provider:
        if self._current is None:
            raise validation_error("no provider was set", detail("provider", "must be set first"))
        return self._current

    async def _cached(self, chat: _Chat) -> AsyncGenerator[StreamEvent, None]:
        key = chat.cache_key()
        if key in self._cache:
            for event in self._cache[key]:
                yield copy.deepcopy(event)
            return
        said: list[StreamEvent] = []
        async with aclosing(chat.events()) as events:
            async for event in events:
                said.append(copy.deepcopy(event))
                if event["type"] == "end":
                    self._cache[key] = said
                yield event


class _Chat:
    """One chat: rounds of a provider's answer and the results of the tools that it called."""

    def __init__(
        self,
        provider: Provider,
        options: dict[str, Any],
        schemas: dict[str, Schema],
        runner: ToolRunner | None,
        max_rounds: int,
    ) -> None:
        self._provider = provider
        self._options = options
        self._schemas = schemas
        self._runner = runner
        self._max_rounds = max_rounds
        self._limit = _TimeLimit(options.get("timeoutMs"))
        # By call id, in the order of calls. An id is in only one of the two, and is never reused.
        self._open: dict[str, StreamEvent] = {}
        self._results: dict[str, Any] = {}

    def cache_key(self) -> str:
        asked = {name: self._options[name] for name in _CACHE_KEY if name in self._options}
        return canonical_json([self._provider.name, asked])

    async def events(self) -> AsyncGenerator[StreamEvent, None]:
        messages = self._options["messages"]
        usages: list[dict[str, float] | None] = []
        for _ in range(int(self._max_rounds)):
            answer: list[StreamEvent] = []
            async with aclosing(provider_events(self._provider, {**self._options, "messages": messages})) as events:
                while (event := await self._limit.wait(anext(events, None))) is not None:
                    answer.append(event)
                    if event["type"] != "end":
                        async for passed_on in self._passed_on(event):
                            yield passed_on
                        continue
                    for unanswered in self._unanswered():
                        yield unanswered
                    usages.append(event.get("usage"))
                    if self._runner is None or not _calls(answer):
                        yield _end(event, usages)
            if self._runner is None or not _calls(answer):
                return
            messages = messages + self._told(answer)
        raise TypedError(
            "EHALT",
            f"the model still calls tools after {self._max_rounds} rounds",
            {"invariant": "a chat comes to its end", "expected": f"at most {self._max_rounds} rounds", "actual": "more"},
            name="HaltError",
        )

    async def _passed_on(self, event: StreamEvent) -> AsyncGenerator[StreamEvent, None]:
        """Yields an event and, for a call, its result. Each call has one result, which follows it."""
        if event["type"] == "tool_call":
            if event["callId"] in self._open or event["callId"] in self._results:
                raise _unpaired(event["callId"], "is also the id of another call")
            self._open[event["callId"]] = event
            yield event
            result = await self._limit.wait(self._result(event["toolName"], event["arguments"]))
            if result is not None:
                yield self._paired(event["callId"], result)
        else:
            if event["type"] == "tool_result":
                if event["callId"] not in self._open:
                    raise _unpaired(event["callId"], "does not belong to a pending call")
                self._paired(event["callId"], event["result"])
            yield event

    async def _result(self, name: str, arguments: Any) -> ToolResult | None:
        """None if there is no runner: then the provider may have run the tool and report its result."""
        try:
            if name not in self._schemas:
                raise validation_error(f"`{name}` was not offered", detail("toolName", "is not the name of a tool", name))
            faults = self._schemas[name].faults(arguments)
            if faults:
                raise validation_error(f"the arguments of `{name}` do not fit its parameters", *faults)
            return None if self._runner is None else await self._runner(name, copy.deepcopy(arguments))
        except TypedError as error:
            return failure(error)

    def _unanswered(self) -> list[StreamEvent]:
        """Refusals for the calls without a result at the end of the provider's stream."""
        policy = "no tool runner is configured"
        return [
            self._paired(call, failure(permission_error(event["toolName"], "execute", policy)))
            for call, event in list(self._open.items())
        ]

    def _paired(self, call: str, result: Any) -> StreamEvent:
        del self._open[call]
        self._results[call] = result
        return {"type": "tool_result", "callId": call, "result": result}

    def _told(self, answer: list[StreamEvent]) -> list[dict[str, Any]]:
        """The messages that report a round to the provider in the next one."""
        text = "".join(event["value"] for event in answer if event["type"] == "text")
        results = [
            {"role": "tool", "tool_call_id": call, "content": canonical_json(self._results[call])} for call in _calls(answer)
        ]
        return [{"role": "assistant", "content": text}, *results]


def _calls(answer: list[StreamEvent]) -> list[str]:
    return [event["callId"] for event in answer if event["type"] == "tool_call"]


def _end(last: StreamEvent, usages: list[dict[str, float] | None]) -> StreamEvent:
    """One `end` for all rounds, with the total usage if every round reported it."""
    known = [usage for usage in usages if usage is not None]
    if len(usages) == 1:
        return last
    end = {name: value for name, value in last.items() if name != "usage"}
    if len(known) < len(usages):
        return end
    return end | {"usage": {name: sum(usage[name] for usage in known) for name in ("prompt", "completion")}}


def _unpaired(call: str, reason: str) -> TypedError:
    return validation_error(f"`{call}` {reason}", detail("callId", reason, call))


class _TimeLimit:
    """The deadline of a chat."""

    def __init__(self, timeout_ms: float | None) -> None:
        self._timeout_ms = timeout_ms
        self._start = time.monotonic()
        self._deadline = None if timeout_ms is None else asyncio.get_running_loop().time() + timeout_ms / 1000

    async def wait(self, work: Awaitable[T]) -> T:
        """Runs work until the deadline. On a timeout it cancels the work and waits until that has released everything."""
        limit = asyncio.timeout_at(self._deadline)
        try:
            async with limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
            elapsed = max(int((time.monotonic() - self._start) * 1000), self._timeout_ms or 0)
            properties = {"timeoutMs": self._timeout_ms, "elapsedMs": elapsed, "operation": "chat"}
            raise TypedError("ETIMEOUT", f"the chat took {elapsed} ms", properties, name="TimeoutError") from None
