"""Errors, and their form on the wire."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping
from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NOT_IMPLEMENTED = -32601
INVALID_PARAMS = -32602
ADAPTER_BROKE = -32000

_OWN_MEMBERS = frozenset({"code", "message", "name"})


class ContractError(Exception):
    """An error of the contract, which is a legal answer to a call: `{"error": {…}}` on the wire."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        name: str | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        if not isinstance(code, str) or not isinstance(message, str):
            raise TypeError("an error needs a `code` and a `message`, both strings")
        if name is not None and not isinstance(name, str):
            raise TypeError("an error's `name` must be a string")
        self.code = code
        self.message = message
        self.name = name
        self.properties = dict(properties or {})

    def to_json(self) -> dict[str, Any]:
        return _flat(self.code, self.message, self.name, self.properties)

    @classmethod
    def from_json(cls, flat: Mapping[str, Any]) -> ContractError:
        """Raises `TypeError` if `flat` is not an error of the protocol."""
        return cls(flat.get("code"), flat.get("message"), name=flat.get("name"), properties=_rest(flat))  # type: ignore[arg-type]


def _flat(code: str, message: str, name: str | None, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Merges properties; they cannot replace the error's own members."""
    own = {"code": code, "message": message} | ({} if name is None else {"name": name})
    return own | _rest(properties)


def _rest(flat: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in flat.items() if key not in _OWN_MEMBERS}


class FakeError(ContractError):
    """A collaborator's error. If not caught, it becomes the call's answer."""


class ProtocolError(Exception):
    """The adapter failed: a JSON-RPC error, never a legal rejection by the contract."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class TapeEmptyError(Exception):
    """The session's random tape has run out."""


class UnknownHandleError(LookupError):
    """No object of this session has that handle."""


Translate = Callable[[BaseException], ContractError | None]


def contract_error(error: BaseException, translate: Translate | None = None) -> dict[str, Any] | None:
    """The flat form of a contract error; None for any other exception.

    Besides `ContractError`, an exception counts that has a `code` and a `message` of its own, both strings. An
    `OSError` never does, whatever was put on it: a missing file must not pass for a contract's refusal (and `EIO`
    is both a code of the system and of contracts). Whoever means it says so with `translate`.
    """
    translated = translate(error) if translate is not None else None
    if translated is not None:
        return translated.to_json()
    if isinstance(error, ContractError):
        return error.to_json()
    if isinstance(error, OSError) or not isinstance(error, Exception):
        return None
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    if not isinstance(code, str) or not isinstance(message, str):
        return None
    name = getattr(error, "name", None)
    properties = {key: value for key, value in vars(error).items() if not key.startswith("_")}
    return _flat(code, message, name if isinstance(name, str) else type(error).__name__, properties)


def protocol_error(error: BaseException) -> ProtocolError:
    """The one-line message for the harness about an exception that is not a contract error. The rest goes to stderr."""
    if isinstance(error, ProtocolError):
        return error
    if isinstance(error, asyncio.CancelledError):
        return ProtocolError(ADAPTER_BROKE, "the call was cancelled: its session was closed, or the adapter is shutting down")
    try:
        text = "".join(traceback.format_exception_only(error)).strip()
    except Exception:  # Its own `__str__` may be what is broken.
        text = f"an exception of type {type(error).__name__}, which cannot be printed"
    try:
        traceback.print_exception(error)
    except Exception:  # So may stderr.
        pass
    return ProtocolError(ADAPTER_BROKE, text)


def fake_value(message: Mapping[str, Any]) -> Any:
    """Returns the collaborator's value from the harness's answer, or raises its error."""
    if "error" in message:
        raise ProtocolError(ADAPTER_BROKE, f"the harness could not play the fake: {message['error']!r}")
    result = message["result"]
    if isinstance(result, dict) and isinstance(result.get("error"), dict):
        try:
            raise FakeError.from_json(result["error"])
        except TypeError as error:
            raise ProtocolError(ADAPTER_BROKE, f"cannot read the fake's error: {error}") from None
    if not isinstance(result, dict) or "value" not in result:
        raise ProtocolError(ADAPTER_BROKE, "a fake's answer must have a `value` or an `error`")
    return result["value"]
