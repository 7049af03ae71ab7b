/**
 * The event log of a run: JSON lines, only ever added at the end.
 *
 * Concurrent events are written and synced together. No event is reported before `synced` has resolved, and
 * readers see only what is on the disk.
 */

import { mkdir, open, stat, truncate, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";

const NEWLINE = 0x0a;
const CHUNK = 64 * 1024;

/** The log cannot be written, or what is in it cannot be read. */
export class LogError extends Error {
  override readonly name = "LogError";
}

export class EventLog {
  readonly file: string;
  #size: number;
  #waiting: string[] = [];
  #flushed: Promise<void> = Promise.resolve();
  #failure: LogError | undefined;
  #watchers = new Set<() => void>();

  /** `size` is the current size of the file, in whole lines. */
  constructor(file: string, size: number) {
    this.file = file;
    this.#size = size;
  }

  /** How many bytes of the log are on the disk. */
  get size(): number {
    return this.#size;
  }

  append(event: object): void {
    // After a failure the end of the file is unknown, so nothing more may be appended.
    if (this.#failure) throw this.#failure;
    this.#waiting.push(JSON.stringify(event));
    // Events appended during a write go into the next one.
    if (this.#waiting.length === 1) {
      this.#flushed = this.#flushed.then(() => this.#flush());
      this.#flushed.catch(() => {});
    }
  }

  /** Resolves when all that was appended until now is on the disk. */
  synced(): Promise<void> {
    return this.#flushed;
  }

  /** Calls `wake` whenever more is on the disk. Returns a function that stops that. */
  watch(wake: () => void): () => void {
    this.#watchers.add(wake);
    return () => void this.#watchers.delete(wake);
  }

  /** The lines from one position to another, both at the beginning of a line. */
  lines(from = 0, to = this.#size): AsyncGenerator<Line> {
    return linesOf(this.file, from, to);
  }

  /** The position after the event with that id; undefined if there is no such event. */
  async positionAfter(id: string): Promise<number | undefined> {
    // Every event is written with its id first.
    const beginning = JSON.stringify({ id }).slice(0, -1);
    for await (const { text, end } of this.lines()) {
      if (text.startsWith(`${beginning},`)) return end;
    }
    return undefined;
  }

  async #flush(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    const bytes = Buffer.from(`${lines.join("\n")}\n`);
    try {
      await this.#write(bytes);
    } catch (error) {
      this.#failure = new LogError(`the log \`${this.file}\` cannot be written: ${reason(error)}`);
      throw this.#failure;
    }
    this.#size += bytes.length;
    for (const wake of [...this.#watchers]) wake();
  }

  async #write(bytes: Buffer): Promise<void> {
    if (this.#size === 0) await makeFolder(dirname(this.file));
    const file = await open(this.file, "a");
    try {
      for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
      await file.datasync();
    } finally {
      await file.close();
    }
    if (this.#size === 0) await syncFolder(dirname(this.file));
  }
}

export interface Line {
  readonly text: string;
  /** Where the next line begins. */
  readonly end: number;
}

/** The whole lines of a range of a file, read in chunks. Text after the last newline is left out. */
export async function* linesOf(path: string, from: number, to: number): AsyncGenerator<Line> {
  if (from >= to) return;
  const file = await open(path, "r");
  try {
    let pieces: Buffer[] = [];
    let lineStart = from;
    for (let at = from; at < to; ) {
      const chunk = await read(file, at, Math.min(CHUNK, to - at));
      if (chunk.length === 0) return;
      let start = 0;
      for (let end; (end = chunk.indexOf(NEWLINE, start)) !== -1; start = end + 1) {
        const line = Buffer.concat([...pieces, chunk.subarray(start, end)]);
        pieces = [];
        lineStart += line.length + 1;
        yield { text: line.toString("utf8"), end: lineStart };
      }
      pieces.push(chunk.subarray(start));
      at += chunk.length;
    }
  } finally {
    await file.close();
  }
}

/** Truncates the partial line of a killed process, and returns the remaining size. */
export async function cutHalfLine(path: string): Promise<number> {
  let whole = 0;
  for await (const { end } of linesOf(path, 0, Infinity)) whole = end;
  const { size } = await stat(path);
  if (size > whole) await truncate(path, whole);
  return whole;
}

/** Writes files of one folder, by name. All are complete and on the disk when this resolves. */
export async function writeDurably(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await makeFolder(folder);
  await Promise.all(
    Object.entries(files).map(async ([name, text]) => {
      const file = await open(join(folder, name), "w");
      try {
        await file.writeFile(text);
        await file.datasync();
      } finally {
        await file.close();
      }
    }),
  );
  await syncFolder(folder);
}

/** Syncs the parent, so that a new folder survives a power loss. */
async function makeFolder(folder: string): Promise<void> {
  const topmost = await mkdir(folder, { recursive: true });
  if (topmost === undefined) return;
  for (let at = folder; at !== dirname(topmost); ) {
    at = dirname(at);
    await syncFolder(at);
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
