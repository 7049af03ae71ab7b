import type { Call, Session } from "./proofmark.mjs";

/** `get` of `@sage/utils`' SecretProvider, played by the fake `secrets`. */
export function secretProvider(session: Session): { get(key: string): Promise<string | undefined> };

/** A graph, played by the fake `graph`, which gets exactly these arguments. */
export function graph(session: Session): {
  query<T = any>(query: string, params?: Readonly<Record<string, unknown>>, commit?: string): Promise<T[]>;
};

/**
 * The `execute` of a tool that a case registered, played by the fake `tools`. The case gives name, schema and the rest;
 * your implementation provides `validate`.
 */
export function scriptedExecute(
  session: Session,
  name: string,
): (input: unknown, context?: { readonly logger?: ((entry: any) => void) | undefined }) => Promise<any>;

/** Runs the tools of a chat with `tools: "fake"`: returns a ToolResult, or rejects with the case's error. */
export function toolRunner(session: Session): (name: string, input: unknown) => Promise<any>;

/**
 * A provider of that name, played by the fake `llm`. Only the harness's answer shows whether it streams, so `chat` returns a
 * promise of either.
 */
export function llmProvider(session: Session, name: string): ScriptedProvider;

export interface ScriptedProvider {
  readonly name: string;
  models(): Promise<{ name: string }[]>;
  chat(options: object): Promise<{ text: string } | ScriptedStream>;
}

/**
 * The scripted items, which need not be valid StreamEvents. Each `next` fetches one item; call it one at a time. `return`
 * stops the stream at once, even while a `next` is pending, which then resolves as done.
 */
export interface ScriptedStream extends AsyncIterableIterator<any, undefined, unknown> {
  return(): Promise<IteratorResult<any, undefined>>;
}

/** Sends every entry of a tool's log as an event of the call. */
export function eventLogger(call: Call): (entry: unknown) => void;

/** Sends the items of a stream as events of the call. If `take` is given, drops the stream after that many items. */
export function sendStream(call: Call, stream: AsyncIterable<unknown>, take?: number | null): Promise<void>;
