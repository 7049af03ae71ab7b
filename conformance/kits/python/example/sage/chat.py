"""Chat options and stream events, with their validation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from .errors import TypedError, detail, validation_error
from .schema import Schema, SchemaError, is_number

ChatOptions = Mapping[str, Any]
StreamEvent = dict[str, Any]

_TEXT_PIECE = 1024


class Provider(Protocol):
    """A model's vendor. One that cannot stream answers `{"text": …}`."""

    @property
    def name(self) -> str: ...

    async def chat(self, options: ChatOptions) -> Mapping[str, str] | AsyncIterator[StreamEvent]: ...

    async def models(self) -> list[dict[str, Any]]: ...


_MESSAGE = {
    "type": "object",
    "properties": {
        "role": {"enum": ["system", "user", "assistant", "tool"]},
        "content": {"type": "string"},
        "tool_call_id": {"type": "string"},
    },
    "required": ["role", "content"],
    "additionalProperties": True,
}
_TOOL = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "description": {"type": "string"}, "parameters": {}},
    "required": ["name", "parameters"],
    "additionalProperties": True,
}
# Other options are passed to the provider.
_OPTIONS = Schema(
    {
        "type": "object",
        "properties": {
            "model": {"type": "string", "minLength": 1},
            "messages": {"type": "array", "items": _MESSAGE},
            "tools": {"type": "array", "items": _TOOL},
            "temperature": {"type": "number"},
            "max_tokens": {"type": "integer", "minimum": 1},
            "timeoutMs": {"type": "integer", "minimum": 1},
            "requestId": {"type": "string"},
        },
        "required": ["model", "messages"],
        "additionalProperties": True,
    }
)


def check_options(options: Any) -> dict[str, Schema]:
    """Raises `EVALIDATION` for invalid options. Returns the schemas of the tools' arguments."""
    faults = _OPTIONS.faults(options, "options")
    schemas: dict[str, Schema] = {}
    for index, tool in enumerate([] if faults else options.get("tools", [])):
        if tool["name"] in schemas:
            faults.append(detail(f"tools.{index}.name", "is the name of another tool too", tool["name"]))
        try:
            schemas[tool["name"]] = Schema(tool["parameters"])
        except SchemaError as error:
            faults.append(detail(f"tools.{index}.parameters", str(error)))
    if faults:
        raise validation_error(f"no options of a chat: {faults[0]['field']} {faults[0]['reason']}", *faults)
    return schemas


async def provider_events(provider: Provider, options: ChatOptions) -> AsyncGenerator[StreamEvent, None]:
    """The events of one round of a provider. Raises unless the last one is `end`.

    The provider's stream is released when this is closed, or cancelled while it waits.
    """
    answer = await provider.chat(options)
    if isinstance(answer, Mapping):
        for event in _synthesized(answer.get("text")):
            yield event
        return
    ended = False
    async with _released(answer):
        async for event in answer:
            if ended:
                return  # Whatever comes after the end is not part of the answer.
            _check_event(event)
            ended = event["type"] == "end"
            yield event
    if not ended:
        raise _broken("the provider's stream was cut: it is over without an `end`")


def _synthesized(text: Any) -> list[StreamEvent]:
    """A complete text as a stream."""
    if not isinstance(text, str):
        raise _broken("the provider answered neither with a stream nor with a text")
    pieces = [text[start : start + _TEXT_PIECE] for start in range(0, len(text), _TEXT_PIECE)]
    return [{"type": "text", "value": piece} for piece in pieces] + [{"type": "end"}]


class _NothingToRelease:
    async def aclose(self) -> None:
        pass


def _released(stream: AsyncIterator[StreamEvent]) -> aclosing[Any]:
    """Closes a stream. Any async iterator is one; those with resources have an `aclose`."""
    return aclosing(stream if hasattr(stream, "aclose") else _NothingToRelease())


_STRINGS = {"text": ["value"], "tool_call": ["toolName", "callId"], "tool_result": ["callId"], "end": []}
_ANYTHING = {"tool_call": "arguments", "tool_result": "result"}


def _check_event(event: Any) -> None:
    kind = event.get("type") if isinstance(event, dict) else None
    if not isinstance(kind, str) or kind not in _STRINGS:
        raise _broken("the provider sent an invalid event")
    sound = all(isinstance(event.get(name), str) for name in _STRINGS[kind])
    sound = sound and (kind not in _ANYTHING or _ANYTHING[kind] in event)
    if kind == "end" and "usage" in event:
        usage = event["usage"]
        sound = isinstance(usage, dict) and all(is_number(usage.get(name)) for name in ("prompt", "completion"))
    if not sound:
        raise _broken(f"the provider sent an event `{kind}` that lacks something")


def _broken(message: str) -> TypedError:
    return TypedError("EIO", message, {"operation": "chat"}, name="IOError")
