"""The error taxonomy: every error has a code for programs, and each code its own properties."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn


class TypedError(Exception):
    """An error with a `code`. Its further properties are in `properties`, and at the top level of `to_json`."""

    def __init__(
        self,
        code: str,
        message: str,
        properties: Mapping[str, Any] | None = None,
        *,
        name: str = "TypedError",
        cause: object = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.name = name
        self.properties = dict(properties or {})
        self.cause = cause
        if isinstance(cause, BaseException):
            self.__cause__ = cause

    def to_json(self) -> dict[str, Any]:
        flat = {"name": self.name, "code": self.code, "message": self.message}
        if self.cause is not None:
            flat["cause"] = cause_to_json(self.cause)
        # Its own members stand, whatever the properties are called.
        return {**self.properties, **flat}


def cause_to_json(cause: object) -> Any:
    if isinstance(cause, TypedError):
        return cause.to_json()
    if isinstance(cause, BaseException):
        return {"name": type(cause).__name__, "message": str(cause)}
    return cause


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


def _is_anything(value: object) -> bool:
    return True


def _is_details(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, Mapping) and _is_string(item.get("field")) and _is_string(item.get("reason"))
        for item in value
    )


class _Property:
    def __init__(self, expected: str, fits: Callable[[object], bool]) -> None:
        self.expected = expected
        self.fits = fits


_STRING = _Property("a string", _is_string)
_NUMBER = _Property("a number", _is_number)
_ANYTHING = _Property("any value", _is_anything)
_DETAILS = _Property("a list of objects with a string `field` and a string `reason`", _is_details)

# Only what a code requires. What is optional is taken as it comes: an error must not be lost for it.
_TAXONOMY: dict[str, tuple[str, dict[str, _Property]]] = {
    "EVALIDATION": ("ValidationError", {"details": _DETAILS}),
    "EPERMISSION": ("PermissionError", {"resource": _STRING, "operation": _STRING}),
    "ETIMEOUT": ("TimeoutError", {"timeoutMs": _NUMBER, "elapsedMs": _NUMBER, "operation": _STRING}),
    "EIO": ("IOError", {"operation": _STRING}),
    "ELOCK_TIMEOUT": ("LockTimeoutError", {"path": _STRING, "timeoutMs": _NUMBER}),
    "EHALT": ("HaltError", {"invariant": _STRING, "expected": _ANYTHING, "actual": _ANYTHING}),
}


def make_error(
    code: str, message: str, properties: Mapping[str, Any] | None = None, cause: object = None
) -> TypedError:
    """Makes an error of the taxonomy. Raises `EVALIDATION` when a property that the code requires is amiss.

    Codes that the taxonomy does not list belong to packages, and require nothing.
    """
    check_strings(code=code, message=message)
    if properties is not None and not isinstance(properties, Mapping):
        raise validation_error("properties are no object", detail("properties", "must be an object", properties))
    given = dict(properties or {})
    name, required = _TAXONOMY.get(code, ("TypedError", {}))
    faults = []
    for field, wanted in required.items():
        if field not in given:
            faults.append(detail(field, f"is required by {code}", expected=wanted.expected))
        elif not wanted.fits(given[field]):
            faults.append(detail(field, f"must be {wanted.expected}", given[field], wanted.expected))
    if faults:
        raise validation_error(f"an error {code} cannot be made", *faults)
    if code == "EIO" and "code" in given:
        # The taxonomy lists the system's code under a name that is taken.
        given.setdefault("systemCode", given.pop("code"))
    if cause is None:
        cause = given.pop("cause", None)
    given_name = given.get("name")
    return TypedError(code, message, given, name=given_name if isinstance(given_name, str) else name, cause=cause)


def raise_error(
    code: str, message: str, properties: Mapping[str, Any] | None = None, cause: object = None
) -> NoReturn:
    raise make_error(code, message, properties, cause)


_ABSENT = object()


def detail(field: str, reason: str, received: object = _ABSENT, expected: object = _ABSENT) -> dict[str, Any]:
    """One entry of a validation error's `details`."""
    entry: dict[str, Any] = {"field": field, "reason": reason}
    if received is not _ABSENT:
        entry["received"] = received
    if expected is not _ABSENT:
        entry["expected"] = expected
    return entry


def validation_error(message: str, *details: dict[str, Any]) -> TypedError:
    return TypedError("EVALIDATION", message, {"details": list(details)}, name="ValidationError")


def check_strings(**arguments: object) -> None:
    faults = [
        detail(name, "must be a string", value, "string")
        for name, value in arguments.items()
        if not isinstance(value, str)
    ]
    if faults:
        raise validation_error(f"{faults[0]['field']} must be a string", *faults)


def io_error(operation: str, path: str, error: OSError) -> TypedError:
    properties: dict[str, Any] = {"operation": operation, "path": path}
    if error.errno is not None:
        properties["systemCode"] = errno.errorcode.get(error.errno, str(error.errno))
    message = f"cannot {operation} `{path}`: {error.strerror or error}"
    return TypedError("EIO", message, properties, name="IOError", cause=error)
