/** Converts any kind of provider answer to items of the contract, and always releases it. */

import { setTimeout as pause } from "node:timers/promises";
import { isRecord, typedError, type TypedError } from "./errors.ts";
import type { Deadline } from "./llm-deadline.ts";
import type { ChatOptions, LLMProvider, StreamEvent } from "./llm.ts";

const MOMENT_MS = 50;

/** The items up to and including `end`. `EIO` for an invalid item, and for a stream that ends early. */
export async function* openRound(provider: LLMProvider, options: ChatOptions, deadline: Deadline): AsyncGenerator<StreamEvent, void> {
  const answer = await opened(provider, options, deadline);
  if (!isStream(answer)) {
    yield* synthesized(answer);
    return;
  }
  const iterator = answer[Symbol.asyncIterator]();
  let end: StreamEvent | undefined;
  let isReleased = false;
  try {
    for (;;) {
      const { done, value } = await pulled(iterator, deadline);
      if (done) break;
      if (end) throw broken("the provider sent an item after `end`");
      const event = asEvent(value);
      if (event.type === "end") end = event;
      else yield event;
    }
    isReleased = true;
  } catch (error) {
    // A stream that threw is finished; one that is late or sent an invalid item must be released.
    isReleased = error instanceof Thrown;
    throw error instanceof Thrown ? error.error : error;
  } finally {
    // Not awaited after a timeout: many streams end only after the pending item.
    if (!isReleased) await release(iterator, deadline.error === undefined);
  }
  if (!end) throw broken("the provider's stream ended without `end`");
  yield end;
}

/** Wraps an error that the stream itself threw. */
class Thrown {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

async function pulled(iterator: AsyncIterator<unknown>, deadline: Deadline): Promise<IteratorResult<unknown>> {
  const next = Promise.resolve(iterator.next()).catch((error: unknown) => {
    throw new Thrown(error);
  });
  return deadline.keep(next, "chat");
}

async function opened(provider: LLMProvider, options: ChatOptions, deadline: Deadline): Promise<unknown> {
  const answer = Promise.resolve(provider.chat(options));
  try {
    return await deadline.keep<unknown>(answer, "chat");
  } catch (error) {
    // Release a stream that arrives after the timeout. It may be about to arrive, so wait a moment.
    if (error === deadline.error) await Promise.race([answer.then(releaseLate, () => {}), pause(MOMENT_MS)]);
    throw error;
  }
}

function releaseLate(answer: unknown): void {
  if (isStream(answer)) void release(answer[Symbol.asyncIterator](), false);
}

async function release(iterator: AsyncIterator<unknown>, isAwaited: boolean): Promise<void> {
  const released = Promise.resolve(iterator.return?.()).catch(() => {});
  if (isAwaited) await released;
}

function* synthesized(answer: unknown): Generator<StreamEvent, void> {
  if (!isRecord(answer) || typeof answer["text"] !== "string") throw broken("the provider's answer is neither a text nor a stream");
  if (answer["text"] !== "") yield { type: "text", value: answer["text"] };
  yield { type: "end" };
}

function isStream(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
}

function asEvent(value: unknown): StreamEvent {
  if (!isRecord(value)) throw broken("the provider sent an invalid item");
  const { type, callId, toolName, usage } = value;
  const isWhole =
    (type === "text" && typeof value["value"] === "string") ||
    (type === "tool_call" && typeof toolName === "string" && typeof callId === "string" && "arguments" in value) ||
    (type === "tool_result" && typeof callId === "string" && "result" in value) ||
    (type === "end" && (usage === undefined || isUsage(usage)));
  if (!isWhole) throw broken(`the provider sent an invalid item: its type is ${JSON.stringify(type)}`);
  return value as StreamEvent;
}

function isUsage(usage: unknown): boolean {
  return isRecord(usage) && typeof usage["prompt"] === "number" && typeof usage["completion"] === "number";
}

function broken(message: string): TypedError {
  return typedError("EIO", message, { operation: "chat" });
}
