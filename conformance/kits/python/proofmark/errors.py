"""What can go wrong, and what each of it looks like on the wire."""

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
    """An error that a contract speaks of: the call's legal answer, `{"error": {…}}` on the wire."""

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
            raise TypeError("an error has a `code` and a `message`, both strings")
        if name is not None and not isinstance(name, str):
            raise TypeError("an error's `name` is a string")
        self.code = code
        self.message = message
        self.name = name
        self.properties = dict(properties or {})

    def to_json(self) -> dict[str, Any]:
        return _flat(self.code, self.message, self.name, self.properties)

    @classmethod
    def from_json(cls, flat: Mapping[str, Any]) -> ContractError:
        """Raises `TypeError` where `flat` is not an error of the protocol."""
        return cls(flat.get("code"), flat.get("message"), name=flat.get("name"), properties=_rest(flat))  # type: ignore[arg-type]


def _flat(code: str, message: str, name: str | None, properties: Mapping[str, Any]) -> dict[str, Any]:
    """What an error is stands, whatever its properties are called."""
    own = {"code": code, "message": message} | ({} if name is None else {"name": name})
    return own | _rest(properties)


def _rest(flat: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in flat.items() if key not in _OWN_MEMBERS}


class FakeError(ContractError):
    """A collaborator's own error. Uncaught, it is the call's answer, as the collaborator's error would be."""


class ProtocolError(Exception):
    """The adapter could not do it: a JSON-RPC error, which is never taken for a legal rejection."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class TapeEmptyError(Exception):
    """More random numbers were taken than the session's tape has."""


class UnknownHandleError(LookupError):
    """No object of this session has that handle."""


Translate = Callable[[BaseException], ContractError | None]


def contract_error(error: BaseException, translate: Translate | None = None) -> dict[str, Any] | None:
    """The flat form of an error that is a contract's rejection; None for any other.

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
    """What an exception that is no contract's rejection says to the harness: one line, the rest is on stderr."""
    if isinstance(error, ProtocolError):
        return error
    if isinstance(error, asyncio.CancelledError):
        return ProtocolError(ADAPTER_BROKE, "the call was given up: its session was closed, or the adapter ends")
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
    """What a collaborator returned, by the harness's answer; raises what it raised."""
    if "error" in message:
        raise ProtocolError(ADAPTER_BROKE, f"the harness could not play the fake: {message['error']!r}")
    result = message["result"]
    if isinstance(result, dict) and isinstance(result.get("error"), dict):
        try:
            raise FakeError.from_json(result["error"])
        except TypeError as error:
            raise ProtocolError(ADAPTER_BROKE, f"the fake's error cannot be read: {error}") from None
    if not isinstance(result, dict) or "value" not in result:
        raise ProtocolError(ADAPTER_BROKE, "a fake's answer has a `value` or an `error`")
    return result["value"]
