// Tests beyond the suite: locks whose holders died in unusual ways. Needs a build.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { chroniclesIn } from "../dist/chronicle.js";
import { guardPath, isLock, lockPath, tryLock } from "../dist/chronicle-lock.js";

let folder;
let lock;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sage-lock-"));
  lock = lockPath(join(folder, "a.sage"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The claim that this process makes, with some of it changed. */
function claim(changes) {
  const probe = tryLock(join(folder, "probe"));
  const own = JSON.parse(readlinkSync(join(folder, "probe")));
  probe.release();
  return JSON.stringify({ ...own, copy: "another", ...changes });
}

const isTaken = () => {
  const outcome = tryLock(lock);
  if (isLock(outcome)) outcome.release();
  return isLock(outcome);
};

for (const [who, changes] of [
  ["a process that has ended", { pid: 2 ** 22 - 1 }],
  ["a process whose number was given out again", { started: "1" }],
  ["a process of an earlier boot", { boot: "another" }],
]) {
  test(`the lock of ${who} is taken over, and nothing is left behind`, () => {
    symlinkSync(claim(changes), lock);
    assert.equal(isTaken(), true);
    assert.deepEqual(readdirSync(folder), []);
  });
}

for (const [who, changes] of [
  ["a process that lives", {}],
  ["another machine", { machine: "another", boot: "another", pid: 2 ** 22 - 1 }],
  ["another container", { pids: "another", pid: 2 ** 22 - 1 }],
]) {
  test(`the lock of ${who} stays`, () => {
    const held = claim(changes);
    symlinkSync(held, lock);
    assert.equal(isTaken(), false);
    assert.equal(readlinkSync(lock), held);
  });
}

test("a foreign file in place of a lock stays", () => {
  for (const odd of ["nonsense", "{}", `{"pid":-1,"started":"","boot":"","pids":"","machine":""}`]) {
    symlinkSync(odd, lock);
    assert.equal(isTaken(), false, odd);
    rmSync(lock);
  }
  writeFileSync(lock, "");
  assert.equal(isTaken(), false);
});

test("a zombie holds nothing", async () => {
  // The shell starts a child, which takes the lock and dies, and never asks what became of it.
  const code = `import(${JSON.stringify(new URL("../dist/chronicle-lock.js", import.meta.url).href)}).then(({ tryLock }) => { tryLock(${JSON.stringify(lock)}); process.kill(process.pid, "SIGKILL"); })`;
  const parent = spawn("/bin/sh", ["-c", '"$@" & exec sleep 600', "sh", process.execPath, "--eval", code]);
  try {
    while (!readdirSync(folder).includes("a.sage.lock") || !isTaken()) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    parent.kill("SIGKILL");
    await once(parent, "close");
  }
});

test("a guard is respected while its holder lives, and removed when it dies", () => {
  const dead = claim({ started: "1" });
  symlinkSync(dead, lock);
  const guard = guardPath(lock, dead);
  symlinkSync(claim({}), guard);
  assert.equal(isTaken(), false);
  assert.equal(readlinkSync(lock), dead);
  rmSync(guard);
  symlinkSync(claim({ started: "2" }), guard);
  assert.equal(isTaken(), true);
  assert.deepEqual(readdirSync(folder), []);
});

test("a name of 255 bytes has a lock, and an append to it leaves only the chronicle", async () => {
  const name = `${"ż".repeat(125)}.sage`;
  await chroniclesIn(folder).appendEvent(name, { type: "T", timestamp: "t", actor: { agent: "a", id: "i" } });
  assert.deepEqual(readdirSync(folder), [name]);
});
