"""Threads for handlers that block."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

_FEW = 8
_LOOK_SECONDS = 0.02

Outcome = tuple[Any, BaseException | None]


class Threads:
    """A small thread pool that grows only while all threads are blocked.

    A pool of a fixed size would deadlock: all its threads may wait for a lock whose release is the next call in
    the queue. A thread for every call would crawl: hundreds of them, none blocked for long, all want the
    interpreter. They are daemons, so that a handler that is stuck does not keep the process from ending.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._threads = 0
        self._submitted = 0
        self._taken = 0
        self._looking = False

    async def run(self, function: Callable[[], Any]) -> Any:
        """Runs a function in a thread, with the caller's context."""
        future: asyncio.Future[Outcome] = self._loop.create_future()
        context = copy_context()

        def job() -> None:
            try:
                outcome: Outcome = (context.run(function), None)
            except BaseException as error:  # SystemExit too: a handler does not end the adapter.
                outcome = (None, error)
            try:
                self._loop.call_soon_threadsafe(_settle, future, outcome)
            except RuntimeError:
                pass  # The loop has ended; nobody waits for this.

        self._jobs.put(job)
        self._submitted += 1
        if self._threads < _FEW:
            self._start(1)
        self._look_later()
        value, error = await future
        if error is not None:
            raise error
        return value

    def _look_later(self) -> None:
        if not self._looking:
            self._looking = True
            self._taken = self._submitted - self._jobs.qsize()
            self._loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Doubles the threads if none has taken a job since the last check."""
        self._looking = False
        waiting = self._jobs.qsize()
        if waiting == 0:
            return
        if self._taken == self._submitted - waiting:
            self._start(min(waiting, self._threads))
        self._look_later()

    def _start(self, count: int) -> None:
        for _ in range(count):
            try:
                threading.Thread(target=self._work, name="proofmark-handler", daemon=True).start()
            except RuntimeError:
                if self._threads == 0:
                    raise
                return  # The system gives no more: jobs wait until one of those that there are is free.
            self._threads += 1

    def _work(self) -> None:
        while True:
            self._jobs.get()()


def _settle(future: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)
