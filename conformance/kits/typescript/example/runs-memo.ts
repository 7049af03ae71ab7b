/**
 * State of a node that no event has but a restart needs: the provider's id of the current turn, and how often
 * the same outcome came in a row. A small file for each node, replaced atomically.
 */

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonObject } from "./runs-types.ts";
import { isObject } from "./runs-validation.ts";

/** This many turns in a row with the same outcome are a stall. */
const STALL = 3;

export interface Outcome {
  output: string;
  diff: string;
  verification?: { ok: boolean; output: string };
}

type Kind = "output" | "diff" | "verification";
type Counts = Partial<Record<Kind, { hash: string; turns: number }>>;

export class NodeMemo {
  readonly #file: string;
  #turn: string | undefined;
  #counts: Counts = {};
  #saved: Promise<void> = Promise.resolve();

  constructor(runFolder: string, nodeId: string) {
    this.#file = join(runFolder, "nodes", `${nodeId}.json`);
  }

  /** The current turn at the last save. */
  get turn(): string | undefined {
    return this.#turn;
  }

  async load(): Promise<void> {
    let memo: unknown;
    try {
      memo = JSON.parse(await readFile(this.#file, "utf8"));
    } catch (error) {
      const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
      // After a power loss the file may be empty. Only the counts depend on it, and they restart.
      if (!isAbsent) console.error(`the memo \`${this.#file}\` cannot be read and is ignored:`, error);
      return;
    }
    if (!isObject(memo)) return;
    if (typeof memo["turn"] === "string") this.#turn = memo["turn"];
    for (const kind of ["output", "diff", "verification"] as const) {
      const count = isObject(memo["counts"]) ? memo["counts"][kind] : undefined;
      if (!isObject(count)) continue;
      const { hash, turns } = count;
      if (typeof hash === "string" && typeof turns === "number") this.#counts[kind] = { hash, turns };
    }
  }

  turnBegins(turn: string): Promise<void> {
    this.#turn = turn;
    return this.#save();
  }

  turnIsOver(): Promise<void> {
    this.#turn = undefined;
    return this.#save();
  }

  countAnew(): Promise<void> {
    this.#counts = {};
    return this.#save();
  }

  /** Counts a completed turn. Returns the evidence if it is a stall. */
  count({ output, diff, verification }: Outcome): JsonObject | undefined {
    const same: Record<Kind, string | undefined> = {
      output,
      // Turns without changes do not indicate a loop by themselves.
      diff: diff === "" ? undefined : diff,
      verification: verification?.ok === false ? verification.output : undefined,
    };
    let evidence: JsonObject | undefined;
    for (const kind of ["output", "diff", "verification"] as const) {
      const text = same[kind];
      if (text === undefined) {
        delete this.#counts[kind];
        continue;
      }
      const hash = createHash("sha256").update(text).digest("hex");
      const before = this.#counts[kind];
      const turns = before?.hash === hash ? before.turns + 1 : 1;
      this.#counts[kind] = { hash, turns };
      if (turns >= STALL) evidence = { ...evidence, [kind]: { hash: `sha256:${hash}`, turns } };
    }
    return evidence;
  }

  #save(): Promise<void> {
    const text = JSON.stringify({ turn: this.#turn, counts: this.#counts });
    this.#saved = this.#saved
      // The caller of the earlier save has already got its failure.
      .catch(() => {})
      .then(async () => {
        await mkdir(dirname(this.#file), { recursive: true });
        await writeFile(`${this.#file}.new`, text);
        await rename(`${this.#file}.new`, this.#file);
      });
    this.#saved.catch(() => {});
    return this.#saved;
  }
}
