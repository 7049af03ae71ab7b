/**
 * One chat: forwards the provider's items as they come, runs the tools that the model calls, and asks the provider
 * again with their results. It fetches items only on demand, and dropping the stream stops the provider.
 */

import { invalid, typedError, type TypedError } from "./errors.ts";
import { Deadline } from "./llm-deadline.ts";
import type { ChatMessage, ChatOptions, StreamEvent, ToolRunner, Usage } from "./llm.ts";
import { faultsOf } from "./schema-validate.ts";
import { asToolError } from "./tools-runtime.ts";
import { canonicalJSONStringify } from "./utils.ts";

/** One answer of the provider, item by item. */
export type Ask = (options: ChatOptions, deadline: Deadline) => AsyncIterable<StreamEvent>;

export interface Chat {
  readonly ask: Ask;
  readonly options: ChatOptions;
  /** The argument schema of each tool. */
  readonly schemas: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly runTool: ToolRunner | undefined;
  readonly maxRounds: number;
  readonly startedAt: number;
}

type ToolCall = Extract<StreamEvent, { type: "tool_call" }>;
type ToolAnswer = Extract<StreamEvent, { type: "tool_result" }>;

/** The result of one answer of the provider. */
interface Round {
  text: string;
  usage: Usage | undefined;
  /** By their ids, in their order. */
  readonly calls: Map<string, { readonly call: ToolCall; answer: ToolAnswer | undefined }>;
}

export async function* chatStream(chat: Chat): AsyncGenerator<StreamEvent, void> {
  const { options, maxRounds, runTool } = chat;
  const deadline = new Deadline(chat.startedAt, options.timeoutMs);
  const known = new Set<string>();
  const usages: (Usage | undefined)[] = [];
  let { messages } = options;
  for (let rounds = 1; ; rounds++) {
    const round: Round = { text: "", usage: undefined, calls: new Map() };
    yield* playRound(chat, { ...options, messages }, deadline, known, round);
    usages.push(round.usage);
    if (round.calls.size === 0 || !runTool) break;
    if (rounds === maxRounds) throw tooManyRounds(maxRounds);
    messages = [...messages, ...asMessages(round)];
  }
  const usage = sum(usages);
  yield usage ? { type: "end", usage } : { type: "end" };
}

/** All items of one answer except `end`. At the end, each call has its result. */
async function* playRound(
  chat: Chat,
  options: ChatOptions,
  deadline: Deadline,
  known: Set<string>,
  round: Round,
): AsyncGenerator<StreamEvent, void> {
  for await (const event of chat.ask(options, deadline)) {
    if (event.type === "end") round.usage = event.usage;
    else if (event.type === "text") {
      round.text += event.value;
      yield event;
    } else if (event.type === "tool_result") {
      // The provider ran the tool itself.
      const open = round.calls.get(event.callId);
      if (!open) throw unpaired(event.callId, "is the result of no call");
      if (open.answer) throw unpaired(event.callId, "has a result already");
      open.answer = event;
      yield event;
    } else {
      if (known.has(event.callId)) throw unpaired(event.callId, "was used before");
      known.add(event.callId);
      const made: { call: ToolCall; answer: ToolAnswer | undefined } = { call: event, answer: undefined };
      round.calls.set(event.callId, made);
      yield event;
      if (chat.runTool) yield (made.answer = await answerTo(event, chat, deadline));
    }
  }
  // Without a runner, the provider should have run them.
  for (const made of round.calls.values()) {
    if (!made.answer) yield (made.answer = await answerTo(made.call, chat, deadline));
  }
}

async function answerTo(call: ToolCall, chat: Chat, deadline: Deadline): Promise<ToolAnswer> {
  return { type: "tool_result", callId: call.callId, result: await resultOf(call, chat, deadline) };
}

/** The tool's result, or its refusal or failure as a tool result. */
async function resultOf({ toolName, arguments: input }: ToolCall, { schemas, runTool }: Chat, deadline: Deadline): Promise<unknown> {
  const schema = schemas.get(toolName);
  if (!schema) {
    const fault = { field: "toolName", reason: "is not a tool of this chat", received: toolName };
    return failure(invalid(`there is no tool \`${toolName}\``, [fault]));
  }
  const faults = faultsOf(schema, input);
  if (faults.length > 0) return failure(invalid(`the arguments do not fit the schema of \`${toolName}\``, faults));
  if (!runTool) {
    return failure(typedError("EPERMISSION", "no tool runner is configured", { resource: toolName, operation: "execute" }));
  }
  try {
    return await deadline.keep(Promise.resolve().then(() => runTool(toolName, input)), "execute");
  } catch (error) {
    if (error === deadline.error) throw error;
    return failure(error);
  }
}

const failure = (error: unknown) => ({ ok: false, error: asToolError(error) });

/** The model's answer and the tool results, as messages for the next round. */
function asMessages({ text, calls }: Round): ChatMessage[] {
  const answers = [...calls].map(([callId, { answer }]): ChatMessage => {
    return { role: "tool", tool_call_id: callId, content: canonicalJSONStringify(answer?.result ?? null) };
  });
  return [{ role: "assistant", content: text }, ...answers];
}

/** Known only if every round reported it. */
function sum(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const total = { prompt: 0, completion: 0 };
  for (const usage of usages) {
    if (!usage) return undefined;
    total.prompt += usage.prompt;
    total.completion += usage.completion;
  }
  return total;
}

function unpaired(callId: string, reason: string): TypedError {
  const message = `the provider's calls and results do not pair: \`${callId}\` ${reason}`;
  return invalid(message, [{ field: "callId", reason, received: callId }]);
}

function tooManyRounds(maxRounds: number): TypedError {
  return typedError("EHALT", `the model still calls tools after ${maxRounds} rounds`, {
    invariant: "a chat ends within its rounds",
    expected: `no tool calls in round ${maxRounds}`,
    actual: "tool calls",
  });
}
