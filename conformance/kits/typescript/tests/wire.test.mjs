import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Wire } from "../proofmark-wire.mjs";
import { adapter } from "./harness.mjs";

const ECHO = `{ echo: ({ value }) => value, size: ({ value }) => value.length }`;
const LIMIT = 16 * 1024 * 1024;

test("an invalid message gets an error without an id, and the adapter continues", async () => {
  const subject = adapter(ECHO);
  const lines = [
    ["{", -32700],
    ["nonsense", -32700],
    [Buffer.from([0x22, 0xff, 0x22]), -32700],
    ["[]", -32600],
    ["42", -32600],
    ["null", -32600],
    ["{}", -32600],
    [`{"id":1,"method":"hello"}`, -32600],
    [`{"jsonrpc":"2.0","id":null,"method":"hello"}`, -32600],
    [`{"jsonrpc":"2.0","id":{},"method":"hello"}`, -32600],
    [`{"jsonrpc":"2.0","method":7}`, -32600],
  ];
  for (const [line, code] of lines) {
    const answer = subject.answerToNobody();
    subject.send(Buffer.concat([Buffer.from(line), Buffer.from("\n")]));
    assert.equal((await answer).error.code, code, String(line));
  }
  const withId = subject.answer(77);
  subject.send(`{"jsonrpc":"2.0","id":77}\n`);
  assert.equal((await withId).error.code, -32600);
  await subject.open();
  await subject.stop();
});

test("blank lines, carriage returns, notifications and answers to nothing are taken in silence", async () => {
  const subject = adapter(ECHO);
  subject.send(`\n  \r\n\t\n{"jsonrpc":"2.0","method":"later"}\n{"jsonrpc":"2.0","id":9,"result":1}\n`);
  const answer = subject.answer("text");
  subject.send(`{"jsonrpc":"2.0","id":"text","method":"hello","params":{"protocol":1,"new":true}}\r\n`);
  assert.equal((await answer).result.protocol, 1);
  await subject.stop();
});

test("params that are not as the protocol says get -32602", async () => {
  const subject = adapter(ECHO);
  const open = { session: "x", clock: { start: "2024-01-01T00:00:00.000Z", stepMs: 1 }, random: { ints: [], floats: [] }, fakes: [] };
  await subject.open();
  const wrong = [
    ["hello", { protocol: 2 }],
    ["hello", {}],
    ["hello", []],
    ["open", { ...open, session: 1 }],
    ["open", { ...open, session: "s" }],
    ["open", { ...open, workspace: "relative" }],
    ["open", { ...open, clock: undefined }],
    ["open", { ...open, clock: { start: "soon", stepMs: 1 } }],
    ["open", { ...open, clock: { start: "2024-01-01T00:00:00.000Z" } }],
    ["open", { ...open, random: { ints: [] } }],
    ["open", { ...open, random: { ints: ["1"], floats: [] } }],
    ["open", { ...open, fakes: {} }],
    ["call", { session: "nobody", operation: "echo", args: {} }],
    ["call", { session: "__proto__", operation: "echo", args: {} }],
    ["call", { session: "s", args: {} }],
    ["call", { session: "s", operation: "echo", args: [] }],
    ["call", { session: "s", operation: "echo" }],
    ["close", { session: "nobody" }],
    ["close", null],
  ];
  for (const [method, params] of wrong) {
    assert.equal((await subject.request(method, params)).error?.code, -32602, `${method} ${JSON.stringify(params)}`);
  }
  await subject.request("close", { session: "s" });
  assert.equal((await subject.call("echo")).broken.code, -32602);
  await subject.stop();
});

test("unknown methods and operations get -32601, names of Object's own too", async () => {
  const subject = adapter(`{ echo: () => 1, notAFunction: 7 }`);
  await subject.open();
  assert.equal((await subject.request("constructor", {})).error.code, -32601);
  for (const operation of ["nothing", "", "constructor", "__proto__", "toString", "notAFunction"]) {
    assert.equal((await subject.call(operation)).broken.code, -32601, operation);
  }
  await subject.stop();
});

test("lines may come in any pieces", async () => {
  const subject = adapter(ECHO);
  await subject.open();
  const line = Buffer.from(
    `${JSON.stringify({ jsonrpc: "2.0", id: 50, method: "call", params: { session: "s", operation: "echo", args: { value: "ż\u2028😀" } } })}\n`,
  );
  const answer = subject.answer(50);
  for (const byte of line) subject.send(Buffer.from([byte]));
  assert.equal((await answer).result.value, "ż\u2028😀");
  const both = [subject.answer(51), subject.answer(52)];
  subject.send(`{"jsonrpc":"2.0","id":51,"method":"close","params":{"session":"s"}}\n{"jsonrpc":"2.0","id":52,"method":"x"}\n`);
  assert.equal((await both[0]).result, null);
  assert.equal((await both[1]).error.code, -32601);
  await subject.stop();
});

test("a line of 16 MiB is read, a longer one is refused", async () => {
  const subject = adapter(ECHO);
  await subject.open();
  const frame = (text) =>
    JSON.stringify({ jsonrpc: "2.0", id: 60, method: "call", params: { session: "s", operation: "size", args: { value: text } } });
  const room = LIMIT - frame("").length;
  const answer = subject.answer(60);
  subject.send(`${frame("x".repeat(room))}\r\n`);
  assert.equal((await answer).result.value, room);
  const refused = subject.answerToNobody();
  subject.send(`${frame("x".repeat(room + 2))}\n`);
  assert.equal((await refused).error.code, -32700);
  assert.deepEqual(await subject.call("echo", { value: 1 }), { value: 1 });
  await subject.stop();
});

test("an answer that the wire cannot carry is an error of the adapter", async () => {
  const subject = adapter(`{
    long: () => "x".repeat(${LIMIT}),
    surrogate: () => ["fine", "\\ud800"],
    surrogateKey: () => ({ "\\udfff": 1 }),
    deep: () => { let value = 1; for (let i = 0; i < 99; i++) value = [value]; return value; },
    cycle: () => { const value = {}; value.self = value; return value; },
    cycleWithBigInt: () => { const value = { n: 1n }; value.self = value; return value; },
    toJSON: () => ({ toJSON() { throw new Error("no"); } }),
    badError: () => { throw new ContractError("E", "m", { p: "\\ud800" }); },
  }`);
  await subject.open();
  for (const operation of ["long", "surrogate", "surrogateKey", "deep", "cycle", "cycleWithBigInt", "toJSON", "badError"]) {
    assert.equal((await subject.call(operation)).broken?.code, -32000, operation);
  }
  await subject.stop();
});

test("what the wire can carry arrives", async () => {
  const subject = adapter(`{
    nothing: () => undefined,
    pairs: () => "\\ud83d\\ude00",
    looksLike: () => ["\\\\ud800", "\\\\\\\\ud800", "bigint 1"],
    deep: () => { let value = "]".repeat(300) + '"\\\\'; for (let i = 0; i < 98; i++) value = [value]; return value; },
    big: () => ({ n: 12345678901234567890n, m: -1n, s: "1" }),
    zero: () => [-0, 5e-324, 1e21],
  }`);
  await subject.open();
  assert.deepEqual(await subject.call("nothing"), { value: null });
  assert.deepEqual(await subject.call("pairs"), { value: "😀" });
  assert.deepEqual(await subject.call("looksLike"), { value: ["\\ud800", "\\\\ud800", "bigint 1"] });
  assert.equal((await subject.call("deep")).value.flat(97)[0], `${"]".repeat(300)}"\\`);
  assert.deepEqual(await subject.call("big"), { value: { n: 12345678901234567000, m: -1, s: "1" } });
  assert.deepEqual(await subject.call("zero"), { value: [0, 5e-324, 1e21] });
  await subject.stop();
});

const PRINTS = `async () => {
  console.log("while loading");
  const { writeSync } = await import("node:fs");
  const { execFileSync } = await import("node:child_process");
  return {
    print() {
      console.log("console");
      process.stdout.write("stream\\n");
    },
    printByDescriptor() {
      writeSync(1, "descriptor\\n");
      execFileSync("/bin/sh", ["-c", "echo child"], { stdio: ["ignore", "inherit", "inherit"] });
    },
  };
}`;

test("nothing that prints reaches the wire", async () => {
  const subject = adapter(PRINTS);
  await subject.open();
  assert.deepEqual(await subject.call("print"), { value: null });
  await subject.stop();
  assert.deepEqual(subject.stderr.trim().split("\n").sort(), ["console", "stream", "while loading"]);
});

test("on a pipe, not even what is printed behind Node's back does", async () => {
  const subject = adapter(PRINTS, "", { withPipes: true });
  await subject.open();
  assert.deepEqual(await subject.call("print"), { value: null });
  assert.deepEqual(await subject.call("printByDescriptor"), { value: null });
  await subject.stop();
  assert.deepEqual(subject.stderr.trim().split("\n").sort(), ["child", "console", "descriptor", "stream", "while loading"]);
});

test("an implementation that cannot be loaded is reported at hello", async () => {
  const subject = adapter(`() => import("./is-not-there.mjs")`);
  assert.equal((await subject.request("hello", { protocol: 1 })).error.code, -32000);
  await subject.stop();
});

test("all answers are written before the adapter ends, however slowly they are read", async () => {
  const subject = adapter(`{
    large: () => "x".repeat(100000),
    late: async () => { await new Promise((resolve) => process.stdin.on("end", resolve)); return "late"; },
  }`);
  await subject.open();
  subject.stdout.pause();
  const answers = Array.from({ length: 100 }, () => subject.call("large"));
  const late = subject.call("late");
  const ended = subject.end();
  subject.stdout.resume();
  for (const answer of await Promise.all(answers)) assert.equal(answer.value.length, 100000);
  assert.deepEqual(await late, { value: "late" });
  assert.equal(await ended, 0);
});

test("shutdown and the end of stdin do not wait for a call that never ends", async () => {
  const never = `{ never: () => new Promise(() => setInterval(() => {}, 1000)) }`;
  const stopped = adapter(never);
  await stopped.open();
  void stopped.call("never").catch(() => {});
  await stopped.stop();
  const left = adapter(never);
  await left.open();
  void left.call("never").catch(() => {});
  assert.equal(await left.end(), 0);
});

test("the end waits for a reader that is slow, not for one that is gone", async () => {
  const subject = adapter(`{ large: () => "x".repeat(8000000) }`);
  await subject.open();
  subject.stdout.pause();
  void subject.call("large").catch(() => {});
  assert.equal(await Promise.race([subject.end(), subject.exited]), 0);
});

test("a stream waits while nobody reads", async () => {
  const folder = mkdtempSync(join(tmpdir(), "proofmark-kit-"));
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const wire = new Wire(openSync(pipe, constants.O_WRONLY));
  try {
    wire.send({ method: "event", params: "small" });
    await wire.drained();
    wire.send({ method: "event", params: "x".repeat(2 * 1024 * 1024) });
    let hasRoom = false;
    const drained = wire.drained().then(() => (hasRoom = true));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(hasRoom, false);
    await readUntil(reader, drained);
    assert.equal(hasRoom, true);
    const flushed = wire.flushedOrStuck(60_000).then(() => "flushed");
    await readUntil(reader, flushed);
  } finally {
    closeSync(reader);
    rmSync(folder, { recursive: true });
  }
});

async function readUntil(descriptor, done) {
  let isDone = false;
  done.then(() => (isDone = true));
  const chunk = Buffer.alloc(65536);
  while (!isDone) {
    try {
      readSync(descriptor, chunk);
    } catch (error) {
      assert.equal(error.code, "EAGAIN");
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
