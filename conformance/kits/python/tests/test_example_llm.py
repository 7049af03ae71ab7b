"""Promises of the example's chats that the suite cannot check from outside."""

from __future__ import annotations

import asyncio
import sys
import unittest
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from .harness import KIT

sys.path.insert(0, str(KIT / "example"))

from sage.errors import TypedError
from sage.llm import LLM, ToolRunner
from sage.tools import ToolResult

OPTIONS: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "Hi"}],
    "tools": [{"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}],
}
STALL = object()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "value": value}


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "toolName": "f", "arguments": arguments, "callId": call_id}


def end(*usage: int) -> dict[str, Any]:
    return {"type": "end"} | ({"usage": {"prompt": usage[0], "completion": usage[1]}} if usage else {})


class Scripted:
    """A scripted provider that records what happens to its streams."""

    name = "scripted"

    def __init__(self, *turns: list[Any] | str) -> None:
        self._turns = list(turns)
        self.asked: list[Mapping[str, Any]] = []
        self.pulled = 0
        self.released = 0

    async def models(self) -> list[dict[str, Any]]:
        return [{"name": "m"}]

    async def chat(self, options: Mapping[str, Any]) -> Mapping[str, str] | AsyncIterator[dict[str, Any]]:
        self.asked.append(options)
        turn = self._turns.pop(0)
        return {"text": turn} if isinstance(turn, str) else self._stream(turn)

    async def _stream(self, turn: list[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            for event in turn:
                self.pulled += 1
                if event is STALL:
                    await asyncio.Event().wait()
                yield event
        finally:
            self.released += 1


class Bare:
    """An async iterator with nothing to release."""

    name = "bare"

    async def models(self) -> list[dict[str, Any]]:
        return []

    async def chat(self, options: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        events = [text("a"), end()]

        class Events:
            def __aiter__(self) -> Events:
                return self

            async def __anext__(self) -> dict[str, Any]:
                if not events:
                    raise StopAsyncIteration
                return events.pop(0)

        return Events()


class Echo:
    """Runs tools: the result is the input."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    async def __call__(self, name: str, input: Any) -> ToolResult:
        self.inputs.append(input)
        return {"ok": True, "data": input}


class Chats(unittest.TestCase):
    def chat(
        self, provider: Scripted | Bare, tools: ToolRunner | None = None, take: int = 100, **options: Any
    ) -> tuple[list[dict[str, Any]], TypedError | None]:
        """The events that came, and the error that came after them."""

        async def consume() -> tuple[list[dict[str, Any]], TypedError | None]:
            llm = LLM()
            llm.set_provider(provider)
            events: list[dict[str, Any]] = []
            try:
                async with aclosing(await llm.create_chat_stream({**OPTIONS, **options}, tools=tools, max_rounds=3)) as stream:
                    async for event in stream:
                        events.append(event)
                        if len(events) == take:
                            break
            except TypedError as error:
                return events, error
            return events, None

        return asyncio.run(consume())

    def fails(self, code: str, provider: Scripted, tools: ToolRunner | None = None, **options: Any) -> list[dict[str, Any]]:
        events, error = self.chat(provider, tools, **options)
        assert error is not None
        self.assertEqual(error.code, code)
        self.assertEqual(provider.released, len(provider.asked))
        return events

    def test_any_async_iterator_is_a_stream(self) -> None:
        self.assertEqual(self.chat(Bare()), ([text("a"), end()], None))

    def test_a_long_text_comes_in_pieces(self) -> None:
        events, _ = self.chat(Scripted("é" * 3000))
        self.assertEqual("".join(event.get("value", "") for event in events), "é" * 3000)
        self.assertGreater(len(events), 2)

    def test_nothing_is_pulled_that_nobody_takes(self) -> None:
        provider = Scripted([text(str(n)) for n in range(50)])
        self.chat(provider, take=2)
        self.assertEqual((provider.pulled, provider.released), (2, 1))

    def test_a_limit_of_time_releases_the_stream(self) -> None:
        self.assertEqual(self.fails("ETIMEOUT", Scripted([text("a"), STALL]), timeoutMs=50), [text("a")])

    def test_a_limit_of_time_cancels_a_tool(self) -> None:
        cancelled: list[str] = []

        async def stuck(name: str, input: Any) -> ToolResult:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(name)
            raise AssertionError

        self.fails("ETIMEOUT", Scripted([call("1"), end()]), stuck, timeoutMs=50)
        self.assertEqual(cancelled, ["f"])

    def test_a_time_out_of_the_tools_own_is_its_result(self) -> None:
        async def slow(name: str, input: Any) -> ToolResult:
            raise TypedError("ETIMEOUT", "slow", {"timeoutMs": 1, "elapsedMs": 1, "operation": "f"})

        events, error = self.chat(Scripted([call("1"), end()], [end()]), slow, timeoutMs=10_000)
        self.assertIsNone(error)
        self.assertEqual(events[1]["result"]["error"]["code"], "ETIMEOUT")

    def test_usage_is_summed_if_every_round_reports_it(self) -> None:
        self.assertEqual(self.chat(Scripted([call("1"), end(1, 2)], [end(3, 4)]), Echo())[0][-1], end(4, 6))
        self.assertEqual(self.chat(Scripted([call("1"), end()], [end(3, 4)]), Echo())[0][-1], end())

    def test_the_provider_gets_the_round_in_canonical_json(self) -> None:
        provider = Scripted([text("a"), call("1", x=2), text("b"), end()], "done")
        self.chat(provider, Echo())
        self.assertEqual(
            provider.asked[1]["messages"],
            [
                *OPTIONS["messages"],
                {"role": "assistant", "content": "ab"},
                {"role": "tool", "tool_call_id": "1", "content": '{"data":{"x":2},"ok":true}'},
            ],
        )

    def test_a_call_id_never_comes_again_not_even_in_another_round(self) -> None:
        echo = Echo()
        self.fails("EVALIDATION", Scripted([call("1"), end()], [call("1"), end()]), echo)
        self.assertEqual(len(echo.inputs), 1)

    def test_the_providers_own_result_counts_once_even_if_it_is_null(self) -> None:
        result = {"type": "tool_result", "callId": "1", "result": None}
        self.assertEqual(self.chat(Scripted([call("1"), result, end()])), ([call("1"), result, end()], None))
        self.fails("EVALIDATION", Scripted([call("1"), result, result, end()]))

    def test_a_model_that_never_stops_calling_is_stopped(self) -> None:
        events = self.fails("EHALT", Scripted(*([call(str(n)), end()] for n in range(9))), Echo())
        self.assertEqual([event["type"] for event in events], ["tool_call", "tool_result"] * 3)

    def test_an_invalid_event_breaks_the_stream(self) -> None:
        wrong: list[Any] = [None, 5, {}, {"type": []}, {"type": "dance"}, {"type": "text"}, {"type": "end", "usage": {"prompt": "1"}}]
        for event in wrong:
            self.assertEqual(self.fails("EIO", Scripted([text("a"), event, end()])), [text("a")])


class Caches(unittest.IsolatedAsyncioTestCase):
    async def events(self, llm: LLM, take: int = 100, **options: Any) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        async with aclosing(await llm.create_chat_stream({**OPTIONS, **options}, cache=True)) as stream:
            async for event in stream:
                events.append(event)
                if len(events) == take:
                    break
        return events

    async def test_who_changes_an_event_does_not_change_the_cache(self) -> None:
        llm = LLM()
        llm.set_provider(Scripted([text("a"), end()]))
        (await self.events(llm))[0]["value"] = "changed"
        self.assertEqual(await self.events(llm, requestId="2", timeoutMs=5), [text("a"), end()])

    async def test_half_an_answer_is_not_kept(self) -> None:
        llm = LLM()
        provider = Scripted([text("a"), text("b"), end()], [text("c"), end()])
        llm.set_provider(provider)
        await self.events(llm, take=1)
        self.assertEqual(await self.events(llm), [text("c"), end()])

    async def test_what_is_absent_is_not_what_is_given(self) -> None:
        llm = LLM()
        llm.set_provider(Scripted("a", "b", "c"))
        for options, value in (({}, "a"), ({"temperature": 0}, "b"), ({"temperature": 0.0}, "b"), ({"max_tokens": 5}, "c")):
            self.assertEqual((await self.events(llm, **options))[0], text(value))


if __name__ == "__main__":
    unittest.main()
