import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { adapter } from "./harness.mjs";

test("clock and tapes follow their scripts, and an empty tape is no contract's error", async () => {
  const subject = adapter(`{
    now: (args, { clock }) => clock.now(),
    int: (args, { random }) => random.int(),
    float: (args, { random }) => random.float(),
    guarded: (args, { random }) => { try { random.int(); } catch (error) { return error instanceof NotScriptedError; } },
  }`);
  await subject.open({ clock: { start: "2024-02-29T23:59:59.999Z", stepMs: 1 }, random: { ints: [7], floats: [0.5] } });
  assert.deepEqual(await subject.call("now"), { value: "2024-02-29T23:59:59.999Z" });
  assert.deepEqual(await subject.call("now"), { value: "2024-03-01T00:00:00.000Z" });
  assert.deepEqual(await subject.call("int"), { value: 7 });
  assert.equal((await subject.call("int")).broken.code, -32000);
  assert.deepEqual(await subject.call("float"), { value: 0.5 });
  assert.deepEqual(await subject.call("guarded"), { value: true });
  await subject.stop();
});

test("a clock that leaves the range of dates is an error of the adapter", async () => {
  const subject = adapter(`{ now: (args, { clock }) => clock.now() }`);
  await subject.open({ clock: { start: "2024-01-01T00:00:00.000Z", stepMs: 1e300 } });
  await subject.call("now");
  assert.equal((await subject.call("now")).broken.code, -32000);
  await subject.stop();
});

test("each call of a fake gets its own answer, in whatever order they come", async () => {
  const subject = adapter(`{
    all: ({ keys }, session) => Promise.all(keys.map((key) => session.fake("secrets").call("get", { key }))),
  }`);
  const waiting = [];
  subject.onFake = (params) => new Promise((resolve) => {
    waiting.push({ params, resolve });
    if (waiting.length === 3) for (const { params, resolve } of waiting.reverse()) resolve({ value: params.args.key + "!" });
  });
  await subject.open({ fakes: ["secrets"] });
  assert.deepEqual(await subject.call("all", { keys: ["a", "b", "c"] }), { value: ["a!", "b!", "c!"] });
  assert.deepEqual(waiting.at(-1).params, { session: "s", fake: "secrets", method: "get", args: { key: "a" } });
  await subject.stop();
});

test("a fake's error is raised as it is; what the harness refuses is no contract's error", async () => {
  const subject = adapter(`{
    ask: ({ fake, method }, session) => session.fake(fake).call(method),
    caught: async (args, session) => {
      try { await session.fake("f").call("fails"); } catch (error) { return [error instanceof ContractError, error.code, error.path, error.cause]; }
    },
    surrogate: (args, session) => session.fake("f").call("get", { key: "\\ud800" }),
  }`);
  const answers = {
    value: () => ({ value: null }),
    fails: () => ({ error: { code: "EIO", message: "down", path: "p", cause: { deep: 1 } } }),
    refuses: () => { throw { code: -32602, message: "no" }; },
    odd: () => 7,
    codeless: () => ({ error: { message: "m" } }),
  };
  subject.onFake = ({ method }) => answers[method]();
  await subject.open({ fakes: ["f"] });
  assert.deepEqual(await subject.call("ask", { fake: "f", method: "value" }), { value: null });
  const { error } = await subject.call("ask", { fake: "f", method: "fails" });
  assert.deepEqual(error, { name: "ContractError", code: "EIO", message: "down", path: "p", cause: { deep: 1 } });
  assert.deepEqual(await subject.call("caught"), { value: [true, "EIO", "p", { deep: 1 }] });
  for (const [fake, method] of [["f", "refuses"], ["f", "odd"], ["f", "codeless"], ["other", "value"]]) {
    assert.equal((await subject.call("ask", { fake, method })).broken?.code, -32000, `${fake} ${method}`);
  }
  assert.equal((await subject.call("surrogate")).broken.code, -32000);
  await subject.stop();
});

test("closing a session ends its questions, also those that nobody waits for", async () => {
  const subject = adapter(`{
    ask: (args, session) => session.fake("f").call("never"),
    forget: (args, session) => { session.fake("f").call("never"); session.fake("unknown").call("x"); },
    keep: (args, session) => { globalThis.kept = session; },
    askLater: () => globalThis.kept.fake("f").call("never"),
  }`);
  let asked;
  const isAsked = new Promise((resolve) => (asked = resolve));
  subject.onFake = () => { asked(); return new Promise(() => {}); };
  await subject.open({ fakes: ["f"] });
  await subject.open({ session: "t", fakes: ["f"] });
  await subject.call("keep");
  const answer = subject.call("ask");
  await subject.call("forget");
  await isAsked;
  assert.equal((await subject.request("close", { session: "s" })).result, null);
  assert.equal((await answer).broken.code, -32000);
  assert.equal((await subject.call("askLater", {}, "t")).broken.code, -32000);
  await subject.stop();
});

test("handles name objects of their session", async () => {
  const subject = adapter(`{
    put: ({ value, kind }, session) => session.put(value, kind),
    get: ({ handle }, session) => session.get(handle),
    has: ({ handle }, session) => session.has(handle),
    remove: ({ handle }, session) => session.remove(handle),
  }`);
  await subject.open();
  await subject.open({ session: "t" });
  assert.deepEqual(await subject.call("put", { value: "a" }), { value: "handle-1" });
  assert.deepEqual(await subject.call("put", { value: null, kind: "pool" }), { value: "pool-2" });
  assert.deepEqual(await subject.call("get", { handle: "handle-1" }), { value: "a" });
  assert.deepEqual(await subject.call("has", { handle: "pool-2" }), { value: true });
  assert.equal((await subject.call("get", { handle: "handle-1" }, "t")).broken.code, -32000);
  assert.deepEqual(await subject.call("remove", { handle: "handle-1" }), { value: true });
  assert.equal((await subject.call("get", { handle: "handle-1" })).broken.code, -32000);
  assert.deepEqual(await subject.call("remove", { handle: "handle-1" }), { value: false });
  await subject.stop();
});

test("a session that could not be opened is not open", async () => {
  const subject = adapter(`{ echo: () => 1 }`, `open: async (session) => { if (session.fakes.includes("bad")) throw new Error("no"); }`);
  const params = { session: "s", clock: { start: "2024-01-01T00:00:00.000Z", stepMs: 1 }, random: { ints: [], floats: [] } };
  assert.equal((await subject.request("open", { ...params, fakes: ["bad"] })).error.code, -32000);
  assert.equal((await subject.call("echo")).broken.code, -32602);
  await subject.open({ fakes: [] });
  assert.deepEqual(await subject.call("echo"), { value: 1 });
  await subject.stop();
});

const OPEN = { session: "s", clock: { start: "2024-01-01T00:00:00.000Z", stepMs: 1 }, random: { ints: [], floats: [] }, fakes: [] };

test("the answer to `open` has the wire of the session, and nothing else that `open` returned", async () => {
  const opens = {
    [`async () => ({ wire: { http: { base: "http://127.0.0.1:1", log: "l" } }, secret: 1 })`]: {
      wire: { http: { base: "http://127.0.0.1:1", log: "l" } },
    },
    [`() => ({ wire: { mcp: { command: ["server"] } } })`]: { wire: { mcp: { command: ["server"] } } },
    [`(session) => new Map([[session, session]])`]: {},
    [`() => ({ wire: undefined })`]: {},
    [`() => "text"`]: {},
    [`() => {}`]: {},
  };
  for (const [open, answer] of Object.entries(opens)) {
    const subject = adapter(`{}`, `open: ${open}`);
    assert.deepEqual((await subject.request("open", OPEN)).result, answer, open);
    await subject.stop();
  }
});

test("a wire of no kind is an error of the adapter, and what was started is stopped", async () => {
  for (const wire of ["7", "null", "{}", "{ http: 7 }", "[]"]) {
    const subject = adapter(
      `{ stopped: () => globalThis.stopped }`,
      `open: (session) => {
        session.onClose(() => (globalThis.stopped = true));
        return globalThis.stopped ? undefined : { wire: ${wire} };
      }`,
    );
    assert.equal((await subject.request("open", OPEN)).error?.code, -32000, wire);
    await subject.open();
    assert.deepEqual(await subject.call("stopped"), { value: true });
    await subject.stop();
  }
});

test("a session asks its fakes outside of any call, until it is closed", async () => {
  const subject = adapter(
    `{ outcome: () => globalThis.outcome }`,
    `open: (session) => {
      if (session.id !== "s") return;
      const outcome = session.fake("f").call("first").then(() => session.fake("f").call("never"));
      globalThis.outcome = outcome.catch((error) => error instanceof SessionClosedError && error instanceof AdapterError);
    }`,
  );
  const asked = [];
  let isWaiting;
  const waiting = new Promise((resolve) => (isWaiting = resolve));
  subject.onFake = ({ session, method }) => {
    asked.push(`${session} ${method}`);
    if (method === "first") return { value: 1 };
    isWaiting();
    return new Promise(() => {});
  };
  await subject.open({ fakes: ["f"] });
  await subject.open({ session: "t" });
  await waiting;
  assert.deepEqual(asked, ["s first", "s never"]);
  await subject.request("close", { session: "s" });
  assert.deepEqual(await subject.call("outcome", {}, "t"), { value: true });
  await subject.stop();
});

const CLEANUPS = `{
  async register({ file }, session) {
    const { appendFileSync } = await import("node:fs");
    session.onClose(() => appendFileSync(file, "first "));
    session.onClose(() => { throw new Error("a bad cleanup"); });
    session.onClose(async () => { await null; appendFileSync(file, "second "); });
  },
}`;

for (const [how, end] of [
  ["close", async (subject) => {
    assert.equal((await subject.request("close", { session: "s" })).error.code, -32000);
    await subject.stop();
  }],
  ["shutdown", (subject) => subject.stop()],
  ["the end of stdin", (subject) => subject.end()],
]) {
  test(`cleanups run at ${how}, the newest first, and all of them`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "proofmark-kit-"));
    const file = join(folder, "cleanups");
    const subject = adapter(CLEANUPS);
    await subject.open();
    await subject.call("register", { file });
    await end(subject);
    assert.equal(readFileSync(file, "utf8"), "second first ");
    rmSync(folder, { recursive: true });
  });
}
