"""How much the server keeps. Everything is in memory, so there is an end to it."""

from __future__ import annotations

import sys

from .errors import Code, Refusal

DEFAULT_CAPACITY = 512 * 1024 * 1024
_ENTITY = 256
"""What an entity takes besides its texts: rounded up, and so are shared texts, which count wherever they are kept."""


class Room:
    """Counts bytes, roughly and never too few. What does not fit is refused before anything is changed."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._taken = 0

    def take(self, more: int) -> None:
        """Takes so many bytes more, or gives them back if `more` is negative."""
        if more > 0 and self._taken + more > self._capacity:
            raise Refusal(
                Code.BUDGET_EXCEEDED,
                f"the server keeps {self._capacity} bytes at most, and these would be more",
                "write less, or start the server afresh",
            )
        self._taken += more


def weight(*texts: str) -> int:
    return _ENTITY + sum(map(sys.getsizeof, texts))

