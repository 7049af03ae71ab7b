/** Prompts of a turn, and their files: the whole prompt is logged, even if only a part is sent. */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { writeDurably } from "./runs-log.ts";
import { isOrchestrator, type AgentNode, type Artifact, type Prompt, type Run } from "./runs-types.ts";

export interface PromptBlocks {
  system: string;
  role: string;
  mode: string;
  task: string;
  override: string;
}

const SYSTEM = [
  "You are one of several agents that work on a run together.",
  "Do the task that is given below, and say at the end what was done.",
].join(" ");

const MODE_TEXT: Readonly<Record<Run["mode"] | Run["globalMode"], string>> = {
  AUTO: "Go on by yourself; nobody is asked between the steps.",
  INTERACTIVE: "A user follows the work; ask where a decision is theirs.",
  PLANNING: "This is planning: change no code, write down what is to be done.",
  IMPLEMENTATION: "This is implementation: carry the plan out.",
};

export function promptBlocks(run: Run, node: AgentNode, inputs: readonly string[]): PromptBlocks {
  const duty = isOrchestrator(node) ? "You share out the work among the other agents." : "You report to whoever gave you the task.";
  return {
    system: SYSTEM,
    role: `You are ${node.label}, in the role ${node.roleTemplate}. ${duty}`,
    mode: `Mode ${run.mode}: ${MODE_TEXT[run.mode]}\nGlobal mode ${run.globalMode}: ${MODE_TEXT[run.globalMode]}`,
    task: inputs.join("\n\n"),
    // No endpoint sets one, but readers of the file expect all five blocks.
    override: "",
  };
}

/** The full effective prompt: all non-empty blocks, in order. */
export function fullPrompt({ system, role, mode, task, override }: PromptBlocks): string {
  return [system, role, mode, task, override].filter((block) => block !== "").join("\n\n");
}

/** The prompt to send: the full one for a new session, else only the delta. */
export function promptToSend(blocks: PromptBlocks, isSessionNew: boolean): Prompt {
  return isSessionNew ? { kind: "full", text: fullPrompt(blocks) } : { kind: "delta", text: blocks.task };
}

export type ArtifactDraft = Omit<Artifact, "createdAt">;

/** Writes both prompt artifacts into the turn's folder, on the disk before they are reported. */
export async function keepPrompts(folder: string, node: AgentNode, blocks: PromptBlocks): Promise<ArtifactDraft[]> {
  const files = { "prompt.full.txt": fullPrompt(blocks), "prompt.blocks.json": `${JSON.stringify(blocks, null, 2)}\n` };
  await writeDurably(folder, files);
  return Object.keys(files).map((name) => artifact(folder, node, "prompt", name));
}

export async function keepDiff(folder: string, node: AgentNode, diff: string): Promise<ArtifactDraft> {
  await writeDurably(folder, { "diff.patch": diff === "" ? "no changes" : diff });
  return artifact(folder, node, "diff", "diff.patch");
}

function artifact(folder: string, { id: nodeId, runId }: AgentNode, kind: Artifact["kind"], name: string): ArtifactDraft {
  return { id: randomUUID(), runId, nodeId, kind, name, path: join(folder, name) };
}
