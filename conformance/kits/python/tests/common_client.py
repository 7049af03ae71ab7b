"""The example's server of `common`, called as a client would call it, without a process."""

from __future__ import annotations

import json
import sys
import unittest
from typing import Any

from .harness import KIT

sys.path.insert(0, str(KIT / "example"))

from common.mcp import TOOLS, Server
from common.store import Store

__all__ = ["NOW", "TOOLS", "Client", "Server", "Store", "bytes_of"]

NOW = "2025-12-25T00:00:00Z"
MEMBERS = {"success", "intent", "result", "warnings", "suggestions", "context", "error", "timestamp"}


class Client(unittest.TestCase):
    """A server with a workspace `w` in each test. Every answer is checked for what all envelopes promise."""

    capacity = 512 * 1024 * 1024

    def setUp(self) -> None:
        self.server = Server(lambda: NOW, Store(self.capacity))
        self.ok("workspaces_create", workspace="w")

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params})
        line = self.server.answer(json.dumps(message).encode())
        assert line is not None
        answer: dict[str, Any] = json.loads(line)
        return answer

    def tool(self, name: str, arguments: Any) -> dict[str, Any]:
        result = self.request("tools/call", {"name": name, "arguments": arguments})["result"]
        envelope: dict[str, Any] = result["structuredContent"]
        self.assertEqual(json.loads(result["content"][0]["text"]), envelope)
        self.assertEqual(envelope.keys(), MEMBERS)
        self.assertEqual((result["isError"], envelope["intent"]), (not envelope["success"], name))
        self.assertEqual(envelope["timestamp"], NOW)
        return envelope

    def ok(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        envelope = self.tool(name, arguments)
        self.assertTrue(envelope["success"], envelope)
        self.assertIsNone(envelope["error"])
        result: dict[str, Any] = envelope["result"]
        return result

    def refused(self, code: str, name: str, /, **arguments: Any) -> list[dict[str, Any]]:
        """The suggestions of a call that is refused with this code."""
        envelope = self.tool(name, arguments)
        self.assertFalse(envelope["success"], envelope)
        self.assertEqual((envelope["error"]["code"], envelope["result"]), (code, {}), (name, arguments))
        self.assertEqual(envelope["error"].keys(), {"code", "message", "recovery"})
        suggestions: list[dict[str, Any]] = envelope["suggestions"]
        for suggestion in suggestions:
            self.assertEqual(suggestion.keys(), {"action", "target", "reason", "priority", "validated", "params"})
            self.assertIn(suggestion["target"], TOOLS)
        return suggestions

    def follow(self, suggestion: dict[str, Any]) -> dict[str, Any]:
        self.assertIs(suggestion["validated"], True)
        return self.ok(suggestion["target"], **suggestion["params"])

    def plan(self, title: str = "p", workspace: str = "w") -> str:
        plan: str = self.ok("plans_create", workspace=workspace, title=title)["plan"]["id"]
        return plan

    def task(self, **more: Any) -> str:
        plan = more.pop("plan", None) or self.plan()
        task: str = self.ok("tasks_create", workspace="w", plan=plan, title="t", **more)["task"]["id"]
        return task

    def step(self, task: str, **more: Any) -> dict[str, Any]:
        step: dict[str, Any] = self.ok("steps_create", workspace="w", task=task, title="s", **more)["step"]
        return step

    def node(self, node: str, /, branch: str = "main", **more: Any) -> dict[str, Any]:
        created: dict[str, Any] = self.ok(
            "graph_node_create", **{"workspace": "w", "branch": branch, "node": node, "type": "T", **more}
        )["node"]
        return created


def bytes_of(items: Any) -> int:
    return len(json.dumps(items, ensure_ascii=False, separators=(",", ":")).encode())
