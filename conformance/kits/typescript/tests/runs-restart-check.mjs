// Restarts: the example's adapter is killed and started again on the same folder. Needs a build.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Harness } from "./harness.mjs";
import { folder, lab, Lab, PlannedProvider, UNKNOWN, within } from "./runs-lab.mjs";

const ADAPTER = fileURLToPath(new URL("../dist/adapter.js", import.meta.url));
const IDLE = { type: "node.patch", patch: { status: "idle" } };
const GATED = { permissions: { cliPermissionsMode: "gated" } };
const logOf = (workspace, runId) => join(workspace, "runs", runId, "events.jsonl");

/** The adapter in a process of its own; the provider's answers come from here, through the fake. */
async function process(workspace, provider = new PlannedProvider()) {
  const child = spawn(globalThis.process.execPath, [ADAPTER]);
  const harness = new Harness(child);
  harness.onFake = async ({ session, fake, method, args: { turn, toolId, status, args, ...question } }) => {
    assert.deepEqual([session, fake], ["s", "provider"]);
    try {
      return { value: await (method === "turn" ? provider.turn(question) : provider[method](turn, toolId, status, args)) };
    } catch (error) {
      return { error: { code: "PROVIDER_FAILED", message: error.message } };
    }
  };
  const clock = { start: "2024-01-01T00:00:00.000Z", stepMs: 1000 };
  const opened = await harness.request("open", { session: "s", workspace, clock, random: { ints: [], floats: [] }, fakes: ["provider"] });
  const subject = new Lab(opened.result.wire.http.base, workspace, provider);
  const kill = () => {
    child.kill("SIGKILL");
    return harness.closed;
  };
  return { harness, subject, provider, kill };
}

test("hello claims the contract, and a session is served until it is closed", async (t) => {
  const { harness, subject } = await process(folder(t));
  const { contracts, hooks } = (await harness.request("hello", { protocol: 1, harness: {} })).result;
  assert.ok(contracts.includes("runs") && hooks.includes("runs.patch"));
  const other = await harness.request("open", {
    session: "without a folder", clock: { start: "2024-01-01T00:00:00.000Z", stepMs: 1 }, random: { ints: [], floats: [] }, fakes: [],
  });
  assert.deepEqual(other.result, {});
  const run = await subject.run();
  assert.equal(run.createdAt, "2024-01-01T00:00:00.000Z");
  const node = await subject.node(run.id, "ann", GATED);
  subject.provider.plan("ann", [{ tool: { id: "t", name: "command", args: {} } }]);
  const stream = await subject.stream(t, run.id);
  await subject.chat(run.id, node, "go");
  await stream.until({ type: "approval.requested" });
  const before = readFileSync(logOf(subject.workspace, run.id), "utf8");
  assert.equal((await harness.request("close", { session: "s" })).result, null);
  await assert.rejects(subject.request("GET", "/api/runs"), { code: "ECONNREFUSED" });
  assert.equal(readFileSync(logOf(subject.workspace, run.id), "utf8"), before, "the end of a session is no failure of the provider");
  await harness.stop();
});

test("after kill -9 runs go on: the turn under way is lost, what waited is taken, and approvals are gone", async (t) => {
  const workspace = folder(t);
  const first = await process(workspace);
  const run = await first.subject.run();
  const later = await first.subject.run({ mode: "INTERACTIVE" });
  const node = await first.subject.node(run.id, "ann", GATED);
  const stream = await first.subject.stream(t, run.id);
  await first.subject.chat(run.id, node, "one");
  await stream.until({ type: "message.assistant.final" });
  await stream.until(IDLE);
  first.provider.plan("ann", [{ tool: { id: "t", name: "command", args: {} } }]);
  await first.subject.chat(run.id, node, "two");
  const { approvalId } = (await stream.until({ type: "approval.requested" })).at(-1);
  await first.subject.chat(run.id, node, "three");
  const { nodes, ...before } = await first.subject.snapshot(run.id);
  const last = (await first.subject.events(run.id)).at(-1);
  await first.kill();
  // What a power cut or a full disk would have left behind.
  appendFileSync(logOf(workspace, run.id), '{"id":"half a li');

  const second = await process(workspace);
  const onwards = await second.subject.stream(t, run.id, last.id);
  const [lost, begun] = await onwards.until({ type: "node.patch", patch: { status: "running" } });
  assert.deepEqual([lost.type, lost.nodeId, lost.patch.status], ["node.patch", node.id, "idle"]);
  assert.equal(begun.patch.inboxCount, 0);
  await onwards.until(IDLE);
  assert.deepEqual(await second.subject.do("GET", "/api/approvals"), []);
  await second.subject.refused(404, "POST", `/api/approvals/${approvalId}/resolve`, { body: { status: "approved" } });
  assert.deepEqual(second.provider.asks("stop", "turn").map(({ method, turn, prompt }) => [method, turn ?? prompt]), [
    ["stop", "turn-2"], ["turn", { kind: "delta", text: "three" }],
  ]);
  const after = await second.subject.snapshot(run.id);
  assert.deepEqual([after.createdAt, after.updatedAt, after.status], [before.createdAt, before.updatedAt, "running"]);
  // The clock of the second process begins anew; the order of the runs does not.
  const newest = await second.subject.run();
  assert.deepEqual((await second.subject.do("GET", "/api/runs")).map(({ id }) => id), [run.id, later.id, newest.id]);
  for (const line of readFileSync(logOf(workspace, run.id), "utf8").trimEnd().split("\n")) JSON.parse(line);
  await second.kill();
  const third = await process(workspace);
  assert.deepEqual((await third.subject.do("GET", "/api/runs")).map(({ id }) => id), [run.id, later.id, newest.id]);
  assert.deepEqual(await third.subject.snapshot(run.id), after);
  await third.harness.stop();
});

test("a kill at any moment loses no reported event", async (t) => {
  const workspace = folder(t);
  let reported = [];
  let runId;
  for (let round = 0; round < 4; round++) {
    const { subject, kill } = await process(workspace);
    runId ??= (await subject.run()).id;
    const stream = await subject.stream(t, runId);
    const busy = Promise.allSettled(
      Array.from({ length: 5 }, async (_, at) => {
        const node = await subject.node(runId, `node ${round} ${at}`);
        for (;;) await subject.chat(runId, node, "more");
      }),
    );
    const seen = [];
    while (seen.length < reported.length + 40 * (round + 1)) seen.push((await stream.message()).id);
    assert.deepEqual(seen.slice(0, reported.length), reported);
    await kill();
    for (const { reason } of await busy) assert.ok(["ECONNRESET", "ECONNREFUSED"].includes(reason.code), reason);
    reported = seen;
  }
  const { subject, harness } = await process(workspace);
  const events = await subject.events(runId);
  assert.deepEqual(events.slice(0, reported.length).map(({ id }) => id), reported);
  await harness.stop();
});

test("an approval that was resolved stays so, and a stall is counted across a restart", async (t) => {
  const workspace = folder(t);
  const provider = new PlannedProvider();
  const same = { done: { message: "same" } };
  provider.plan("ann", [{ tool: { id: "t", name: "command", args: {} } }, same], [same], [same]);
  const first = await lab(t, workspace, provider);
  const run = await first.run();
  const node = await first.node(run.id, "ann", GATED);
  const stream = await first.stream(t, run.id);
  await first.chat(run.id, node, "one");
  const { approvalId } = (await stream.until({ type: "approval.requested" })).at(-1);
  await first.do("POST", `/api/approvals/${approvalId}/resolve`, { status: "denied" });
  await stream.until(IDLE);
  await first.chat(run.id, node, "two");
  const { id } = (await stream.until(IDLE)).at(-1);
  await first.stop();
  const second = await lab(t, workspace, provider);
  await second.refused(409, "POST", `/api/approvals/${approvalId}/resolve`, { body: { status: "denied" } });
  await second.chat(run.id, node, "three");
  await (await second.stream(t, run.id, id)).until({ type: "run.stalled" });
});

test("a turn that its provider never took leaves the session as new as it was", async (t) => {
  const workspace = folder(t);
  const silent = new PlannedProvider();
  const first = await lab(t, workspace, silent);
  const run = await first.run();
  const node = await first.node(run.id, "ann");
  const isAsked = new Promise((resolve) => {
    silent.turn = () => {
      resolve();
      return new Promise(() => {});
    };
  });
  await first.chat(run.id, node, "lost words");
  await within(isAsked, "the provider to be asked for a turn");
  await first.stop();
  const second = await lab(t, workspace);
  assert.equal((await second.snapshot(run.id)).nodes[node.id].status, "idle");
  await second.chat(run.id, node, "two");
  const { prompt } = await second.provider.until("turn");
  assert.equal(prompt.kind, "full");
  assert.ok(!prompt.text.includes("lost words"), "an input is for one turn only");
  assert.deepEqual(second.provider.asks("stop"), []);
});

test("a damaged log is reported, and the other runs are served", async (t) => {
  const workspace = folder(t);
  const first = await lab(t, workspace);
  const [whole, damaged] = [await first.run(), await first.run()];
  await first.stop();
  writeFileSync(logOf(workspace, damaged.id), "nonsense\n");
  mkdirSync(join(workspace, "runs", UNKNOWN));
  writeFileSync(logOf(workspace, UNKNOWN), '{"id":"never who');
  const second = await lab(t, workspace);
  assert.deepEqual(await second.do("GET", "/api/runs"), [whole]);
  await second.refused(500, "GET", `/api/runs/${damaged.id}`);
  await second.refused(404, "GET", `/api/runs/${UNKNOWN}`);
  assert.equal(readFileSync(logOf(workspace, damaged.id), "utf8"), "nonsense\n");
  assert.ok(readdirSync(workspace).includes("runs"));
});
