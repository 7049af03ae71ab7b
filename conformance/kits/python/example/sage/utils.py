"""Foundations: canonical JSON, SHA-256, typed errors, and the interfaces of time, chance and secrets."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any, Protocol

from .errors import TypedError, check_strings, detail, validation_error

__all__ = ["Clock", "Random", "SecretProvider", "TypedError", "canonical_json", "err", "parse_json", "sha256"]

MAX_DEPTH = 500
"""Far below Python's recursion limit, so that written values can be read at any stack depth."""


class Clock(Protocol):
    def now(self) -> str:
        """The time in ISO 8601."""
        ...


class Random(Protocol):
    def int(self) -> int: ...

    def float(self) -> float:
        """Between 0 and 1."""
        ...


class SecretProvider(Protocol):
    async def get(self, key: str) -> str | None:
        """The secret, or None if there is none of that key."""
        ...


def err(code: str, message: str, cause: object = None) -> TypedError:
    """Creates a typed error, for the caller to raise."""
    check_strings(code=code, message=message)
    return TypedError(code, message, cause=cause)


def sha256(text: str | bytes) -> str:
    """The SHA-256 of bytes, or of a text's UTF-8, in lower-case hex."""
    if isinstance(text, str):
        try:
            text = text.encode("utf-8")
        except UnicodeEncodeError:
            raise validation_error("the text has no UTF-8", detail("text", "has a lone surrogate")) from None
    elif not isinstance(text, (bytes, bytearray, memoryview)):
        raise validation_error("neither text nor bytes", detail("text", "must be a string or bytes"))
    return hashlib.sha256(text).hexdigest()


def canonical_json(value: object, field: str = "value") -> str:
    """JSON with the keys of every object in the order of their UTF-16 code units, and numbers as ECMAScript
    writes them. What has no such form (an infinite number, a lone surrogate, an object that is not JSON) is
    `EVALIDATION` of `field`, as in RFC 8785: two different values must not come out the same."""
    parts: list[str] = []
    try:
        _write(value, parts, MAX_DEPTH)
        text = "".join(parts)
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _unwritable(field, "has a lone surrogate") from None
    except _Unwritable as error:
        raise _unwritable(field, str(error)) from None
    return text


def parse_json(text: str, field: str = "json") -> Any:
    """Parses untrusted JSON. Invalid or too deeply nested JSON raises `EVALIDATION`."""
    check_strings(**{field: text})
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise validation_error("the JSON nests too deep", detail(field, "nests too deep")) from None
    except ValueError as error:
        raise validation_error(f"not JSON: {error}", detail(field, f"is not JSON: {error}")) from None


def _parse_int(digits: str) -> int | float:
    # Keep the sign of `-0`. Python refuses to parse thousands of digits, which exceed any double anyway.
    return _parse_float(digits) if digits == "-0" or len(digits) > 300 else int(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is beyond a double")
    return number


def _refuse_constant(name: str) -> float:
    raise ValueError(f"`{name}` is no JSON")


_decoder = json.JSONDecoder(parse_int=_parse_int, parse_float=_parse_float, parse_constant=_refuse_constant)


class _Unwritable(Exception):
    pass


def _unwritable(field: str, reason: str) -> TypedError:
    return validation_error(f"{field} {reason}", detail(field, reason))


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _write(value: object, parts: list[str], room: int) -> None:
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif value is None or value is True or value is False:
        parts.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, (int, float)):
        parts.append(_number(value))
    elif room == 0:
        raise _Unwritable("nests too deep, or in a circle")
    elif isinstance(value, (list, tuple)):
        separator = "["
        for item in value:
            parts.append(separator)
            _write(item, parts, room - 1)
            separator = ","
        parts.append("]" if value else "[]")
    elif isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise _Unwritable("has a key that is not a string")
        separator = "{"
        # ASCII sorts the same in every encoding, without a copy.
        keys = sorted(value) if all(map(str.isascii, value)) else sorted(value, key=_utf16)
        for key in keys:
            parts.append(f"{separator}{encode_basestring(key)}:")
            _write(value[key], parts, room - 1)
            separator = ","
        parts.append("}" if value else "{}")
    else:
        raise _Unwritable(f"holds a {type(value).__name__}, which is no JSON")


_EXACT = 2**53


def _number(value: int | float) -> str:
    if isinstance(value, int) and -_EXACT <= value <= _EXACT:
        return int.__repr__(value)
    try:
        double = float(value)
    except OverflowError:
        double = math.inf
    if not math.isfinite(double):
        raise _Unwritable("has a number that is not finite as a double")
    return _ecmascript(double)


def _ecmascript(double: float) -> str:
    """ECMAScript's Number::toString. Python has the same shortest digits in another format."""
    if double == 0:
        return "0"
    sign = "-" if double < 0 else ""
    mantissa, _, exponent = repr(abs(double)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # The value is 0.DIGITS times ten to the power of `point`.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + (f".{digits[1:]}" if count > 1 else "") + power
