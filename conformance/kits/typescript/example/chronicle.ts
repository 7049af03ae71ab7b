/** `sage.chronicle`: durable, append-only logs of events that many agents and processes share. */

import { parseLine, readLast, readLines } from "./chronicle-file.ts";
import { locate, pathFaults, type Place } from "./chronicle-path.ts";
import { append, hold, type Entry } from "./chronicle-writer.ts";
import { invalid, ioError, isRecord, type Detail } from "./errors.ts";
import { canonicalJSONStringify, sha256Hex } from "./utils.ts";

export type ChroniclePath = string;

export interface Actor {
  agent: string;
  id: string;
}

export interface ChronicleEventBase {
  type: string;
  eventId?: string;
  timestamp: string;
  actor: Actor;
  planHash?: string;
  graphCommit?: string;
  prevEventId?: string;
  tags?: string[];
}

export type ChronicleEvent = ChronicleEventBase & Record<string, unknown>;

export interface Chronicles {
  appendEvent(path: ChroniclePath, evt: ChronicleEvent, lockTimeoutMs?: number): Promise<void>;
  appendEventWithId(path: ChroniclePath, evt: ChronicleEvent, lockTimeoutMs?: number): Promise<void>;
  readChronicle(path: ChroniclePath): Promise<ChronicleEvent[]>;
  tailChronicle(path: ChroniclePath, n?: number): Promise<ChronicleEvent[]>;
  /** Takes the lock of appends; the returned function releases it. */
  lockChronicle(path: ChroniclePath, lockTimeoutMs?: number): Promise<() => void>;
}

const DEFAULT_LOCK_TIMEOUT_MS = 2000;
const DEFAULT_TAIL = 10;
const SHA256 = /^[0-9a-f]{64}$/i;

/** The chronicles of the workspace at `root`. */
export function chroniclesIn(root: string): Chronicles {
  return {
    async appendEvent(path, evt, lockTimeoutMs = DEFAULT_LOCK_TIMEOUT_MS) {
      refuse("the event cannot be appended", [...pathFaults(path), ...eventFaults(evt), ...timeoutFaults(lockTimeoutMs)]);
      // Replace a given id: the id of an event is the hash of everything else in it.
      const { eventId: _, ...payload } = evt;
      await write(path, payload, sha256Hex(canonicalJSONStringify(payload)), lockTimeoutMs);
    },

    async appendEventWithId(path, evt, lockTimeoutMs = DEFAULT_LOCK_TIMEOUT_MS) {
      refuse("the event cannot be appended", [
        ...pathFaults(path),
        ...eventFaults(evt),
        ...idFaults(evt),
        ...timeoutFaults(lockTimeoutMs),
      ]);
      const { eventId, ...payload } = evt;
      await write(path, payload, eventId as string, lockTimeoutMs);
    },

    async readChronicle(path) {
      refuse("the chronicle cannot be read", pathFaults(path));
      const lines = await fromFile(path, readLines);
      return lines.map(parseEvent).filter((event) => event !== undefined);
    },

    async tailChronicle(path, n = DEFAULT_TAIL) {
      const isCount = Number.isSafeInteger(n) && n >= 0;
      const fault = { field: "n", reason: "must be a whole number, not negative", received: n, expected: "integer" };
      refuse("the chronicle cannot be read", [...pathFaults(path), ...(isCount ? [] : [fault])]);
      return fromFile(path, (file) => readLast(file, n, parseEvent));
    },

    async lockChronicle(path, lockTimeoutMs = DEFAULT_LOCK_TIMEOUT_MS) {
      refuse("the chronicle cannot be locked", [...pathFaults(path), ...timeoutFaults(lockTimeoutMs)]);
      const lock = await hold(located(path), path, lockTimeoutMs);
      return () => lock.release();
    },
  };

  function write(path: string, payload: Record<string, unknown>, eventId: string, timeoutMs: number): Promise<void> {
    const event = { ...payload, eventId };
    // Serialize before the first await: the caller may change the event while it waits for the lock.
    const entry: Entry = { line: JSON.stringify(event), canonical: canonicalJSONStringify(event) };
    return append(located(path), entry, path, timeoutMs);
  }

  function located(path: string): Place {
    try {
      return locate(root, path, true);
    } catch (error) {
      throw inContractsForm("append", path, error);
    }
  }

  /** The result of `read` on the file; empty if the file is missing. */
  async function fromFile<T>(path: string, read: (file: string) => Promise<T[]>): Promise<T[]> {
    try {
      const place = locate(root, path, false);
      return place === undefined ? [] : await read(place.file);
    } catch (error) {
      // It was removed meanwhile.
      if (isRecord(error) && error["code"] === "ENOENT") return [];
      throw inContractsForm("read", path, error);
    }
  }
}

/** Converts a file system error to `EIO`; a refusal stays as it is. */
function inContractsForm(operation: string, path: string, error: unknown): unknown {
  const isRefusal = isRecord(error) && error["code"] === "EVALIDATION";
  return isRefusal ? error : ioError(operation, path, error);
}

function parseEvent(line: Buffer): ChronicleEvent | undefined {
  const value = parseLine(line);
  return eventFaults(value).length === 0 ? (value as ChronicleEvent) : undefined;
}

function eventFaults(event: unknown): Detail[] {
  if (!isRecord(event)) return [{ field: "event", reason: "must be an object", received: event, expected: "object" }];
  const { type, timestamp, actor } = event;
  const faults = [...stringFaults("type", type), ...stringFaults("timestamp", timestamp)];
  if (!isRecord(actor)) return [...faults, { field: "actor", reason: "must be an object", received: actor, expected: "object" }];
  return [...faults, ...stringFaults("actor.agent", actor["agent"]), ...stringFaults("actor.id", actor["id"])];
}

function idFaults(event: unknown): Detail[] {
  const id = isRecord(event) ? event["eventId"] : undefined;
  if (typeof id === "string" && SHA256.test(id)) return [];
  return [{ field: "eventId", reason: "must be a SHA-256 in hex", received: id, expected: "64 hex digits" }];
}

function timeoutFaults(timeoutMs: unknown): Detail[] {
  if (typeof timeoutMs === "number" && Number.isFinite(timeoutMs) && timeoutMs >= 0) return [];
  return [{ field: "lockTimeoutMs", reason: "must be a number, not negative", received: timeoutMs, expected: "number" }];
}

function stringFaults(field: string, value: unknown): Detail[] {
  return typeof value === "string" ? [] : [{ field, reason: "must be a string", received: value, expected: "string" }];
}

function refuse(message: string, details: Detail[]): void {
  if (details.length > 0) throw invalid(message, details);
}
