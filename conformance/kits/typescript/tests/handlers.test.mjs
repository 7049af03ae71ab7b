import assert from "node:assert/strict";
import { test } from "node:test";
import { adapter } from "./harness.mjs";

test("hello tells what the author wrote", async () => {
  const subject = adapter(`{}`, `hooks: ["a.hook"], options: { fast: true }`);
  assert.deepEqual((await subject.request("hello", { protocol: 1, harness: {} })).result, {
    protocol: 1,
    name: "test",
    version: "1",
    language: "typescript",
    contracts: [],
    hooks: ["a.hook"],
    options: { fast: true },
  });
  await subject.stop();
});

test("a contract error is flat, and its own members win over properties", async () => {
  const subject = adapter(`{
    made: () => { throw new ContractError("EIO", "disk full", { path: "a", code: "ENOSPC", message: "theirs", name: "Theirs", cause: 1, stack: "x", ["__proto__"]: 1 }, { name: "IOError", cause: new TypeError("below") }); },
    plain: () => { throw { code: "E", message: "m", details: [] }; },
    classy: async () => { throw Object.assign(new RangeError("m"), { code: "E", path: "p", errno: undefined }); },
    oddName: () => { throw { code: "E", message: "m", name: 7 }; },
    ring: () => { const error = new ContractError("E", "m"); error.cause = error; throw error; },
    looksLikeTheSystems: () => { throw new ContractError("ENOENT", "m", { errno: -2, syscall: "open" }); },
  }`);
  await subject.open();
  assert.deepEqual(await subject.call("made"), {
    error: JSON.parse(`{"name":"IOError","code":"EIO","message":"disk full","path":"a","__proto__":1,"cause":{"name":"TypeError","message":"below"}}`),
  });
  assert.deepEqual(await subject.call("plain"), { error: { code: "E", message: "m", details: [] } });
  assert.deepEqual(await subject.call("classy"), { error: { name: "RangeError", code: "E", message: "m", path: "p" } });
  assert.deepEqual(await subject.call("oddName"), { error: { code: "E", message: "m" } });
  assert.equal((await subject.call("ring")).error.cause.cause.code, "E");
  assert.equal((await subject.call("looksLikeTheSystems")).error.code, "ENOENT");
  await subject.stop();
});

test("what Node throws is no contract's error, unless the author says so", async () => {
  const operations = `{
    missing: async () => (await import("node:fs/promises")).readFile("/is/not/there"),
    argument: async () => (await import("node:fs/promises")).readFile(7),
    aborted: async () => (await import("node:timers/promises")).setTimeout(1, 1, { signal: AbortSignal.abort() }),
    unloadable: () => import("./is-not-there.mjs"),
  }`;
  const subject = adapter(operations);
  await subject.open();
  for (const operation of ["missing", "argument", "aborted", "unloadable"]) {
    assert.equal((await subject.call(operation)).broken?.code, -32000, operation);
  }
  await subject.stop();
  const lenient = adapter(operations, `isContractError: (error) => error.code === "ENOENT"`);
  await lenient.open();
  assert.equal((await lenient.call("missing")).error.code, "ENOENT");
  assert.equal((await lenient.call("argument")).broken.code, -32000);
  await lenient.stop();
});

test("whatever is thrown, the adapter answers and goes on", async () => {
  const subject = adapter(`{
    nothing: () => { throw undefined; },
    null: () => { throw null; },
    text: () => { throw "text"; },
    number: () => { throw { code: 7, message: "m" }; },
    noMessage: () => { throw { code: "E" }; },
    symbol: () => { throw Symbol("s"); },
    bare: () => { throw Object.create(null); },
    getter: () => { throw { get code() { throw new Error("no"); } }; },
    trap: () => { throw new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } }); },
    stackless: () => { const error = new Error("m"); error.stack = Symbol("s"); throw error; },
    surrogate: () => { throw new Error("\\ud800"); },
    chosen: () => { throw new AdapterError("no such thing", -32602); },
  }`);
  await subject.open();
  for (const operation of ["nothing", "null", "text", "number", "noMessage", "symbol", "bare", "getter", "trap", "stackless", "surrogate"]) {
    assert.equal((await subject.call(operation)).broken?.code, -32000, operation);
  }
  assert.deepEqual((await subject.call("chosen")).broken, { code: -32602, message: "no such thing" });
  await subject.stop();
});

test("events come in order and before the answer, from every kind of handler", async () => {
  const subject = adapter(`{
    async *asyncGenerator({ items }) { yield* items; return "async"; },
    *generator({ items }) { yield* items; return "sync"; },
    async pushed({ items }, session, call) { for (const item of items) await call.event(item); return "pushed"; },
    async *fails() { yield 1; throw new ContractError("E", "half way"); },
    array: () => [1, 2],
  }`);
  await subject.open();
  for (const [operation, value] of [["asyncGenerator", "async"], ["generator", "sync"], ["pushed", "pushed"]]) {
    subject.events.length = 0;
    assert.deepEqual(await subject.call(operation, { items: ["a", null, { b: 1 }] }), { value });
    assert.deepEqual(subject.events.map(({ item }) => item), ["a", null, { b: 1 }], operation);
    assert.equal(new Set(subject.events.map(({ session, call }) => `${session} ${call}`)).size, 1);
  }
  subject.events.length = 0;
  assert.equal((await subject.call("fails")).error.code, "E");
  assert.equal(subject.events.length, 1);
  assert.deepEqual(await subject.call("array"), { value: [1, 2] });
  assert.equal(subject.events.length, 1);
  await subject.stop();
});

test("an event names its call, and cannot come after the answer", async () => {
  const subject = adapter(`{
    leak: (args, session, call) => { globalThis.leaked = call; return call.id; },
    late: () => { globalThis.leaked.event("late"); },
    first: async (args, session, call) => { await call.event("x"); return call.id; },
  }`);
  await subject.open();
  const { value } = await subject.call("first");
  assert.deepEqual(subject.events, [{ session: "s", call: value, item: "x" }]);
  await subject.call("leak");
  assert.equal((await subject.call("late")).broken.code, -32000);
  assert.equal(subject.events.length, 1);
  await subject.stop();
});

test("a generator whose item cannot be sent is ended", async () => {
  const subject = adapter(`{
    async *bad() { try { yield "\\ud800"; } finally { globalThis.ended = true; } },
    ended: () => globalThis.ended,
  }`);
  await subject.open();
  assert.equal((await subject.call("bad")).broken.code, -32000);
  assert.deepEqual(await subject.call("ended"), { value: true });
  await subject.stop();
});
