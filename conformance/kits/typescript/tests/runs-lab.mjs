// A server of runs in this process with a provider that follows a plan, and what speaks to it: requests and streams.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunsServer } from "../dist/runs-http.js";
import { Runs } from "../dist/runs-server.js";

export const UNKNOWN = "00000000-0000-4000-8000-00000000dead";

/** Longer than anything takes here on a busy machine. A test that waits in vain shall fail, and say for what. */
const PATIENCE_MS = 20_000;

export async function within(wait, what) {
  let timer;
  const tooLong = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`in vain was waited for ${what}`)), PATIENCE_MS)));
  try {
    return await Promise.race([wait, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

/** A folder of the test's own. It goes only when nobody writes there any more. */
export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "runs-"));
  t.after(async () => {
    await Promise.all(labs.filter(({ workspace }) => workspace === path).map((lab) => lab.stop()));
    rmSync(path, { recursive: true });
  });
  return path;
}

const labs = [];

/** Starts a server on a folder, a new one if none is given; it is gone after the test. */
export async function lab(t, workspace = folder(t), provider = new PlannedProvider()) {
  let seconds = 0;
  const clock = { now: () => new Date(Date.UTC(2024, 0, 1) + 1000 * seconds++).toISOString() };
  const runs = await Runs.open(workspace, clock, provider);
  const server = new RunsServer(runs);
  const made = new Lab(await server.listen(), workspace, provider, async () => {
    await server.close();
    await runs.stop();
  });
  labs.push(made);
  runs.goOn();
  return made;
}

export class Lab {
  #stop;

  constructor(base, workspace, provider, stop) {
    this.base = base;
    this.workspace = workspace;
    this.provider = provider;
    this.#stop = stop;
  }

  stop() {
    this.stopped ??= this.#stop?.() ?? Promise.resolve();
    return this.stopped;
  }

  /** Any answer: its status, its headers and its body. */
  async request(method, path, { body, text = body === undefined ? "" : JSON.stringify(body), headers = {} } = {}) {
    const request = httpRequest(this.base + path, { method, headers, agent: false });
    const answered = new Promise((resolve, reject) => request.once("response", resolve).once("error", reject));
    request.end(text);
    const response = await within(answered, `the answer to ${method} ${path}`);
    let answer = "";
    for await (const chunk of response.setEncoding("utf8")) answer += chunk;
    return { status: response.statusCode, headers: response.headers, body: answer === "" ? null : JSON.parse(answer) };
  }

  /** The body of an answer that is no refusal. */
  async do(method, path, body) {
    const answer = await this.request(method, path, { body });
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async refused(status, method, path, more) {
    const answer = await this.request(method, path, more);
    assert.equal(answer.status, status, `${method} ${path} ${JSON.stringify(more)}: ${JSON.stringify(answer.body)}`);
    assert.equal(typeof answer.body.error.code, "string");
    assert.equal(typeof answer.body.error.message, "string");
    return answer;
  }

  run(body = {}) {
    return this.do("POST", "/api/runs", body);
  }

  snapshot(runId) {
    return this.do("GET", `/api/runs/${runId}`);
  }

  node(runId, label, more = {}) {
    return this.do("POST", `/api/runs/${runId}/nodes`, { label, roleTemplate: "implementer", provider: "claude", ...more });
  }

  edge(runId, from, to, more = {}) {
    return this.do("POST", `/api/runs/${runId}/edges`, { from: from.id, to: to.id, ...more });
  }

  chat(runId, node, content, more = {}) {
    return this.do("POST", `/api/runs/${runId}/chat`, { content, nodeId: node.id, ...more });
  }

  events(runId) {
    return this.do("GET", `/api/runs/${runId}/events`);
  }

  /** Opens the stream of a run; a refusal is thrown as `{ status, body }`. */
  stream(t, runId, after) {
    const query = new URLSearchParams({ runId, ...(after === undefined ? {} : { after }) });
    return openSocket(t, `${this.base}/ws?${query}`);
  }
}

export async function openSocket(t, url, headers = {}) {
  const request = httpRequest(url, {
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      ...headers,
    },
  });
  const opened = new Promise((resolve, reject) => {
    request.once("error", reject);
    request.once("upgrade", (response, socket, head) => resolve(new Stream(response, socket, head)));
    request.once("response", async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      reject(Object.assign(new Error(text), { status: response.statusCode, headers: response.headers, body: JSON.parse(text) }));
    });
  });
  request.end();
  const stream = await opened;
  t.after(() => stream.socket.destroy());
  return stream;
}

/** The client's side of a WebSocket, as far as a consumer of events needs one. */
class Stream {
  #bytes = Buffer.alloc(0);
  #frames = [];
  #wake = () => {};

  constructor(response, socket, head) {
    this.accept = response.headers["sec-websocket-accept"];
    this.socket = socket;
    socket.on("error", () => {});
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("close", () => this.#put({ opcode: "gone" }));
    this.#receive(head);
  }

  /** The next frame: its opcode and its payload; `gone` when the connection is. */
  async frame() {
    while (this.#frames.length === 0) await within(new Promise((resolve) => (this.#wake = resolve)), "a frame");
    return this.#frames.shift();
  }

  async message() {
    const { opcode, payload } = await this.frame();
    assert.equal(opcode, 1, `a text message was to come, not ${opcode}`);
    return JSON.parse(payload.toString());
  }

  /** The messages up to the first that has these members. */
  async until(members) {
    const messages = [];
    do messages.push(await this.message());
    while (!has(messages.at(-1), members));
    return messages;
  }

  send(opcode, payload = Buffer.alloc(0), { isLast = true, isMasked = true, reserved = 0 } = {}) {
    const bytes = Buffer.from(payload);
    const length = bytes.length < 126 ? [bytes.length] : [126, bytes.length >> 8, bytes.length & 255];
    if (isMasked) length[0] |= 0x80;
    const mask = Buffer.from([1, 2, 3, 4]);
    const masked = isMasked ? Buffer.concat([mask, bytes.map((byte, at) => byte ^ mask[at % 4])]) : bytes;
    this.socket.write(Buffer.concat([Buffer.from([(isLast ? 0x80 : 0) | reserved | opcode, ...length]), masked]));
  }

  #put(frame) {
    this.#frames.push(frame);
    this.#wake();
  }

  #receive(chunk) {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      if (this.#bytes.length < 2) return;
      const [first, second] = this.#bytes;
      const more = second === 126 ? 2 : second === 127 ? 8 : 0;
      if (this.#bytes.length < 2 + more) return;
      const length = more === 0 ? second : more === 2 ? this.#bytes.readUInt16BE(2) : Number(this.#bytes.readBigUInt64BE(2));
      if (this.#bytes.length < 2 + more + length) return;
      this.#put({ opcode: first & 15, payload: this.#bytes.subarray(2 + more, 2 + more + length) });
      this.#bytes = this.#bytes.subarray(2 + more + length);
    }
  }
}

export function has(value, members) {
  if (typeof members !== "object" || members === null) return value === members;
  return typeof value === "object" && value !== null && Object.entries(members).every(([key, member]) => has(value[key], member));
}

/** Gives each node's turns what was planned for its label; a turn whose plan runs out waits for `say` or for its end. */
export class PlannedProvider {
  asked = [];
  #plans = new Map();
  #turns = new Map();
  #watchers = [];

  plan(label, ...turns) {
    this.#plans.set(label, [...(this.#plans.get(label) ?? []), ...turns]);
  }

  /** Adds an item to a turn that is under way. An Error is the provider's failure. */
  say(turn, item) {
    const { items, wake } = this.#turns.get(turn);
    items.push(item);
    wake();
  }

  /** Resolves when that was asked for the `count`th time, with its arguments. */
  async until(method, count = 1) {
    for (;;) {
      const found = this.asked.filter((ask) => ask.method === method);
      if (found.length >= count) return found[count - 1];
      await within(new Promise((resolve) => this.#watchers.push(resolve)), `the provider to be asked for \`${method}\``);
    }
  }

  asks(...methods) {
    return this.asked.filter(({ method }) => methods.includes(method));
  }

  async turn(question) {
    const turn = `turn-${this.#turns.size + 1}`;
    const items = this.#plans.get(question.label)?.shift() ?? [{ done: { message: `done ${turn}` } }];
    this.#turns.set(turn, { items: [...items], wake: () => {} });
    this.#note({ method: "turn", ...question });
    return { turn };
  }

  async next(turn) {
    this.#note({ method: "next", turn });
    const state = this.#turns.get(turn);
    while (state.items.length === 0) await new Promise((resolve) => (state.wake = resolve));
    const item = state.items.shift();
    if (item instanceof Error) throw item;
    return item;
  }

  async resolve(turn, toolId, status, args) {
    this.#note({ method: "resolve", turn, toolId, status, ...(args === undefined ? {} : { args }) });
    return null;
  }

  async stop(turn) {
    this.#note({ method: "stop", turn });
    if (this.#turns.has(turn)) this.say(turn, { stopped: true });
    return null;
  }

  #note(ask) {
    this.asked.push(ask);
    for (const wake of this.#watchers.splice(0)) wake();
  }
}
