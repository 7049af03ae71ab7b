/**
 * The prompt cache: what a provider answered is not asked again. It stands in front of the provider and knows nothing of
 * tools: these are run again, since what they do matters, and not only what they say.
 */

import type { ChatOptions, StreamEvent } from "./llm.ts";
import { canonicalJSONStringify } from "./utils.ts";

/** Whole answers by their keys. */
export type Cache = Map<string, readonly StreamEvent[]>;

/** The answer that is known, or the one that is asked for now. Only one that was taken to its end is kept. */
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

/** What was asked, and whom. A member that is absent is another question than one that is there. */
export function cacheKey(provider: string, { model, messages, tools, temperature, max_tokens }: ChatOptions): string {
  return canonicalJSONStringify([provider, { model, messages, tools, temperature, max_tokens }]);
}
