// A harness in small: starts an adapter, sends it lines and collects what comes back.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";

const KIT = new URL("../proofmark.mjs", import.meta.url).href;

// Node gives its children sockets for stdin and stdout; the shell gives them pipes, as Proofmark does.
const WITH_PIPES = ["/bin/sh", "-c", '{ "$@" 2>&1 1>&3 | cat >&2; } 3>&1 | cat', "sh"];

// A test that fails leaves its adapter behind, and the run would wait for it.
const running = new Set();
after(() => {
  for (const child of running) {
    child.kill("SIGKILL");
    for (const stream of child.stdio) stream.destroy();
  }
});

/** Starts an adapter whose operations, and what else it has, are given as source text. */
export function adapter(operations, more = "", { withPipes = false } = {}) {
  const source = `
    import { AdapterError, ContractError, NotScriptedError, SessionClosedError, serve } from ${JSON.stringify(KIT)};
    serve({ name: "test", version: "1", language: "typescript", contracts: [], operations: ${operations}, ${more} });
  `;
  const command = [process.execPath, "--input-type=module", "--eval", source];
  const [program, ...args] = withPipes ? [...WITH_PIPES, ...command] : command;
  return new Harness(spawn(program, args));
}

export class Harness {
  /** Notifications, in the order in which they came. */
  events = [];
  stderr = "";
  /** Answers a `fake` request: gets its params, gives the whole `result` or throws the JSON-RPC error. */
  onFake = () => assert.fail("no fake was expected");
  #child;
  #answers = new Map();
  #withoutId = [];
  #lastId = 0;
  #rest = "";

  constructor(child) {
    this.#child = child;
    running.add(child);
    child.once("exit", () => running.delete(child));
    child.stdout.setEncoding("utf8").on("data", (chunk) => this.#receive(chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk) => (this.stderr += chunk));
    // The adapter may end before it has read everything, which is what some tests are about.
    child.stdin.on("error", () => {});
    /** The exit code, as soon as the process ends; `closed` waits until its output is read as well. */
    this.exited = once(child, "exit").then(([code, signal]) => code ?? signal);
    this.closed = once(child, "close").then(([code, signal]) => {
      for (const { reject } of this.#answers.values()) reject(new Error(`the adapter ended: ${this.stderr}`));
      return code ?? signal;
    });
  }

  get stdout() {
    return this.#child.stdout;
  }

  send(bytes) {
    this.#child.stdin.write(bytes);
  }

  end() {
    this.#child.stdin.end();
    return this.closed;
  }

  /** The whole answer to a request, with `result` or `error`. */
  request(method, params) {
    const id = this.#lastId++;
    this.send(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return this.answer(id);
  }

  answer(id) {
    const answer = new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject }));
    answer.catch(() => {});
    return answer;
  }

  /** The next answer whose id is null. */
  answerToNobody() {
    return new Promise((resolve) => this.#withoutId.push(resolve));
  }

  async open(params = {}) {
    const clock = { start: "2024-01-01T00:00:00.000Z", stepMs: 1000 };
    const { result } = await this.request("open", { session: "s", clock, random: { ints: [], floats: [] }, fakes: [], ...params });
    assert.deepEqual(result, {});
  }

  async call(operation, args = {}, session = "s") {
    const { result, error } = await this.request("call", { session, operation, args });
    return result ?? { broken: error };
  }

  async stop() {
    await this.request("shutdown");
    assert.equal(await this.end(), 0);
  }

  #receive(chunk) {
    this.#rest += chunk;
    if (!chunk.includes("\n")) return;
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop();
    for (const line of lines) this.#take(JSON.parse(line));
  }

  async #take(message) {
    if (message.method === "event") this.events.push(message.params);
    else if (message.method === "fake") {
      let answer;
      try {
        answer = { result: await this.onFake(message.params) };
      } catch (error) {
        answer = { error };
      }
      this.send(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer })}\n`);
    } else if (message.id === null) this.#withoutId.shift()(message);
    else {
      const waiting = this.#answers.get(message.id);
      this.#answers.delete(message.id);
      waiting.resolve(message);
    }
  }
}
