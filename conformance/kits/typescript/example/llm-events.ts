/** A provider's answer as items of the contract, whatever kind of answer it is, and its release, whatever ends it. */

import { setTimeout as pause } from "node:timers/promises";
import { isRecord, typedError, type TypedError } from "./errors.ts";
import type { Deadline } from "./llm-deadline.ts";
import type { ChatOptions, LLMProvider, StreamEvent } from "./llm.ts";

const MOMENT_MS = 50;

/** The items up to and with the one `end`. `EIO` for what is no item, and for a stream that is cut before its end. */
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
      if (end) throw broken("the provider said more after its end");
      const event = asEvent(value);
      if (event.type === "end") end = event;
      else yield event;
    }
    isReleased = true;
  } catch (error) {
    // A stream that threw is over; one that is late, or says what it should not, is not.
    isReleased = error instanceof Thrown;
    throw error instanceof Thrown ? error.error : error;
  } finally {
    // Not awaited when the time is over: many streams end only after the item that they are stuck at.
    if (!isReleased) await release(iterator, deadline.error === undefined);
  }
  if (!end) throw broken("the provider's stream is cut: it is over without an end");
  yield end;
}

/** Carries what the stream itself threw. */
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
    // A stream that comes when nobody waits for it any more is not left open. It may be on its way, so there is a moment for it.
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
  if (!isRecord(value)) throw broken("the provider sent what is no item");
  const { type, callId, toolName, usage } = value;
  const isWhole =
    (type === "text" && typeof value["value"] === "string") ||
    (type === "tool_call" && typeof toolName === "string" && typeof callId === "string" && "arguments" in value) ||
    (type === "tool_result" && typeof callId === "string" && "result" in value) ||
    (type === "end" && (usage === undefined || isUsage(usage)));
  if (!isWhole) throw broken(`the provider sent what is no item: its type is ${JSON.stringify(type)}`);
  return value as StreamEvent;
}

function isUsage(usage: unknown): boolean {
  return isRecord(usage) && typeof usage["prompt"] === "number" && typeof usage["completion"] === "number";
}

function broken(message: string): TypedError {
  return typedError("EIO", message, { operation: "chat" });
}
