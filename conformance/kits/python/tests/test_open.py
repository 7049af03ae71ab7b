"""What an adapter does when a session opens, and what it may ask when no call is under way."""

from __future__ import annotations

import asyncio
import contextlib
import io
import threading
import unittest
from typing import Any

from proofmark import Adapter, Session

from .harness import PATIENCE_SECONDS, InThread

WIRE = {"wire": {"mcp": {"command": ["my-server", "--stdio"]}}}


def make_adapter() -> Adapter:
    adapter = Adapter(name="test", version="1", contracts=["test"])

    @adapter.operation("state")
    async def state(session: Session, args: dict[str, Any]) -> Any:
        return session.state["opened"]

    return adapter


class Opening(unittest.TestCase):
    def test_without_a_handler_open_is_answered_with_nothing(self) -> None:
        with InThread(make_adapter()) as peer:
            self.assertEqual(peer.open()["result"], {})

    def test_the_result_of_the_handler_is_the_answer(self) -> None:
        async def later(session: Session) -> Any:
            return WIRE

        def plain(session: Session) -> Any:
            return WIRE

        def nothing(session: Session) -> None:
            return None

        for handler, answer in ((later, WIRE), (plain, WIRE), (nothing, {})):
            adapter = make_adapter()
            adapter.on_open(handler)
            with InThread(adapter) as peer:
                self.assertEqual(peer.open()["result"], answer, handler.__name__)

    def test_the_handler_gets_the_session_that_calls_get(self) -> None:
        adapter = make_adapter()

        @adapter.on_open
        def opened(session: Session) -> None:
            session.state["opened"] = session.clock.now()

        with InThread(adapter) as peer:
            peer.open()
            self.assertEqual(peer.value("state"), "2024-01-01T12:00:00.000Z")

    def test_there_is_one_handler(self) -> None:
        adapter = make_adapter()
        adapter.on_open(lambda session: None)
        with self.assertRaises(ValueError):
            adapter.on_open(lambda session: None)

    def test_a_handler_that_fails_leaves_no_session(self) -> None:
        adapter = make_adapter()
        cleaned = threading.Event()
        broken = [True]

        @adapter.on_open
        def opened(session: Session) -> None:
            session.state["opened"] = True
            if broken:
                session.on_close(cleaned.set)
                broken.clear()
                raise OSError("no port is free")

        with InThread(adapter) as peer, contextlib.redirect_stderr(io.StringIO()):
            error = peer.open()["error"]
            self.assertEqual((error["code"], error["message"]), (-32000, "OSError: no port is free"))
            self.assertTrue(cleaned.wait(PATIENCE_SECONDS))
            self.assertEqual(peer.call("state")["error"]["code"], -32602)
            self.assertEqual(peer.open()["result"], {})
            self.assertTrue(peer.value("state"))

    def test_an_answer_that_the_wire_cannot_carry_is_an_error(self) -> None:
        adapter = make_adapter()
        adapter.on_open(lambda session: {"wire": {1, 2}})
        with InThread(adapter) as peer:
            self.assertEqual(peer.open()["error"]["code"], -32000)

    def test_a_session_that_is_closed_while_it_opens_is_answered(self) -> None:
        adapter = make_adapter()

        @adapter.on_open
        async def opened(session: Session) -> None:
            await asyncio.Event().wait()

        with InThread(adapter) as peer:
            opening = peer.send("open", {"session": "s1", **_OPEN})
            self.assertEqual(peer.open()["error"]["code"], -32602, "the id is taken already")
            self.assertIsNone(peer.ask("close", {"session": "s1"})["result"])
            self.assertEqual(peer.answer(opening)["error"]["code"], -32000)


_OPEN = {"clock": {"start": "2024-01-01T12:00:00.000Z", "stepMs": 1}, "random": {"ints": [], "floats": []}, "fakes": []}


class Asking(unittest.TestCase):
    """A server asks fakes when it will: from tasks and threads that `open` has started."""

    def played(self, adapter: Adapter) -> None:
        with InThread(adapter) as peer:
            opening = peer.send("open", {"session": "s1", **_OPEN, "fakes": ["secrets"]})
            asked = None
            while asked is None:
                message = peer.read()
                if message.get("method") == "fake":
                    asked = message
                else:
                    self.assertEqual((message["id"], message["result"]), (opening, WIRE))
            self.assertEqual(asked["params"], {"session": "s1", "fake": "secrets", "method": "get", "args": {"key": "K"}})
            peer.write(b'{"jsonrpc":"2.0","id":%d,"result":{"value":"s3cret"}}\n' % asked["id"])
            self.assertEqual(peer.value("served"), "s3cret")

    def test_from_a_task(self) -> None:
        adapter = make_adapter()

        @adapter.on_open
        async def opened(session: Session) -> Any:
            session.state["server"] = asyncio.create_task(session.fake("secrets").call("get", {"key": "K"}))
            return WIRE

        @adapter.operation("served")
        async def served(session: Session, args: dict[str, Any]) -> Any:
            return await session.state["server"]

        self.played(adapter)

    def test_from_a_thread(self) -> None:
        adapter = make_adapter()
        secrets: list[Any] = []

        @adapter.on_open
        def opened(session: Session) -> Any:
            def serve() -> None:
                secrets.append(session.wait(session.fake("secrets").call("get", {"key": "K"})))

            session.state["server"] = threading.Thread(target=serve, daemon=True)
            session.state["server"].start()
            return WIRE

        @adapter.operation("served")
        def served(session: Session, args: dict[str, Any]) -> Any:
            session.state["server"].join(PATIENCE_SECONDS)
            return secrets[0]

        self.played(adapter)

    def test_pending_calls_of_fakes_fail_when_the_session_ends(self) -> None:
        adapter = make_adapter()
        outcomes: dict[str, str] = {}
        ended = threading.Event()

        @adapter.on_open
        def opened(session: Session) -> None:
            def serve() -> None:
                try:
                    session.wait(session.fake("secrets").call("get"))
                except Exception as error:
                    outcomes[session.id] = str(error)
                ended.set()

            threading.Thread(target=serve, daemon=True).start()

        with InThread(adapter) as peer:
            for session in ("s1", "s2"):
                peer.send("open", {"session": session, **_OPEN})
            asked = 0
            while asked < 2:
                asked += peer.read().get("method") == "fake"
            peer.send("close", {"session": "s1"})
            self.assertTrue(ended.wait(PATIENCE_SECONDS))
            self.assertEqual(outcomes, {"s1": "session `s1` is closed"})


if __name__ == "__main__":
    unittest.main()
