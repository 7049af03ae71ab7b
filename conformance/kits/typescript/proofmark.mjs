// Proofmark's adapter kit for Node: speaks the subject protocol, version 1, so that an adapter is only a table of
// operations. No dependencies: copy the four files `proofmark*` into your project.

import { isUtf8 } from "node:buffer";
import {
  AdapterError,
  ContractError,
  NotScriptedError,
  SessionClosedError,
  describe,
  flattenError,
  isContractError,
  rpcError,
} from "./proofmark-errors.mjs";
import { LINE_LIMIT, Wire, atMost, claimStdout, lineSplitter } from "./proofmark-wire.mjs";

export { AdapterError, ContractError, NotScriptedError, SessionClosedError, flattenError, isContractError };

/** @typedef {import("./proofmark.d.mts").Session} OpenSession */

const PROTOCOL = 1;
/** How long cleanups and calls in flight may delay the exit; the harness allows two seconds. */
const GRACE_MS = 400;
/** After this time without a read, the harness counts as gone. */
const STUCK_MS = 1000;

/**
 * Starts to answer the harness on stdin and stdout. See proofmark.d.mts for what an adapter is.
 * @param {import("./proofmark.d.mts").Adapter} adapter
 */
export function serve(adapter) {
  const wire = new Wire(claimStdout());
  const subject = new Subject(adapter, wire);
  const split = lineSplitter(
    (line) => subject.receive(line),
    () => wire.sendError(null, -32700, `a line is longer than ${LINE_LIMIT} bytes`),
  );
  process.stdin.on("data", split);
  process.stdin.on("end", () => subject.end());
  process.stdin.on("error", () => subject.end());
}

/**
 * A session: workspace, clock, random, fakes, and the objects that the subject keeps by handle.
 * @implements {OpenSession}
 */
class Session {
  #objects = new Map();
  #minted = 0;
  #cleanups = [];
  #fakes;
  #ask;

  constructor(params, ask) {
    this.id = params.session;
    this.contract = params.contract;
    this.workspace = params.workspace;
    this.clock = scriptedClock(params.clock);
    this.random = { int: tape("ints", params.random.ints), float: tape("floats", params.random.floats) };
    this.fakes = Object.freeze([...params.fakes]);
    this.#fakes = new Set(params.fakes);
    this.#ask = ask;
  }

  fake(name) {
    return {
      call: (method, args = {}) => {
        const answer = this.#fakes.has(name)
          ? this.#ask(this.id, name, method, args)
          : Promise.reject(new NotScriptedError(`the session has no fake \`${name}\``));
        // A subject may ignore this promise; its rejection must not crash the process.
        answer.catch(() => {});
        return answer;
      },
    };
  }

  put(object, kind = "handle") {
    const handle = `${kind}-${++this.#minted}`;
    this.#objects.set(handle, object);
    return handle;
  }

  has(handle) {
    return this.#objects.has(handle);
  }

  get(handle) {
    if (!this.#objects.has(handle)) throw new AdapterError(`unknown handle ${JSON.stringify(handle)}`);
    return this.#objects.get(handle);
  }

  remove(handle) {
    return this.#objects.delete(handle);
  }

  onClose(cleanup) {
    this.#cleanups.push(cleanup);
  }

  /** For the kit: runs all cleanups, the newest first, even if one fails. */
  async dispose() {
    const failures = [];
    for (const cleanup of this.#cleanups.splice(0).reverse()) {
      await Promise.resolve().then(cleanup).catch((error) => failures.push(error));
    }
    this.#objects.clear();
    if (failures.length > 0) throw failures[0];
  }
}

class Subject {
  #adapter;
  #wire;
  #operations;
  #sessions = new Map();
  #asked = new Map();
  #lastId = 0;
  #callsInFlight = new Set();

  constructor(adapter, wire) {
    this.#adapter = adapter;
    this.#wire = wire;
    const { operations } = adapter;
    if (typeof operations !== "function") this.#operations = operations;
    // Loaded only now, when stdout is safe from modules that print while they load.
    else this.#operations = Promise.resolve().then(operations);
    if (this.#operations instanceof Promise) this.#operations.catch(() => {});
  }

  receive(line) {
    let message;
    try {
      if (!isUtf8(line)) throw new Error("it is not UTF-8");
      const text = line.toString("utf8");
      if (/^[ \t\r]*$/.test(text)) return;
      message = JSON.parse(text);
    } catch (error) {
      this.#wire.sendError(null, -32700, `the line is not JSON: ${error instanceof Error ? error.message : error}`);
      return;
    }
    const isObject = isRecord(message) && message.jsonrpc === "2.0";
    const hasId = isObject && (typeof message.id === "number" || typeof message.id === "string");
    if (hasId && typeof message.method === "string") this.#take(message);
    else if (hasId && ("result" in message || "error" in message)) this.#answered(message);
    // Unknown notifications are ignored, as the protocol requires.
    else if (isObject && typeof message.method === "string" && message.id === undefined) return;
    else this.#wire.sendError(hasId ? message.id : null, -32600, "the line is JSON, but not a message");
  }

  /** The harness has closed stdin: answer what can still be answered, clean up and exit. */
  async end() {
    for (const { reject } of this.#asked.values()) reject(new SessionClosedError("the harness has gone"));
    await this.#callsSettled();
    await this.#leave();
  }

  #take(request) {
    const answered = this.#answer(request);
    if (request.method !== "call") return;
    // In flight until the answer is sent.
    this.#callsInFlight.add(answered);
    answered.then(() => this.#callsInFlight.delete(answered));
  }

  #callsSettled() {
    return atMost(GRACE_MS, Promise.allSettled(this.#callsInFlight));
  }

  async #leave() {
    await atMost(GRACE_MS, Promise.allSettled([...this.#sessions.values()].map((session) => session.dispose())));
    await this.#wire.flushedOrStuck(STUCK_MS);
    process.exit(0);
  }

  async #answer({ id, method, params = {} }) {
    try {
      const result = await this.#handle(id, method, params);
      this.#wire.send({ id, result });
    } catch (error) {
      this.#wire.sendError(id, ...rpcError(error));
    }
    if (method === "shutdown") await this.#leave();
  }

  #handle(id, method, params) {
    if (!isRecord(params)) throw new AdapterError("params must be an object", -32602);
    switch (method) {
      case "hello":
        return this.#hello(params);
      case "open":
        return this.#open(params);
      case "call":
        return this.#call(id, params);
      case "close":
        return this.#close(params);
      case "shutdown":
        return this.#callsSettled().then(() => null);
      default:
        throw new AdapterError(`unknown method \`${method}\``, -32601);
    }
  }

  async #hello({ protocol }) {
    if (protocol !== PROTOCOL) throw new AdapterError(`this adapter speaks protocol ${PROTOCOL}`, -32602);
    // Report an implementation that cannot be loaded now, not at the first case.
    await this.#operations;
    const { name, version, language, contracts, hooks, options } = this.#adapter;
    return { protocol: PROTOCOL, name, version, language, contracts, hooks, options };
  }

  async #open(params) {
    checkOpen(params);
    if (this.#sessions.has(params.session)) {
      throw new AdapterError(`session \`${params.session}\` is already open`, -32602);
    }
    const session = new Session(params, (...request) => this.#ask(...request));
    this.#sessions.set(session.id, session);
    try {
      return openAnswer(await this.#adapter.open?.(session));
    } catch (error) {
      this.#sessions.delete(session.id);
      // Clean up what it started before it failed, such as a listener. The first error says more.
      await session.dispose().catch(() => {});
      throw error;
    }
  }

  async #close(params) {
    const session = this.#session(params);
    this.#sessions.delete(session.id);
    for (const asked of this.#asked.values()) {
      if (asked.session === session.id) asked.reject(new SessionClosedError("the session was closed"));
    }
    await session.dispose();
    return null;
  }

  async #call(id, params) {
    const session = this.#session(params);
    const { operation, args } = params;
    if (typeof operation !== "string") throw new AdapterError("`operation` must be a string", -32602);
    if (!isRecord(args)) throw new AdapterError("`args` must be an object", -32602);
    const operations = this.#operations instanceof Promise ? await this.#operations : this.#operations;
    const handler = Object.hasOwn(operations, operation) ? operations[operation] : undefined;
    if (typeof handler !== "function") throw new AdapterError(`operation \`${operation}\` is not implemented`, -32601);
    let isOver = false;
    const event = (item) => {
      if (isOver) throw new AdapterError("an event after the answer to its call");
      this.#wire.send({ method: "event", params: { session: session.id, call: id, item: item ?? null } });
      return this.#wire.drained();
    };
    try {
      const value = await settle(handler.call(operations, args, session, { id, event }), event);
      return { value: value ?? null };
    } catch (error) {
      if (error instanceof AdapterError) throw error;
      const isContracts = this.#adapter.isContractError?.(error) ?? isContractError(error);
      if (!isContracts) throw error;
      return { error: flattenError(error) };
    } finally {
      isOver = true;
    }
  }

  #session({ session }) {
    const open = this.#sessions.get(session);
    if (!open) throw new AdapterError(`session ${JSON.stringify(session)} is not open`, -32602);
    return open;
  }

  async #ask(session, fake, method, args) {
    if (!this.#sessions.has(session)) throw new SessionClosedError("the session was closed");
    const id = ++this.#lastId;
    const answer = new Promise((resolve, reject) => this.#asked.set(id, { session, resolve, reject }));
    try {
      this.#wire.send({ id, method: "fake", params: { session, fake, method, args } });
      return await answer;
    } finally {
      this.#asked.delete(id);
    }
  }

  #answered({ id, result, error }) {
    const asked = this.#asked.get(id);
    if (!asked) return;
    if (error != null) asked.reject(new AdapterError(`the harness refused: ${describe(error)}`));
    else if (isRecord(result) && "value" in result) asked.resolve(result.value);
    else if (isRecord(result) && isContractError(result.error)) {
      const { code, message, name, cause, ...properties } = result.error;
      asked.reject(new ContractError(code, message, properties, { name, cause }));
    } else asked.reject(new AdapterError("the harness's answer is neither a value nor an error"));
  }
}

/** The value of a handler's result. Items that a generator yields are events. */
async function settle(result, event) {
  const outcome = await result;
  const isGenerator =
    isRecord(outcome) &&
    typeof outcome.next === "function" &&
    (typeof outcome[Symbol.asyncIterator] === "function" || typeof outcome[Symbol.iterator] === "function");
  if (!isGenerator) return outcome;
  for (;;) {
    const { done, value } = await outcome.next();
    if (done) return value;
    try {
      await event(value);
    } catch (error) {
      await outcome.return?.();
      throw error;
    }
  }
}

/** Sends only the wire. An author may return anything else, such as the map that `set` returns. */
function openAnswer(opened) {
  if (!isRecord(opened) || opened.wire === undefined) return {};
  const { wire } = opened;
  const isWire = isRecord(wire) && ["mcp", "http"].some((kind) => isRecord(wire[kind]));
  if (!isWire) throw new AdapterError("`wire` must have `mcp` or `http`, an object each");
  return { wire };
}

function scriptedClock({ start, stepMs }) {
  const first = Date.parse(start);
  let readings = 0;
  return {
    now() {
      const reading = new Date(first + readings * stepMs);
      if (Number.isNaN(reading.getTime())) throw new NotScriptedError("the clock is beyond the range of dates");
      // Keeps the script's own spelling of the start.
      return readings++ === 0 ? start : reading.toISOString();
    },
  };
}

function tape(kind, numbers) {
  let read = 0;
  return () => {
    if (read === numbers.length) throw new NotScriptedError(`the tape of ${kind} is empty after ${read}`);
    return numbers[read++];
  };
}

function checkOpen({ session, workspace, clock, random, fakes }) {
  const isTape = (numbers) => Array.isArray(numbers) && numbers.every((number) => typeof number === "number");
  const faults = [
    typeof session === "string" || "`session` must be a string",
    workspace === undefined || (typeof workspace === "string" && workspace.startsWith("/")) || "`workspace` must be an absolute path",
    (isRecord(clock) && /^[+-]?\d{4,6}-\d\d-\d\dT/.test(clock.start) && !Number.isNaN(Date.parse(clock.start))) ||
      "`clock.start` must be a time in ISO 8601",
    (isRecord(clock) && typeof clock.stepMs === "number") || "`clock.stepMs` must be a number",
    (isRecord(random) && isTape(random.ints) && isTape(random.floats)) || "`random` must have `ints` and `floats`, lists of numbers",
    (Array.isArray(fakes) && fakes.every((name) => typeof name === "string")) || "`fakes` must be a list of strings",
  ].filter((fault) => fault !== true);
  if (faults.length > 0) throw new AdapterError(faults.join("; "), -32602);
}

function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
