"""An adapter as the harness sees it: requests in, answers out, whatever the handlers do."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import threading
import unittest
from collections.abc import AsyncGenerator, Generator
from typing import Any

from proofmark import Adapter, ContractError, ProtocolError, Result, Session

from .harness import InThread


def make_adapter() -> Adapter:
    adapter = Adapter(name="test", version="1", contracts=["test"], hooks=["test.hook"])

    @adapter.operation("echo")
    async def echo(session: Session, args: dict[str, Any]) -> Any:
        return args["value"]

    @adapter.operation("plain")
    def plain(session: Session, args: dict[str, Any]) -> Any:
        return args["value"]

    @adapter.operation("raise")
    def raise_it(session: Session, args: dict[str, Any]) -> None:
        raise RAISED[args["what"]]

    @adapter.operation("raise.async")
    async def raise_it_async(session: Session, args: dict[str, Any]) -> None:
        raise RAISED[args["what"]]

    @adapter.operation("return")
    async def return_it(session: Session, args: dict[str, Any]) -> Any:
        return RETURNED[args["what"]]

    @adapter.operation("secrets")
    async def secrets(session: Session, args: dict[str, Any]) -> Any:
        return await asyncio.gather(*(session.fake("secrets").call("get", {"key": key}) for key in args["keys"]))

    @adapter.operation("secret.plain")
    def secret(session: Session, args: dict[str, Any]) -> Any:
        return session.wait(session.fake("secrets").call("get", {"key": args["key"]}))

    @adapter.operation("wait.async")
    async def wait_in_async(session: Session, args: dict[str, Any]) -> Any:
        return session.wait(session.fake("secrets").call("get"))

    @adapter.operation("stream.async")
    async def stream_async(session: Session, args: dict[str, Any]) -> AsyncGenerator[Any, None]:
        for item in args["items"]:
            yield item
        yield Result("done")
        raise AssertionError("nothing runs after the result")

    @adapter.operation("stream.plain")
    def stream_plain(session: Session, args: dict[str, Any]) -> Generator[Any, None, str]:
        yield from args["items"]
        return "done"

    @adapter.operation("stream.event")
    async def stream_event(session: Session, args: dict[str, Any]) -> None:
        for item in args["items"]:
            await session.event(item)

    @adapter.operation("late")
    async def late(session: Session, args: dict[str, Any]) -> None:
        async def after(answered: asyncio.Event) -> str:
            await answered.wait()
            try:
                await session.event("too late")
            except RuntimeError as error:
                return str(error)
            return "sent"

        session.state["answered"] = asyncio.Event()
        session.state["late"] = asyncio.create_task(after(session.state["answered"]))

    @adapter.operation("late.outcome")
    async def late_outcome(session: Session, args: dict[str, Any]) -> Any:
        session.state["answered"].set()
        return await session.state["late"]

    @adapter.operation("gate.wait")
    def gate_wait(session: Session, args: dict[str, Any]) -> str:
        gate: threading.Event = session.state.setdefault("gate", threading.Event())
        gate.wait()
        return "through"

    @adapter.operation("gate.open")
    def gate_open(session: Session, args: dict[str, Any]) -> None:
        session.state.setdefault("gate", threading.Event()).set()

    @adapter.operation("forever")
    async def forever(session: Session, args: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    @adapter.operation("close.late")
    def close_late(session: Session, args: dict[str, Any]) -> None:
        STARTED.set()
        CLOSED.wait()
        session.on_close(CLEANED.set)

    @adapter.operation("close.broken")
    async def close_broken(session: Session, args: dict[str, Any]) -> None:
        def broken() -> None:
            raise RuntimeError("cannot close")

        session.on_close(broken)

    return adapter


STARTED = threading.Event()
CLOSED = threading.Event()
CLEANED = threading.Event()


class Hostile(Exception):
    @property
    def code(self) -> str:
        raise RuntimeError("a code that cannot be read")


RAISED: dict[str, BaseException] = {
    "contract": ContractError("EIO", "m", properties={"operation": "read"}),
    "unencodable": ContractError("EIO", "m", properties={"operation": {1, 2}}),
    "ordinary": RuntimeError("an ordinary exception"),
    "surrogate": RuntimeError("\ud800"),
    "exit": SystemExit(3),
    "interrupt": KeyboardInterrupt(),
    "cancelled": asyncio.CancelledError(),
    "stop": StopIteration(1),
    "hostile": Hostile(),
    "file": FileNotFoundError(2, "gone"),
    "protocol": ProtocolError(-32601, "not here"),
}
RETURNED: dict[str, Any] = {"nan": float("nan"), "surrogate": "\ud800", "set": {1}, "keys": {1: 1}, "huge": "x" * (16 << 20)}


class Wire(unittest.TestCase):
    def setUp(self) -> None:
        # Tracebacks of what is raised on purpose.
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        self.peer = self.enterContext(InThread(make_adapter()))

    def refused(self, answer: dict[str, Any], code: int) -> None:
        self.assertEqual(answer.get("error", {}).get("code"), code, answer)
        self.assertIsInstance(answer["error"]["message"], str)


class Life(Wire):
    def test_hello_says_who_it_is(self) -> None:
        result = self.peer.ask("hello", {"protocol": 1, "harness": {}, "unknown": 1})["result"]
        self.assertEqual((result["protocol"], result["contracts"], result["hooks"]), (1, ["test"], ["test.hook"]))
        self.assertEqual((result["name"], result["version"], result["language"]), ("test", "1", "python"))

    def test_another_version_of_the_protocol_is_refused(self) -> None:
        for version in (2, "1", None, True):
            self.refused(self.peer.ask("hello", {"protocol": version}), -32602)

    def test_a_session_is_open_until_it_is_closed(self) -> None:
        self.refused(self.peer.call("echo", {"value": 1}), -32602)
        self.assertEqual(self.peer.open()["result"], {})
        self.refused(self.peer.open(), -32602)
        self.assertEqual(self.peer.value("echo", {"value": 1}), 1)
        self.assertIsNone(self.peer.ask("close", {"session": "s1"})["result"])
        self.refused(self.peer.call("echo", {"value": 1}), -32602)
        self.refused(self.peer.ask("close", {"session": "s1"}), -32602)

    def test_closing_gives_up_the_calls_under_way(self) -> None:
        self.peer.open()
        call = self.peer.send_call("forever")
        close = self.peer.send("close", {"session": "s1"})
        self.assertIsNone(self.peer.answer(close)["result"])
        self.refused(self.peer.answer(call), -32000)

    def test_cleanups_of_a_late_handler_run(self) -> None:
        self.peer.open()
        self.peer.send_call("close.late")
        self.assertTrue(STARTED.wait(20))
        self.peer.ask("close", {"session": "s1"})
        CLOSED.set()
        self.assertTrue(CLEANED.wait(20))

    def test_errors_while_closing_are_reported_and_the_session_is_gone(self) -> None:
        self.peer.open()
        self.peer.value("close.broken")
        self.refused(self.peer.ask("close", {"session": "s1"}), -32000)
        self.assertEqual(self.peer.open()["result"], {})

    def test_shutdown_is_answered_and_is_the_end(self) -> None:
        self.assertIsNone(self.peer.ask("shutdown")["result"])

    def test_calls_that_came_before_the_end_of_stdin_are_answered(self) -> None:
        self.peer.open()
        call = self.peer.send_call("plain", {"value": "last"})
        self.peer.close_input()
        self.assertEqual(self.peer.answer(call)["result"], {"value": "last"})

    def test_a_question_that_nobody_will_answer_any_more_is_given_up(self) -> None:
        self.peer.open()
        call = self.peer.send_call("secret.plain", {"key": "K"})
        self.assertEqual(self.peer.read()["method"], "fake")
        self.peer.close_input()
        self.refused(self.peer.answer(call), -32000)


class BadInput(Wire):
    def test_invalid_json_and_invalid_messages(self) -> None:
        for line, code in (
            (b"nonsense", -32700),
            (b"{", -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":NaN}}', -32700),
            (b"\xff\xfe", -32700),
            (b"[" * 200_000, -32700),
            (b"x" * (16 << 20) + b"x", -32700),
            (b"42", -32600),
            (b"[]", -32600),
            (b"{}", -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"hello"}', -32600),
            (b'{"jsonrpc":"2.0","id":"\\ud800","method":"hello"}', -32600),
        ):
            self.peer.write(line + b"\n")
            answer = self.peer.read()
            self.assertIsNone(answer["id"])
            self.refused(answer, code)

    def test_a_message_with_an_id_is_refused_under_its_id(self) -> None:
        for line in (b'{"id":"a","method":"hello"}', b'{"jsonrpc":"2.0","id":"a","method":5}', b'{"jsonrpc":"2.0","id":"a"}'):
            self.peer.write(line + b"\n")
            answer = self.peer.read()
            self.assertEqual(answer["id"], "a")
            self.refused(answer, -32600)

    def test_blank_lines_notifications_and_stray_answers_get_no_answer(self) -> None:
        self.peer.write(b'\n\r\n \t\n{"jsonrpc":"2.0","method":"hello","params":{}}\n{"jsonrpc":"2.0","id":9,"result":{}}\n')
        self.assertEqual(self.peer.open()["result"], {})

    def test_a_line_may_end_like_in_windows(self) -> None:
        self.peer.write(b'{"jsonrpc":"2.0","id":"w","method":"hello","params":{"protocol":1}}\r\n')
        self.assertEqual(self.peer.read()["id"], "w")

    def test_unknown_methods_and_operations(self) -> None:
        self.peer.open()
        self.refused(self.peer.ask("dance"), -32601)
        self.refused(self.peer.call("dance"), -32601)

    def test_params_of_the_wrong_kind(self) -> None:
        self.peer.open()
        for method, params in (
            ("call", []),
            ("call", {"session": "s1"}),
            ("call", {"session": "s1", "operation": "echo", "args": []}),
            ("call", {"session": ["s1"], "operation": "echo", "args": {}}),
            ("close", {}),
            ("open", 5),
        ):
            self.refused(self.peer.ask(method, params), -32602)


class Handlers(Wire):
    def setUp(self) -> None:
        super().setUp()
        self.peer.open()

    def test_values_come_back_as_they_were(self) -> None:
        for operation in ("echo", "plain"):
            for value in (None, "\u2028\u0085\0", {"b": 1, "a": [1.5, True]}, 2**70, "x" * (15 << 20)):
                self.assertEqual(self.peer.value(operation, {"value": value}), value)

    def test_a_lone_surrogate_reaches_a_handler_and_is_refused_on_the_way_back(self) -> None:
        self.peer.write(
            b'{"jsonrpc":"2.0","id":77,"method":"call","params":{"session":"s1","operation":"echo","args":{"value":"\\ud800"}}}\n'
        )
        self.refused(self.peer.answer(77), -32000)

    def test_a_contracts_error_is_a_result(self) -> None:
        for operation in ("raise", "raise.async"):
            answer = self.peer.call(operation, {"what": "contract"})
            self.assertEqual(answer["result"], {"error": {"code": "EIO", "message": "m", "operation": "read"}})

    def test_whatever_else_is_raised_is_the_adapters_trouble_and_not_its_end(self) -> None:
        for operation in ("raise", "raise.async"):
            for what in RAISED.keys() - {"contract", "protocol"}:
                with self.subTest(operation=operation, what=what):
                    self.refused(self.peer.call(operation, {"what": what}), -32000)
        self.assertEqual(self.peer.value("echo", {"value": 1}), 1)

    def test_an_ordinary_exception_is_reported_in_one_line(self) -> None:
        message = self.peer.call("raise", {"what": "ordinary"})["error"]["message"]
        self.assertEqual(message, "RuntimeError: an ordinary exception")

    def test_a_handler_may_say_that_it_is_not_implemented(self) -> None:
        self.refused(self.peer.call("raise", {"what": "protocol"}), -32601)

    def test_values_that_the_wire_cannot_carry_are_adapter_errors(self) -> None:
        for what in RETURNED:
            with self.subTest(what):
                self.refused(self.peer.call("return", {"what": what}), -32000)

    def test_hundreds_of_handlers_may_block_at_once(self) -> None:
        waiting = [self.peer.send_call("gate.wait") for _ in range(600)]
        self.assertIsNone(self.peer.value("gate.open"))
        for call in waiting:
            self.assertEqual(self.peer.answer(call)["result"], {"value": "through"})

    def test_sessions_share_nothing(self) -> None:
        self.peer.open(session="s2")
        held = self.peer.send_call("gate.wait")
        self.peer.value("gate.open", session="s2")
        self.assertEqual(self.peer.value("gate.wait", session="s2"), "through")
        self.peer.value("gate.open")
        self.assertEqual(self.peer.answer(held)["result"], {"value": "through"})

    def test_two_handlers_for_one_operation_are_a_mistake(self) -> None:
        adapter = make_adapter()
        with self.assertRaises(ValueError):
            adapter.operation("echo")(lambda session, args: None)


class Fakes(Wire):
    def setUp(self) -> None:
        super().setUp()
        self.peer.open()

    def reply(self, question: dict[str, Any], **answer: Any) -> None:
        self.peer.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], **answer}).encode() + b"\n")

    def test_questions_go_out_together_in_order_and_may_be_answered_in_any(self) -> None:
        call = self.peer.send_call("secrets", {"keys": ["a", "b", "c"]})
        questions = [self.peer.read() for _ in range(3)]
        self.assertEqual([question["params"]["args"]["key"] for question in questions], ["a", "b", "c"])
        self.assertEqual(questions[0]["params"], {"session": "s1", "fake": "secrets", "method": "get", "args": {"key": "a"}})
        for question in reversed(questions):
            self.reply(question, result={"value": question["params"]["args"]["key"].upper()})
        self.assertEqual(self.peer.answer(call)["result"], {"value": ["A", "B", "C"]})

    def test_a_plain_handler_can_ask_too(self) -> None:
        call = self.peer.send_call("secret.plain", {"key": "K"})
        self.reply(self.peer.read(), result={"value": None})
        self.assertEqual(self.peer.answer(call)["result"], {"value": None})

    def test_blocking_in_an_async_handler_is_an_error(self) -> None:
        self.refused(self.peer.call("wait.async"), -32000)

    def test_the_collaborators_error_passes_through(self) -> None:
        error = {"code": "EIO", "message": "vault", "name": "N", "operation": "get"}
        call = self.peer.send_call("secret.plain", {"key": "K"})
        self.reply(self.peer.read(), result={"error": error})
        self.assertEqual(self.peer.answer(call)["result"], {"error": error})

    def test_an_answer_that_is_none_is_the_adapters_trouble(self) -> None:
        answers: list[dict[str, Any]] = [
            {"error": {"code": -32602, "message": "no such fake"}},
            {"result": {}},
            {"result": None},
            {"result": {"error": {"code": 5, "message": "m"}}},
        ]
        for answer in answers:
            call = self.peer.send_call("secret.plain", {"key": "K"})
            self.reply(self.peer.read(), **answer)
            self.refused(self.peer.answer(call), -32000)


class Events(Wire):
    def setUp(self) -> None:
        super().setUp()
        self.peer.open()

    def test_items_come_in_order_before_the_answer_and_name_their_call(self) -> None:
        items = [1, {"a": []}, None, "x"]
        for operation, value in (("stream.async", "done"), ("stream.plain", "done"), ("stream.event", None)):
            call = self.peer.send_call(operation, {"items": items})
            for item in items:
                event = self.peer.read()
                self.assertEqual(event["method"], "event")
                self.assertEqual(event["params"], {"session": "s1", "call": call, "item": item})
                self.assertNotIn("id", event)
            self.assertEqual(self.peer.answer(call)["result"], {"value": value})

    def test_streams_of_two_calls_keep_apart(self) -> None:
        calls = {self.peer.send_call("stream.async", {"items": [index] * 50}): index for index in range(2)}
        seen: dict[int, list[int]] = {call: [] for call in calls}
        answers = 0
        while answers < 2:
            message = self.peer.read()
            if "method" in message:
                seen[message["params"]["call"]].append(message["params"]["item"])
            else:
                answers += 1
        self.assertEqual(seen, {call: [index] * 50 for call, index in calls.items()})

    def test_an_event_after_the_answer_is_not_sent(self) -> None:
        self.peer.value("late")
        self.assertIn("no current call", self.peer.value("late.outcome"))


if __name__ == "__main__":
    unittest.main()
