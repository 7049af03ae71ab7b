// Approvals: gated tools and spawns, and everything that may become of them. Needs a build.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lab, UNKNOWN } from "./runs-lab.mjs";

const IDLE = { type: "node.patch", patch: { status: "idle" } };
const REQUESTED = { type: "approval.requested" };
const COMMAND = { id: "tool-1", name: "command", args: { cmd: "ls" } };
const DONE = { done: { message: "ended" } };
const typesOf = (events) => events.map(({ type }) => type);

async function nodeThat(t, body, items) {
  const subject = await lab(t);
  const run = await subject.run();
  const node = await subject.node(run.id, "ann", body);
  subject.provider.plan("ann", items);
  const stream = await subject.stream(t, run.id);
  await stream.until({ type: "node.patch" });
  await subject.chat(run.id, node, "go");
  return { subject, run, node, stream };
}

const GATED = { permissions: { cliPermissionsMode: "gated" } };

for (const [body, forwarded, started] of [
  [{ status: "approved" }, { status: "approved", args: { cmd: "ls" } }, { cmd: "ls" }],
  [{ status: "modified", modifiedArgs: { cmd: "pwd" } }, { status: "modified", args: { cmd: "pwd" } }, { cmd: "pwd" }],
  [{ status: "denied" }, { status: "denied" }, undefined],
]) {
  test(`a gated tool that is ${body.status}`, async (t) => {
    const { subject, run, node, stream } = await nodeThat(t, GATED, [{ tool: COMMAND }, DONE]);
    const asked = (await stream.until(REQUESTED)).at(-1);
    assert.deepEqual([asked.nodeId, asked.tool], [node.id, COMMAND]);
    const approval = { approvalId: asked.approvalId, runId: run.id, nodeId: node.id, tool: COMMAND };
    assert.deepEqual(await subject.do("GET", "/api/approvals"), [approval]);
    // The provider is paused: the item with the tool is the last that it was asked for.
    assert.deepEqual(subject.provider.asks("next", "resolve").map(({ method }) => method), ["next"]);
    const path = `/api/approvals/${asked.approvalId}/resolve`;
    assert.deepEqual(await subject.do("POST", path, body), body);
    const events = await stream.until(IDLE);
    const expected = ["approval.resolved", "tool.started", "message.assistant.final", "artifact.created", "node.patch"];
    assert.deepEqual(typesOf(events), expected.filter((type) => started || type !== "tool.started"));
    assert.deepEqual(events[0].resolution, body);
    if (started) assert.deepEqual(events[1].tool, { ...COMMAND, args: started });
    assert.deepEqual(subject.provider.asks("next", "resolve"), [
      { method: "next", turn: "turn-1" },
      { method: "resolve", turn: "turn-1", toolId: "tool-1", ...forwarded },
      { method: "next", turn: "turn-1" },
    ]);
    assert.deepEqual(await subject.do("GET", "/api/approvals"), []);
    await subject.refused(409, "POST", path, { body });
  });
}

test("a resolution that is not as it should be changes nothing", async (t) => {
  const { subject, stream } = await nodeThat(t, GATED, [{ tool: COMMAND }, DONE]);
  const { approvalId } = (await stream.until(REQUESTED)).at(-1);
  const path = `/api/approvals/${approvalId}/resolve`;
  for (const body of [
    {},
    { status: "maybe" },
    { status: "modified" },
    { status: "modified", modifiedArgs: [] },
    { status: "approved", modifiedArgs: {} },
    { status: "denied", reason: "no" },
  ]) {
    await subject.refused(400, "POST", path, { body });
  }
  await subject.refused(400, "POST", "/api/approvals/7/resolve", { body: { status: "denied" } });
  await subject.refused(404, "POST", `/api/approvals/${UNKNOWN}/resolve`, { body: { status: "denied" } });
  assert.equal((await subject.do("GET", "/api/approvals")).length, 1);
  await subject.do("POST", path, { status: "denied" });
  await stream.until(IDLE);
});

test("of two that resolve at once, one is refused", async (t) => {
  const { subject, stream } = await nodeThat(t, GATED, [{ tool: COMMAND }, DONE]);
  const { approvalId } = (await stream.until(REQUESTED)).at(-1);
  const path = `/api/approvals/${approvalId}/resolve`;
  const answers = await Promise.all(["approved", "denied"].map((status) => subject.request("POST", path, { body: { status } })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  const events = await stream.until(IDLE);
  assert.equal(events.filter(({ type }) => type === "approval.resolved").length, 1);
});

test("an interrupted turn takes its approval with it", async (t) => {
  const { subject, run, node, stream } = await nodeThat(t, GATED, [{ tool: COMMAND }]);
  const { approvalId } = (await stream.until(REQUESTED)).at(-1);
  await subject.chat(run.id, node, "something else", { interrupt: true });
  await stream.until(IDLE);
  await stream.until(IDLE);
  assert.deepEqual(await subject.do("GET", "/api/approvals"), []);
  await subject.refused(404, "POST", `/api/approvals/${approvalId}/resolve`, { body: { status: "approved" } });
  assert.deepEqual(subject.provider.asks("stop", "resolve"), [{ method: "stop", turn: "turn-1" }]);
});

const CHILD = { label: "child", roleTemplate: "tester", provider: "codex" };
const SPAWN = { id: "tool-2", name: "spawn_node", args: CHILD };
const CAN = { capabilities: { spawnNodes: true } };
const CHIEF = { ...CAN, roleTemplate: "orchestrator" };
const FREE = { spawnRequiresApproval: false };

for (const [who, body, isAsked] of [
  ["a node, whatever its permissions", { ...CAN, permissions: FREE }, true],
  ["an orchestrator", CHIEF, true],
  ["an orchestrator that needs none", { ...CHIEF, permissions: FREE }, false],
  ["a gated orchestrator that needs none", { ...CHIEF, permissions: { ...FREE, cliPermissionsMode: "gated" } }, false],
]) {
  test(`${who} spawns ${isAsked ? "with" : "without"} an approval`, async (t) => {
    const { subject, run, node, stream } = await nodeThat(t, body, [{ tool: SPAWN }, DONE]);
    const before = await stream.until({ type: isAsked ? "approval.requested" : "tool.proposed" });
    assert.ok(!typesOf(before).includes("tool.started"));
    if (isAsked) {
      const { approvalId } = before.at(-1);
      await subject.do("POST", `/api/approvals/${approvalId}/resolve`, { status: "approved" });
      await stream.until({ type: "approval.resolved" });
    }
    const events = await stream.until({ type: "tool.completed" });
    assert.deepEqual(typesOf(events), ["tool.started", "node.patch", "edge.created", "tool.completed"]);
    const { label, status, inboxCount } = events[1].patch;
    assert.deepEqual([label, status, inboxCount], ["child", "idle", 0]);
    const { from, to, type } = events[2].edge;
    assert.deepEqual([from, to, type], [node.id, events[1].nodeId, "handoff"]);
    assert.deepEqual([events[3].toolId, events[3].result], ["tool-2", { ok: true }]);
    await stream.until(IDLE);
    assert.deepEqual(subject.provider.asks("resolve"), [
      { method: "resolve", turn: "turn-1", toolId: "tool-2", status: "approved", args: CHILD },
    ]);
    assert.equal(Object.keys((await subject.snapshot(run.id)).nodes).length, 2);
  });
}

test("a spawn may be modified or denied", async (t) => {
  const spawns = [{ tool: SPAWN }, { tool: { ...SPAWN, id: "tool-3" } }, DONE];
  const { subject, run, stream } = await nodeThat(t, CHIEF, spawns);
  const first = (await stream.until(REQUESTED)).at(-1);
  const modifiedArgs = { ...CHILD, label: "other" };
  await subject.do("POST", `/api/approvals/${first.approvalId}/resolve`, { status: "modified", modifiedArgs });
  const second = (await stream.until(REQUESTED)).at(-1);
  await subject.do("POST", `/api/approvals/${second.approvalId}/resolve`, { status: "denied" });
  const rest = typesOf(await stream.until(IDLE));
  assert.ok(!rest.includes("tool.started") && !rest.includes("tool.completed"));
  const { nodes } = await subject.snapshot(run.id);
  assert.deepEqual(Object.values(nodes).map(({ label }) => label), ["ann", "other"]);
  assert.deepEqual(subject.provider.asks("resolve").map(({ status, args }) => [status, args]), [["modified", modifiedArgs], ["denied", undefined]]);
});

test("a node without the capability cannot spawn, and a body that is no node's spawns nothing", async (t) => {
  const without = await nodeThat(t, { roleTemplate: "orchestrator", permissions: FREE }, [{ tool: SPAWN }, DONE]);
  const events = await without.stream.until(IDLE);
  assert.ok(!typesOf(events).includes("tool.started") && !typesOf(events).includes("approval.requested"));
  const completed = events.find(({ type }) => type === "tool.completed");
  assert.deepEqual([completed.result, typeof completed.error.message], [{ ok: false }, "string"]);
  assert.deepEqual(without.subject.provider.asks("resolve").map(({ status, args }) => [status, args]), [["denied", undefined]]);

  const bad = { ...SPAWN, args: { ...CHILD, provider: "nobody" } };
  const odd = await nodeThat(t, { ...CHIEF, permissions: FREE }, [{ tool: bad }, DONE]);
  const completed = (await odd.stream.until(IDLE)).find(({ type }) => type === "tool.completed");
  assert.equal(completed.result.ok, false);
  assert.equal(Object.keys((await odd.subject.snapshot(odd.run.id)).nodes).length, 1);
});
