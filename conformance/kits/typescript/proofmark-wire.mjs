// The wire of Proofmark's adapter kit: reads and writes lines, and keeps other output away from stdout.

import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync, write } from "node:fs";
import { AdapterError } from "./proofmark-errors.mjs";

export const LINE_LIMIT = 16 * 1024 * 1024;
const DEPTH_LIMIT = 100;
/** With more unwritten output than this, event streams wait until the harness has read some. */
const HIGH_WATER = 1024 * 1024;
/** JSON.stringify escapes only lone surrogates. The backslash must not be escaped itself. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/;

/** Queues whole lines for the harness; many small messages become one write. */
export class Wire {
  #fd;
  #queue = [];
  #queued = 0;
  #isWriting = false;
  #waiters = [];

  constructor(fd) {
    this.#fd = fd;
  }

  send(message) {
    const line = encode({ jsonrpc: "2.0", ...message });
    this.#queue.push(line);
    this.#queued += line.length;
    if (!this.#isWriting) this.#writeNext();
  }

  sendError(id, code, message) {
    // Make sure that the error itself can be sent.
    this.send({ id, error: { code, message: String(message).slice(0, 65536).toWellFormed() } });
  }

  /** Resolves when there is room for more. */
  drained() {
    return this.#until(HIGH_WATER);
  }

  /** Resolves when everything is written, or after a time without progress. */
  async flushedOrStuck(milliseconds) {
    for (let before = Infinity; this.#queued > 0 && this.#queued < before; ) {
      before = this.#queued;
      await atMost(milliseconds, this.#until(0));
    }
  }

  #until(limit) {
    if (this.#queued <= limit) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ limit, resolve }));
  }

  #writeNext() {
    this.#isWriting = this.#queue.length > 0;
    if (!this.#isWriting) return;
    const batch = this.#queue.length === 1 ? this.#queue[0] : Buffer.concat(this.#queue);
    this.#queue = [];
    this.#write(batch, 0);
  }

  // Not process.stdout: it may block the process while the harness is busy, or lose output at exit.
  #write(bytes, from) {
    write(this.#fd, bytes, from, bytes.length - from, null, (error, written = 0) => {
      if (error?.code === "EAGAIN") setTimeout(() => this.#write(bytes, from), 1);
      // The reader is gone, so drop the output.
      else if (error) process.exit(1);
      else {
        this.#queued -= written;
        this.#waiters = this.#waiters.filter(({ limit, resolve }) => this.#queued > limit || resolve());
        if (from + written < bytes.length) this.#write(bytes, from + written);
        else this.#writeNext();
      }
    });
  }
}

/**
 * Keeps the real stdout for the wire and makes descriptor 1 another name of stderr, so that no `console.log`, no native
 * code and no child process can print into the protocol. Where that cannot be done, `process.stdout` is diverted.
 */
export function claimStdout() {
  const flags = constants.O_WRONLY | constants.O_APPEND;
  let wire;
  try {
    // Check that stderr can be reopened before closing stdout.
    closeSync(openSync("/proc/self/fd/2", flags));
    wire = openSync("/proc/self/fd/1", flags);
  } catch {
    process.stdout.write = process.stderr.write.bind(process.stderr);
    return 1;
  }
  closeSync(1);
  // The system uses the lowest free descriptor, which is 1.
  openSync("/proc/self/fd/2", flags);
  return wire;
}

/** Splits chunks of any size into lines; drops lines that are too long. */
export function lineSplitter(onLine, onTooLong) {
  let parts = [];
  let size = 0;
  const take = (part) => {
    size += part.length;
    // One more for a carriage return before the newline.
    if (size > LINE_LIMIT + 1) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  return (chunk) => {
    let start = 0;
    for (let end; (end = chunk.indexOf(0x0a, start)) !== -1; start = end + 1) {
      take(chunk.subarray(start, end));
      const line = parts.length === 1 ? parts[0] : Buffer.concat(parts);
      const isTooLong = size > LINE_LIMIT + 1;
      parts = [];
      size = 0;
      if (isTooLong) onTooLong();
      else onLine(line);
    }
    take(chunk.subarray(start));
  };
}

/** A message as a line of bytes, or an AdapterError if the wire cannot carry it. */
function encode(message) {
  let text;
  try {
    text = stringify(message);
  } catch (error) {
    throw new AdapterError(`the value has no form in JSON: ${error instanceof Error ? error.message : typeof error}`);
  }
  if (text.includes("\\ud") && LONE_SURROGATE.test(text)) throw new AdapterError("the wire cannot carry a lone surrogate");
  if (text.length > 2 * DEPTH_LIMIT && depthOf(text) > DEPTH_LIMIT) {
    throw new AdapterError(`the message nests deeper than ${DEPTH_LIMIT}`);
  }
  const bytes = Buffer.from(`${text}\n`);
  if (bytes.length > LINE_LIMIT + 1) throw new AdapterError(`the message is longer than ${LINE_LIMIT} bytes`);
  return bytes;
}

/** JSON.stringify that also writes a BigInt, with all of its digits. */
function stringify(message) {
  try {
    return JSON.stringify(message);
  } catch (error) {
    // A BigInt and a cycle are both a TypeError; the second attempt distinguishes them.
    if (!(error instanceof TypeError)) throw error;
    const marker = `bigint ${randomUUID()} `;
    const mark = (_, value) => (typeof value === "bigint" ? marker + value : value);
    return JSON.stringify(message, mark).replace(new RegExp(`"${marker}(-?\\d+)"`, "g"), "$1");
  }
}

/** The nesting depth of a JSON text. Brackets inside strings do not count. */
function depthOf(text) {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text[at];
    if (unit === "[" || unit === "{") deepest = Math.max(deepest, ++depth);
    else if (unit === "]" || unit === "}") depth--;
    else if (unit === '"') {
      for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
    }
  }
  return deepest;
}

/** Resolves when the work is done, or at the timeout. */
export function atMost(milliseconds, work) {
  return Promise.race([work, new Promise((resolve) => setTimeout(resolve, milliseconds))]);
}
