/** Injects secrets just before a tool runs, and redacts them from its output. */

import { isRecord, typedError } from "./errors.ts";
import { isList } from "./schema.ts";
import type { SecretProvider } from "./utils.ts";

const PLACEHOLDER = /\$ENV\.([A-Za-z_][A-Za-z0-9_]*)/g;

/** Values by their names. */
export type Secrets = Map<string, string>;

/**
 * The input with every `$ENV.NAME` in a string replaced, at any depth. Each secret is fetched once, and noted in
 * `secrets` as soon as it is known. Placeholders inside a secret's value are not expanded.
 */
export async function injectSecrets(input: unknown, provider: SecretProvider, secrets: Secrets): Promise<unknown> {
  const names = new Set<string>();
  mapStrings(input, (text) => {
    for (const [, name = ""] of text.matchAll(PLACEHOLDER)) names.add(name);
    return text;
  });
  for (const name of names) secrets.set(name, await fetchSecret(name, provider));
  return mapStrings(input, (text) => text.replace(PLACEHOLDER, (_, name: string) => secrets.get(name) ?? ""));
}

async function fetchSecret(name: string, provider: SecretProvider): Promise<string> {
  let secret: unknown;
  let cause: unknown;
  try {
    secret = await provider.get(name);
  } catch (error) {
    // Do not repeat its message: it may contain anything.
    cause = error;
  }
  if (typeof secret === "string") return secret;
  throw typedError("ESECRET_NOT_FOUND", `the secret \`${name}\` is not available`, { resource: name, operation: "read" }, cause);
}

/** The beginning of the mark of a cut. Half a secret may precede it. */
export const CUT = "\n[truncated: ";

/** A text to redact, and the secret's name. */
type Forms = ReadonlyMap<string, string>;

/**
 * Replaces every secret in every string, including object keys. Also its JSON-escaped form, a single line of it,
 * and its beginning before a cut.
 */
export function redactorOf(secrets: Secrets): <T>(value: T) => T {
  const forms = new Map<string, string>();
  for (const [name, secret] of secrets) {
    const lines = secret.split(/\r?\n/).filter((line) => line.length >= SHORTEST_LINE);
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), ...lines]) if (form !== "") forms.set(form, name);
  }
  if (forms.size === 0) return (value) => value;
  const redact = (text: string) => redactText(text, forms);
  return (value) => mapStrings(value, redact, redact) as typeof value;
}

/** Shorter lines of a key file reveal nothing, and may occur anywhere. */
const SHORTEST_LINE = 4;

function redactText(text: string, forms: Forms): string {
  const isClean = (candidate: string) => ![...forms.keys()].some((form) => candidate.includes(form));
  const ranges = rangesOf(text, forms);
  if (ranges.length === 0) return text;
  let redacted = "";
  let done = 0;
  for (const { from, to, name } of ranges) {
    // Overlapping secrets share one mark.
    if (from >= done) redacted += `${text.slice(done, from)}[SECRET:${name}]`;
    done = Math.max(done, to);
  }
  redacted += text.slice(done);
  // A mark with the text around it may form a secret again. Then drop the whole text.
  return [redacted, "[redacted]", "***"].find(isClean) ?? "";
}

/** The positions of secrets, by start, the longest first. */
function rangesOf(text: string, forms: Forms): { from: number; to: number; name: string }[] {
  const ranges: { from: number; to: number; name: string }[] = [];
  const cut = text.lastIndexOf(CUT);
  for (const [form, name] of forms) {
    for (let from = text.indexOf(form); from !== -1; from = text.indexOf(form, from + 1)) {
      ranges.push({ from, to: from + form.length, name });
    }
    for (let length = Math.min(form.length - 1, cut); length > 0; length--) {
      if (!text.startsWith(form.slice(0, length), cut - length)) continue;
      ranges.push({ from: cut - length, to: cut, name });
      break;
    }
  }
  return ranges.sort((one, other) => one.from - other.from || other.to - one.to);
}

/** The value with each string in it changed. Not by assignment: a key may be `__proto__`. */
function mapStrings(value: unknown, change: (text: string) => string, changeKey = (key: string): string => key): unknown {
  if (typeof value === "string") return change(value);
  if (isList(value)) return value.map((item) => mapStrings(item, change, changeKey));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [changeKey(key), mapStrings(member, change, changeKey)]));
}
