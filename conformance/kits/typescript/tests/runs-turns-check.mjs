// Turns: prompts, inboxes, interruptions, handoffs, stalls. Needs a build.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { lab, within } from "./runs-lab.mjs";

const IDLE = { type: "node.patch", patch: { status: "idle" } };
const RUNNING = { type: "node.patch", patch: { status: "running" } };
const typesOf = (events) => events.map(({ type, patch }) => (patch?.status ? `${type} ${patch.status}` : type));
const done = (message, more = {}) => ({ done: { message, ...more } });

/** A run with one node, and its stream after the node's making. */
async function oneNode(t, more) {
  const subject = await lab(t);
  const run = await subject.run();
  const node = await subject.node(run.id, "ann", more);
  const stream = await subject.stream(t, run.id);
  await stream.until({ type: "node.patch", nodeId: node.id });
  return { subject, run, node, stream };
}

test("a turn tells its prompt, its items, its message and its diff, in this order", async (t) => {
  const { subject, run, node, stream } = await oneNode(t);
  subject.provider.plan("ann", [
    { delta: "all " },
    { progress: "half way" },
    { delta: "done" },
    { tool: { id: "tool-1", name: "command", args: { cmd: "ls" } } },
    { toolCompleted: { toolId: "tool-1", result: { ok: false }, error: { message: "no" } } },
    { done: { diff: "+a\n", filesChanged: ["a.ts"] } },
  ]);
  const message = await subject.chat(run.id, node, "do it");
  assert.deepEqual(message, { id: message.id, runId: run.id, nodeId: node.id, role: "user", content: "do it", interrupt: false, createdAt: message.createdAt });
  const events = await stream.until(IDLE);
  assert.deepEqual(typesOf(events), [
    "message.user", "node.patch running", "artifact.created", "artifact.created", "message.assistant.delta", "node.progress",
    "message.assistant.delta", "tool.proposed", "tool.started", "tool.completed", "message.assistant.final", "artifact.created",
    "node.patch idle",
  ]);
  assert.equal(events[0].message.id, message.id);
  assert.deepEqual(events.map(({ ts }) => ts), events.map(({ ts }) => ts).sort());
  const final = events.at(-3).message;
  assert.deepEqual([final.role, final.content, final.nodeId], ["assistant", "all done", node.id]);
  assert.deepEqual(events.at(-2).metadata, { filesChanged: ["a.ts"], summary: "1 file changed" });
  const { artifact } = events.at(-2);
  assert.deepEqual([artifact.kind, artifact.name, readFileSync(artifact.path, "utf8")], ["diff", "diff.patch", "+a\n"]);
  const [full, blocks] = [events[2].artifact, events[3].artifact];
  assert.deepEqual([full.name, full.kind, blocks.name, blocks.kind], ["prompt.full.txt", "prompt", "prompt.blocks.json", "prompt"]);
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(blocks.path, "utf8"))), ["system", "role", "mode", "task", "override"]);
  const [{ method, ...question }] = subject.provider.asks("turn");
  assert.deepEqual(question, {
    runId: run.id, nodeId: node.id, label: "ann", provider: "claude", prompt: { kind: "full", text: readFileSync(full.path, "utf8") },
  });
  const state = await subject.snapshot(run.id);
  assert.deepEqual(Object.keys(state.artifacts), [full.id, blocks.id, artifact.id]);
  assert.equal(state.nodes[node.id].summary, "half way");
  // In mode `skip` nothing is forwarded.
  assert.deepEqual(subject.provider.asks("resolve", "stop"), []);
});

test("a session's first turn has the full prompt, later ones the delta, until a reset or another provider", async (t) => {
  const { subject, run, node, stream } = await oneNode(t, { session: { resetCommands: ["/fresh"] } });
  const say = async (content) => {
    await subject.chat(run.id, node, content);
    const events = await stream.until(IDLE);
    const { prompt } = subject.provider.asks("turn").at(-1);
    const full = events.find(({ artifact }) => artifact?.name === "prompt.full.txt").artifact;
    const logged = readFileSync(full.path, "utf8");
    assert.ok(logged.includes(content) && logged.includes("implementer"), "the whole prompt is logged every time");
    return prompt;
  };
  assert.equal((await say("one")).kind, "full");
  assert.deepEqual(await say("two"), { kind: "delta", text: "two" });
  await subject.chat(run.id, node, "/fresh");
  const [, patch] = await stream.until({ type: "node.patch" });
  assert.notEqual(patch.patch.session.sessionId, node.session.sessionId);
  assert.deepEqual(patch.patch.session.resetCommands, ["/fresh"]);
  assert.equal((await say("three")).kind, "full");
  assert.equal((await say("/new")).kind, "delta");
  await subject.do("PATCH", `/api/runs/${run.id}/nodes/${node.id}`, { provider: "claude", label: "anna" });
  assert.equal((await say("four")).kind, "delta");
  await subject.do("PATCH", `/api/runs/${run.id}/nodes/${node.id}`, { provider: "gemini" });
  await stream.until({ type: "node.patch" });
  assert.equal((await say("five")).kind, "full");
  const { label, provider } = subject.provider.asks("turn").at(-1);
  assert.deepEqual([label, provider], ["anna", "gemini"]);
});

test("what comes during a turn waits, and the next turn takes all of it, in order", async (t) => {
  const { subject, run, node, stream } = await oneNode(t);
  subject.provider.plan("ann", []);
  await subject.chat(run.id, node, "first");
  await subject.provider.until("next");
  await subject.chat(run.id, node, "second");
  await subject.chat(run.id, node, "third");
  assert.equal((await subject.snapshot(run.id)).nodes[node.id].inboxCount, 2);
  subject.provider.say("turn-1", done("ok"));
  await stream.until(IDLE);
  const events = await stream.until(IDLE);
  assert.equal(events[0].patch.inboxCount, 0);
  assert.deepEqual(subject.provider.asks("turn").at(-1).prompt, { kind: "delta", text: "second\n\nthird" });
  assert.equal(subject.provider.asks("turn").length, 2);
});

test("a message that interrupts ends the turn and comes first in the next", async (t) => {
  const { subject, run, node, stream } = await oneNode(t);
  subject.provider.plan("ann", [{ delta: "never ending" }]);
  await subject.chat(run.id, node, "first");
  await stream.until({ type: "message.assistant.delta" });
  await subject.provider.until("next", 2);
  await subject.chat(run.id, node, "waits");
  await subject.chat(run.id, node, "now", { interrupt: true });
  const ended = await stream.until(IDLE);
  assert.ok(!typesOf(ended).includes("message.assistant.final"), "an interrupted turn is not completed");
  const next = await stream.until(IDLE);
  assert.equal(next.find(({ type }) => type === "message.assistant.final").message.content, "done turn-2");
  assert.deepEqual(subject.provider.asks("turn", "stop").map(({ method, turn, prompt }) => [method, turn ?? prompt.kind]), [
    ["turn", "full"], ["stop", "turn-1"], ["turn", "delta"],
  ]);
  assert.equal(subject.provider.asks("turn")[1].prompt.text, "now\n\nwaits");
});

test("a turn that the provider has not named yet is stopped as soon as it is", async (t) => {
  const { subject, run, node, stream } = await oneNode(t);
  const { provider } = subject;
  const turn = provider.turn.bind(provider);
  let name;
  const isAsked = new Promise((resolve) => {
    provider.turn = (question) => {
      provider.turn = turn;
      resolve();
      return new Promise((answer) => (name = () => answer(turn(question))));
    };
  });
  await subject.chat(run.id, node, "first");
  await within(isAsked, "the provider to be asked for a turn");
  await subject.chat(run.id, node, "now", { interrupt: true });
  assert.equal((await subject.snapshot(run.id)).nodes[node.id].status, "running");
  name();
  await stream.until(IDLE);
  await stream.until(IDLE);
  assert.deepEqual(provider.asked.map(({ method, turn }) => turn ?? method), ["turn", "turn-1", "turn", "turn-2"]);
  assert.equal(provider.asked[1].method, "stop");
});

test("a turn whose artifacts cannot be kept fails, and the run goes on", async (t) => {
  const { subject, run, node, stream } = await oneNode(t);
  writeFileSync(join(subject.workspace, "runs", run.id, "artifacts"), "a file where the folder should be");
  await subject.chat(run.id, node, "go");
  const failed = (await stream.until({ type: "node.patch", patch: { status: "failed" } })).at(-1);
  assert.match(failed.patch.summary, /artifacts/);
  assert.deepEqual(subject.provider.asked, []);
  await subject.node(run.id, "bob");
});

test("a node's turns do not wait for another's", async (t) => {
  const { subject, run, node, stream } = await oneNode(t);
  const other = await subject.node(run.id, "bob");
  subject.provider.plan("ann", []);
  await subject.chat(run.id, node, "go");
  await subject.provider.until("next");
  await subject.chat(run.id, other, "go");
  await stream.until({ type: "message.assistant.final", nodeId: other.id });
  assert.equal((await subject.snapshot(run.id)).nodes[node.id].status, "running");
});

test("a provider that fails, or says what makes no sense, leaves a failed node and no final message", async (t) => {
  for (const [item, isStopped] of [
    [new Error("out of credit"), false],
    [{ nonsense: 1 }, true],
    [{ delta: 7 }, true],
    [{ tool: { id: "t", name: "command" } }, true],
    [{ done: { diff: 7 } }, true],
    [null, true],
  ]) {
    const { subject, run, node, stream } = await oneNode(t);
    subject.provider.plan("ann", [{ delta: "so far" }, item]);
    await subject.chat(run.id, node, "go");
    const events = await stream.until({ type: "node.patch", patch: { status: "failed" } });
    assert.ok(!typesOf(events).includes("message.assistant.final"));
    assert.equal(subject.provider.asks("stop").length, isStopped ? 1 : 0, JSON.stringify(item));
    await subject.chat(run.id, node, "again");
    const state = await subject.snapshot(run.id);
    assert.deepEqual([state.nodes[node.id].status, state.nodes[node.id].inboxCount], ["failed", 1]);
    await subject.stop();
  }
});

test("handoffs go along edges, against them only where they are bidirectional, and start the other's turn", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  const [ann, bob, eve] = [await subject.node(run.id, "ann"), await subject.node(run.id, "bob"), await subject.node(run.id, "eve")];
  await subject.edge(run.id, bob, ann);
  await subject.edge(run.id, eve, ann, { bidirectional: false });
  const stream = await subject.stream(t, run.id);
  await stream.until({ type: "edge.created", edge: { from: eve.id } });
  subject.provider.plan("ann", [
    { handoff: { to: "bob", message: "your turn", structured: { n: 1 }, status: { ok: true }, contextRef: "contextpack://p/1", attachDiff: true } },
    { handoff: { to: eve.id, message: "lost" } },
    { handoff: { to: "nobody", message: "lost" } },
    done("handed"),
  ]);
  await subject.chat(run.id, ann, "go");
  const events = await stream.until({ ...IDLE, nodeId: bob.id });
  const sent = events.filter(({ type }) => type === "handoff.sent");
  assert.equal(sent.length, 1);
  const { envelope } = sent[0];
  const diff = events.find(({ artifact }) => artifact?.kind === "diff").artifact;
  assert.deepEqual(envelope, {
    kind: "handoff",
    id: envelope.id,
    fromNodeId: ann.id,
    toNodeId: bob.id,
    createdAt: envelope.createdAt,
    payload: {
      message: "your turn", structured: { n: 1 }, artifacts: [{ type: "diff", ref: `artifact://${diff.id}` }], status: { ok: true },
    },
    contextRef: "contextpack://p/1",
  });
  const order = events.filter(({ type, patch, nodeId }) => type === "handoff.sent" || (patch?.status && nodeId));
  assert.deepEqual(typesOf(order).slice(-4), ["handoff.sent", "node.patch idle", "node.patch running", "node.patch idle"]);
  assert.ok(subject.provider.asks("turn")[1].prompt.text.includes("your turn"));
  assert.equal(subject.provider.asks("turn").length, 2);
});

for (const [what, outcomes, isStalled] of [
  ["the same output", [done("same"), done("same"), done("same")], true],
  ["the same diff", [done("a", { diff: "+x" }), done("b", { diff: "+x" }), done("c", { diff: "+x" })], true],
  ["the same failed verification", ["a", "b", "c"].map((text) => done(text, { verification: { ok: false, output: "1 failed" } })), true],
  ["no diff", [done("a"), done("b"), done("c")], false],
  ["a verification that passes", ["a", "b", "c"].map((text) => done(text, { verification: { ok: true, output: "ok" } })), false],
  ["the same output, but not in a row", [done("same"), done("same"), done("other"), done("same")], false],
]) {
  test(`${what} in three turns in a row is ${isStalled ? "a" : "no"} stall`, async (t) => {
    const { subject, run, node, stream } = await oneNode(t);
    subject.provider.plan("ann", ...outcomes.map((outcome) => [outcome]));
    for (const [at] of outcomes.slice(1).entries()) {
      await subject.chat(run.id, node, `message ${at}`);
      await stream.until(IDLE);
    }
    await subject.chat(run.id, node, "the last");
    const events = await stream.until({ type: "node.patch", patch: { status: isStalled ? "blocked" : "idle" } });
    if (!isStalled) return;
    assert.deepEqual(typesOf(events).slice(-5), [
      "message.assistant.final", "artifact.created", "run.patch paused", "run.stalled", "node.patch blocked",
    ]);
    assert.ok(Object.keys(events.at(-2).evidence).length > 0);
    await subject.chat(run.id, node, "waits");
    const state = await subject.snapshot(run.id);
    assert.deepEqual([state.status, state.nodes[node.id].status, state.nodes[node.id].inboxCount], ["paused", "blocked", 1]);
    // Set to running again it goes on, and counts anew.
    subject.provider.plan("ann", [outcomes[0]], [outcomes[0]], [outcomes[0]]);
    await subject.do("PATCH", `/api/runs/${run.id}`, { status: "running" });
    await stream.until(RUNNING);
    await stream.until(IDLE);
    await subject.chat(run.id, node, "second");
    await stream.until(IDLE);
    await subject.chat(run.id, node, "third");
    await stream.until({ type: "run.stalled" });
  });
}

test("chat without a node is for the first orchestrator; without one it is only recorded", async (t) => {
  const subject = await lab(t);
  const run = await subject.run();
  await subject.node(run.id, "ann");
  const recorded = await subject.do("POST", `/api/runs/${run.id}/chat`, { content: "anybody?" });
  assert.ok(!("nodeId" in recorded));
  const first = await subject.node(run.id, "chief", { roleTemplate: "orchestrator" });
  await subject.node(run.id, "deputy", { roleTemplate: "orchestrator" });
  const stream = await subject.stream(t, run.id);
  assert.equal((await subject.do("POST", `/api/runs/${run.id}/chat`, { content: "hello" })).nodeId, first.id);
  await stream.until({ type: "message.assistant.final", nodeId: first.id });
  assert.deepEqual(subject.provider.asks("turn").map(({ label }) => label), ["chief"]);
});

test("while a run is paused inboxes fill; a turn under way goes on", async (t) => {
  const { subject, run, node, stream } = await oneNode(t);
  subject.provider.plan("ann", []);
  await subject.chat(run.id, node, "first");
  await subject.provider.until("next");
  await subject.do("PATCH", `/api/runs/${run.id}`, { status: "paused" });
  await subject.chat(run.id, node, "second");
  subject.provider.say("turn-1", done("ended"));
  await stream.until(IDLE);
  const state = await subject.snapshot(run.id);
  assert.deepEqual([state.nodes[node.id].status, state.nodes[node.id].inboxCount], ["idle", 1]);
  await subject.do("PATCH", `/api/runs/${run.id}`, { status: "running" });
  await stream.until(IDLE);
  assert.equal(subject.provider.asks("turn").length, 2);
});
