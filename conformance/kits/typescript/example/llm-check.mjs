// Tests with other kinds of providers than the suite's scripted one. Needs a build.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createLLM } from "../dist/llm.js";

const OPTIONS = { model: "m", messages: [{ role: "user", content: "Hi" }] };

function llmOver(chat) {
  const llm = createLLM();
  llm.setProvider({ name: "p", chat, models: async () => [] });
  return llm;
}

async function taken(llm, options = {}, settings = {}, most = Infinity) {
  const items = [];
  try {
    for await (const item of await llm.createChatStream({ ...OPTIONS, ...options }, settings)) {
      items.push(item);
      if (items.length === most) break;
    }
    return { items };
  } catch (error) {
    return { items, error };
  }
}

test("a generator is a provider, and so is a promise of text", async () => {
  async function* streams() {
    yield { type: "text", value: "a" };
    yield { type: "end", usage: { prompt: 1, completion: 2 } };
  }
  assert.deepEqual(await taken(llmOver(streams)), { items: [{ type: "text", value: "a" }, { type: "end", usage: { prompt: 1, completion: 2 } }] });
  assert.deepEqual(await taken(llmOver(async () => ({ text: "a" }))), { items: [{ type: "text", value: "a" }, { type: "end" }] });
});

test("a generator that is stuck does not hold up the time-out", async () => {
  async function* stuck() {
    yield { type: "text", value: "a" };
    await new Promise(() => {});
  }
  const { items, error } = await taken(llmOver(stuck), { timeoutMs: 20 });
  assert.equal(error.code, "ETIMEOUT");
  assert.equal(items.length, 1);
});

test("a provider that is always quicker than the timer is timed out as well", async () => {
  async function* endless() {
    for (;;) yield { type: "text", value: "a" };
  }
  const { error } = await taken(llmOver(endless), { timeoutMs: 20 });
  assert.equal(error.code, "ETIMEOUT");
  assert.ok(error.elapsedMs >= 20);
});

test("a stream that comes too late is released", async () => {
  let isReleased = false;
  const late = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: async () => ((isReleased = true), { done: true }) }) };
  const { error } = await taken(llmOver(() => new Promise((resolve) => setTimeout(resolve, 40, late))), { timeoutMs: 10 });
  assert.equal(error.code, "ETIMEOUT");
  while (!isReleased) await new Promise((resolve) => setTimeout(resolve, 5));
});

test("dropping the stream releases the provider in any round", async () => {
  let released = 0;
  async function* calls({ messages }) {
    try {
      yield { type: "tool_call", toolName: "t", arguments: {}, callId: `c${messages.length}` };
      yield { type: "end" };
    } finally {
      released++;
    }
  }
  const tools = [{ name: "t", parameters: { type: "object" } }];
  const runTool = async () => ({ ok: true });
  const { items } = await taken(llmOver(calls), { tools }, { runTool }, 3);
  assert.deepEqual(items.map(({ type }) => type), ["tool_call", "tool_result", "tool_call"]);
  assert.equal(released, 2);
});

test("items are fetched only on demand", async () => {
  let pulled = 0;
  async function* counted() {
    for (;;) yield { type: "text", value: String(++pulled) };
  }
  const llm = llmOver(counted);
  await llm.createChatStream(OPTIONS);
  assert.equal(pulled, 0);
  await taken(llm, {}, {}, 2);
  assert.equal(pulled, 2);
});

test("later changes of the options have no effect", async () => {
  const asked = [];
  const llm = llmOver(async ({ messages }) => ({ text: asked.push(messages[0].content) && "" }));
  const options = structuredClone(OPTIONS);
  const stream = await llm.createChatStream(options);
  options.messages[0].content = "Bye";
  for await (const _ of stream);
  assert.deepEqual(asked, ["Hi"]);
});

test("a reader cannot change a cached answer", async () => {
  let asked = 0;
  async function* calls() {
    asked++;
    yield { type: "tool_call", toolName: "t", arguments: { list: [1] }, callId: "c" };
    yield { type: "end" };
  }
  const llm = llmOver(calls);
  const first = await taken(llm, {}, { cache: true });
  first.items[0].arguments.list.push(2);
  const second = await taken(llm, {}, { cache: true });
  assert.deepEqual(second.items[0].arguments, { list: [1] });
  assert.equal(asked, 1);
});
