/**
 * The prompt cache: repeats a provider's earlier answer to the same request. It wraps the provider and knows nothing about
 * tools: they run again, because of their effects.
 */

import type { ChatOptions, StreamEvent } from "./llm.ts";
import { canonicalJSONStringify } from "./utils.ts";

/** Whole answers by their keys. */
export type Cache = Map<string, readonly StreamEvent[]>;

/** The cached answer, or a new one. Only an answer that was read to its end is cached. */
export async function* cached(cache: Cache, key: string, ask: () => AsyncIterable<StreamEvent>): AsyncGenerator<StreamEvent, void> {
  const known = cache.get(key);
  if (known) {
    yield* structuredClone(known);
    return;
  }
  const items: StreamEvent[] = [];
  for await (const item of ask()) {
    items.push(structuredClone(item));
    yield item;
  }
  cache.set(key, items);
}

/** The cache key: provider and request. An absent member and a present one give different keys. */
export function cacheKey(provider: string, { model, messages, tools, temperature, max_tokens }: ChatOptions): string {
  return canonicalJSONStringify([provider, { model, messages, tools, temperature, max_tokens }]);
}
