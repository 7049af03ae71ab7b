/** The standard tool Bash: runs a program and leaves no process behind. It uses no shell. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants as files, statSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { invalid, isRecord, typedError, type TypedError } from "./errors.ts";
import { Leash } from "./tools-leash.ts";
import { CUT } from "./tools-secrets.ts";
import { defineTool, type Tool, type ToolContext } from "./tools.ts";

/** Limit per stream. Output beyond it is read and discarded, so that the program does not block. */
const MOST_OUTPUT = 1024 * 1024;
const DEFAULT_PATH = "/usr/bin:/bin";
/** How long reading the remaining output may take on a busy machine. */
const LAST_WORDS_MS = 10_000;
/** The longest delay of a Node timer. */
const LONGEST_TIMER = 2 ** 31 - 1;

interface Command {
  command: string;
  args?: string[];
  timeoutMs?: number | undefined;
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

export const bash: Tool<Command, Outcome> = defineTool({
  name: "Bash",
  description: "Runs a program in the workspace, with the context's environment and no other",
  schema: {
    type: "object",
    properties: {
      command: { type: "string", minLength: 1 },
      args: { type: "array", items: { type: "string" } },
      timeoutMs: { type: "integer", minimum: 1 },
    },
    required: ["command"],
    additionalProperties: false,
  },
  async execute({ command, args = [], timeoutMs }, ctx) {
    checkText("command", command);
    args.forEach((arg, index) => checkText(`args.${index}`, arg));
    const program = findProgram(command, ctx);
    if (ctx.dryRun) return { ok: true, data: { code: 0, stdout: "", stderr: "" } };
    return { ok: true, data: await run(program, { command, args, timeoutMs }, ctx) };
  },
});

async function run(program: string, { command, args = [], timeoutMs }: Command, ctx: ToolContext): Promise<Outcome> {
  const startedAt = performance.now();
  const leash = new Leash();
  let timer: NodeJS.Timeout | undefined;
  try {
    const child = await start(program, { command, args }, leash, ctx);
    leash.hold(child.pid ?? 0);
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    const closed = once(child, "close");
    const timedOut = new Promise<"timed out">((resolve) => {
      if (timeoutMs !== undefined) timer = setTimeout(resolve, Math.min(timeoutMs, LONGEST_TIMER), "timed out");
    });
    const hasExited = child.exitCode !== null || child.signalCode !== null;
    const end = await Promise.race([hasExited ? [child.exitCode, child.signalCode] : once(child, "exit"), timedOut]);
    // Even if the program exited by itself: its background processes could write to files of later calls.
    await leash.pull(closed, end !== "timed out");
    // No process holds the pipes open any more, but they may still contain output.
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS).unref())]);
    for (const stream of child.stdio) stream?.destroy();
    if (end === "timed out") throw timeout(command, timeoutMs ?? 0, performance.now() - startedAt);
    return { code: exitCode(end), stdout: stdout(), stderr: stderr() };
  } finally {
    clearTimeout(timer);
    leash.drop();
  }
}

/** The process, once it runs. */
async function start(program: string, { command, args = [] }: Command, leash: Leash, ctx: ToolContext): Promise<ChildProcess> {
  try {
    const child = spawn(program, args, {
      argv0: command,
      cwd: ctx.cwd,
      env: { ...ctx.env },
      // A separate session, so that the program does not get the terminal's signals.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe", leash.descriptor],
    });
    // Nothing is written there; reading it shows when it is closed.
    child.stdio[3]?.on("data", () => {});
    await once(child, "spawn");
    return child;
  } catch (error) {
    throw notStarted(command, error);
  }
}

/** Finds the program in the context's PATH, not in ours. */
function findProgram(command: string, { cwd, env = {} }: ToolContext): string {
  if (command.includes("/")) return resolve(cwd, command);
  for (const folder of (env["PATH"] ?? DEFAULT_PATH).split(":")) {
    const program = resolve(cwd, folder, command);
    try {
      accessSync(program, files.X_OK);
      if (statSync(program).isFile()) return program;
    } catch {
      // Try the next folder.
    }
  }
  throw notStarted(command, { code: "ENOENT", message: "there is no such program" });
}

/** Collects a stream, up to the limit. The returned function gives the text so far. */
function collect(stream: Readable | null): () => string {
  const chunks: Buffer[] = [];
  let kept = 0;
  let size = 0;
  stream?.on("data", (chunk: Buffer) => {
    const part = chunk.subarray(0, MOST_OUTPUT - kept);
    if (part.length > 0) chunks.push(part);
    kept += part.length;
    size += chunk.length;
  });
  return () => {
    const isCut = size > kept;
    // Drops a character split by the limit; invalid UTF-8 becomes replacement characters.
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(chunks), { stream: isCut });
    return isCut ? `${text}${CUT}${size - kept} bytes more]` : text;
  };
}

function exitCode([code, signal]: unknown[]): number {
  if (typeof code === "number") return code;
  // As a shell reports it.
  return 128 + (Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0);
}

function checkText(field: string, text: string): void {
  if (!text.includes("\0") && text.isWellFormed()) return;
  throw invalid("the command cannot be run", [{ field, reason: "holds a character that no argument can have" }]);
}

function notStarted(command: string, error: unknown): TypedError {
  const code = isRecord(error) && typeof error["code"] === "string" ? { code: error["code"] } : {};
  const message = `\`${command}\` could not be started: ${code.code ?? String(error)}`;
  return typedError("EIO", message, { operation: "execute", path: command, ...code });
}

function timeout(command: string, timeoutMs: number, elapsed: number): TypedError {
  // A timer may be early by a fraction of a millisecond.
  const elapsedMs = Math.max(timeoutMs, Math.round(elapsed));
  const message = `\`${command}\` took longer than ${timeoutMs} ms`;
  return typedError("ETIMEOUT", message, { timeoutMs, elapsedMs, operation: "execute" });
}
