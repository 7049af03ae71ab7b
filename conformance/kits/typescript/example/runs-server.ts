/** All runs of a folder: `runs/<runId>/events.jsonl` and what belongs to it. The answers are JSON texts, ready to send. */

import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Approvals } from "./runs-approvals.ts";
import { cutHalfLine, EventLog, linesOf, LogError, reason } from "./runs-log.ts";
import { LiveRun, type Surroundings } from "./runs-run.ts";
import { RunState } from "./runs-state.ts";
import type { Clock, JsonObject, Provider, RunEvent } from "./runs-types.ts";
import * as valid from "./runs-validation.ts";
import { isUuid, mustBeUuid, notFound, Refusal } from "./runs-validation.ts";

export class Runs {
  readonly #folder: string;
  readonly #order: EventLog;
  readonly #surroundings: Surroundings;
  /** In order of creation. */
  readonly #runs = new Map<string, LiveRun>();
  /** Runs whose log cannot be read, and why. */
  readonly #damaged = new Map<string, string>();
  #lostTurns: string[] = [];

  private constructor(folder: string, order: EventLog, surroundings: Surroundings) {
    this.#folder = folder;
    this.#order = order;
    this.#surroundings = surroundings;
  }

  /** Reads the folder, and writes only if a turn was lost. Call `goOn` next. */
  static async open(workspace: string, clock: Clock, provider: Provider): Promise<Runs> {
    const folder = join(workspace, "runs");
    const order = join(folder, "order.jsonl");
    const runs = new Runs(folder, new EventLog(order, await wholeSize(order)), { clock, provider, approvals: new Approvals() });
    for (const id of await runIdsIn(folder, order)) await runs.#load(id);
    return runs;
  }

  /** Resumes after a kill: ends the lost turns, and begins the waiting ones. */
  goOn(): void {
    for (const turn of this.#lostTurns.splice(0)) this.#surroundings.provider.stop(turn).catch(() => {});
    for (const run of this.#runs.values()) run.pump();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => run.stop()));
    await this.#order.synced().catch(() => {});
  }

  /** The run with this id, from a path or a query. */
  run(id: string): LiveRun {
    const run = this.#runs.get(mustBeUuid("runId", id));
    if (run) return run;
    const damage = this.#damaged.get(id);
    if (damage !== undefined) throw new Refusal(500, "LOG_DAMAGED", `the log of the run \`${id}\` cannot be read: ${damage}`);
    throw notFound("run", id);
  }

  async create({ mode = "AUTO", globalMode = "IMPLEMENTATION" }: valid.NewRun): Promise<string> {
    const id = randomUUID();
    const folder = join(this.#folder, id);
    const run = new LiveRun(id, folder, new EventLog(join(folder, "events.jsonl"), 0), new RunState(), this.#surroundings);
    run.record((now) => ({
      type: "run.patch",
      patch: {
        id,
        contractVersion: "1",
        status: "running",
        phase: "BOOT",
        mode,
        globalMode,
        createdAt: now,
        updatedAt: now,
        nodes: {},
        edges: {},
        artifacts: {},
      },
    }));
    this.#order.append({ runId: id });
    this.#runs.set(id, run);
    try {
      await this.#order.synced();
      return await durable(run, run.state.run);
    } catch (error) {
      this.#runs.delete(id);
      throw error;
    }
  }

  async list(): Promise<string> {
    const runs = [...this.#runs.values()];
    const text = JSON.stringify(runs.map(({ state }) => state.run));
    await Promise.all(runs.map(({ log }) => log.synced()));
    return text;
  }

  get(id: string): Promise<string> {
    const run = this.run(id);
    return durable(run, run.state.run);
  }

  patch(id: string, body: JsonObject): Promise<string> {
    const run = this.run(id);
    return durable(run, run.patch(valid.runChange(body)));
  }

  /** The lines of the log as one JSON list, in chunks. */
  async events(id: string, after: string | undefined): Promise<AsyncIterable<string>> {
    const run = this.run(id);
    return jsonList(run.log, await this.positionAfter(run, after));
  }

  async positionAfter({ log }: LiveRun, after: string | undefined): Promise<number> {
    if (after === undefined) return 0;
    const position = await log.positionAfter(mustBeUuid("after", after));
    if (position === undefined) throw notFound("event", after);
    return position;
  }

  createNode(id: string, body: JsonObject): Promise<string> {
    const run = this.run(id);
    return durable(run, run.createNode(valid.newNode(body)));
  }

  changeNode(id: string, nodeId: string, body: JsonObject): Promise<string> {
    const run = this.run(id);
    return durable(run, run.changeNode(mustBeUuid("nodeId", nodeId), valid.nodeChange(body)));
  }

  createEdge(id: string, body: JsonObject): Promise<string> {
    const run = this.run(id);
    return durable(run, run.createEdge(valid.newEdge(body)));
  }

  async deleteEdge(id: string, edgeId: string): Promise<undefined> {
    const run = this.run(id);
    run.deleteEdge(mustBeUuid("edgeId", edgeId));
    await run.log.synced();
  }

  chat(id: string, body: JsonObject): Promise<string> {
    const run = this.run(id);
    return durable(run, run.chat(valid.chat(body)));
  }

  async approvals(): Promise<string> {
    const { approvals, runs } = this.#surroundings.approvals.list();
    const text = JSON.stringify(approvals);
    await Promise.all([...runs].map(({ log }) => log.synced()));
    return text;
  }

  resolve(approvalId: string, body: JsonObject): Promise<string> {
    const id = mustBeUuid("approvalId", approvalId);
    const resolution = valid.resolution(body);
    return durable(this.#surroundings.approvals.resolve(id, resolution, this.#runs.values()), resolution);
  }

  async #load(id: string): Promise<void> {
    const folder = join(this.#folder, id);
    const file = join(folder, "events.jsonl");
    try {
      const size = await wholeSize(file);
      // Killed before its first event was complete: nobody knows this run.
      if (size === 0) return;
      const state = new RunState();
      for await (const { text } of linesOf(file, 0, size)) state.apply(JSON.parse(text) as RunEvent);
      if (state.run.id !== id) throw new LogError("it is the log of another run");
      const run = new LiveRun(id, folder, new EventLog(file, size), state, this.#surroundings);
      this.#lostTurns.push(...(await run.recover()));
      this.#runs.set(id, run);
    } catch (error) {
      console.error(`the run ${id} is skipped:`, error);
      this.#damaged.set(id, reason(error));
    }
  }
}

/** Serializes the current value, and waits until it is on the disk. */
async function durable({ log }: LiveRun, value: unknown): Promise<string> {
  const text = JSON.stringify(value);
  await log.synced();
  return text;
}

async function* jsonList(log: EventLog, from: number): AsyncGenerator<string> {
  let separator = "[";
  for await (const { text } of log.lines(from)) {
    yield separator + text;
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}

async function wholeSize(file: string): Promise<number> {
  try {
    return await cutHalfLine(file);
  } catch (error) {
    if (isAbsent(error)) return 0;
    throw error;
  }
}

/** The runs of a folder in order of creation. Timestamps are not enough: a clock may be set back. */
async function runIdsIn(folder: string, order: string): Promise<string[]> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
  const there = new Set(names.filter(isUuid));
  const ordered: string[] = [];
  for await (const { text } of linesOf(order, 0, names.includes("order.jsonl") ? Infinity : 0)) {
    const runId = runIdOf(text);
    if (there.delete(runId)) ordered.push(runId);
  }
  return [...ordered, ...[...there].sort()];
}

/** A damaged line of the order only loses the place of a run. */
function runIdOf(line: string): string {
  try {
    return String(JSON.parse(line).runId);
  } catch (error) {
    console.error("the order of the runs has a damaged line:", error);
    return "";
  }
}

/** A missing file, or a file instead of a folder: the workspace may belong to something else. */
function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}
