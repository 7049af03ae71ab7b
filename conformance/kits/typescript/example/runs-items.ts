/** Validates provider answers. An answer of another shape is the provider's failure. */

import type { Json, JsonObject, Tool } from "./runs-types.ts";
import { isObject } from "./runs-validation.ts";

export class ProviderFault extends Error {
  override readonly name = "ProviderFault";
}

export interface Handoff {
  to: string;
  message: string;
  structured?: Json;
  status?: Json;
  contextRef?: string;
  attachDiff: boolean;
}

export interface Done {
  message?: string;
  diff: string;
  filesChanged?: string[];
  verification?: { ok: boolean; output: string };
}

export type Item =
  | { kind: "delta"; text: string }
  | { kind: "progress"; summary: string }
  | { kind: "tool"; tool: Tool }
  | { kind: "toolCompleted"; toolId: string; result: JsonObject; error?: Json }
  | { kind: "handoff"; handoff: Handoff }
  | { kind: "done"; done: Done };

export function turnId(answer: unknown): string {
  if (!isObject(answer)) throw new ProviderFault("a turn is not answered with an object");
  return text(answer, "turn");
}

export function itemOf(answer: unknown): Item {
  if (!isObject(answer)) throw new ProviderFault("an item is not an object");
  const [kind, ...others] = Object.keys(answer);
  if (kind === undefined || others.length > 0) throw new ProviderFault("an item must have one member");
  switch (kind) {
    case "delta":
      return { kind, text: text(answer, kind) };
    case "progress":
      return { kind, summary: text(answer, kind) };
    case "tool": {
      const tool = object(answer, kind);
      return { kind, tool: { id: text(tool, "id"), name: text(tool, "name"), args: object(tool, "args") } };
    }
    case "toolCompleted": {
      const completed = object(answer, kind);
      const result = object(completed, "result");
      flag(result, "ok");
      return { kind, toolId: text(completed, "toolId"), result, ...optional("error", completed["error"]) };
    }
    case "handoff":
      return { kind, handoff: handoffOf(object(answer, kind)) };
    case "done":
      return { kind, done: doneOf(object(answer, kind)) };
    default:
      throw new ProviderFault(`there is no item \`${kind}\``);
  }
}

function handoffOf(said: JsonObject): Handoff {
  return {
    to: text(said, "to"),
    message: text(said, "message"),
    ...optional("structured", said["structured"]),
    ...optional("status", said["status"]),
    ...optional("contextRef", said["contextRef"] === undefined ? undefined : text(said, "contextRef")),
    attachDiff: said["attachDiff"] !== undefined && flag(said, "attachDiff"),
  };
}

function doneOf(said: JsonObject): Done {
  const { message, diff, filesChanged, verification } = said;
  return {
    ...optional("message", message === undefined ? undefined : text(said, "message")),
    diff: diff === undefined ? "" : text(said, "diff"),
    ...optional("filesChanged", filesChanged === undefined ? undefined : texts(said, "filesChanged")),
    ...optional("verification", verification === undefined ? undefined : verificationOf(object(said, "verification"))),
  };
}

function verificationOf(said: JsonObject): { ok: boolean; output: string } {
  return { ok: flag(said, "ok"), output: said["output"] === undefined ? "" : text(said, "output") };
}

/** Copies a member only if it is present. */
export function optional<K extends string, T>(key: K, value: T | undefined): { [k in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { [k in K]?: T });
}

function text(from: JsonObject, key: string): string {
  const value = from[key];
  if (typeof value !== "string") throw new ProviderFault(`\`${key}\` must be a string`);
  return value;
}

function texts(from: JsonObject, key: string): string[] {
  const value = from[key];
  if (!Array.isArray(value)) throw new ProviderFault(`\`${key}\` must be a list of strings`);
  return value.map((one) => {
    if (typeof one !== "string") throw new ProviderFault(`\`${key}\` must be a list of strings`);
    return one;
  });
}

function flag(from: JsonObject, key: string): boolean {
  const value = from[key];
  if (typeof value !== "boolean") throw new ProviderFault(`\`${key}\` must be true or false`);
  return value;
}

function object(from: JsonObject, key: string): JsonObject {
  const value = from[key];
  if (!isObject(value)) throw new ProviderFault(`\`${key}\` must be an object`);
  return value;
}
