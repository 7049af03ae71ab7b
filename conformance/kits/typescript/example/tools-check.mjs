// Tests beyond the suite: races, shutdown of the adapter, combinations of schemas. Needs a build.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { schemaFaults } from "../dist/schema.js";
import { faultsOf } from "../dist/schema-validate.js";
import { applyPatch, parsePatch } from "../dist/tools-patch.js";
import { toolRuntime } from "../dist/tools-runtime.js";
import { redactorOf } from "../dist/tools-secrets.js";
import { standardRegistry } from "../dist/tools-standard.js";

let folder;
let cwd;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sage-tools-"));
  cwd = join(folder, "workspace");
  mkdirSync(cwd);
});
afterEach(() => rmSync(folder, { recursive: true }));

const clock = { now: () => "2024-01-01T00:00:00.000Z" };
const execute = toolRuntime(standardRegistry({ query: async () => [] }), clock);
const permissions = ["Write", "Edit", "Bash"];
const fieldsOf = (schema, value) => faultsOf(schema, value).map(({ field }) => field);

test("nothing is written outside while a folder is swapped for a link", async () => {
  const outside = join(folder, "outside");
  mkdirSync(outside);
  mkdirSync(join(cwd, "real"));
  const swap = `cd "$1"; while :; do ln -sfn ../outside spot; rm -f spot; cp -r real spot; rm -rf spot; done`;
  const swapper = spawn("/bin/sh", ["-c", swap, "sh", cwd], { stdio: "ignore" });
  try {
    for (const until = Date.now() + 1000; Date.now() < until; await pause(0)) {
      await execute("Write", { file: "spot/a.txt", content: "mine" }, { cwd, permissions });
    }
  } finally {
    swapper.kill("SIGKILL");
    await once(swapper, "exit");
  }
  assert.deepEqual(readdirSync(outside), []);
});

test("two edits at once are both there", async () => {
  writeFileSync(join(cwd, "a.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  const patches = ["@@ -1,2 +1,2 @@\n-1\n+one\n 2\n", "@@ -5,3 +5,3 @@\n 5\n-6\n+six\n 7\n"];
  await Promise.all(patches.map((patch) => execute("Edit", { file: "a.txt", patch }, { cwd, permissions })));
  assert.equal(readFileSync(join(cwd, "a.txt"), "utf8"), "one\n2\n3\n4\n5\nsix\n7\n8\n9\n");
});

test("an adapter that shuts down kills its programs", async () => {
  const adapter = spawn(process.execPath, [new URL("../dist/adapter.js", import.meta.url).pathname], { stdio: ["pipe", "ignore", "inherit"] });
  const session = { session: "s", workspace: cwd, clock: { start: clock.now(), stepMs: 1 }, random: { ints: [], floats: [] }, fakes: [] };
  const script = "setsid sleep 60 >/dev/null 2>&1 & echo $$ > pid; sleep 60";
  const input = { command: "/bin/sh", args: ["-c", script] };
  const call = { session: "s", operation: "tools.execute", args: { name: "Bash", input, context: { permissions } } };
  for (const [id, method, params] of [[1, "open", session], [2, "call", call]]) {
    adapter.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  }
  while (!existsSync(join(cwd, "pid")) || readFileSync(join(cwd, "pid"), "utf8") === "") await pause(10);
  adapter.stdin.end();
  await once(adapter, "exit");
  const isAlive = () => {
    const pid = readFileSync(join(cwd, "pid"), "utf8").trim();
    return existsSync(`/proc/${pid}`) && !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  };
  for (let waits = 0; isAlive() && waits < 100; waits++) await pause(10);
  assert.equal(isAlive(), false);
});

test("a link that leads out is refused however long the way", async () => {
  symlinkSync("b/../c", join(cwd, "a"));
  mkdirSync(join(cwd, "b"));
  symlinkSync("b/up", join(cwd, "c"));
  symlinkSync("../..", join(cwd, "b", "up"));
  const { error } = await execute("Read", { file: "a/etc" }, { cwd });
  assert.equal(error.code, "EPERMISSION");
});

test("parts of a schema are closed together, and questions close nothing", () => {
  const named = (...names) => ({ properties: Object.fromEntries(names.map((name) => [name, {}])) });
  assert.deepEqual(fieldsOf({ allOf: [named("a"), named("b")] }, { a: 1, b: 1, c: 1 }), ["c"]);
  assert.deepEqual(fieldsOf({ $ref: "#/$defs/x", $defs: { x: named("a") }, ...named("b") }, { a: 1, b: 1, c: 1 }), ["c"]);
  assert.deepEqual(fieldsOf({ anyOf: [{ ...named("a"), required: ["a"] }, { ...named("b"), required: ["b"] }] }, { b: 1, a: 1 }), []);
  assert.deepEqual(fieldsOf({ type: "object", if: named("a"), else: false, additionalProperties: true }, { b: 1 }), []);
  assert.deepEqual(fieldsOf({ not: { ...named("a"), required: ["a"] } }, { b: 1 }), []);
  assert.deepEqual(fieldsOf({ properties: { a: named("b") } }, { a: { b: 1, c: 1 } }), ["a.c"]);
  assert.deepEqual(fieldsOf({ type: "array", items: named("b") }, [{}, { c: 1 }]), ["1.c"]);
  assert.deepEqual(fieldsOf({}, { anything: 1 }), []);
  assert.deepEqual(fieldsOf(JSON.parse(`{"properties":{"__proto__":{"type":"string"}}}`), JSON.parse(`{"__proto__":1}`)), ["__proto__"]);
});

test("a schema may speak of itself, but not without an end", () => {
  const tree = { properties: { children: { type: "array", items: { $ref: "#" } } } };
  assert.deepEqual(schemaFaults(tree), []);
  assert.deepEqual(fieldsOf(tree, { children: [{ children: [{ leaf: 1 }] }] }), ["children.0.children.0.leaf"]);
  assert.equal(schemaFaults({ $ref: "#" }).length, 1);
  assert.equal(schemaFaults({ allOf: [{ $ref: "#/$defs/a" }], $defs: { a: { anyOf: [{ $ref: "#" }] } } }).length, 1);
});

test("unsupported keywords are refused, not skipped", () => {
  for (const schema of [
    { proprties: {} },
    { $dynamicRef: "#x" },
    { items: [{}] },
    { $ref: "https://example.com/schema" },
    { $ref: "#/$defs/nowhere" },
    { pattern: "(" },
    { properties: { a: { type: "text" } } },
    { properties: { a: { minimum: "1" } } },
    { required: "a" },
  ]) {
    assert.notDeepEqual(schemaFaults(schema), [], JSON.stringify(schema));
  }
});

test("a mark that would spell the secret is not used", () => {
  for (const secret of ["SECRET", "[", "edact", "*"]) {
    const redacted = redactorOf(new Map([["NAME", secret]]))({ [`key ${secret}`]: [`value ${secret}`] });
    assert.equal(Object.entries(redacted).flat(2).some((text) => text.includes(secret)), false, secret);
  }
});

test("a hunk that moved is found at the nearest place, and in order", () => {
  const text = "x\n".repeat(3) + "a\n" + "x\n".repeat(5) + "a\n" + "x\n".repeat(2);
  const apply = (patch) => applyPatch(text, parsePatch(patch)).hunks.map(({ at }) => at);
  assert.deepEqual(apply("@@ -5 +5 @@\n-a\n+b\n"), [3]);
  assert.deepEqual(apply("@@ -9 +9 @@\n-a\n+b\n"), [9]);
  assert.deepEqual(apply("@@ -4 +4 @@\n-a\n+b\n@@ -5 +5 @@\n-a\n+c\n"), [3, 9]);
  assert.throws(() => apply("@@ -10 +10 @@\n-a\n+b\n@@ -11 +11 @@\n-a\n+c\n"));
});
