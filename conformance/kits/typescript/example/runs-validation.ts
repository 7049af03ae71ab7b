/** Validates requests. Unknown members and wrong types are refused, and a refused request changes nothing. */

import {
  EDGE_LABELS,
  EDGE_TYPES,
  GLOBAL_MODES,
  MODES,
  PERMISSION_MODES,
  PHASES,
  PROVIDERS,
  RESOLUTIONS,
  type AgentNode,
  type Capabilities,
  type Edge,
  type Json,
  type JsonObject,
  type Permissions,
  type Resolution,
  type Run,
} from "./runs-types.ts";

/** A refused request: an HTTP status, a code for machines and a sentence for people. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const invalid = (message: string) => new Refusal(400, "INVALID", message);
export const notFound = (what: string, id: string) => new Refusal(404, "NOT_FOUND", `there is no ${what} \`${id}\``);

/** Values of a body go on to providers, whose wire allows 100 levels of JSON, some of them for the envelope. */
const DEPTH_LIMIT = 64;
const NAME_LIMIT = 200;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export function mustBeUuid(what: string, id: string): string {
  if (!isUuid(id)) throw invalid(`\`${what}\` must be a UUID`);
  return id;
}

/** The object that a body holds. */
export function parseBody(text: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(`the body is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!isObject(value)) throw invalid("the body must be a JSON object");
  checkCarriable(value, 1);
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkCarriable(value: Json, depth: number): void {
  if (typeof value === "string" && !value.isWellFormed()) throw invalid("the body has half of a surrogate pair");
  // JSON.parse turns it into Infinity, which would be written as null.
  if (typeof value === "number" && !Number.isFinite(value)) throw invalid("the body has a number that is beyond a double");
  if (typeof value !== "object" || value === null) return;
  if (depth > DEPTH_LIMIT) throw invalid(`the body nests deeper than ${DEPTH_LIMIT}`);
  for (const [key, member] of Object.entries(value)) {
    checkCarriable(key, depth);
    checkCarriable(member, depth + 1);
  }
}

type Check<T> = (at: string, value: Json) => T;
type Checks<T> = { readonly [K in keyof T]-?: Check<T[K]> };

/** The present members of an object, validated; unknown ones are refused. */
function members<T>(at: string, value: Json, checks: Checks<T>): Partial<T> {
  if (!isObject(value)) throw invalid(`\`${at}\` must be an object`);
  const known: Partial<T> = {};
  for (const [key, member] of Object.entries(value)) {
    const path = at === "" ? key : `${at}.${key}`;
    if (!Object.hasOwn(checks, key)) throw invalid(`\`${path}\` is unknown`);
    known[key as keyof T] = checks[key as keyof T](path, member);
  }
  return known;
}

function required<T, K extends keyof T & string>(known: Partial<T>, ...keys: K[]): Partial<T> & Pick<T, K> {
  for (const key of keys) if (known[key] === undefined) throw invalid(`\`${key}\` is required`);
  return known as Partial<T> & Pick<T, K>;
}

function atLeastOne<T extends object>(known: T): T {
  if (Object.keys(known).length === 0) throw invalid("the body must have at least one member");
  return known;
}

const oneOf =
  <const T extends string>(...values: readonly T[]): Check<T> =>
  (at, value) => {
    const found = values.find((one) => one === value);
    if (found === undefined) throw invalid(`\`${at}\` must be one of ${values.map((one) => `\`${one}\``).join(", ")}`);
    return found;
  };

const flag: Check<boolean> = (at, value) => {
  if (typeof value !== "boolean") throw invalid(`\`${at}\` must be true or false`);
  return value;
};

const name: Check<string> = (at, value) => {
  const length = typeof value === "string" ? [...value].length : 0;
  if (typeof value !== "string" || length < 1 || length > NAME_LIMIT) {
    throw invalid(`\`${at}\` must be a string of 1 to ${NAME_LIMIT} characters`);
  }
  return value;
};

const uuid: Check<string> = (at, value) => {
  if (typeof value !== "string") throw invalid(`\`${at}\` must be a UUID`);
  return mustBeUuid(at, value);
};

const filledText: Check<string> = (at, value) => {
  if (typeof value !== "string" || value === "") throw invalid(`\`${at}\` must be a string that is not empty`);
  return value;
};

const commands: Check<string[]> = (at, value) => {
  if (!Array.isArray(value)) throw invalid(`\`${at}\` must be a list of strings`);
  return value.map((command, index) => filledText(`${at}[${index}]`, command));
};

const object: Check<JsonObject> = (at, value) => {
  if (!isObject(value)) throw invalid(`\`${at}\` must be an object`);
  return value;
};

export type NewRun = Partial<Pick<Run, "contractVersion" | "mode" | "globalMode">>;

export function newRun(body: JsonObject): NewRun {
  return members<Required<NewRun>>("", body, {
    contractVersion: oneOf("1"),
    mode: oneOf(...MODES),
    globalMode: oneOf(...GLOBAL_MODES),
  });
}

export type RunChange = Partial<Pick<Run, "status" | "phase" | "mode" | "globalMode">>;

export function runChange(body: JsonObject): RunChange {
  const known = members<Required<RunChange>>("", body, {
    // Not `queued`: a run never returns to that status.
    status: oneOf("running", "paused", "completed", "failed"),
    phase: oneOf(...PHASES),
    mode: oneOf(...MODES),
    globalMode: oneOf(...GLOBAL_MODES),
  });
  return atLeastOne(known);
}

interface NodeBody {
  label: string;
  roleTemplate: string;
  provider: AgentNode["provider"];
  capabilities: Partial<Capabilities>;
  permissions: Partial<Permissions>;
  session: { resetCommands?: string[] };
}

export type NodeChange = Partial<NodeBody>;
export type NewNode = NodeChange & Pick<NodeBody, "label" | "roleTemplate" | "provider">;

const NODE: Checks<NodeBody> = {
  label: name,
  roleTemplate: name,
  provider: oneOf(...PROVIDERS),
  capabilities: (at, value) =>
    members<Capabilities>(at, value, {
      spawnNodes: flag,
      writeCode: flag,
      writeDocs: flag,
      runCommands: flag,
      delegateOnly: flag,
    }),
  permissions: (at, value) =>
    members<Permissions>(at, value, { cliPermissionsMode: oneOf(...PERMISSION_MODES), spawnRequiresApproval: flag }),
  session: (at, value) => members<{ resetCommands: string[] }>(at, value, { resetCommands: commands }),
};

export function newNode(body: JsonObject): NewNode {
  return required(members("", body, NODE), "label", "roleTemplate", "provider");
}

export function nodeChange(body: JsonObject): NodeChange {
  return atLeastOne(members("", body, NODE));
}

export type NewEdge = Pick<Edge, "from" | "to"> & Partial<Pick<Edge, "bidirectional" | "type" | "label">>;

export function newEdge(body: JsonObject): NewEdge {
  const known = members<Required<NewEdge>>("", body, {
    from: uuid,
    to: uuid,
    bidirectional: flag,
    type: oneOf(...EDGE_TYPES),
    label: oneOf(...EDGE_LABELS),
  });
  return required(known, "from", "to");
}

export interface Chat {
  content: string;
  nodeId?: string;
  interrupt?: boolean;
}

export function chat(body: JsonObject): Chat {
  const known = members<Required<Chat>>("", body, { content: filledText, nodeId: uuid, interrupt: flag });
  return required(known, "content");
}

export function resolution(body: JsonObject): Resolution {
  const known = members<Required<Resolution>>("", body, { status: oneOf(...RESOLUTIONS), modifiedArgs: object });
  const { status } = required(known, "status");
  if ((status === "modified") !== (known.modifiedArgs !== undefined)) {
    throw invalid("`modifiedArgs` is required with `modified`, and only allowed there");
  }
  return known.modifiedArgs === undefined ? { status } : { status, modifiedArgs: known.modifiedArgs };
}
