// The collaborators of sage.tools and sage.llm, played by the harness: each is a small object that asks a fake. Only
// adapters of these contracts need this file; it goes beside the other files `proofmark*`.

/** @typedef {import("./proofmark.d.mts").Session} Session */
/** @typedef {import("./proofmark.d.mts").Call} Call */

/**
 * A secret provider over the fake `secrets`.
 * @param {Session} session
 */
export function secretProvider(session) {
  return {
    async get(key) {
      return (await session.fake("secrets").call("get", { key })) ?? undefined;
    },
  };
}

/**
 * A graph over the fake `graph`. Absent arguments are not sent.
 * @param {Session} session
 */
export function graph(session) {
  return {
    query(query, params, commit) {
      return session.fake("graph").call("query", {
        query,
        ...(params === undefined ? {} : { params }),
        ...(commit === undefined ? {} : { commit }),
      });
    },
  };
}

/**
 * The behaviour of a tool that a case registered, over the fake `tools`: logs the scripted entries and returns the result.
 * @param {Session} session
 * @param {string} name
 */
export function scriptedExecute(session, name) {
  return async (input, context) => {
    const { log = [], ...result } = await session.fake("tools").call("execute", { name, input });
    for (const entry of log) context?.logger?.(entry);
    return result;
  };
}

/**
 * Runs the tools of a chat, over the fake `tools`.
 * @param {Session} session
 */
export function toolRunner(session) {
  return (name, input) => session.fake("tools").call("execute", { name, input });
}

/**
 * An LLM provider over the fake `llm`. Only the harness's answer shows whether it streams, so `chat` always
 * returns a promise of `{ text }` or of a stream.
 * @param {Session} session
 * @param {string} name
 */
export function llmProvider(session, name) {
  const fake = session.fake("llm");
  return {
    name,
    models: () => fake.call("models", { provider: name }),
    async chat(options) {
      const answer = await fake.call("chat", { provider: name, options });
      return "stream" in answer ? new ScriptedStream(fake, answer.stream) : answer;
    },
  };
}

/**
 * Fetches one item per `next`, never two at a time. Not a generator: its `return` would wait for the
 * pending `next`, so a stalled stream could not be stopped.
 */
class ScriptedStream {
  #fake;
  #id;
  #isOver = false;
  #last = Promise.resolve();

  constructor(fake, id) {
    this.#fake = fake;
    this.#id = id;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    const pulled = this.#last.then(() => this.#pull());
    this.#last = pulled.then(
      () => {},
      () => {},
    );
    return pulled;
  }

  /** Call this to drop the stream (`for await` does). It notifies the harness at once. */
  async return() {
    if (!this.#isOver) {
      this.#isOver = true;
      await this.#fake.call("stop", { stream: this.#id });
    }
    return { done: true, value: undefined };
  }

  async #pull() {
    if (this.#isOver) return { done: true, value: undefined };
    try {
      const answer = await this.#fake.call("next", { stream: this.#id });
      if (!this.#isOver && "event" in answer) return { done: false, value: answer.event };
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
    this.#isOver = true;
    return { done: true, value: undefined };
  }
}

/**
 * A logger whose entries are events of the call.
 * @param {Call} call
 */
export function eventLogger(call) {
  return (entry) => {
    call.event(entry);
  };
}

/**
 * Sends the items of a stream as events of the call. If `take` is given, drops the stream after that many. Resolves when
 * the stream has ended and is released.
 * @param {Call} call
 * @param {AsyncIterable<unknown>} stream
 * @param {number | null} [take]
 */
export async function sendStream(call, stream, take) {
  const iterator = stream[Symbol.asyncIterator]();
  const limit = take ?? Infinity;
  for (let taken = 0; taken < limit; taken++) {
    const { done, value } = await iterator.next();
    if (done) return;
    await call.event(value);
  }
  await iterator.return?.();
}
