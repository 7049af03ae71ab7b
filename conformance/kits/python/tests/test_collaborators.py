"""The collaborators as objects: what they ask, and when a stream is stopped."""

from __future__ import annotations

import asyncio
import gc
import json
import unittest
from collections.abc import AsyncGenerator
from typing import Any

from proofmark import Adapter, Graph, LlmProvider, ProviderStream, Result, ScriptedTool, SecretProvider, Session

from .harness import InThread


def make_adapter() -> Adapter:
    adapter = Adapter(name="test", version="1", contracts=["test"])

    @adapter.operation("secret")
    async def secret(session: Session, args: dict[str, Any]) -> Any:
        return await SecretProvider(session).get(args["key"])

    @adapter.operation("query")
    async def query(session: Session, args: dict[str, Any]) -> Any:
        return await Graph(session).query(**args)

    @adapter.operation("tool")
    async def tool(session: Session, args: dict[str, Any]) -> Any:
        log = session.emitter() if args.get("log") else None
        return await ScriptedTool(session, "Tool").execute(args["input"], log)

    @adapter.operation("emit.plain")
    def emit_plain(session: Session, args: dict[str, Any]) -> None:
        emit = session.emitter()
        for item in args["items"]:
            emit(item)

    @adapter.operation("emit.late")
    async def emit_late(session: Session, args: dict[str, Any]) -> Any:
        if "emit" not in session.state:
            session.state["emit"] = session.emitter()
            return None
        with unittest.TestCase().assertRaisesRegex(RuntimeError, "no current call"):
            session.state["emit"]("too late")
        return "refused"

    @adapter.operation("models")
    async def models(session: Session, args: dict[str, Any]) -> Any:
        return await LlmProvider(session, "p").models()

    @adapter.operation("chat")
    async def chat(session: Session, args: dict[str, Any]) -> AsyncGenerator[Any, None]:
        stream = await LlmProvider(session, "p").chat({"model": "m"})
        if isinstance(stream, ProviderStream):
            try:
                for _ in range(args.get("take", 1000)):
                    yield await anext(stream)
            except StopAsyncIteration:
                pass
            await stream.aclose()
        else:
            yield Result(stream)

    @adapter.operation("chat.limit")
    async def chat_limit(session: Session, args: dict[str, Any]) -> str:
        """Gives up waiting, for the chat or for an event, when `release` says so."""
        waiting = asyncio.create_task(_first(session))
        await asyncio.wait({waiting, asyncio.create_task(_released(session))}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await asyncio.wait({waiting})
        if args.get("linger"):
            await session.state.setdefault("finished", asyncio.Event()).wait()
        return "cancelled" if waiting.cancelled() else "came"

    @adapter.operation("chat.close")
    async def chat_close(session: Session, args: dict[str, Any]) -> str:
        """Closes a stream while another task waits for its event."""
        stream = await LlmProvider(session, "p").chat({})
        assert isinstance(stream, ProviderStream)
        waiting = asyncio.create_task(_next(stream))
        await _released(session)
        await stream.aclose()
        return await waiting

    @adapter.operation("chat.drop")
    async def chat_drop(session: Session, args: dict[str, Any]) -> None:
        stream = await LlmProvider(session, "p").chat({})
        await anext(stream)  # type: ignore[arg-type]
        del stream
        gc.collect()

    @adapter.operation("release")
    async def release(session: Session, args: dict[str, Any]) -> None:
        session.state.setdefault("released", asyncio.Event()).set()

    @adapter.operation("finish")
    async def finish(session: Session, args: dict[str, Any]) -> None:
        session.state.setdefault("finished", asyncio.Event()).set()

    return adapter


async def _first(session: Session) -> Any:
    stream = await LlmProvider(session, "p").chat({})
    return await anext(stream)  # type: ignore[arg-type]


async def _next(stream: ProviderStream) -> str:
    try:
        await anext(stream)
    except StopAsyncIteration:
        return "ended"
    return "came"


async def _released(session: Session) -> None:
    await session.state.setdefault("released", asyncio.Event()).wait()


class Collaborators(unittest.TestCase):
    def setUp(self) -> None:
        self.peer = self.enterContext(InThread(make_adapter()))
        self.peer.open(fakes=["secrets", "graph", "tools", "llm"])

    def asked(self, fake: str, method: str, args: dict[str, Any]) -> int:
        """The adapter's next message is this question."""
        question = self.peer.read()
        self.assertEqual(question.get("params"), {"session": "s1", "fake": fake, "method": method, "args": args})
        request_id: int = question["id"]
        return request_id

    def reply(self, request_id: int, **result: Any) -> None:
        self.peer.write(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode() + b"\n")

    def plays(self, fake: str, method: str, args: dict[str, Any], value: Any) -> None:
        self.reply(self.asked(fake, method, args), value=value)

    def item(self) -> Any:
        message = self.peer.read()
        self.assertEqual(message["method"], "event")
        return message["params"]["item"]

    def answers(self, call: int, value: Any) -> None:
        self.assertEqual(self.peer.answer(call)["result"], {"value": value})


class Objects(Collaborators):
    def test_a_secret(self) -> None:
        for value in ("s3cret", None):
            call = self.peer.send_call("secret", {"key": "K"})
            self.plays("secrets", "get", {"key": "K"}, value)
            self.answers(call, value)

    def test_a_query_sends_only_given_arguments(self) -> None:
        for args in ({"query": "q"}, {"query": "q", "params": {}, "commit": "c"}):
            call = self.peer.send_call("query", args)
            self.plays("graph", "query", args, [{"n": 1}])
            self.answers(call, [{"n": 1}])

    def test_logs_of_a_tool_come_before_its_result(self) -> None:
        call = self.peer.send_call("tool", {"input": {"a": 1}, "log": True})
        self.plays("tools", "execute", {"name": "Tool", "input": {"a": 1}}, {"ok": True, "log": [{"msg": "one"}, {"msg": "two"}]})
        self.assertEqual([self.item(), self.item()], [{"msg": "one"}, {"msg": "two"}])
        self.answers(call, {"ok": True})

    def test_without_a_logger_the_log_is_left_out_all_the_same(self) -> None:
        call = self.peer.send_call("tool", {"input": 5})
        self.plays("tools", "execute", {"name": "Tool", "input": 5}, {"ok": True, "log": [{"msg": "one"}]})
        self.answers(call, {"ok": True})

    def test_a_tools_error_is_raised(self) -> None:
        call = self.peer.send_call("tool", {"input": 5})
        error = {"code": "EIO", "message": "m", "operation": "o"}
        self.reply(self.asked("tools", "execute", {"name": "Tool", "input": 5}), error=error)
        self.assertEqual(self.peer.answer(call)["result"], {"error": error})

    def test_models(self) -> None:
        call = self.peer.send_call("models")
        self.plays("llm", "models", {"provider": "p"}, [{"name": "m"}])
        self.answers(call, [{"name": "m"}])


class Emitters(Collaborators):
    def test_items_are_in_order_from_a_thread_too(self) -> None:
        call = self.peer.send_call("emit.plain", {"items": [1, None, "x"]})
        self.assertEqual([self.item() for _ in range(3)], [1, None, "x"])
        self.answers(call, None)

    def test_after_the_answer_there_are_no_more(self) -> None:
        self.assertIsNone(self.peer.value("emit.late"))
        self.assertEqual(self.peer.value("emit.late"), "refused")


class Streams(Collaborators):
    def streams(self, options: dict[str, Any], stream: str = "st1") -> None:
        self.plays("llm", "chat", {"provider": "p", "options": options}, {"stream": stream})

    def test_a_provider_that_cannot_stream(self) -> None:
        call = self.peer.send_call("chat")
        self.plays("llm", "chat", {"provider": "p", "options": {"model": "m"}}, {"text": "all of it"})
        self.answers(call, {"text": "all of it"})

    def test_a_stream_that_ends_is_not_stopped(self) -> None:
        call = self.peer.send_call("chat")
        self.streams({"model": "m"})
        for event in ({"type": "text", "value": "a"}, None, 5):
            self.plays("llm", "next", {"stream": "st1"}, {"event": event})
            self.assertEqual(self.item(), event)
        self.plays("llm", "next", {"stream": "st1"}, {"done": True})
        self.answers(call, None)

    def test_a_stream_that_fails_is_not_stopped(self) -> None:
        call = self.peer.send_call("chat")
        self.streams({"model": "m"})
        self.reply(self.asked("llm", "next", {"stream": "st1"}), error={"code": "EIO", "message": "cut", "operation": "read"})
        self.assertEqual(self.peer.answer(call)["result"]["error"]["code"], "EIO")

    def test_a_stream_that_is_closed_is_stopped(self) -> None:
        call = self.peer.send_call("chat", {"take": 1})
        self.streams({"model": "m"})
        self.plays("llm", "next", {"stream": "st1"}, {"event": 1})
        self.item()
        self.plays("llm", "stop", {"stream": "st1"}, None)
        self.answers(call, None)

    def test_a_stream_is_closed_while_an_event_is_waited_for(self) -> None:
        call = self.peer.send_call("chat.close")
        self.streams({})
        waited_for = self.asked("llm", "next", {"stream": "st1"})
        released = self.peer.send_call("release")
        stop = self.next_question(released, "stop")
        self.reply(waited_for, value={"done": True})
        self.reply(stop, value=None)
        self.answers(call, "ended")

    def test_who_gives_up_waiting_for_an_event_stops_the_stream(self) -> None:
        call = self.peer.send_call("chat.limit")
        self.streams({})
        waited_for = self.asked("llm", "next", {"stream": "st1"})
        released = self.peer.send_call("release")
        stop = self.next_question(released, "stop")
        self.reply(stop, value=None)
        self.reply(waited_for, value={"done": True})
        self.answers(call, "cancelled")

    def test_a_stream_that_comes_too_late_is_stopped(self) -> None:
        call = self.peer.send_call("chat.limit", {"linger": True})
        chat = self.asked("llm", "chat", {"provider": "p", "options": {}})
        self.answers(self.peer.send_call("release"), None)
        self.reply(chat, value={"stream": "late"})
        self.plays("llm", "stop", {"stream": "late"}, None)
        self.peer.value("finish")
        self.answers(call, "cancelled")

    def test_after_the_answer_of_its_call_a_stream_is_not_stopped_any_more(self) -> None:
        call = self.peer.send_call("chat.limit")
        chat = self.asked("llm", "chat", {"provider": "p", "options": {}})
        self.answers(self.peer.send_call("release"), None)
        self.answers(call, "cancelled")
        self.reply(chat, value={"stream": "late"})
        self.peer.value("finish")

    def test_a_stream_that_nobody_has_any_more_is_stopped(self) -> None:
        call = self.peer.send_call("chat.drop")
        self.streams({})
        self.plays("llm", "next", {"stream": "st1"}, {"event": 1})
        self.plays("llm", "stop", {"stream": "st1"}, None)
        self.answers(call, None)

    def next_question(self, other_call: int, method: str) -> int:
        """The next question, whose order to the answer of another call is nobody's promise."""
        found = None
        for _ in range(2):
            message = self.peer.read()
            if "method" in message:
                self.assertEqual(message["params"]["method"], method)
                found = message["id"]
            else:
                self.assertEqual(message["id"], other_call)
        assert isinstance(found, int)
        return found


if __name__ == "__main__":
    unittest.main()
