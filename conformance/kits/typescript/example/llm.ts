/** `sage.llm`: one interface to every provider, for chats with tools. */

import { invalid, isRecord, typedError, type Detail } from "./errors.ts";
import { cached, cacheKey, type Cache } from "./llm-cache.ts";
import { openRound } from "./llm-events.ts";
import { checkOptions } from "./llm-options.ts";
import { chatStream, type Ask } from "./llm-stream.ts";
import { isList } from "./schema.ts";
import type { ToolSchema } from "./tools.ts";

export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  tool_call_id?: string;
}

export interface ChatOptions {
  model: string;
  messages: ChatMessage[];
  tools?: ToolSchema[];
  temperature?: number;
  max_tokens?: number;
  timeoutMs?: number;
  requestId?: string;
}

export interface Usage {
  prompt: number;
  completion: number;
}

export type StreamEvent =
  | { type: "text"; value: string }
  | { type: "tool_call"; toolName: string; arguments: unknown; callId: string }
  | { type: "tool_result"; callId: string; result: unknown }
  | { type: "end"; usage?: Usage };

export interface LLMProvider {
  readonly name: string;
  /** A stream or the whole text, possibly as a promise. */
  chat(options: ChatOptions): AsyncIterable<unknown> | Promise<AsyncIterable<unknown> | { text: string }>;
  models(): Promise<{ name: string }[]>;
}

/** Runs a tool that the model calls, and returns its result. */
export type ToolRunner = (name: string, input: unknown) => Promise<unknown>;

/** Options of the wrapper, which are not sent to the provider. All are off by default. */
export interface ChatSettings {
  /** If set, the model gets the results and is asked again until it calls no more tools. */
  readonly runTool?: ToolRunner | undefined;
  /** Limit of requests to the provider. */
  readonly maxRounds?: number | undefined;
  readonly cache?: boolean | undefined;
}

export interface LLM {
  setProvider(provider: LLMProvider): void;
  /** The models of the current provider, or of the named one. */
  listModels(providerName?: string): Promise<{ name: string }[]>;
  createChatStream(options: ChatOptions, settings?: ChatSettings): Promise<AsyncIterable<StreamEvent>>;
}

const DEFAULT_ROUNDS = 8;

export function createLLM(): LLM {
  const providers = new Map<string, LLMProvider>();
  const cache: Cache = new Map();
  let current: LLMProvider | undefined;

  return {
    setProvider(provider) {
      const faults = providerFaults(provider);
      if (faults.length > 0) throw invalid("the provider is invalid", faults);
      providers.set(provider.name, provider);
      current = provider;
    },

    async listModels(providerName) {
      const models: unknown = await chosen(providerName).models();
      if (!isList(models)) throw typedError("EIO", "the provider gave no list of models", { operation: "models" });
      return models.map((model) => {
        if (isRecord(model) && typeof model["name"] === "string") return { name: model["name"] };
        throw typedError("EIO", "the provider gave a model without a name", { operation: "models" });
      });
    },

    async createChatStream(options, { runTool, maxRounds = DEFAULT_ROUNDS, cache: isCached = false } = {}) {
      const startedAt = performance.now();
      const schemas = checkOptions(options, maxRounds);
      const provider = chosen();
      const ask: Ask = (asked, deadline) => {
        const fresh = () => openRound(provider, asked, deadline);
        return isCached ? cached(cache, cacheKey(provider.name, asked), fresh) : fresh();
      };
      // A copy, in case the caller changes the object later.
      return chatStream({ ask, options: structuredClone(options), schemas, runTool, maxRounds, startedAt });
    },
  };

  function chosen(name?: string): LLMProvider {
    if (!current) throw invalid("no provider was set", [{ field: "provider", reason: "must be set first" }]);
    const provider = name === undefined ? current : providers.get(name);
    if (provider) return provider;
    throw invalid(`there is no provider \`${name}\``, [{ field: "providerName", reason: "is no provider's name", received: name }]);
  }
}

function providerFaults(provider: unknown): Detail[] {
  const { name, chat, models }: { [key in keyof LLMProvider]?: unknown } = isRecord(provider) ? provider : {};
  const faults: Detail[] = [];
  const isName = typeof name === "string" && name !== "";
  if (!isName) faults.push({ field: "name", reason: "must be a string that is not empty", received: name });
  if (typeof chat !== "function") faults.push({ field: "chat", reason: "must be a function" });
  if (typeof models !== "function") faults.push({ field: "models", reason: "must be a function" });
  return faults;
}
