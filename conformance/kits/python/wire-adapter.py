"""The adapter of the kits' shared wire suite: its operations only exercise the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from proofmark import Adapter, ContractError, Result, Session

adapter = Adapter(name="python-wire", version="0.1.0", contracts=["kit.wire"])


@adapter.operation("wire.echo")
async def echo(session: Session, args: dict[str, Any]) -> Any:
    return args.get("value")


@adapter.operation("wire.fail")
def fail(session: Session, args: dict[str, Any]) -> None:
    raise ContractError(args["code"], args["message"], properties=args.get("properties"))


@adapter.operation("wire.break")
def break_down(session: Session, args: dict[str, Any]) -> None:
    raise RuntimeError("an ordinary exception")


@adapter.operation("wire.now")
def now(session: Session, args: dict[str, Any]) -> list[str]:
    return [session.clock.now() for _ in range(args["readings"])]


@adapter.operation("wire.random")
def random(session: Session, args: dict[str, Any]) -> dict[str, list[float]]:
    return {
        "ints": [session.random.int() for _ in range(args["ints"])],
        "floats": [session.random.float() for _ in range(args["floats"])],
    }


@adapter.operation("wire.secret")
def secret(session: Session, args: dict[str, Any]) -> Any:
    return session.wait(session.fake("secrets").call("get", {"key": args["key"]}))


@adapter.operation("wire.secrets")
async def secrets(session: Session, args: dict[str, Any]) -> list[Any]:
    fake = session.fake("secrets")
    return await asyncio.gather(*(fake.call("get", {"key": key}) for key in args["keys"]))


def released(session: Session, handle: str) -> asyncio.Event:
    """Either call may come first, so both create the event."""
    event: asyncio.Event = session.state.setdefault(handle, asyncio.Event())
    return event


@adapter.operation("wire.hold")
async def hold(session: Session, args: dict[str, Any]) -> Any:
    await released(session, args["handle"]).wait()
    return args["handle"]


@adapter.operation("wire.release")
async def release(session: Session, args: dict[str, Any]) -> Any:
    released(session, args["handle"]).set()
    return args["handle"]


@adapter.operation("wire.put")
def put(session: Session, args: dict[str, Any]) -> str:
    return session.put(args["value"])


@adapter.operation("wire.get")
def get(session: Session, args: dict[str, Any]) -> Any:
    return session.get(args["handle"])


@adapter.operation("wire.write")
def write(session: Session, args: dict[str, Any]) -> None:
    path = session.workspace / args["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(args["text"], encoding="utf-8", newline="")


@adapter.operation("wire.read")
def read(session: Session, args: dict[str, Any]) -> str:
    path: Path = session.workspace / args["path"]
    return path.read_bytes().decode("utf-8")


@adapter.operation("wire.stream")
async def stream(session: Session, args: dict[str, Any]) -> AsyncGenerator[Any, None]:
    for item in args["items"]:
        yield item
    yield Result(len(args["items"]))


@adapter.operation("wire.print")
def print_text(session: Session, args: dict[str, Any]) -> None:
    print(args["text"])


if __name__ == "__main__":
    adapter.run()
