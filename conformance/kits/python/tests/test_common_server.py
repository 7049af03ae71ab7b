"""`common` on its wire: MCP over stdio, bad frames included, and the way to it through the adapter."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import unittest
from typing import Any
from unittest import mock

from .common_client import NOW, TOOLS, Client, Server
from .harness import KIT, PATIENCE_SECONDS, InProcess

SERVER = KIT / "example" / "common_server.py"
ADAPTER = KIT / "example" / "adapter.py"
MAX_LINE = 16 * 1024 * 1024


class Protocol(Client):
    def test_initialize_agrees_on_a_version(self) -> None:
        for asked, answered in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")):
            result = self.request("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {}})["result"]
            self.assertEqual((result["protocolVersion"], result["capabilities"]), (answered, {"tools": {}}))
        self.assertEqual(self.request("initialize", {})["error"]["code"], -32602)
        self.assertEqual(self.request("ping")["result"], {})

    def test_every_tool_is_listed_with_its_arguments(self) -> None:
        tools = {tool["name"]: tool["inputSchema"] for tool in self.request("tools/list", {})["result"]["tools"]}
        self.assertEqual(len(tools), 27)
        for name, schema in tools.items():
            self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False))
            self.assertEqual("workspace" in schema["required"], name != "workspaces_list")
            for member in schema["properties"].values():
                self.assertIn("type", member)
        self.assertEqual(self.request("tools/list", {"cursor": "x"})["error"]["code"], -32602)

    def test_a_call_of_no_tool_is_an_error_of_the_protocol(self) -> None:
        calls: list[Any] = [{"name": "x"}, {"name": "\ud800"}, {"name": 1}, {}, {"arguments": {}}]
        for params in calls:
            self.assertEqual(self.request("tools/call", params)["error"]["code"], -32602, params)
        self.assertTrue(self.request("tools/call", {"name": "workspaces_list"})["result"]["structuredContent"]["success"])

    def test_a_fault_of_the_server_ends_one_request_only(self) -> None:
        broken = mock.Mock(call=mock.Mock(side_effect=ZeroDivisionError("a slip")))
        with mock.patch.dict(TOOLS, {"plans_list": broken}), mock.patch("sys.stderr", io.StringIO()) as stderr:
            self.assertEqual(self.request("tools/call", {"name": "plans_list"})["error"]["code"], -32603)
        self.assertIn("a slip", stderr.getvalue())
        self.ok("plans_list", workspace="w")


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(lambda: NOW)

    def served(self, data: bytes) -> list[Any]:
        out = io.BytesIO()
        self.server.serve(io.BytesIO(data), out)
        lines = out.getvalue().split(b"\n")
        self.assertEqual(lines.pop(), b"")
        return [json.loads(line) for line in lines]

    def check(self, line: bytes, code: int, request_id: int | str | None = None) -> None:
        """The line is refused with this code, and the server goes on."""
        answers = self.served(line + b'\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
        self.assertEqual([answer["id"] for answer in answers], [request_id, 2], line[:100])
        self.assertEqual((answers[0]["error"]["code"], answers[1]["result"]), (code, {}), line[:100])

    def test_invalid_json(self) -> None:
        deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 200_000
        for line in (b"{", b"x", b"\xff", b'{"a":NaN}', b'{"a":1e400}', b"9" * 5000, b"{}{}", deep, b"\xef\xbb\xbf{}"):
            self.check(line, -32700)

    def test_invalid_requests(self) -> None:
        self.check(b"[]", -32600)
        self.check(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600)
        self.check(b'{"id":1,"method":"ping"}', -32600, 1)
        self.check(b'{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, "a")
        self.check(b'{"jsonrpc":"2.0","id":1}', -32600, 1)
        self.check(b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, 1)
        for request_id in (b"null", b"1.5", b"true", b"{}", b'"\\ud800"'):
            self.check(b'{"jsonrpc":"2.0","method":"ping","id":' + request_id + b"}", -32600)
        self.check(b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601, 1)
        self.check(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, 1)

    def test_messages_without_an_answer(self) -> None:
        create = b'"params":{"name":"workspaces_create","arguments":{"workspace":"w"}}'
        for line in (
            b"",
            b"  \r",
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}',
            b'{"jsonrpc":"2.0","id":9,"result":{}}',
            b'{"jsonrpc":"2.0","method":"tools/call",' + create + b"}",
        ):
            self.assertEqual(self.served(line + b"\n"), [], line)
        listed = self.served(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"workspaces_list"}}')
        self.assertEqual(listed[0]["result"]["structuredContent"]["result"]["total"], 0)

    def test_lines(self) -> None:
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        at_most = ping.ljust(MAX_LINE)
        self.assertEqual(len(self.served(ping + b"\r\n\n" + ping)), 2)
        self.assertEqual([answer["id"] for answer in self.served(at_most + b"\n" + at_most)], [1, 1])
        for end in (b"", b"\n"):
            self.assertEqual([answer["id"] for answer in self.served(ping + b"\n" + at_most + b"x" * (3 * MAX_LINE) + end)], [1, None])
        self.check(at_most + b" ", -32700)
        self.assertEqual(self.served(b'{"jsonrpc":"2.0","id":"\xe2\x80\xa8\xc2\x85","method":"ping"}\n')[0]["id"], "\u2028\x85")


class Processes(unittest.TestCase):
    def call(self, peer: InProcess, name: str, **arguments: Any) -> dict[str, Any]:
        result = peer.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        envelope: dict[str, Any] = result["structuredContent"]
        return envelope

    def test_it_serves_until_its_input_ends(self) -> None:
        with InProcess(SERVER) as peer:
            peer.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}})
            envelope = self.call(peer, "workspaces_create", workspace="w")
            self.assertTrue(envelope["success"])
            self.assertRegex(envelope["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
            notes = "é😀\u2028" * 300_000
            self.call(peer, "plans_create", workspace="w", title="p")
            self.call(peer, "tasks_create", workspace="w", plan="PLAN-001", title="t", notes=notes)
            self.assertEqual(self.call(peer, "tasks_notes", workspace="w", task="TASK-001")["result"]["text"], notes)
            self.assertEqual(peer.end(), (0, b""))

    def test_it_can_be_run_as_a_module(self) -> None:
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        command = [sys.executable, "-m", "common"]
        ended = subprocess.run(command, cwd=SERVER.parent, input=ping, capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))
        self.assertEqual(json.loads(ended.stdout), {"jsonrpc": "2.0", "id": 1, "result": {}})

    def test_a_reader_that_has_gone_is_the_end_too(self) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        command = [sys.executable, str(SERVER)]
        with open(writer, "wb") as gone:
            ended = subprocess.run(command, input=ping, stdout=gone, stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))

    def test_the_adapter_names_a_server_that_starts_anywhere(self) -> None:
        with InProcess(ADAPTER) as peer:
            self.assertIn("common", peer.ask("hello", {"protocol": 1})["result"]["contracts"])
            command = peer.open()["result"]["wire"]["mcp"]["command"]
        ping = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
        ended = subprocess.run(command, cwd="/", input=ping, capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(len(json.loads(ended.stdout)["result"]["tools"]), len(TOOLS))


if __name__ == "__main__":
    unittest.main()
