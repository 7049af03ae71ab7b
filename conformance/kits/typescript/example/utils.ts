/** `sage.utils`: canonical JSON, SHA-256, typed errors, and the interfaces of time, randomness and secrets. */

import { createHash } from "node:crypto";
import { invalid } from "./errors.ts";

export { err, type TypedError } from "./errors.ts";

export type ISO8601 = string;

export interface Clock {
  now(): ISO8601;
}

export interface Random {
  int(): number;
  float(): number;
}

export interface SecretProvider {
  get(key: string): Promise<string | undefined>;
}

/** Far beyond any sensible value and far below the stack limit. Also stops cycles. */
const DEEPEST = 1000;

/**
 * JSON without spaces, keys in the order of their UTF-16 code units at every level, numbers and strings as ECMAScript
 * writes them. As in JSON.stringify, members that are undefined or functions are left out, and are null in arrays.
 * Throws `EVALIDATION` for values without an exact JSON form: two different values must never share a hash.
 */
export function canonicalJSONStringify(o: unknown): string {
  const text = write(o, "", []);
  if (text === undefined) throw unrepresentable([], `${typeof o} has no form in JSON`);
  return text;
}

export async function sha256(text: string | Uint8Array): Promise<string> {
  return sha256Hex(text);
}

export function sha256Hex(text: string | Uint8Array): string {
  if (typeof text === "string") {
    if (!text.isWellFormed()) throw invalid("the text has no UTF-8 form", [{ field: "text", reason: "holds a lone surrogate" }]);
  } else if (!(text instanceof Uint8Array)) {
    throw invalid("only text or bytes can be hashed", [
      { field: "text", reason: "must be a string or bytes", received: text, expected: "string" },
    ]);
  }
  return createHash("sha256").update(text).digest("hex");
}

type Path = (string | number)[];

function write(given: unknown, key: string, path: Path): string | undefined {
  const value = plain(given, key);
  switch (typeof value) {
    case "string":
      return writeString(value, path);
    case "number":
      if (!Number.isFinite(value)) throw unrepresentable(path, "is beyond a double");
      return JSON.stringify(value);
    case "boolean":
      return String(value);
    case "bigint":
      throw unrepresentable(path, "is a BigInt");
    case "object":
      if (value === null) return "null";
      if (path.length > DEEPEST) throw unrepresentable(path.slice(0, 3), `nests deeper than ${DEEPEST}, or without end`);
      return Array.isArray(value) ? writeArray(value, path) : writeObject(value, path);
    default:
      return undefined;
  }
}

/** The value that JSON.stringify would serialize: dates and boxed primitives are not objects to it. */
function plain(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return value;
  const toJSON: unknown = Reflect.get(value, "toJSON");
  const result: unknown = typeof toJSON === "function" ? Reflect.apply(toJSON, value, [key]) : value;
  return result instanceof Number || result instanceof String || result instanceof Boolean ? result.valueOf() : result;
}

function writeArray(items: readonly unknown[], path: Path): string {
  let text = "[";
  for (let index = 0; index < items.length; index++) {
    path.push(index);
    if (index > 0) text += ",";
    text += write(items[index], String(index), path) ?? "null";
    path.pop();
  }
  return `${text}]`;
}

function writeObject(object: object, path: Path): string {
  let text = "{";
  // The default sort compares UTF-16 code units. `for in` would put `9` before `10`.
  for (const key of Object.keys(object).sort()) {
    path.push(key);
    const member = write(Reflect.get(object, key), key, path);
    if (member !== undefined) text += `${text.length > 1 ? "," : ""}${writeString(key, path)}:${member}`;
    path.pop();
  }
  return `${text}}`;
}

function writeString(text: string, path: Path): string {
  if (!text.isWellFormed()) throw unrepresentable(path, "holds a lone surrogate, which has no UTF-8 form");
  return JSON.stringify(text);
}

function unrepresentable(path: Path, reason: string): Error {
  const field = path.length === 0 ? "value" : path.join(".").toWellFormed();
  return invalid(`\`${field}\` cannot be written as canonical JSON: it ${reason}`, [{ field, reason }]);
}
