/**
 * The bytes of a chronicle: lines of JSON, each ended by a newline, only ever added at the end.
 *
 * Operations that the kernel does in memory are synchronous, because the thread pool would cost more than the work.
 * Operations that wait for the disk (reading a whole file, syncing) are not, so that other calls can proceed.
 */

import { isUtf8 } from "node:buffer";
import { closeSync, constants, fdatasync, fstatSync, ftruncateSync, openSync, read, readSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { syncFolders, type Place } from "./chronicle-path.ts";

const NEWLINE = 0x0a;
const CHUNK = 64 * 1024;
// Never follow a link created after the path was resolved; never wait for the other end of a pipe.
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const TO_READ = constants.O_RDONLY | SAFELY;
const TO_APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | SAFELY;

const readAsync = promisify(read);
const syncAsync = promisify(fdatasync);

/** All lines of a file, including a last one without a newline. */
export function readLines(file: string): Promise<Buffer[]> {
  return withFile(file, TO_READ, async (descriptor, size) => {
    const bytes = await readAll(descriptor, size);
    const lines: Buffer[] = [];
    let start = 0;
    for (let end; (end = bytes.indexOf(NEWLINE, start)) !== -1; start = end + 1) lines.push(bytes.subarray(start, end));
    lines.push(bytes.subarray(start));
    return lines;
  });
}

/** The last `count` values that `parse` finds in lines, in the order of the file. Reads no more of the file than needed. */
export function readLast<T>(file: string, count: number, parse: (line: Buffer) => T | undefined): Promise<T[]> {
  return withFile(file, TO_READ, async (descriptor, size) => {
    const found: T[] = [];
    if (count === 0) return found;
    for (const line of linesFromEnd(descriptor, size)) {
      const value = parse(line);
      if (value !== undefined) found.push(value);
      if (found.length === count) break;
    }
    return found.reverse();
  });
}

/**
 * Adds lines in one write and resolves when they are on the disk. If that fails, none of them is there. `choose` gets
 * the last line, if it is a whole one, and says what to add. The caller holds the lock.
 */
export function addLines(place: Place, choose: (last: Buffer | undefined) => readonly string[]): Promise<void> {
  return withFile(place.file, TO_APPEND, async (descriptor, size) => {
    const [unfinished, last] = lastTwo(descriptor, size);
    const lines = choose(unfinished.length === 0 ? last : undefined);
    if (lines.length === 0) return;
    // The partial line of a killed process becomes a separate line, which readers skip.
    const text = `${unfinished.length > 0 ? "\n" : ""}${lines.join("\n")}\n`;
    try {
      writeAll(descriptor, Buffer.from(text));
      await syncAsync(descriptor);
      if (size === 0) await syncFolders(place);
    } catch (error) {
      takeBack(descriptor, size);
      throw error;
    }
  });
}

/** The value of a line if it is valid UTF-8 and JSON, else undefined. */
export function parseLine(line: Buffer): unknown {
  if (line.length === 0 || !isUtf8(line)) return undefined;
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}

async function withFile<T>(file: string, flags: number, work: (descriptor: number, size: number) => Promise<T>): Promise<T> {
  const descriptor = openSync(file, flags);
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw Object.assign(new Error("it is not a regular file"), { code: "EINVAL" });
    return await work(descriptor, stat.size);
  } finally {
    closeSync(descriptor);
  }
}

async function readAll(descriptor: number, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size);
  for (let filled = 0; filled < size; ) {
    const { bytesRead } = await readAsync(descriptor, bytes, filled, size - filled, filled);
    if (bytesRead === 0) return bytes.subarray(0, filled);
    filled += bytesRead;
  }
  return bytes;
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}

/** Truncates the file to `size`. If that fails too, a partial line stays, which readers skip. */
function takeBack(descriptor: number, size: number): void {
  try {
    ftruncateSync(descriptor, size);
  } catch {
    // The first error says more.
  }
}

/** The text after the last newline, and the line before it. */
function lastTwo(descriptor: number, size: number): [Buffer, Buffer | undefined] {
  const lines = linesFromEnd(descriptor, size);
  const { value: unfinished } = lines.next();
  const { value: last } = lines.next();
  return [unfinished ?? Buffer.alloc(0), last ?? undefined];
}

/** First the text after the last newline, which is normally empty, then the lines from last to first. */
function* linesFromEnd(descriptor: number, size: number): Generator<Buffer, void> {
  let pieces: Buffer[] = [];
  for (let end = size; end > 0; end -= Math.min(CHUNK, end)) {
    const start = Math.max(0, end - CHUNK);
    const chunk = Buffer.allocUnsafe(end - start);
    let to = readSync(descriptor, chunk, 0, chunk.length, start);
    for (let at; to > 0 && (at = chunk.lastIndexOf(NEWLINE, to - 1)) !== -1; to = at) {
      yield Buffer.concat([chunk.subarray(at + 1, to), ...pieces]);
      pieces = [];
    }
    if (to > 0) pieces.unshift(chunk.subarray(0, to));
  }
  yield Buffer.concat(pieces);
}
