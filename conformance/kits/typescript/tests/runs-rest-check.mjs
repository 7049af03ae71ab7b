// REST: what is answered, what is refused, and that a refusal changes nothing. Needs a build.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { folder, lab, UNKNOWN } from "./runs-lab.mjs";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

test("a run begins as the contract has it, and runs are listed oldest first", async (t) => {
  const subject = await lab(t);
  assert.deepEqual(readdirSync(subject.workspace), [], "nothing is written for nothing");
  assert.deepEqual(await subject.do("GET", "/api/runs"), []);
  const run = await subject.run();
  assert.match(run.id, UUID);
  assert.deepEqual(run, {
    id: run.id, contractVersion: "1", status: "running", phase: "BOOT", mode: "AUTO", globalMode: "IMPLEMENTATION",
    createdAt: "2024-01-01T00:00:00.000Z", updatedAt: "2024-01-01T00:00:00.000Z", nodes: {}, edges: {}, artifacts: {},
  });
  const other = await subject.run({ contractVersion: "1", mode: "INTERACTIVE", globalMode: "PLANNING" });
  assert.deepEqual([other.mode, other.globalMode], ["INTERACTIVE", "PLANNING"]);
  assert.deepEqual(await subject.do("GET", "/api/runs"), [run, other]);
  const [event] = await subject.events(run.id);
  assert.deepEqual(event, { id: event.id, runId: run.id, ts: run.createdAt, type: "run.patch", patch: run });
});

test("a patch of a run tells what changed, and phase and mode beside it", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const path = `/api/runs/${run.id}`;
  const patched = await subject.do("PATCH", path, { phase: "EXECUTE", globalMode: "PLANNING", mode: "AUTO" });
  assert.deepEqual(patched, { ...run, phase: "EXECUTE", globalMode: "PLANNING", updatedAt: patched.updatedAt });
  await subject.do("PATCH", path, { phase: "EXECUTE" });
  const [, ...events] = await subject.events(run.id);
  assert.deepEqual(events.map(({ id, runId, ts, ...said }) => said), [
    { type: "run.patch", patch: { phase: "EXECUTE", globalMode: "PLANNING", updatedAt: patched.updatedAt } },
    { type: "run.phase", phase: "EXECUTE" },
    { type: "run.mode", mode: "AUTO", globalMode: "PLANNING" },
  ]);
});

test("nodes get defaults for what is not given, and keep what a patch leaves out", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const node = await subject.node(run.id, "ann", { capabilities: { spawnNodes: true } });
  assert.match(node.id, UUID);
  assert.deepEqual(node, {
    id: node.id, runId: run.id, label: "ann", roleTemplate: "implementer", provider: "claude", status: "idle", summary: "",
    lastActivityAt: node.lastActivityAt,
    capabilities: { spawnNodes: true, writeCode: true, writeDocs: true, runCommands: true, delegateOnly: false },
    permissions: { cliPermissionsMode: "skip", spawnRequiresApproval: true },
    session: { sessionId: node.session.sessionId, resetCommands: ["/new", "/clear"] },
    inboxCount: 0,
  });
  const permissions = { cliPermissionsMode: "gated" };
  const patched = await subject.do("PATCH", `/api/runs/${run.id}/nodes/${node.id}`, { permissions, session: { resetCommands: [] } });
  assert.deepEqual(patched, {
    ...node,
    permissions: { cliPermissionsMode: "gated", spawnRequiresApproval: true },
    session: { ...node.session, resetCommands: [] },
  });
  const events = await subject.events(run.id);
  assert.deepEqual(events[1].patch, node);
  assert.deepEqual(events[2].patch, { permissions: patched.permissions, session: patched.session });
});

test("an edge's defaults depend on whether it leads to an orchestrator", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const ann = await subject.node(run.id, "ann");
  const chief = await subject.node(run.id, "chief", { roleTemplate: "orchestrator" });
  const edge = async (from, to, more) => {
    const { id, from: _, to: __, ...rest } = await subject.edge(run.id, from, to, more);
    return rest;
  };
  assert.deepEqual(await edge(chief, ann), { bidirectional: true, type: "handoff", label: "task" });
  assert.deepEqual(await edge(ann, chief), { bidirectional: true, type: "report", label: "report" });
  const given = { bidirectional: false, type: "handoff", label: "custom" };
  assert.deepEqual(await edge(ann, chief, given), given);
});

test("bodies and ids that are not as they should be are refused, and nothing changes", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const ann = await subject.node(run.id, "ann");
  const node = { label: "l", roleTemplate: "r", provider: "codex" };
  const at = `/api/runs/${run.id}`;
  const before = await subject.events(run.id);
  const wrong = {
    "POST /api/runs": [{ contractVersion: "2" }, { contractVersion: 1 }, { mode: "auto" }, { mode: null }, { name: "x" }, [], "x", null],
    [`PATCH ${at}`]: [{}, { status: "queued" }, { status: "done" }, { phase: "boot" }, { id: UNKNOWN }, { status: "paused", more: 1 }],
    [`POST ${at}/nodes`]: [
      {}, { ...node, label: "" }, { ...node, label: "x".repeat(201) }, { ...node, roleTemplate: 7 }, { ...node, provider: "other" },
      { ...node, status: "idle" }, { ...node, capabilities: { fly: true } }, { ...node, capabilities: { writeCode: "yes" } },
      { ...node, permissions: { cliPermissionsMode: "open" } }, { ...node, session: { sessionId: "s" } }, { ...node, session: { resetCommands: "/x" } },
      { ...node, capabilities: null }, { label: "l", provider: "codex" },
    ],
    [`PATCH ${at}/nodes/${ann.id}`]: [{}, { label: "" }, { inboxCount: 0 }, { permissions: { spawnRequiresApproval: 1 } }],
    [`POST ${at}/edges`]: [
      {}, { from: ann.id }, { from: ann.id, to: "ann" }, { from: ann.id, to: ann.id, type: "line" }, { from: ann.id, to: ann.id, label: "x" },
      { from: ann.id, to: ann.id, bidirectional: "no" }, { from: ann.id, to: ann.id, weight: 1 },
    ],
    [`POST ${at}/chat`]: [
      {}, { content: "" }, { content: 7 }, { content: "x", nodeId: "ann" }, { content: "x", interrupt: 1 }, { content: "x", role: "user" },
      { content: "\ud800" },
    ],
  };
  for (const [request, bodies] of Object.entries(wrong)) {
    const [method, path] = request.split(" ");
    for (const body of bodies) await subject.refused(400, method, path, { body });
    await subject.refused(400, method, path, { text: "{" });
    await subject.refused(400, method, path, { text: "" });
    await subject.refused(400, method, path, { text: Buffer.from([0x22, 0xff, 0x22]) });
  }
  const deep = `{"content":${"[".repeat(5000)}${"]".repeat(5000)}}`;
  await subject.refused(400, "POST", `${at}/chat`, { text: deep });
  await subject.refused(400, "POST", `/api/approvals/${UNKNOWN}/resolve`, { text: '{"status":"modified","modifiedArgs":{"n":1e400}}' });
  for (const [method, path, body] of [
    ["GET", "/api/runs/7"], ["GET", "/api/runs/%ff"], ["GET", "/api/runs/7/events"], ["PATCH", `${at}/nodes/7`, { label: "l" }], ["DELETE", `${at}/edges/7`],
    ["POST", "/api/runs/7/chat", { content: "x" }],
  ]) await subject.refused(400, method, path, { body });
  for (const [method, path, body] of [
    ["GET", `/api/runs/${UNKNOWN}`], ["PATCH", `/api/runs/${UNKNOWN}`, { status: "paused" }], ["GET", `/api/runs/${UNKNOWN}/events`],
    ["POST", `/api/runs/${UNKNOWN}/nodes`, node], ["PATCH", `${at}/nodes/${UNKNOWN}`, { label: "l" }],
    ["POST", `${at}/edges`, { from: ann.id, to: UNKNOWN }], ["POST", `${at}/edges`, { from: UNKNOWN, to: ann.id }],
    ["DELETE", `${at}/edges/${UNKNOWN}`], ["POST", `${at}/chat`, { content: "x", nodeId: UNKNOWN }], ["GET", "/api"], ["GET", "/api/runs/"],
    ["POST", `/api/runs/${UNKNOWN}/chat`, { content: "x" }],
  ]) await subject.refused(404, method, path, { body });
  for (const [method, path, allow] of [
    ["DELETE", "/api/runs", "GET, POST"], ["PUT", at, "GET, PATCH"], ["GET", `${at}/nodes`, "POST"], ["POST", "/api/approvals", "GET"],
    ["GET", `${at}/chat`, "POST"], ["POST", `${at}/events`, "GET"],
  ]) assert.equal((await subject.refused(405, method, path, { text: "{}" })).headers.allow, allow);
  assert.deepEqual(await subject.events(run.id), before);
  assert.equal((await subject.do("GET", "/api/runs")).length, 1);
});

test("characters are counted, not bytes or halves of them", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  assert.equal((await subject.node(run.id, "😀".repeat(200))).label, "😀".repeat(200));
  const body = { label: "😀".repeat(201), roleTemplate: "r", provider: "codex" };
  await subject.refused(400, "POST", `/api/runs/${run.id}/nodes`, { body });
});

test("a body over 1 MiB is refused, one of exactly that is not", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const path = `/api/runs/${run.id}/chat`;
  const bodyOf = (size) => JSON.stringify({ content: "x".repeat(size - JSON.stringify({ content: "" }).length) });
  await subject.refused(413, "POST", path, { text: bodyOf(1024 * 1024 + 1) });
  await subject.refused(413, "POST", path, { text: bodyOf(8 * 1024 * 1024), headers: { "transfer-encoding": "chunked" } });
  assert.equal((await subject.request("POST", path, { text: bodyOf(1024 * 1024) })).status, 200);
});

test("only this machine may ask", async (t) => {
  const subject = await lab(t);
  const { port } = new URL(subject.base);
  for (const headers of [
    { host: "example.com" }, { host: `example.com:${port}` }, { host: "127.0.0.1.example.com" }, { host: "localhost@example.com" },
    { host: "10.0.0.1" }, { origin: "https://example.com" }, { origin: "null" }, { origin: "http://localhost.example.com" },
    { origin: "file://" }, { origin: "http://127.0.0.1@example.com" },
  ]) {
    await subject.refused(403, "GET", "/api/runs", { headers });
    await subject.refused(403, "POST", "/api/runs", { headers, body: {} });
  }
  for (const headers of [
    { host: `localhost:${port}` }, { host: `[::1]:${port}` }, { host: "127.0.0.1" }, { origin: "http://localhost:5173" },
    { origin: subject.base }, { origin: "https://[::1]" },
  ]) {
    assert.equal((await subject.request("GET", "/api/runs", { headers })).status, 200, JSON.stringify(headers));
  }
  assert.deepEqual(await subject.do("GET", "/api/runs"), []);
});

test("what is no HTTP, or names no host, gets an answer all the same", async (t) => {
  const subject = await lab(t);
  for (const text of ["nonsense\r\n\r\n", "GET /api/runs HTTP/1.1\r\nConnection: close\r\n\r\n", "GET http://x/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"]) {
    const socket = connect(new URL(subject.base).port, "127.0.0.1").end(text);
    let answer = "";
    socket.setEncoding("utf8").on("data", (chunk) => (answer += chunk));
    await once(socket, "close");
    assert.match(answer, /^HTTP\/1.1 400 [^]*"error"/, text);
  }
});

test("an inbox does not grow without bound", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const node = await subject.node(run.id, "ann");
  await subject.do("PATCH", `/api/runs/${run.id}`, { status: "paused" });
  for (let at = 0; at < 1000; at += 50) {
    await Promise.all(Array.from({ length: 50 }, () => subject.chat(run.id, node, "more")));
  }
  await subject.refused(429, "POST", `/api/runs/${run.id}/chat`, { body: { content: "too much", nodeId: node.id } });
});

test("a full disk is reported, and no run is created", async (t) => {
  const workspace = folder(t);
  writeFileSync(join(workspace, "runs"), "a file where the folder should be");
  const subject = await lab(t, workspace);
  await subject.refused(500, "POST", "/api/runs", { body: {} });
  assert.deepEqual(await subject.do("GET", "/api/runs"), []);
});
