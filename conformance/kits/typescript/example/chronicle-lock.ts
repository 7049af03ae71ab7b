/**
 * The lock of one chronicle, between processes: a symbolic link beside the file, whose target text says who holds it.
 *
 * Node has no flock, and a link does what a lock file should: making one is a single atomic step that fails if it is
 * there, and it never exists without its holder's name. A holder that was killed leaves its link behind. The next one who wants the
 * lock sees that the process is gone (or is another one with the same number, or of an earlier boot) and removes it.
 *
 * Two may see that at once, and the slower must not remove the lock that the faster one has just taken. So a dead
 * holder's link is only ever removed under a guard, a lock of the same kind whose name is made from the dead holder's.
 * Holders never come again: whoever gets the guard later finds another holder, or none, and leaves it alone.
 *
 * Nothing is removed on suspicion. If the holder lives on another machine or in another container, where this one
 * cannot see its processes, the lock counts as held.
 */

import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { isRecord } from "./errors.ts";

// Synchronous: creating, reading and removing a link takes microseconds, less than the thread pool would,
// and a short lock is better for waiting processes.

export interface Lock {
  release(): void;
}

/** The holder of a lock that could not be taken, if known. */
export interface Holder {
  readonly holder: string | undefined;
}

/** The longest file name is 255 bytes, and guards need some of them. */
const LONGEST_STEM = 180;

/** The path of a file's lock. */
export function lockPath(file: string): string {
  const name = basename(file);
  const stem = Buffer.byteLength(name) <= LONGEST_STEM ? name : digest(name);
  return join(dirname(file), `${stem}.lock`);
}

/** The path of the guard under which a dead holder's lock is removed. */
export function guardPath(path: string, claim: string): string {
  return `${path}.${digest(claim)}`;
}

export function isLock(outcome: Lock | Holder): outcome is Lock {
  return "release" in outcome;
}

/** Takes the lock if it is free or its holder is dead. Does not wait. */
export function tryLock(path: string): Lock | Holder {
  const claim = newClaim();
  for (;;) {
    try {
      symlinkSync(claim, path);
      return { release: () => removeIf(path, claim) };
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const found = claimAt(path);
    if (found === "gone") continue;
    if (found === "foreign") return { holder: undefined };
    const holder = parseClaim(found);
    if (!holder) return { holder: undefined };
    if (!isDead(holder) || !removeDead(path, found)) return { holder: `process ${holder.pid}` };
  }
}

/** Removes a dead holder's lock. False if another process is removing it. */
function removeDead(path: string, claim: string): boolean {
  const guard = tryLock(guardPath(path, claim));
  if (!isLock(guard)) return false;
  removeIf(path, claim);
  guard.release();
  return true;
}

function removeIf(path: string, claim: string): void {
  if (claimAt(path) === claim) unlinkSync(path);
}

function claimAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "gone";
    // Not a link, so not our lock: a user put it there and must remove it.
    if (codeOf(error) === "EINVAL") return "foreign";
    throw error;
  }
}

interface Claim {
  readonly pid: number;
  /** When the process started, in ticks since boot: a number that was given out again is another process. */
  readonly started: string;
  readonly boot: string;
  readonly pids: string;
  readonly machine: string;
}

/** This process and this copy of the module: threads and duplicate modules are separate holders. */
const self: Claim & { readonly copy: string } = {
  pid: process.pid,
  started: startOf(orEmpty(() => readFileSync("/proc/self/stat", "latin1")))?.started ?? "",
  boot: orEmpty(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
  pids: orEmpty(() => readlinkSync("/proc/self/ns/pid")),
  machine: orEmpty(() => readFileSync("/etc/machine-id", "utf8").trim()) || hostname(),
  copy: randomUUID(),
};

let claims = 0;

function newClaim(): string {
  return JSON.stringify({ ...self, nth: ++claims });
}

function parseClaim(text: string): Claim | undefined {
  try {
    const claim: unknown = JSON.parse(text);
    if (!isRecord(claim)) return undefined;
    const { pid, started, boot, pids, machine } = claim;
    const isWhole = Number.isSafeInteger(pid) && [started, boot, pids, machine].every((part) => typeof part === "string");
    return isWhole && Number(pid) > 0 ? (claim as unknown as Claim) : undefined;
  } catch {
    return undefined;
  }
}

function isDead(holder: Claim): boolean {
  if (holder.machine !== self.machine) return false;
  if (holder.boot !== self.boot) return true;
  if (holder.pids !== self.pids) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    // EPERM: another user's process, which is alive.
    if (codeOf(error) === "ESRCH") return true;
  }
  const stat = startOf(orEmpty(() => readFileSync(`/proc/${holder.pid}/stat`, "latin1")));
  // A zombie was killed but not yet reaped by its parent; it will never release anything.
  return stat !== undefined && (/[ZX]/.test(stat.state) || stat.started !== holder.started);
}

function startOf(stat: string): { state: string; started: string } | undefined {
  // The command's name is in parentheses and may contain any character, even parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, started] = [fields[0], fields[19]];
  return state !== undefined && started !== undefined ? { state, started } : undefined;
}

function orEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function codeOf(error: unknown): unknown {
  return isRecord(error) ? error["code"] : undefined;
}
