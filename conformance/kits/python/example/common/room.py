"""The memory limit of the server, which keeps everything in memory."""

from __future__ import annotations

import sys

from .errors import Code, Refusal

DEFAULT_CAPACITY = 512 * 1024 * 1024
_ENTITY = 256
"""The overhead of an entity besides its texts, rounded up. Shared texts count once per reference."""


class Room:
    """Counts bytes, roughly and never too few. Refuses a write that does not fit before anything changes."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._taken = 0

    def take(self, more: int) -> None:
        """Reserves bytes, or releases them if `more` is negative."""
        if more > 0 and self._taken + more > self._capacity:
            raise Refusal(
                Code.BUDGET_EXCEEDED,
                f"the server keeps at most {self._capacity} bytes, and this write would exceed that",
                "write less, or start the server afresh",
            )
        self._taken += more


def weight(*texts: str) -> int:
    return _ENTITY + sum(map(sys.getsizeof, texts))

