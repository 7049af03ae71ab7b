/** Queues the appends of this process to one file, and writes them together under the lock. */

import { setTimeout as sleep } from "node:timers/promises";
import { addLines, parseLine } from "./chronicle-file.ts";
import type { Place } from "./chronicle-path.ts";
import { isLock, lockPath, tryLock, type Lock } from "./chronicle-lock.ts";
import { ioError, typedError } from "./errors.ts";
import { canonicalJSONStringify } from "./utils.ts";

export interface Entry {
  readonly line: string;
  /** The event in canonical JSON: equal events have equal ones, however their keys are ordered. */
  readonly canonical: string;
}

interface Waiting extends Entry {
  /** As the caller wrote it, for errors. */
  readonly path: string;
  readonly timeoutMs: number;
  readonly deadline: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const FIRST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 16;

/** By real path. Contains a writer only while it has work. */
const writers = new Map<string, Writer>();

/** Resolves when the entry is durably in the file. */
export function append(place: Place, entry: Entry, path: string, timeoutMs: number): Promise<void> {
  let writer = writers.get(place.file);
  if (!writer) writers.set(place.file, (writer = new Writer(place)));
  return writer.add(entry, path, timeoutMs);
}

/** Waits for a file's lock and holds it until released. */
export async function hold({ file }: Place, path: string, timeoutMs: number): Promise<Lock> {
  const deadline = performance.now() + timeoutMs;
  for (let wait = FIRST_WAIT_MS; ; wait = nextWait(wait)) {
    const outcome = tryLock(lockPath(file));
    if (isLock(outcome)) return outcome;
    if (performance.now() >= deadline) throw lockTimeout(path, timeoutMs, outcome.holder);
    await sleep(Math.min(wait, deadline - performance.now()));
  }
}

class Writer {
  readonly #place: Place;
  #queue: Waiting[] = [];
  #isRunning = false;

  constructor(place: Place) {
    this.#place = place;
  }

  add(entry: Entry, path: string, timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...entry, path, timeoutMs, deadline: performance.now() + timeoutMs, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#queue.length > 0) {
      try {
        await this.#writeQueue();
      } catch (error) {
        for (const waiting of this.#queue.splice(0)) waiting.reject(ioError("lock", waiting.path, error));
      }
      // Other processes poll. Without a pause, a busy process would always retake the lock first.
      if (this.#queue.length > 0) await sleep(FIRST_WAIT_MS);
    }
    this.#isRunning = false;
    writers.delete(this.#place.file);
  }

  async #writeQueue(): Promise<void> {
    const lock = await this.#lock();
    if (!lock) return;
    const batch = this.#queue.splice(0);
    let failure: { readonly cause: unknown } | undefined;
    try {
      await addLines(this.#place, (last) => withoutRepeats(batch, last));
    } catch (cause) {
      failure = { cause };
    }
    // Release before acknowledging: a caller may ask another process for the lock at once.
    releaseQuietly(lock);
    for (const waiting of batch) {
      if (failure) waiting.reject(ioError("append", waiting.path, failure.cause));
      else waiting.resolve();
    }
  }

  /** The lock, or undefined if all waiting appends have timed out. */
  async #lock(): Promise<Lock | undefined> {
    for (let wait = FIRST_WAIT_MS; this.#queue.length > 0; wait = nextWait(wait)) {
      const outcome = tryLock(lockPath(this.#place.file));
      if (isLock(outcome)) return outcome;
      const now = performance.now();
      const late = this.#queue.filter(({ deadline }) => deadline <= now);
      this.#queue = this.#queue.filter(({ deadline }) => deadline > now);
      for (const { path, timeoutMs, reject } of late) reject(lockTimeout(path, timeoutMs, outcome.holder));
      const nearest = Math.min(...this.#queue.map(({ deadline }) => deadline));
      if (this.#queue.length > 0) await sleep(Math.min(wait, nearest - now));
    }
    return undefined;
  }
}

/** Drops an event equal to its direct predecessor. The same id with other contents is not a repeat: nothing may be lost. */
function withoutRepeats(batch: readonly Entry[], last: Buffer | undefined): string[] {
  let previous = last && canonicalOf(last);
  const lines: string[] = [];
  for (const { line, canonical } of batch) {
    if (canonical !== previous) lines.push(line);
    previous = canonical;
  }
  return lines;
}

function canonicalOf(line: Buffer): string | undefined {
  try {
    return canonicalJSONStringify(parseLine(line));
  } catch {
    return undefined;
  }
}

/** The events are already in the file, so a failed release must not fail the append. */
function releaseQuietly(lock: Lock): void {
  try {
    lock.release();
  } catch (error) {
    process.emitWarning(`cannot release a lock: ${String(error)}`);
  }
}

/** Exponential backoff with jitter. */
function nextWait(wait: number): number {
  return Math.min(LONGEST_WAIT_MS, wait * (1.5 + Math.random()));
}

function lockTimeout(path: string, timeoutMs: number, holder: string | undefined): Error {
  const by = holder === undefined ? "" : ` by ${holder}`;
  return typedError("ELOCK_TIMEOUT", `\`${path}\` was locked${by} for all of ${timeoutMs} ms`, {
    path,
    timeoutMs,
    ...(holder === undefined ? {} : { holder }),
  });
}
