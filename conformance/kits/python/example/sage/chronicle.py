"""Append-only logs of events, one JSON object per line, shared by agents and processes."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import TypedError, detail, io_error, validation_error
from .files import BusyError, LockedFile, OutsideError, append_whole, lines_backwards, locate, open_beneath
from .utils import canonical_json, parse_json, sha256

Event = dict[str, Any]

DEFAULT_LOCK_TIMEOUT_MS = 2000
DEFAULT_TAIL = 10
_EVENT_ID = re.compile(r"[0-9a-fA-F]{64}")


class Chronicle:
    """The chronicles of one workspace. Its methods block on the disk and on locks."""

    def __init__(self, workspace: Path) -> None:
        self._root = os.path.realpath(workspace)

    def append_event(
        self, path: str, event: Mapping[str, Any], lock_timeout_ms: float = DEFAULT_LOCK_TIMEOUT_MS
    ) -> None:
        """Appends an event with the id computed from its contents."""
        _check(_path_faults(path) + _event_faults(event) + _timeout_faults(lock_timeout_ms))
        contents = {key: value for key, value in event.items() if key != "eventId"}
        self._append(path, {**contents, "eventId": event_id(contents)}, lock_timeout_ms)

    def append_event_with_id(
        self, path: str, event: Mapping[str, Any], lock_timeout_ms: float = DEFAULT_LOCK_TIMEOUT_MS
    ) -> None:
        """Appends an event with its given id."""
        _check(_path_faults(path) + _event_faults(event) + _id_faults(event) + _timeout_faults(lock_timeout_ms))
        canonical_json(event, "event")  # What has no canonical form has no place in a chronicle.
        self._append(path, dict(event), lock_timeout_ms)

    def read(self, path: str) -> list[Event]:
        """All events, oldest first. A missing file is empty; lines that are not events are skipped."""
        _check(_path_faults(path))

        def lines(fd: int) -> list[Event]:
            with open(fd, "rb", closefd=False) as file:
                return list(_events(file))

        return self._read(path, lines)

    def tail(self, path: str, n: int = DEFAULT_TAIL) -> list[Event]:
        """The last `n` events, oldest first."""
        _check(_path_faults(path) + _count_faults(n))

        def last(fd: int) -> list[Event]:
            found: list[Event] = []
            events = _events(lines_backwards(fd))
            while len(found) < n and (event := next(events, None)) is not None:
                found.append(event)
            return found[::-1]

        return self._read(path, last)

    def lock(self, path: str, timeout_ms: float = DEFAULT_LOCK_TIMEOUT_MS) -> LockedFile:
        """Takes the lock of appends, until `release`."""
        _check(_path_faults(path) + _timeout_faults(timeout_ms))
        try:
            return LockedFile(self._root, path, timeout_ms)
        except BusyError as busy:
            properties = {"path": path, "timeoutMs": timeout_ms}
            if busy.holder is not None:
                properties["holder"] = busy.holder
            message = f"`{path}` was locked for {timeout_ms} ms"
            raise TypedError("ELOCK_TIMEOUT", message, properties, name="LockTimeoutError") from None
        except OutsideError:
            raise _outside(path) from None
        except OSError as error:
            raise io_error("append", path, error) from error

    def _append(self, path: str, event: Event, lock_timeout_ms: float) -> None:
        line = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        with self.lock(path, lock_timeout_ms) as file:
            try:
                lines = lines_backwards(file.fd)
                unfinished = next(lines)
                if not unfinished and _is_same(next(lines, b""), event):
                    return
                # The partial line of a killed writer stays, on a separate line.
                append_whole(file.fd, (b"\n" if unfinished else b"") + line + b"\n")
            except OSError as error:
                raise io_error("append", path, error) from error

    def _read(self, path: str, read: Callable[[int], list[Event]]) -> list[Event]:
        try:
            fd = open_beneath(self._root, locate(self._root, path), os.O_RDONLY)
            try:
                return read(fd)
            finally:
                os.close(fd)
        except FileNotFoundError:
            return []
        except OutsideError:
            raise _outside(path) from None
        except OSError as error:
            raise io_error("read", path, error) from error


def event_id(event: Mapping[str, Any]) -> str:
    """The SHA-256 of the event's canonical JSON without its id."""
    contents = {key: value for key, value in event.items() if key != "eventId"}
    return sha256(canonical_json(contents, "event"))


def _events(lines: Iterable[bytes]) -> Iterator[Event]:
    for line in lines:
        event = _parse(line)
        if event is not None:
            yield event


def _parse(line: bytes) -> Event | None:
    try:
        event = parse_json(line.decode("utf-8"))
    except (UnicodeDecodeError, TypedError):
        return None
    return None if _event_faults(event) else event


def _is_same(line: bytes, event: Event) -> bool:
    last = _parse(line)
    if last is None or last.get("eventId") != event["eventId"]:
        return False
    try:
        # Compare canonical forms: in Python, 1 equals True.
        return canonical_json(last) == canonical_json(event)
    except TypedError:
        return False  # Another writer's: JSON that has no canonical form.


Faults = list[dict[str, Any]]


def _check(faults: Faults) -> None:
    if faults:
        raise validation_error(f"{faults[0]['field']} {faults[0]['reason']}", *faults)


def _outside(path: str) -> TypedError:
    return validation_error(f"`{path}` leads out of the workspace", detail("path", "leads out of the workspace", path))


def _path_faults(path: object) -> Faults:
    if not isinstance(path, str):
        return [detail("path", "must be a string", path, "string")]
    if not path.endswith(".sage"):
        return [detail("path", "must end in `.sage`", path)]
    if path.startswith("/"):
        return [detail("path", "must be relative to the workspace", path)]
    if ".." in path.split("/"):
        return [detail("path", "must not climb with `..`", path)]
    if "\0" in path or any("\ud800" <= char <= "\udfff" for char in path):
        return [detail("path", "has a character that no file name has")]
    return []


def _event_faults(event: object) -> Faults:
    if not isinstance(event, Mapping):
        return [detail("event", "must be an object", event, "object")]
    faults = [_string_fault(event, name, name) for name in ("type", "timestamp")]
    actor = event.get("actor")
    if isinstance(actor, Mapping):
        faults += [_string_fault(actor, name, f"actor.{name}") for name in ("agent", "id")]
    else:
        faults.append([_fault(event, "actor", "actor", "object")])
    return [fault for found in faults for fault in found]


def _string_fault(holder: Mapping[str, Any], name: str, field: str) -> Faults:
    return [] if isinstance(holder.get(name), str) else [_fault(holder, name, field, "string")]


def _fault(holder: Mapping[str, Any], name: str, field: str, expected: str) -> dict[str, Any]:
    if name not in holder:
        return detail(field, "is missing", expected=expected)
    return detail(field, f"must be of type {expected}", holder[name], expected)


def _id_faults(event: Mapping[str, Any]) -> Faults:
    if not isinstance(event, Mapping):
        return []
    found = event.get("eventId")
    if isinstance(found, str) and _EVENT_ID.fullmatch(found):
        return []
    return [_fault(event, "eventId", "eventId", "SHA-256 in hex")]


def _timeout_faults(timeout: object) -> Faults:
    if not isinstance(timeout, bool) and isinstance(timeout, (int, float)) and 0 <= timeout < math.inf:
        return []
    return [detail("lockTimeoutMs", "must be a number that is not negative", timeout, "number")]


def _count_faults(n: object) -> Faults:
    if not isinstance(n, bool) and isinstance(n, (int, float)) and 0 <= n < math.inf and n == int(n):
        return []
    return [detail("n", "must be an integer that is not negative", n, "integer")]
