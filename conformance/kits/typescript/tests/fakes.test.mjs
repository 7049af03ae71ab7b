import assert from "node:assert/strict";
import { test } from "node:test";
import { adapter } from "./harness.mjs";

const FAKES = new URL("../proofmark-fakes.mjs", import.meta.url).href;

/** An adapter whose operations are made by a function of what proofmark-fakes.mjs exports. */
async function withFakes(operations, onFake) {
  const subject = adapter(`async () => (${operations})(await import(${JSON.stringify(FAKES)}))`);
  subject.asked = [];
  subject.onFake = ({ fake, method, args }) => {
    subject.asked.push([fake, method, args]);
    return onFake(method, args);
  };
  await subject.open({ fakes: ["secrets", "graph", "tools", "llm"] });
  return subject;
}

const items = (subject) => subject.events.map(({ item }) => item);

test("a secret that is null is undefined", async () => {
  const subject = await withFakes(
    `({ secretProvider }) => ({
      get: async ({ key }, session) => { const secret = await secretProvider(session).get(key); return [typeof secret, secret]; },
    })`,
    (_, { key }) => ({ value: key === "THERE" ? "" : null }),
  );
  assert.deepEqual(await subject.call("get", { key: "THERE" }), { value: ["string", ""] });
  assert.deepEqual(await subject.call("get", { key: "MISSING" }), { value: ["undefined", null] });
  await subject.stop();
});

test("a graph is asked exactly what was given", async () => {
  const subject = await withFakes(
    `({ graph }) => ({ query: ({ given }, session) => graph(session).query(...given.map((part) => part ?? undefined)) })`,
    () => ({ value: [{ n: 1 }] }),
  );
  assert.deepEqual(await subject.call("query", { given: ["q"] }), { value: [{ n: 1 }] });
  await subject.call("query", { given: ["q", { a: 1 }, "c1"] });
  await subject.call("query", { given: ["q", null, "c1"] });
  assert.deepEqual(subject.asked.map(([, , args]) => args), [
    { query: "q" },
    { query: "q", params: { a: 1 }, commit: "c1" },
    { query: "q", commit: "c1" },
  ]);
  await subject.stop();
});

test("a scripted tool logs what the case says, and its result has no log", async () => {
  const subject = await withFakes(
    `({ scriptedExecute, eventLogger }) => ({
      logged: (_, session, call) => scriptedExecute(session, "T")({ a: 1 }, { logger: eventLogger(call) }),
      silent: (_, session) => scriptedExecute(session, "T")({ a: 1 }, {}),
    })`,
    () => ({ value: { ok: true, data: 7, log: [{ msg: "one" }, { msg: "two" }] } }),
  );
  assert.deepEqual(await subject.call("logged"), { value: { ok: true, data: 7 } });
  assert.deepEqual(items(subject), [{ msg: "one" }, { msg: "two" }]);
  assert.deepEqual(await subject.call("silent"), { value: { ok: true, data: 7 } });
  assert.equal(subject.events.length, 2);
  assert.deepEqual(subject.asked[0], ["tools", "execute", { name: "T", input: { a: 1 } }]);
  await subject.stop();
});

test("a runner gives the result as it is, and the tool's error", async () => {
  const subject = await withFakes(
    `({ toolRunner }) => ({ run: ({ name }, session) => toolRunner(session)(name, { x: 1 }) })`,
    (_, { name }) => (name === "bad" ? { error: { code: "EIO", message: "m", operation: "o" } } : { value: { ok: true } }),
  );
  assert.deepEqual(await subject.call("run", { name: "good" }), { value: { ok: true } });
  assert.equal((await subject.call("run", { name: "bad" })).error.operation, "o");
  await subject.stop();
});

const CHAT = `({ llmProvider, sendStream }) => ({
  models: (_, session) => llmProvider(session, "p").models(),
  text: (_, session) => llmProvider(session, "p").chat({ model: "m" }),
  chat: async ({ take }, session, call) => sendStream(call, await llmProvider(session, "p").chat({ model: "m" }), take),
  dropped: async (_, session) => {
    const stream = await llmProvider(session, "p").chat({ model: "m" });
    const pulled = stream.next();
    // Until the harness has it.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const dropped = stream.return();
    return [await pulled, await dropped, await stream.return(), await stream.next()].map(({ done }) => done);
  },
  greedy: async (_, session) => {
    const stream = await llmProvider(session, "p").chat({ model: "m" });
    return Promise.all([stream.next(), stream.next(), stream.next(), stream.next()]);
  },
  broken: async (_, session) => {
    const stream = await llmProvider(session, "p").chat({ model: "m" });
    const code = await stream.next().catch((error) => error.code);
    return [code, (await stream.return()).done];
  },
})`;

/** Plays a stream: `script` are the answers to `next`, each a result of the fake, or a promise of one. */
function plays(script) {
  const left = [...script];
  return (method) => {
    if (method === "chat") return { value: { stream: "s1" } };
    return method === "next" ? (left.shift() ?? { value: { done: true } }) : { value: null };
  };
}

const event = (value) => ({ value: { event: value } });
const methods = (subject) => subject.asked.map(([, method]) => method);

test("a provider tells its models, and gives text as it is", async () => {
  const subject = await withFakes(CHAT, (method) => ({ value: method === "models" ? [{ name: "m1" }] : { text: "hi" } }));
  assert.deepEqual(await subject.call("models"), { value: [{ name: "m1" }] });
  assert.deepEqual(await subject.call("text"), { value: { text: "hi" } });
  assert.deepEqual(subject.asked, [
    ["llm", "models", { provider: "p" }],
    ["llm", "chat", { provider: "p", options: { model: "m" } }],
  ]);
  await subject.stop();
});

test("a stream is sent item by item, and one that is over is not stopped", async () => {
  const subject = await withFakes(CHAT, plays([event({ type: "text", value: "a" }), event(null), event(7)]));
  assert.deepEqual(await subject.call("chat"), { value: null });
  assert.deepEqual(items(subject), [{ type: "text", value: "a" }, null, 7]);
  assert.deepEqual(methods(subject), ["chat", "next", "next", "next", "next"]);
  assert.deepEqual(subject.asked[1][2], { stream: "s1" });
  await subject.stop();
});

test("after `take` items the stream is stopped, and nothing more is pulled", async () => {
  const subject = await withFakes(CHAT, plays([event(1), event(2), event(3)]));
  assert.deepEqual(await subject.call("chat", { take: 2 }), { value: null });
  assert.deepEqual(items(subject), [1, 2]);
  assert.deepEqual(methods(subject), ["chat", "next", "next", "stop"]);
  await subject.stop();
});

test("take 0 drops the stream before its first item", async () => {
  const subject = await withFakes(CHAT, plays([event(1)]));
  await subject.call("chat", { take: 0 });
  assert.deepEqual(methods(subject), ["chat", "stop"]);
  await subject.stop();
});

test("a stream that stalls is stopped at once, and only once", async () => {
  let release;
  const stalled = new Promise((resolve) => (release = resolve));
  const subject = await withFakes(CHAT, (method) => {
    if (method === "chat") return { value: { stream: "s1" } };
    if (method === "next") return stalled;
    release({ value: { done: true } });
    return { value: null };
  });
  assert.deepEqual(await subject.call("dropped"), { value: [true, true, true, true] });
  assert.deepEqual(methods(subject), ["chat", "next", "stop"]);
  await subject.stop();
});

test("one item is pulled at a time, whatever the consumer does", async () => {
  let underWay = 0;
  let given = 0;
  const subject = await withFakes(CHAT, async (method) => {
    if (method === "chat") return { value: { stream: "s1" } };
    assert.equal(++underWay, 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    underWay--;
    return given === 3 ? { value: { done: true } } : event(++given);
  });
  const { value } = await subject.call("greedy");
  assert.deepEqual(value.map(({ done, value }) => [done, value]), [[false, 1], [false, 2], [false, 3], [true, undefined]]);
  await subject.stop();
});

test("a stream that failed is over", async () => {
  const subject = await withFakes(CHAT, plays([{ error: { code: "EIO", message: "cut" } }]));
  assert.deepEqual(await subject.call("broken"), { value: ["EIO", true] });
  assert.deepEqual(methods(subject), ["chat", "next"]);
  await subject.stop();
});
