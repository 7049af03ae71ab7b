// The wire of Proofmark's adapter kit: lines in, lines out, and a stdout that nobody else can write to.

import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync, write } from "node:fs";
import { AdapterError } from "./proofmark-errors.mjs";

export const LINE_LIMIT = 16 * 1024 * 1024;
const DEPTH_LIMIT = 100;
/** Above this much unwritten output a stream of events waits until the harness has read some of it. */
const HIGH_WATER = 1024 * 1024;
/** JSON.stringify escapes surrogates only where they stand alone. The backslash must not be an escaped one itself. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/;

/** Queued, whole lines on the descriptor that the harness reads; many small messages become one write. */
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
    // An odd message must not make the error itself unsendable.
    this.send({ id, error: { code, message: String(message).slice(0, 65536).toWellFormed() } });
  }

  /** Resolves when there is room for more. */
  drained() {
    return this.#until(HIGH_WATER);
  }

  /** Resolves when all is written, or when for so long nothing was. */
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

  // Not process.stdout: that may block the whole process while the harness is busy, or lose the rest at exit.
  #write(bytes, from) {
    write(this.#fd, bytes, from, bytes.length - from, null, (error, written = 0) => {
      if (error?.code === "EAGAIN") setTimeout(() => this.#write(bytes, from), 1);
      // Nobody reads any more, so there is nobody to tell.
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
    // Proves that stderr can be opened again, before stdout is given up.
    closeSync(openSync("/proc/self/fd/2", flags));
    wire = openSync("/proc/self/fd/1", flags);
  } catch {
    process.stdout.write = process.stderr.write.bind(process.stderr);
    return 1;
  }
  closeSync(1);
  // The lowest free number is taken, which is 1.
  openSync("/proc/self/fd/2", flags);
  return wire;
}

/** Gives whole lines out of chunks of any size; of a line that is too long it keeps nothing. */
export function lineSplitter(onLine, onTooLong) {
  let parts = [];
  let size = 0;
  const take = (part) => {
    size += part.length;
    // One more for the carriage return that may stand before the newline.
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
    // A BigInt and a cycle are both a TypeError; the second try tells them apart.
    if (!(error instanceof TypeError)) throw error;
    const marker = `bigint ${randomUUID()} `;
    const mark = (_, value) => (typeof value === "bigint" ? marker + value : value);
    return JSON.stringify(message, mark).replace(new RegExp(`"${marker}(-?\\d+)"`, "g"), "$1");
  }
}

/** How deep a JSON text nests. Brackets inside strings do not count. */
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

/** Resolves with the work, or without it when it takes too long. */
export function atMost(milliseconds, work) {
  return Promise.race([work, new Promise((resolve) => setTimeout(resolve, milliseconds))]);
}
