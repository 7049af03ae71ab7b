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
        # Properties cannot replace its own members.
        return {**self.properties, **flat}


def cause_to_json(cause: object) -> Any:
    if isinstance(cause, TypedError):
        return cause.to_json()
    if isinstance(cause, BaseException):
        return {"name": type(cause).__name__, "message": str(cause)}
    return cause


_ABSENT = object()
Faults = list[dict[str, Any]]


def detail(field: str, reason: str, received: object = _ABSENT, expected: object = _ABSENT) -> dict[str, Any]:
    """One entry of a validation error's `details`."""
    entry: dict[str, Any] = {"field": field, "reason": reason}
    if received is not _ABSENT:
        entry["received"] = received
    if expected is not _ABSENT:
        entry["expected"] = expected
    return entry


def _anything(field: str, value: object) -> Faults:
    return []


def _string(field: str, value: object) -> Faults:
    return [] if isinstance(value, str) else [detail(field, "must be a string", value, "string")]


def _number(field: str, value: object) -> Faults:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return []
    return [detail(field, "must be a number", value, "number")]


def _details(field: str, value: object) -> Faults:
    if not isinstance(value, list):
        return [detail(field, "must be a list", value, "list")]
    faults: Faults = []
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            faults.append(detail(f"{field}[{index}]", "must be an object", item, "object"))
            continue
        for name in ("field", "reason"):
            faults += _required(item, name, f"{field}[{index}].{name}", _string)
    return faults


Kind = Callable[[str, object], Faults]


def _required(holder: Mapping[str, Any], name: str, field: str, kind: Kind) -> Faults:
    return kind(field, holder[name]) if name in holder else [detail(field, "is required")]


# Only required properties. Optional ones are not checked: a wrong one must not hide the error.
_TAXONOMY: dict[str, tuple[str, dict[str, Kind]]] = {
    "EVALIDATION": ("ValidationError", {"details": _details}),
    "EPERMISSION": ("PermissionError", {"resource": _string, "operation": _string}),
    "ETIMEOUT": ("TimeoutError", {"timeoutMs": _number, "elapsedMs": _number, "operation": _string}),
    "EIO": ("IOError", {"operation": _string}),
    "ELOCK_TIMEOUT": ("LockTimeoutError", {"path": _string, "timeoutMs": _number}),
    "EHALT": ("HaltError", {"invariant": _string, "expected": _anything, "actual": _anything}),
}


def make_error(
    code: str, message: str, properties: Mapping[str, Any] | None = None, cause: object = None
) -> TypedError:
    """Makes an error of the taxonomy. Raises `EVALIDATION` if a required property is missing or wrong.

    Codes that the taxonomy does not list belong to packages, and require nothing.
    """
    check_strings(code=code, message=message)
    if properties is not None and not isinstance(properties, Mapping):
        raise validation_error("properties are not an object", detail("properties", "must be an object", properties))
    given = dict(properties or {})
    name, required = _TAXONOMY.get(code, ("TypedError", {}))
    faults = [fault for field, kind in required.items() for fault in _required(given, field, field, kind)]
    if faults:
        raise validation_error(f"cannot create an error {code}", *faults)
    if code == "EIO" and "code" in given:
        # The taxonomy calls the system's code `code`, a name that is taken.
        given.setdefault("systemCode", given.pop("code"))
    if cause is None:
        cause = given.pop("cause", None)
    given_name = given.get("name")
    return TypedError(code, message, given, name=given_name if isinstance(given_name, str) else name, cause=cause)


def raise_error(
    code: str, message: str, properties: Mapping[str, Any] | None = None, cause: object = None
) -> NoReturn:
    raise make_error(code, message, properties, cause)


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
