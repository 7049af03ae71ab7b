"""Threads for handlers that block."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any


class Threads:
    """As many threads as there are handlers blocked at a time.

    A pool of a fixed size would deadlock: all its threads may wait for a lock whose release is the next call in
    the queue. They are daemons, so that a handler that is stuck does not keep the process from ending.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._count = 0
        self._free = 0
        """Threads without a job, less jobs without a thread."""

    async def run(self, function: Callable[[], Any]) -> Any:
        """Runs a function in a thread, in the context of whoever awaits it."""
        future: asyncio.Future[tuple[Any, BaseException | None]] = self._loop.create_future()
        context = copy_context()

        def job() -> None:
            try:
                outcome: tuple[Any, BaseException | None] = (context.run(function), None)
            except BaseException as error:  # SystemExit too: a handler does not end the adapter.
                outcome = (None, error)
            try:
                self._loop.call_soon_threadsafe(self._done, future, outcome)
            except RuntimeError:
                pass  # The loop has ended; nobody waits for this.

        self._free -= 1
        if self._free < 0:
            self._start()
        self._jobs.put(job)
        value, error = await future
        if error is not None:
            raise error
        return value

    def _start(self) -> None:
        try:
            threading.Thread(target=self._work, name="proofmark-handler", daemon=True).start()
        except RuntimeError:
            if self._count == 0:
                raise
            # The system gives no more: the job waits until one of those that there are is free.
        else:
            self._count += 1
            self._free += 1

    def _work(self) -> None:
        while True:
            self._jobs.get()()

    def _done(
        self,
        future: asyncio.Future[tuple[Any, BaseException | None]],
        outcome: tuple[Any, BaseException | None],
    ) -> None:
        self._free += 1
        if not future.done():
            future.set_result(outcome)
