"""Patterns of JSON Schema are ECMAScript's; Python's own differ in a few places."""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\[\s\S]|\(\?<(?=[A-Za-z_])|[\[\]$]")
_ESCAPES = {
    r"\d": "0-9",
    r"\w": "A-Za-z0-9_",
    r"\s": "\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff",
}
_NOT_IN_ECMASCRIPT = (r"\A", r"\Z", r"\a")


@lru_cache(1000)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Raises `ValueError` for a pattern that is none, or that this translation does not know."""
    in_class = False

    def translate(token: re.Match[str]) -> str:
        nonlocal in_class
        text = token[0]
        if token[1] is not None:
            return re.escape(chr(int(token[1], 16)))
        if text in _ESCAPES:
            return _ESCAPES[text] if in_class else f"[{_ESCAPES[text]}]"
        if text.lower() in _ESCAPES and not in_class:
            return f"[^{_ESCAPES[text.lower()]}]"
        if text in _NOT_IN_ECMASCRIPT:
            raise ValueError(f"`{text}` is not an escape")
        if text == "(?<":
            return "(?P<"
        if text == "$" and not in_class:
            return r"\Z"  # Python's `$` also matches before a newline at the end.
        if text == "[" and in_class:
            return r"\["
        if text in "[]":
            in_class = text == "["
        return text

    try:
        return re.compile(_TOKEN.sub(translate, pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
