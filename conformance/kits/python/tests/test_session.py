"""The scripted clock, the tapes and the handles."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from proofmark import Clock, ProtocolError, Random, Session, TapeEmptyError, UnknownHandleError

from .harness import OPEN


class NoLink:
    """A session that asks nobody."""

    loop: asyncio.AbstractEventLoop
    thread = 0

    def ask(self, session: str, fake: str, method: str, args: Mapping[str, Any]) -> asyncio.Future[Any]:
        raise AssertionError

    def tell(self, session: str, call: int | str, item: Any) -> None:
        raise AssertionError

    async def drain(self) -> None:
        raise AssertionError


def session(**changes: Any) -> Session:
    return Session(NoLink(), {**OPEN, **changes})


class Clocks(unittest.TestCase):
    def readings(self, start: str, step_ms: int, count: int = 3) -> list[str]:
        clock = Clock(start, step_ms)
        return [clock.now() for _ in range(count)]

    def test_each_reading_is_a_step_after_the_one_before(self) -> None:
        self.assertEqual(
            self.readings("2024-02-28T23:59:59.500Z", 43_200_250),
            ["2024-02-28T23:59:59.500Z", "2024-02-29T11:59:59.750Z", "2024-03-01T00:00:00.000Z"],
        )

    def test_a_step_of_nothing_stands_still(self) -> None:
        self.assertEqual(self.readings("2024-01-01T00:00:00.000Z", 0), ["2024-01-01T00:00:00.000Z"] * 3)

    def test_the_first_reading_is_the_start_as_it_was_written(self) -> None:
        self.assertEqual(self.readings("2024-01-01T00:00:00Z", 1, 2), ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.001Z"])

    def test_threads_never_get_the_same_reading(self) -> None:
        clock = Clock("2024-01-01T00:00:00.000Z", 1)
        with ThreadPoolExecutor(8) as pool:
            readings = list(pool.map(lambda _: clock.now(), range(2000)))
        self.assertEqual(len(set(readings)), 2000)


class Tapes(unittest.TestCase):
    def test_the_tapes_are_apart(self) -> None:
        random = Random([7, 9], [0.25])
        self.assertEqual([random.int(), random.float(), random.int()], [7, 0.25, 9])

    def test_a_float_is_a_float(self) -> None:
        self.assertIs(type(Random([], [1]).float()), float)

    def test_an_empty_tape_says_so(self) -> None:
        for draw in (Random([], [0.5]).int, Random([1], []).float):
            with self.assertRaises(TapeEmptyError):
                draw()


class Handles(unittest.TestCase):
    def test_an_object_is_found_by_its_handle_until_it_is_removed(self) -> None:
        held = session()
        thing = object()
        handle, other = held.put(thing), held.put(thing)
        self.assertNotEqual(handle, other)
        self.assertIs(held.get(handle), thing)
        self.assertIs(held.remove(handle), thing)
        self.assertIs(held.get(other), thing)
        for use in (held.get, held.remove):
            with self.assertRaises(UnknownHandleError):
                use(handle)

    def test_a_handle_of_another_session_is_unknown(self) -> None:
        handle = session().put(1)
        with self.assertRaises(UnknownHandleError):
            session().get(handle)

    def test_an_invalid_handle_is_unknown(self) -> None:
        with self.assertRaises(UnknownHandleError):
            session().get([])  # type: ignore[arg-type]


class Opening(unittest.TestCase):
    def test_a_workspace_is_a_path_or_none(self) -> None:
        self.assertEqual(session(workspace="/a/b").workspace, Path("/a/b"))
        self.assertFalse(session().has_workspace)
        with self.assertRaises(ProtocolError):
            session().workspace

    def test_params_that_are_not_as_the_protocol_says_are_refused(self) -> None:
        wrong: list[dict[str, Any]] = [
            {"session": 5},
            {"session": None},
            {"workspace": "relative"},
            {"workspace": 5},
            {"clock": None},
            {"clock": {"start": "yesterday", "stepMs": 1}},
            {"clock": {"start": "2024-01-01T00:00:00.000Z", "stepMs": 0.5}},
            {"clock": {"start": "2024-01-01T00:00:00.000Z", "stepMs": 10**300}},
            {"clock": {"start": "2024-01-01T00:00:00.000Z"}},
            {"random": {"ints": []}},
            {"random": {"ints": ["7"], "floats": []}},
            {"random": {"ints": [True], "floats": []}},
            {"random": {"ints": [], "floats": [None]}},
            {"fakes": {}},
            {"fakes": [1]},
        ]
        for changes in wrong:
            with self.subTest(changes), self.assertRaises(ProtocolError) as caught:
                session(**changes)
            self.assertEqual(caught.exception.code, -32602)

    def test_cleanups_all_run_the_last_one_first(self) -> None:
        done: list[str] = []
        closing = session()

        async def later() -> None:
            done.append("async")

        def broken() -> None:
            raise RuntimeError("broken")

        closing.on_close(lambda: done.append("first given"))
        closing.on_close(broken)
        closing.on_close(later)
        with self.assertRaisesRegex(RuntimeError, "broken"):
            asyncio.run(closing.close())
        self.assertEqual(done, ["async", "first given"])


if __name__ == "__main__":
    unittest.main()
