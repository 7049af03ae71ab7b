/** A live run: its state and log, the users' actions, and the scheduling of turns. */

import { randomUUID } from "node:crypto";
import { Approvals } from "./runs-approvals.ts";
import type { Handoff } from "./runs-items.ts";
import { optional } from "./runs-items.ts";
import { EventLog, LogError } from "./runs-log.ts";
import { NodeMemo } from "./runs-memo.ts";
import { changesOf, RunState } from "./runs-state.ts";
import { Turn } from "./runs-turns.ts";
import {
  isOrchestrator,
  ProviderGone,
  type AgentNode,
  type Clock,
  type Edge,
  type EventBody,
  type Message,
  type Provider,
  type Run,
  type RunEvent,
} from "./runs-types.ts";
import { notFound, Refusal, type Chat, type NewEdge, type NewNode, type NodeChange, type RunChange } from "./runs-validation.ts";

/** The inbox of a node that takes nothing must be bounded. */
const INBOX_LIMIT = 1000;

const DEFAULT_CAPABILITIES = { spawnNodes: false, writeCode: true, writeDocs: true, runCommands: true, delegateOnly: false };
const DEFAULT_PERMISSIONS = { cliPermissionsMode: "skip", spawnRequiresApproval: true } as const;
const DEFAULT_RESET_COMMANDS = ["/new", "/clear"];

export interface Surroundings {
  readonly clock: Clock;
  readonly provider: Provider;
  readonly approvals: Approvals;
}

export class LiveRun {
  readonly id: string;
  readonly folder: string;
  readonly log: EventLog;
  readonly state: RunState;
  readonly provider: Provider;
  readonly approvals: Approvals;
  readonly #clock: Clock;
  readonly #memos = new Map<string, NodeMemo>();
  readonly #turns = new Map<string, { turn: Turn; over: Promise<void> }>();
  #isStopped = false;

  constructor(id: string, folder: string, log: EventLog, state: RunState, surroundings: Surroundings) {
    this.id = id;
    this.folder = folder;
    this.log = log;
    this.state = state;
    this.#clock = surroundings.clock;
    this.provider = surroundings.provider;
    this.approvals = surroundings.approvals;
  }

  /** Writes an event and folds it into the state. An event that repeats its timestamp is given as a function of it. */
  record(body: EventBody | ((ts: string) => EventBody)): void {
    const ts = this.#clock.now();
    const { type, ...said } = typeof body === "function" ? body(ts) : body;
    const event = { id: randomUUID(), runId: this.id, ts, type, ...said } as RunEvent;
    this.log.append(event);
    this.state.apply(event);
  }

  nodeOf(id: string): AgentNode {
    const node = this.state.node(id);
    if (node === undefined) throw notFound("node", id);
    return node;
  }

  memoOf(nodeId: string): NodeMemo {
    const memo = this.#memos.get(nodeId) ?? new NodeMemo(this.folder, nodeId);
    this.#memos.set(nodeId, memo);
    return memo;
  }

  /** Changes the run, and resumes it if it is set to `running`. */
  patch(change: RunChange): Run {
    const changed = changesOf(this.state.run, change);
    if (Object.keys(changed).length === 0) return this.state.run;
    this.record((updatedAt) => ({ type: "run.patch", patch: { ...changed, updatedAt } }));
    const { phase, mode, globalMode } = this.state.run;
    if (changed.phase !== undefined) this.record({ type: "run.phase", phase });
    if (changed.mode !== undefined || changed.globalMode !== undefined) this.record({ type: "run.mode", mode, globalMode });
    if (changed.status === "running") this.#resume();
    return this.state.run;
  }

  createNode(body: NewNode): AgentNode {
    const id = randomUUID();
    this.record((lastActivityAt) => ({
      type: "node.patch",
      nodeId: id,
      patch: {
        id,
        runId: this.id,
        label: body.label,
        roleTemplate: body.roleTemplate,
        provider: body.provider,
        status: "idle",
        summary: "",
        lastActivityAt,
        capabilities: { ...DEFAULT_CAPABILITIES, ...body.capabilities },
        permissions: { ...DEFAULT_PERMISSIONS, ...body.permissions },
        session: { sessionId: randomUUID(), resetCommands: body.session?.resetCommands ?? DEFAULT_RESET_COMMANDS },
        inboxCount: 0,
      },
    }));
    return this.nodeOf(id);
  }

  changeNode(id: string, change: NodeChange): AgentNode {
    const node = this.nodeOf(id);
    const { capabilities, permissions, session, ...plain } = change;
    // Another provider does not know the previous provider's session.
    const isOther = change.provider !== undefined && change.provider !== node.provider;
    const next = {
      ...plain,
      capabilities: { ...node.capabilities, ...capabilities },
      permissions: { ...node.permissions, ...permissions },
      session: { ...node.session, ...session, ...(isOther ? { sessionId: randomUUID() } : {}) },
    };
    this.patchNode(id, () => next);
    return this.nodeOf(id);
  }

  /** Records the members that change, if any. */
  patchNode(id: string, next: (ts: string) => Partial<AgentNode>): void {
    const before = this.nodeOf(id);
    if (Object.keys(changesOf(before, next(before.lastActivityAt))).length === 0) return;
    this.record((ts) => ({ type: "node.patch", nodeId: id, patch: changesOf(before, next(ts)) }));
  }

  createEdge({ from, to, bidirectional = true, type, label }: NewEdge): Edge {
    this.nodeOf(from);
    const isReport = isOrchestrator(this.nodeOf(to));
    const edge: Edge = {
      id: randomUUID(),
      from,
      to,
      bidirectional,
      type: type ?? (isReport ? "report" : "handoff"),
      label: label ?? (isReport ? "report" : "task"),
    };
    this.record({ type: "edge.created", edge });
    return edge;
  }

  deleteEdge(edgeId: string): void {
    if (this.state.run.edges[edgeId] === undefined) throw notFound("edge", edgeId);
    this.record({ type: "edge.deleted", edgeId });
  }

  chat({ content, nodeId: named, interrupt = false }: Chat): Message {
    const node = named === undefined ? Object.values(this.state.run.nodes).find(isOrchestrator) : this.nodeOf(named);
    const isReset = node?.session.resetCommands.includes(content) ?? false;
    if (node && !isReset && this.state.inboxOf(node.id).length >= INBOX_LIMIT) {
      throw new Refusal(429, "INBOX_FULL", `the inbox of the node \`${node.id}\` holds ${INBOX_LIMIT} inputs, which is the most`);
    }
    const about = optional("nodeId", node?.id);
    const id = randomUUID();
    const message = (createdAt: string): Message => ({ id, runId: this.id, ...about, role: "user", content, interrupt, createdAt });
    let time = "";
    this.record((ts) => ({ type: "message.user", ...about, message: message((time = ts)) }));
    if (node && isReset) {
      const session = { ...node.session, sessionId: randomUUID() };
      this.patchNode(node.id, () => ({ session }));
    }
    // The current turn when the message came, not one that the message itself begins.
    const underWay = node && interrupt ? this.#turns.get(node.id) : undefined;
    // Before the turn ends, so that the inbox count includes the message.
    this.pump();
    underWay?.turn.interrupt();
    return message(time);
  }

  /** Sends a turn's handoff, if there is an edge for it. */
  handOff(from: string, { to, message, structured, status, contextRef, attachDiff }: Handoff, diffId: string): void {
    const named = Object.values(this.state.run.nodes).filter(({ id, label }) => id === to || label === to);
    // An id wins over a label that looks like it.
    const candidates = [...named.filter(({ id }) => id === to), ...named.filter(({ id }) => id !== to)];
    const target = candidates.find(({ id }) => this.state.edgeBetween(from, id) !== undefined);
    if (target === undefined || this.state.inboxOf(target.id).length >= INBOX_LIMIT) return;
    const artifacts = attachDiff ? [{ type: "diff" as const, ref: `artifact://${diffId}` }] : undefined;
    this.record((createdAt) => ({
      type: "handoff.sent",
      nodeId: from,
      envelope: {
        kind: "handoff",
        id: randomUUID(),
        fromNodeId: from,
        toNodeId: target.id,
        createdAt,
        payload: { message, ...optional("structured", structured), ...optional("artifacts", artifacts), ...optional("status", status) },
        ...optional("contextRef", contextRef),
      },
    }));
  }

  /** Begins every turn that can begin, and reports the inbox counts of the others. */
  pump(): void {
    if (this.#isStopped) return;
    for (const { id } of Object.values(this.state.run.nodes)) {
      const node = this.nodeOf(id);
      const inputs = this.state.inboxOf(id);
      const isIdle = node.status === "idle" && this.state.run.status === "running";
      // A turn that has reported its end is about to finish; new inputs begin right after it.
      if (isIdle && this.#turns.has(id)) continue;
      if (isIdle && inputs.length > 0) this.#begin(id, inputs);
      else this.patchNode(id, () => ({ inboxCount: inputs.length }));
    }
  }

  /** Stops an abandoned turn at the provider. The answer does not matter. */
  stopTurn(turn: string): void {
    this.provider.stop(turn).catch(() => {});
  }

  /** After a restart: current turns are lost. Returns the turns that the provider must stop. */
  async recover(): Promise<string[]> {
    const lost: string[] = [];
    for (const { id, status } of Object.values(this.state.run.nodes)) {
      await this.memoOf(id).load();
      if (status !== "running") continue;
      const { turn } = this.memoOf(id);
      if (turn === undefined) this.state.forgetTurn(id);
      else lost.push(turn);
      await this.memoOf(id).turnIsOver();
      this.patchNode(id, () => ({ status: "idle" }));
    }
    await this.log.synced();
    return lost;
  }

  /** Stops all work, and resolves when nothing more is written. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { turn } of this.#turns.values()) turn.abandon();
    await Promise.all([...this.#turns.values()].map(({ over }) => over));
    await this.log.synced().catch(() => {});
  }

  #begin(nodeId: string, inputs: readonly string[]): void {
    const isSessionNew = this.state.isSessionNew(nodeId);
    this.patchNode(nodeId, (lastActivityAt) => ({ status: "running", inboxCount: 0, lastActivityAt }));
    const turn = new Turn(this, nodeId);
    const over = this.#playOut(nodeId, turn.play(inputs, isSessionNew));
    this.#turns.set(nodeId, { turn, over });
  }

  async #playOut(nodeId: string, played: Promise<void>): Promise<void> {
    try {
      await played.finally(() => this.#turns.delete(nodeId));
      this.pump();
    } catch (error) {
      // Every later request reports an unwritable log; there is no request here.
      if (!(error instanceof ProviderGone || error instanceof LogError)) throw error;
    }
  }

  #resume(): void {
    for (const { id, status } of Object.values(this.state.run.nodes)) {
      this.memoOf(id).countAnew().catch(() => {});
      if (status === "blocked") this.patchNode(id, () => ({ status: "idle" }));
    }
    this.pump();
  }
}
