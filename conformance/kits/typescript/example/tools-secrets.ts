/** Secrets go in just before a tool is run, and do not come out again. */

import { isRecord, typedError } from "./errors.ts";
import { isList } from "./schema.ts";
import type { SecretProvider } from "./utils.ts";

const PLACEHOLDER = /\$ENV\.([A-Za-z_][A-Za-z0-9_]*)/g;

/** Values by their names. */
export type Secrets = Map<string, string>;

/**
 * The input with every `$ENV.NAME` in a string replaced, at any depth. Each secret is fetched once, and noted in
 * `secrets` as soon as it is known. What a secret's value looks like does not matter: it is not looked into again.
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
    // Its message is not repeated: nobody knows what is in it.
    cause = error;
  }
  if (typeof secret === "string") return secret;
  throw typedError("ESECRET_NOT_FOUND", `the secret \`${name}\` could not be had`, { resource: name, operation: "read" }, cause);
}

/** Replaces every secret in every string, keys of objects too. Also where a secret is written as JSON writes it. */
export function redactorOf(secrets: Secrets): <T>(value: T) => T {
  const marks = new Map<string, string>();
  for (const [name, secret] of secrets) {
    if (secret === "") continue;
    for (const form of [secret, JSON.stringify(secret).slice(1, -1)]) marks.set(form, `[SECRET:${name}]`);
  }
  if (marks.size === 0) return (value) => value;
  // The longest first: one secret may begin with another.
  const forms = [...marks.keys()].sort((one, other) => other.length - one.length);
  const found = new RegExp(forms.map(escaped).join("|"), "g");
  const isClean = (text: string) => !forms.some((form) => text.includes(form));
  const redact = (text: string) => {
    if (isClean(text)) return text;
    const redacted = text.replace(found, (form) => marks.get(form) ?? "");
    // A mark, or what it stands between, may spell a secret again. Then nothing of the text is told.
    return [redacted, "[redacted]", "***"].find(isClean) ?? "";
  };
  return (value) => mapStrings(value, redact, redact) as typeof value;
}

/** The value with each string in it changed. Not by assignment: a key may be `__proto__`. */
function mapStrings(value: unknown, change: (text: string) => string, changeKey = (key: string): string => key): unknown {
  if (typeof value === "string") return change(value);
  if (isList(value)) return value.map((item) => mapStrings(item, change, changeKey));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [changeKey(key), mapStrings(member, change, changeKey)]));
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
