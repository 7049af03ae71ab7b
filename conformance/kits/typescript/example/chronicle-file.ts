/** The bytes of a chronicle: lines of JSON, each ended by a newline, only ever added at the end. */

import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "./chronicle-path.ts";

const NEWLINE = 0x0a;
const CHUNK = 64 * 1024;
// Never through a link that came after the path was resolved; never waiting for the other end of a pipe.
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const TO_READ = constants.O_RDONLY | SAFELY;
const TO_APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | SAFELY;

/** All lines of a file, the last one also if it has no newline. */
export function readLines(file: string): Promise<Buffer[]> {
  return withFile(file, TO_READ, async (handle) => {
    const bytes = await handle.readFile();
    const lines: Buffer[] = [];
    let start = 0;
    for (let end; (end = bytes.indexOf(NEWLINE, start)) !== -1; start = end + 1) lines.push(bytes.subarray(start, end));
    lines.push(bytes.subarray(start));
    return lines;
  });
}

/** The last `count` values that `parse` finds in lines, in the order of the file. Reads no more of it than it must. */
export function readLast<T>(file: string, count: number, parse: (line: Buffer) => T | undefined): Promise<T[]> {
  return withFile(file, TO_READ, async (handle, size) => {
    const found: T[] = [];
    if (count === 0) return found;
    for await (const line of linesFromEnd(handle, size)) {
      const value = parse(line);
      if (value !== undefined) found.push(value);
      if (found.length === count) break;
    }
    return found.reverse();
  });
}

/**
 * Adds lines in one write and returns when they are on the disk. If that fails, none of them is there. `choose` gets the
 * last line, if it is a whole one, and says what to add. The caller holds the lock.
 */
export function addLines(file: string, choose: (last: Buffer | undefined) => readonly string[]): Promise<void> {
  return withFile(file, TO_APPEND, async (handle, size) => {
    const ends = linesFromEnd(handle, size);
    const unfinished = (await ends.next()).value as Buffer;
    const last = unfinished.length === 0 ? ((await ends.next()).value as Buffer | undefined) : undefined;
    const lines = choose(last);
    if (lines.length === 0) return;
    // What a killed process left unfinished becomes a line of its own, which readers skip.
    const text = `${unfinished.length > 0 ? "\n" : ""}${lines.join("\n")}\n`;
    try {
      await handle.appendFile(text);
      await handle.datasync();
      if (size === 0) await syncFolder(dirname(file));
    } catch (error) {
      await handle.truncate(size).catch(() => {});
      throw error;
    }
  });
}

/** The value of a line that is whole UTF-8 and JSON, else undefined. */
export function parseLine(line: Buffer): unknown {
  if (line.length === 0 || !isUtf8(line)) return undefined;
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}

async function withFile<T>(file: string, flags: number, work: (handle: FileHandle, size: number) => Promise<T>): Promise<T> {
  const handle = await open(file, flags);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw Object.assign(new Error("it is not a regular file"), { code: "EINVAL" });
    return await work(handle, stat.size);
  } finally {
    await handle.close();
  }
}

/** First what stands after the last newline, which is empty if all is well, then line by line towards the beginning. */
async function* linesFromEnd(handle: FileHandle, size: number): AsyncGenerator<Buffer, void> {
  let pieces: Buffer[] = [];
  for (let end = size; end > 0; end -= Math.min(CHUNK, end)) {
    const start = Math.max(0, end - CHUNK);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
    let to = bytesRead;
    for (let at; to > 0 && (at = buffer.lastIndexOf(NEWLINE, to - 1)) !== -1; to = at) {
      yield Buffer.concat([buffer.subarray(at + 1, to), ...pieces]);
      pieces = [];
    }
    if (to > 0) pieces.unshift(buffer.subarray(0, to));
  }
  yield Buffer.concat(pieces);
}
