"""JSON as text: compact, and measured in bytes of UTF-8."""

from __future__ import annotations

import json
from typing import Any

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def compact(value: Any) -> str:
    """JSON without white space and without unnecessary escapes."""
    return _encoder.encode(value)


def utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))


def has_lone_surrogate(text: str) -> bool:
    """JSON can escape a lone surrogate, but UTF-8, and so an answer, cannot carry it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
