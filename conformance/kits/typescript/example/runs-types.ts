/** The states, events and records of `runs`, with the contract's names, and the provider interface. */

export const STATUSES = ["queued", "running", "paused", "completed", "failed"] as const;
export const PHASES = ["BOOT", "EXECUTE", "VERIFY", "DOCS_SYNC", "DONE"] as const;
export const MODES = ["AUTO", "INTERACTIVE"] as const;
export const GLOBAL_MODES = ["PLANNING", "IMPLEMENTATION"] as const;
export const PROVIDERS = ["codex", "claude", "gemini", "custom"] as const;
export const PERMISSION_MODES = ["skip", "gated"] as const;
export const EDGE_TYPES = ["handoff", "report"] as const;
export const EDGE_LABELS = ["task", "report", "custom"] as const;
export const RESOLUTIONS = ["approved", "denied", "modified"] as const;

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [member: string]: Json;
}

export interface Run {
  id: string;
  contractVersion: "1";
  status: (typeof STATUSES)[number];
  phase: (typeof PHASES)[number];
  mode: (typeof MODES)[number];
  globalMode: (typeof GLOBAL_MODES)[number];
  createdAt: string;
  updatedAt: string;
  nodes: Record<string, AgentNode>;
  edges: Record<string, Edge>;
  artifacts: Record<string, Artifact>;
}

export interface AgentNode {
  id: string;
  runId: string;
  label: string;
  roleTemplate: string;
  provider: (typeof PROVIDERS)[number];
  status: "idle" | "running" | "blocked" | "failed";
  summary: string;
  lastActivityAt: string;
  capabilities: Capabilities;
  permissions: Permissions;
  session: { sessionId: string; resetCommands: string[] };
  inboxCount: number;
}

export interface Capabilities {
  spawnNodes: boolean;
  writeCode: boolean;
  writeDocs: boolean;
  runCommands: boolean;
  delegateOnly: boolean;
}

export interface Permissions {
  cliPermissionsMode: (typeof PERMISSION_MODES)[number];
  spawnRequiresApproval: boolean;
}

export interface Edge {
  id: string;
  from: string;
  to: string;
  bidirectional: boolean;
  type: (typeof EDGE_TYPES)[number];
  label: (typeof EDGE_LABELS)[number];
}

export interface Artifact {
  id: string;
  runId: string;
  nodeId: string;
  kind: "diff" | "prompt";
  name: string;
  /** Absolute. */
  path: string;
  createdAt: string;
}

export interface Message {
  id: string;
  runId: string;
  nodeId?: string;
  role: "user" | "assistant";
  content: string;
  interrupt: boolean;
  createdAt: string;
}

export interface Envelope {
  kind: "handoff";
  id: string;
  fromNodeId: string;
  toNodeId: string;
  createdAt: string;
  payload: {
    message: string;
    structured?: Json;
    artifacts?: { type: "diff"; ref: string }[];
    status?: Json;
  };
  contextRef?: string;
}

export interface Tool {
  id: string;
  name: string;
  args: JsonObject;
}

export interface Resolution {
  status: (typeof RESOLUTIONS)[number];
  modifiedArgs?: JsonObject;
}

/** An event without its envelope. */
export type EventBody =
  | { type: "run.patch"; patch: Partial<Run> }
  | { type: "run.phase"; phase: Run["phase"] }
  | { type: "run.mode"; mode: Run["mode"]; globalMode: Run["globalMode"] }
  | { type: "run.stalled"; nodeId: string; evidence: JsonObject }
  | { type: "node.patch"; nodeId: string; patch: Partial<AgentNode> }
  | { type: "node.progress"; nodeId: string; summary: string }
  | { type: "edge.created"; edge: Edge }
  | { type: "edge.deleted"; edgeId: string }
  | { type: "handoff.sent"; nodeId: string; envelope: Envelope }
  | { type: "message.user"; nodeId?: string; message: Message }
  | { type: "message.assistant.delta"; nodeId: string; delta: string }
  | { type: "message.assistant.final"; nodeId: string; message: Message }
  | { type: "tool.proposed" | "tool.started"; nodeId: string; tool: Tool }
  | { type: "tool.completed"; nodeId: string; toolId: string; result: JsonObject; error?: Json }
  | { type: "approval.requested"; nodeId: string; approvalId: string; tool: Tool }
  | { type: "approval.resolved"; nodeId: string; approvalId: string; resolution: Resolution }
  | { type: "artifact.created"; nodeId: string; artifact: Artifact; metadata?: DiffMetadata };

export type RunEvent = { id: string; runId: string; ts: string } & EventBody;

export interface DiffMetadata {
  filesChanged: string[];
  summary: string;
}

export interface Clock {
  /** ISO 8601, UTC. */
  now(): string;
}

export interface Prompt {
  kind: "full" | "delta";
  text: string;
}

/** Performs the turns of nodes. Any rejection except `ProviderGone` means that the provider failed. */
export interface Provider {
  turn(question: { runId: string; nodeId: string; label: string; provider: string; prompt: Prompt }): Promise<unknown>;
  next(turn: string): Promise<unknown>;
  resolve(turn: string, toolId: string, status: Resolution["status"], args?: JsonObject): Promise<unknown>;
  stop(turn: string): Promise<unknown>;
}

/** The server is shutting down. The turn is left as a killed process would leave it. */
export class ProviderGone extends Error {
  override readonly name = "ProviderGone";
}

export function isOrchestrator(node: AgentNode): boolean {
  return node.roleTemplate === "orchestrator";
}
