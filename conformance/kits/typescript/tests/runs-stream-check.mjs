// The stream: history and then what is new, each event once; and the rules of RFC 6455. Needs a build.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { lab, openSocket, UNKNOWN, within } from "./runs-lab.mjs";

const pathOfLog = ({ workspace }, runId) => join(workspace, "runs", runId, "events.jsonl");
const logOf = (subject, runId) =>
  readFileSync(pathOfLog(subject, runId), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

test("history comes first and then what is new, each event once, as the log has them", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const work = [];
  const streams = [];
  for (let at = 0; at < 20; at++) {
    work.push(subject.node(run.id, `node ${at}`).then((node) => subject.chat(run.id, node, "go")));
    streams.push(subject.stream(t, run.id));
  }
  await Promise.all(work);
  for (let at = 1; at <= 20; at++) await subject.provider.until("turn", at);
  await subject.do("PATCH", `/api/runs/${run.id}`, { status: "paused" });
  const early = await Promise.all((await Promise.all(streams)).map((stream) => stream.until({ patch: { status: "paused" } })));
  const late = await (await subject.stream(t, run.id)).until({ patch: { status: "paused" } });
  assert.equal(new Set(late.map(({ id }) => id)).size, late.length);
  for (const events of early) assert.deepEqual(events, late);
  assert.deepEqual(logOf(subject, run.id).slice(0, late.length), late);
});

test("a reported event is already in the log", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const stream = await subject.stream(t, run.id);
  const node = await subject.node(run.id, "ann");
  await subject.chat(run.id, node, "go");
  for (let type; type !== "message.assistant.final"; ) {
    const event = await stream.message();
    assert.ok(logOf(subject, run.id).some(({ id }) => id === event.id));
    type = event.type;
  }
});

test("no event is reported before it is on the disk", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const stream = await subject.stream(t, run.id);
  await stream.message();
  const handle = await open(pathOfLog(subject, run.id));
  const files = Object.getPrototypeOf(handle);
  await handle.close();
  const { datasync } = files;
  t.after(() => (files.datasync = datasync));
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const isSyncing = new Promise((resolve) => {
    files.datasync = async function () {
      resolve();
      await released;
      return datasync.call(this);
    };
  });
  let isAnswered = false;
  const answer = subject.do("POST", `/api/runs/${run.id}/chat`, { content: "hello" }).then(() => (isAnswered = true));
  await within(isSyncing, "a sync of the log");
  assert.equal(logOf(subject, run.id).length, 2, "it is written, but not yet safe");
  assert.equal((await subject.events(run.id)).length, 1);
  stream.send(9, "anything?");
  assert.equal((await stream.frame()).opcode, 10);
  assert.ok(!isAnswered);
  release();
  await answer;
  assert.equal((await stream.message()).type, "message.user");
});

test("the state is the fold of the log", async (t) => {
  const subject = await lab(t);
  const run = await subject.run({ mode: "INTERACTIVE" });
  const [ann, bob] = [await subject.node(run.id, "ann"), await subject.node(run.id, "bob")];
  const kept = await subject.edge(run.id, ann, bob);
  const gone = await subject.edge(run.id, bob, ann);
  await subject.do("DELETE", `/api/runs/${run.id}/edges/${gone.id}`);
  const stream = await subject.stream(t, run.id);
  subject.provider.plan("ann", [{ progress: "busy" }, { handoff: { to: "bob", message: "m" } }, { done: {} }]);
  await subject.chat(run.id, ann, "go");
  await stream.until({ type: "message.assistant.final", nodeId: bob.id });
  await stream.until({ type: "node.patch", nodeId: bob.id });
  await subject.do("PATCH", `/api/runs/${run.id}`, { phase: "DONE", status: "completed" });
  const folded = {};
  for (const event of await subject.events(run.id)) {
    if (event.type === "run.patch") Object.assign(folded, event.patch);
    if (event.type === "node.patch") folded.nodes[event.nodeId] = { ...folded.nodes[event.nodeId], ...event.patch };
    if (event.type === "edge.created") folded.edges[event.edge.id] = event.edge;
    if (event.type === "edge.deleted") delete folded.edges[event.edgeId];
    if (event.type === "artifact.created") folded.artifacts[event.artifact.id] = event.artifact;
  }
  const state = await subject.snapshot(run.id);
  assert.deepEqual(state, folded);
  assert.deepEqual(Object.keys(state.edges), [kept.id]);
  assert.equal(Object.keys(state.artifacts).length, 6);
});

test("`after` leaves out what came before, in the history and on the stream", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  await subject.node(run.id, "ann");
  await subject.node(run.id, "bob");
  const [first, second, third] = await subject.events(run.id);
  assert.deepEqual(await subject.do("GET", `/api/runs/${run.id}/events?after=${first.id}`), [second, third]);
  assert.deepEqual(await subject.do("GET", `/api/runs/${run.id}/events?after=${third.id}`), []);
  const stream = await subject.stream(t, run.id, second.id);
  assert.deepEqual(await stream.message(), third);
  const last = await subject.stream(t, run.id, third.id);
  const node = await subject.node(run.id, "eve");
  assert.equal((await last.message()).nodeId, node.id);
  await subject.refused(404, "GET", `/api/runs/${run.id}/events?after=${UNKNOWN}`);
  await subject.refused(400, "GET", `/api/runs/${run.id}/events?after=first`);
  await assert.rejects(subject.stream(t, run.id, UNKNOWN), { status: 404 });
  await assert.rejects(subject.stream(t, run.id, "first"), { status: 400 });
});

test("large events and many of them come through whole", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const stream = await subject.stream(t, run.id);
  const content = "ä€😀".repeat(40_000);
  for (let at = 0; at < 5; at++) await subject.do("POST", `/api/runs/${run.id}/chat`, { content });
  await stream.message();
  for (let at = 0; at < 5; at++) assert.equal((await stream.message()).message.content, content);
  const again = await subject.events(run.id);
  assert.equal(again.at(-1).message.content, content);
});

test("a handshake that is none is refused", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const url = `${subject.base}/ws?runId=${run.id}`;
  assert.equal((await openSocket(t, url)).accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  const refused = (status, address, headers) => assert.rejects(openSocket(t, address, headers), { status }, JSON.stringify([address, headers]));
  await refused(426, url, { "sec-websocket-version": "8" });
  await refused(400, url, { "sec-websocket-key": "short" });
  await refused(426, url, { upgrade: "h2c" });
  await refused(403, url, { origin: "https://example.com" });
  await refused(403, url, { host: "example.com" });
  await refused(404, `${subject.base}/ws?runId=${UNKNOWN}`);
  await refused(400, `${subject.base}/ws?runId=1`);
  await refused(400, `${subject.base}/ws`);
  await refused(404, `${subject.base}/elsewhere?runId=${run.id}`);
  await subject.refused(426, "GET", `/ws?runId=${run.id}`);
  await subject.refused(405, "POST", "/ws", { body: {} });
});

test("what a consumer sends is ignored, pings are answered, and a goodbye is returned", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const stream = await subject.stream(t, run.id);
  await stream.message();
  stream.send(1, "{}");
  stream.send(2, Buffer.alloc(60_000, 1));
  stream.send(1, "frag", { isLast: false });
  stream.send(9, "inside");
  stream.send(0, "ment");
  assert.deepEqual(await stream.frame(), { opcode: 10, payload: Buffer.from("inside") });
  stream.send(10, "unasked");
  stream.send(9);
  assert.deepEqual(await stream.frame(), { opcode: 10, payload: Buffer.alloc(0) });
  stream.send(8, Buffer.from([0x03, 0xe8]));
  assert.deepEqual(await stream.frame(), { opcode: 8, payload: Buffer.from([0x03, 0xe8]) });
  assert.equal((await stream.frame()).opcode, "gone");
  assert.equal((await subject.events(run.id)).length, 1);
});

test("frames against the rules end the connection with 1002", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  for (const [what, send] of [
    ["not masked", (stream) => stream.send(1, "x", { isMasked: false })],
    ["a reserved bit", (stream) => stream.send(1, "x", { reserved: 0x40 })],
    ["an unknown opcode", (stream) => stream.send(3, "x")],
    ["an unknown control", (stream) => stream.send(11, "x")],
    ["a continuation of nothing", (stream) => stream.send(0, "x")],
    ["a message inside a message", (stream) => (stream.send(1, "x", { isLast: false }), stream.send(1, "y"))],
    ["a long ping", (stream) => stream.send(9, Buffer.alloc(126))],
    ["a ping in pieces", (stream) => stream.send(9, "x", { isLast: false })],
    ["half a code", (stream) => stream.send(8, Buffer.from([3]))],
    ["a code that is none", (stream) => stream.send(8, Buffer.from([0x03, 0xed]))],
  ]) {
    const stream = await subject.stream(t, run.id);
    await stream.message();
    send(stream);
    assert.deepEqual(await stream.frame(), { opcode: 8, payload: Buffer.from([0x03, 0xea]) }, what);
  }
});

test("a server that stops says goodbye", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const stream = await subject.stream(t, run.id);
  await stream.message();
  await subject.stop();
  assert.deepEqual(await stream.frame(), { opcode: 8, payload: Buffer.from([0x03, 0xe9]) });
  assert.equal((await stream.frame()).opcode, "gone");
  await assert.rejects(subject.request("GET", "/api/runs"), { code: "ECONNREFUSED" });
});
