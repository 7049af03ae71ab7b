/**
 * One turn of a node: the prompt, the provider's items, and the outcome.
 *
 * Every wait for a provider or a user also ends if the turn is ended from outside: by an interrupting message, or by a server
 * shutdown.
 */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { itemOf, optional, ProviderFault, turnId, type Done, type Handoff, type Item } from "./runs-items.ts";
import { LogError, reason } from "./runs-log.ts";
import { keepDiff, keepPrompts, promptBlocks, promptToSend } from "./runs-prompts.ts";
import type { LiveRun } from "./runs-run.ts";
import {
  isOrchestrator,
  ProviderGone,
  type AgentNode,
  type DiffMetadata,
  type JsonObject,
  type Resolution,
  type Tool,
} from "./runs-types.ts";
import { newNode, Refusal } from "./runs-validation.ts";

/** The tool that the server runs itself. */
const SPAWN = "spawn_node";
/** Limit of a turn's output, against runaway providers. */
const TEXT_LIMIT = 8 * 1024 * 1024;
const HANDOFF_LIMIT = 1000;
const SUMMARY_LIMIT = 200;

/** The turn was ended from outside. */
class TurnEnded extends Error {
  override readonly name = "TurnEnded";
}

/** The provider has given up the turn. */
class ProviderFailed extends Error {
  override readonly name = "ProviderFailed";
}

export class Turn {
  readonly #run: LiveRun;
  readonly #nodeId: string;
  /** The folder of this turn's files. */
  readonly #folder: string;
  readonly #ended: Promise<never>;
  #end: (how: TurnEnded | ProviderGone) => void = () => {};
  #isInterrupted = false;
  /** After the provider's last item, a turn counts as complete and cannot be interrupted. */
  #isCompleting = false;
  #id: string | undefined;
  #text = "";
  #summary: string | undefined;
  #handoffs: Handoff[] = [];

  constructor(run: LiveRun, nodeId: string) {
    this.#run = run;
    this.#nodeId = nodeId;
    this.#folder = join(run.folder, "artifacts", randomUUID());
    this.#ended = new Promise<never>((_, reject) => (this.#end = reject));
    this.#ended.catch(() => {});
  }

  /** Interrupts the turn for a message. */
  interrupt(): void {
    if (this.#isCompleting) return;
    this.#isInterrupted = true;
    // Without an id the provider cannot stop the turn. It ends as soon as it has one.
    if (this.#id !== undefined) this.#end(new TurnEnded("a message interrupts"));
  }

  /** For a server shutdown: nothing more is written. */
  abandon(): void {
    this.#end(new ProviderGone("the server is shutting down"));
  }

  /** Plays the turn from the first event to the last. Rejects only if the server shuts down or the log cannot be written. */
  async play(inputs: readonly string[], isSessionNew: boolean): Promise<void> {
    try {
      await this.#begin(inputs, isSessionNew);
      const done = await this.#items();
      this.#isCompleting = true;
      await this.#complete(done);
    } catch (error) {
      if (error instanceof ProviderGone || error instanceof LogError) throw error;
      if (error instanceof TurnEnded || this.#isInterrupted) await this.#interrupted();
      else if (error instanceof ProviderFailed || error instanceof ProviderFault || isOfTheDisk(error)) this.#failed(error);
      else throw error;
    }
    try {
      await this.#run.memoOf(this.#nodeId).turnIsOver();
    } catch (error) {
      console.error("a turn's end is in the log, but not in the memo:", error);
    }
  }

  get #node(): AgentNode {
    return this.#run.nodeOf(this.#nodeId);
  }

  async #begin(inputs: readonly string[], isSessionNew: boolean): Promise<void> {
    const { id: nodeId, label, provider } = this.#node;
    const blocks = promptBlocks(this.#run.state.run, this.#node, inputs);
    for (const artifact of await keepPrompts(this.#folder, this.#node, blocks)) {
      this.#run.record((ts) => ({ type: "artifact.created", nodeId, artifact: { ...artifact, createdAt: ts } }));
    }
    const prompt = promptToSend(blocks, isSessionNew);
    const question = { runId: this.#run.id, nodeId, label, provider, prompt };
    const turn = turnId(await this.#ask(() => this.#run.provider.turn(question)));
    this.#id = turn;
    if (this.#isInterrupted) throw new TurnEnded("a message interrupts");
    await this.#run.memoOf(nodeId).turnBegins(turn);
  }

  /** Takes one item after the other, up to the last. */
  async #items(): Promise<Done> {
    for (;;) {
      const item = itemOf(await this.#ask(() => this.#run.provider.next(this.#turn)));
      if (item.kind === "done") return item.done;
      await this.#take(item);
    }
  }

  async #take(item: Exclude<Item, { kind: "done" }>): Promise<void> {
    const nodeId = this.#nodeId;
    switch (item.kind) {
      case "delta":
        this.#text += item.text;
        if (this.#text.length > TEXT_LIMIT) throw new ProviderFault(`a turn's text is longer than ${TEXT_LIMIT}`);
        return this.#run.record({ type: "message.assistant.delta", nodeId, delta: item.text });
      case "progress":
        this.#summary = item.summary;
        return this.#run.record({ type: "node.progress", nodeId, summary: item.summary });
      case "tool":
        this.#run.record({ type: "tool.proposed", nodeId, tool: item.tool });
        return item.tool.name === SPAWN ? this.#spawn(item.tool) : this.#tool(item.tool);
      case "toolCompleted": {
        const { toolId, result, error } = item;
        return this.#run.record({ type: "tool.completed", nodeId, toolId, result, ...optional("error", error) });
      }
      case "handoff":
        if (this.#handoffs.push(item.handoff) > HANDOFF_LIMIT) throw new ProviderFault(`a turn hands off more than ${HANDOFF_LIMIT} times`);
        return;
    }
  }

  async #tool(tool: Tool): Promise<void> {
    if (this.#node.permissions.cliPermissionsMode === "skip") {
      return this.#run.record({ type: "tool.started", nodeId: this.#nodeId, tool });
    }
    const resolution = await this.#approval(tool);
    await this.#forward(tool, resolution);
    if (resolution.status !== "denied") this.#started(tool, resolution);
  }

  async #spawn(tool: Tool): Promise<void> {
    const node = this.#node;
    if (!node.capabilities.spawnNodes) {
      await this.#forward(tool, { status: "denied" });
      return this.#completed(tool, `the node \`${node.label}\` has no capability \`spawnNodes\``);
    }
    const needsApproval = !isOrchestrator(node) || node.permissions.spawnRequiresApproval;
    const resolution: Resolution = needsApproval ? await this.#approval(tool) : { status: "approved" };
    await this.#forward(tool, resolution);
    if (resolution.status === "denied") return;
    const { args } = this.#started(tool, resolution);
    try {
      const made = this.#run.createNode(newNode(args));
      this.#run.createEdge({ from: node.id, to: made.id });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.#completed(tool, error.message);
    }
    this.#completed(tool);
  }

  async #approval(tool: Tool): Promise<Resolution> {
    const { resolved, withdraw } = this.#run.approvals.request(this.#run, this.#nodeId, tool);
    try {
      return await this.#orEnded(resolved);
    } finally {
      withdraw();
    }
  }

  async #forward(tool: Tool, { status, modifiedArgs }: Resolution): Promise<void> {
    const args = status === "denied" ? undefined : (modifiedArgs ?? tool.args);
    await this.#ask(() => this.#run.provider.resolve(this.#turn, tool.id, status, args));
  }

  #started(tool: Tool, { modifiedArgs }: Resolution): Tool {
    const started = { ...tool, args: modifiedArgs ?? tool.args };
    this.#run.record({ type: "tool.started", nodeId: this.#nodeId, tool: started });
    return started;
  }

  #completed({ id: toolId }: Tool, fault?: string): void {
    const result = { ok: fault === undefined };
    const error = fault === undefined ? undefined : { message: fault };
    this.#run.record({ type: "tool.completed", nodeId: this.#nodeId, toolId, result, ...optional("error", error) });
  }

  async #complete({ message, diff, filesChanged, verification }: Done): Promise<void> {
    const nodeId = this.#nodeId;
    const output = message ?? this.#text;
    const kept = await keepDiff(this.#folder, this.#node, diff);
    // From here on everything is recorded in one go, so that no other node's events come in between.
    this.#run.record((createdAt) => ({
      type: "message.assistant.final",
      nodeId,
      message: { id: randomUUID(), runId: this.#run.id, nodeId, role: "assistant", content: output, interrupt: false, createdAt },
    }));
    this.#run.record((createdAt) => ({
      type: "artifact.created",
      nodeId,
      artifact: { ...kept, createdAt },
      ...optional("metadata", metadataOf(filesChanged)),
    }));
    for (const handoff of this.#handoffs) this.#run.handOff(nodeId, handoff, kept.id);
    const evidence = this.#run.memoOf(nodeId).count({ output, diff, ...optional("verification", verification) });
    if (evidence) this.#stalled(evidence);
    else this.#settle("idle");
  }

  #stalled(evidence: JsonObject): void {
    // A run that a user ended or paused meanwhile keeps its status.
    if (this.#run.state.run.status === "running") this.#run.patch({ status: "paused" });
    this.#run.record({ type: "run.stalled", nodeId: this.#nodeId, evidence });
    this.#settle("blocked");
  }

  async #interrupted(): Promise<void> {
    // The provider learns of the interrupting message, so it must be on the disk.
    await this.#run.log.synced();
    if (this.#id !== undefined) this.#run.stopTurn(this.#id);
    this.#settle("idle");
  }

  #failed(error: Error): void {
    // Unless the provider itself failed, ask it to stop.
    if (error instanceof ProviderFault && this.#id !== undefined) this.#run.stopTurn(this.#id);
    this.#summary = `the turn failed: ${error.message}`.slice(0, SUMMARY_LIMIT).toWellFormed();
    this.#settle("failed");
  }

  #settle(status: AgentNode["status"]): void {
    const summary = this.#summary ?? this.#node.summary;
    this.#run.patchNode(this.#nodeId, (lastActivityAt) => ({ status, summary, lastActivityAt }));
  }

  get #turn(): string {
    if (this.#id === undefined) throw new ProviderFault("the provider has not named the turn");
    return this.#id;
  }

  /** Calls the provider only about events that are on the disk. */
  async #ask<T>(question: () => Promise<T>): Promise<T> {
    await this.#orEnded(this.#run.log.synced());
    const answer = question().catch((error: unknown) => {
      throw error instanceof ProviderGone ? error : new ProviderFailed(reason(error), { cause: error });
    });
    return this.#orEnded(answer);
  }

  #orEnded<T>(wait: Promise<T>): Promise<T> {
    return Promise.race([this.#ended, wait]);
  }
}

function metadataOf(filesChanged: string[] | undefined): DiffMetadata | undefined {
  if (filesChanged === undefined) return undefined;
  return { filesChanged, summary: `${filesChanged.length} ${filesChanged.length === 1 ? "file" : "files"} changed` };
}

/** Failing to write artifacts fails the turn, not the server. */
function isOfTheDisk(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
