"""Secrets: injected for their placeholders just before a tool runs, and redacted from its output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from .errors import TypedError
from .process import CUT
from .utils import SecretProvider

# Shorter lines of a secret, such as a bracket, occur in ordinary texts.
_SHORTEST_LINE = 4
_PLACEHOLDER = re.compile(r"\$ENV\.([A-Za-z_][A-Za-z0-9_]*)")


class Secrets:
    """The secrets of one tool execution. Without a provider, placeholders are plain text."""

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
        # In one pass: placeholders inside a secret's value are not expanded.
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
        """A copy without secrets in strings or keys."""
        forms = {form: name for name, secret in self._values.items() for form in _forms(secret)}
        return _map_strings(value, lambda text: _redact(text, forms), keys=True) if forms else value


def _forms(secret: str) -> Iterator[str]:
    """The forms in which programs print a secret: raw, JSON-escaped, and line by line."""
    if not secret:
        return
    yield secret
    for ascii in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii)[1:-1]
    lines = secret.split("\n")
    for line in lines if len(lines) > 1 else []:
        if len(line.strip()) >= _SHORTEST_LINE:
            yield line.strip()


def _redact(text: str, forms: dict[str, str]) -> str:
    text = _without_beginning(text, forms)
    spans = _spans(text, forms)
    if not spans:
        return text
    redacted = _replaced(text, spans, lambda name: f"[SECRET:{name}]")
    if _spans(redacted, forms):
        # The marks, together with the text around them, form a secret again.
        redacted = _replaced(text, spans, lambda name: "")
    return "" if _spans(redacted, forms) else redacted


def _without_beginning(text: str, forms: dict[str, str]) -> str:
    """A cut may split a secret, so its remaining part is redacted too."""
    head, cut, tail = text.rpartition(CUT)
    if not cut:
        return text
    begun = max(
        (length for form in forms for length in range(1, len(form)) if head.endswith(form[:length])),
        default=0,
    )
    return head[: len(head) - begun] + cut + tail


def _spans(text: str, forms: dict[str, str]) -> list[tuple[int, int, str]]:
    """The positions and names of secrets. Overlapping ones are merged, because a remainder would leak."""
    found: list[tuple[int, int, str]] = []
    for form, name in forms.items():
        at = text.find(form)
        while at != -1:
            found.append((at, at + len(form), name))
            at = text.find(form, at + 1)
    spans: list[tuple[int, int, str]] = []
    for start, end, name in sorted(found, key=lambda span: (span[0], -span[1])):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]), spans[-1][2])
        else:
            spans.append((start, end, name))
    return spans


def _replaced(text: str, spans: list[tuple[int, int, str]], mark: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, name in spans:
        parts += [text[at:start], mark(name)]
        at = end
    return "".join([*parts, text[at:]])


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
