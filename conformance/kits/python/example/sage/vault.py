"""Secrets: put in the place of their placeholders just before a tool runs, and taken out of all that it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .errors import TypedError
from .utils import SecretProvider

_PLACEHOLDER = re.compile(r"\$ENV\.([A-Za-z_][A-Za-z0-9_]*)")


class Secrets:
    """The secrets of one execution of a tool. Without a provider, placeholders are text like any other."""

    def __init__(self, provider: SecretProvider | None) -> None:
        self._provider = provider
        self._values: dict[str, str] = {}

    async def inject(self, value: Any) -> Any:
        """A copy of the input with every placeholder replaced. Each secret is fetched once."""
        if self._provider is None:
            return value
        names: dict[str, None] = {}
        _map_strings(value, lambda text: _note(text, names))
        for name in names:
            self._values[name] = await self._fetch(self._provider, name)
        # In one pass: what a secret's value looks like is nobody's business.
        return _map_strings(value, lambda text: _PLACEHOLDER.sub(lambda found: self._values[found[1]], text))

    async def _fetch(self, provider: SecretProvider, name: str) -> str:
        cause: Exception | None = None
        try:
            value = await provider.get(name)
        except TypedError as error:
            value, cause = None, error
        if not isinstance(value, str):
            properties = {"resource": name, "operation": "read"}
            raise TypedError("ESECRET_NOT_FOUND", f"there is no secret `{name}`", properties, cause=cause)
        return value

    def redact(self, value: Any) -> Any:
        """A copy in which no secret's value occurs, neither in a string nor in a key."""
        values = {secret: name for name, secret in self._values.items() if secret}
        if not values:
            return value
        # The longest first: one may be a part of another.
        found = re.compile("|".join(re.escape(secret) for secret in sorted(values, key=len, reverse=True)))

        def clean(text: str) -> str:
            redacted = found.sub(lambda match: f"[SECRET:{values[match[0]]}]", text)
            if found.search(redacted) is None:
                return redacted
            # The marks themselves, or what is left around them, read like a secret.
            redacted = found.sub("", text)
            return "" if found.search(redacted) else redacted

        return _map_strings(value, clean, keys=True)


def _note(text: str, names: dict[str, None]) -> str:
    names.update((name, None) for name in _PLACEHOLDER.findall(text))
    return text


def _map_strings(value: Any, change: Callable[[str], str], keys: bool = False) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_strings(item, change, keys) for item in value]
    if isinstance(value, dict):
        return {change(key) if keys else key: _map_strings(item, change, keys) for key, item in value.items()}
    return value
