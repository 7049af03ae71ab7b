/** The worked example behind the subject protocol. Only this file knows about Proofmark. */

import { flattenError, serve, SessionClosedError, type Call, type Opened, type Session } from "../proofmark.mjs";
import { eventLogger, graph, llmProvider, scriptedExecute, secretProvider, sendStream, toolRunner } from "../proofmark-fakes.mjs";
import { chroniclesIn, type Chronicles } from "./chronicle.ts";
import { invalid, typedError } from "./errors.ts";
import { createLLM, type LLM, type ToolRunner } from "./llm.ts";
import { RunsServer } from "./runs-http.ts";
import { Runs } from "./runs-server.ts";
import { ProviderGone, type Provider } from "./runs-types.ts";
import { toolRuntime, type Execute } from "./tools-runtime.ts";
import { standardRegistry } from "./tools-standard.ts";
import { defineTool, type ToolContext, type ToolRegistry } from "./tools.ts";
import { canonicalJSONStringify, err, sha256 } from "./utils.ts";

serve({
  name: "sage-typescript",
  version: "0.1.0",
  language: "typescript",
  contracts: ["sage.utils", "sage.errors", "sage.chronicle", "sage.tools", "sage.llm", "runs"],
  hooks: ["chronicle.lock", "llm.cache", "llm.registry", "runs.patch", "runs.provider"],
  open: serveRuns,
  operations: {
    "utils.canonicalJSONStringify": (args) => canonicalJSONStringify("json" in args ? parse(args.json) : args.value),
    "utils.sha256": ({ text, hex }) => sha256(hex === undefined ? text : bytes(hex)),
    "utils.err": ({ code, message, cause }) => flattenError(err(code, message, cause)),
    "utils.clock.now": (_, { clock }) => clock.now(),
    "utils.random.int": (_, { random }) => random.int(),
    "utils.random.float": (_, { random }) => random.float(),
    "utils.secrets.get": ({ key }, session) => secretProvider(session).get(key),

    "errors.raise": ({ code, message, properties, cause }) => {
      throw typedError(code, message, properties, cause);
    },

    "chronicle.appendEvent": ({ path, event, lockTimeoutMs }, session) =>
      chroniclesOf(session).appendEvent(path, event, lockTimeoutMs),
    "chronicle.appendEventWithId": ({ path, event, lockTimeoutMs }, session) =>
      chroniclesOf(session).appendEventWithId(path, event, lockTimeoutMs),
    "chronicle.readChronicle": ({ path }, session) => chroniclesOf(session).readChronicle(path),
    "chronicle.tailChronicle": ({ path, n }, session) => chroniclesOf(session).tailChronicle(path, n),
    "chronicle.holdLock": async ({ path }, session) => {
      const release = await chroniclesOf(session).lockChronicle(path);
      session.onClose(release);
      held(session).set(path, release);
    },
    "chronicle.releaseLock": ({ path }, session) => {
      held(session).get(path)?.();
      held(session).delete(path);
    },

    "tools.register": ({ tool }, session) => {
      const execute = scriptedExecute(session, tool.name);
      toolsOf(session).registry.register(defineTool({ ...tool, execute }));
    },
    "tools.get": ({ name }, session) => {
      const { validate, execute, ...known } = toolsOf(session).registry.get(name);
      return known;
    },
    "tools.getToolSchemas": (_, session) => toolsOf(session).registry.getToolSchemas(),
    "tools.validate": ({ name, input }, session) => toolsOf(session).registry.get(name).validate(input),
    "tools.execute": ({ name, input, context }, session, call) =>
      toolsOf(session).execute(name, input, contextOf(session, call, context ?? {})),

    "llm.setProvider": ({ name }, session) => llmOf(session).setProvider(llmProvider(session, name)),
    "llm.listModels": ({ providerName }, session) => llmOf(session).listModels(providerName),
    "llm.createChatStream": async ({ options, tools, maxRounds, cache, take }, session, call) => {
      const settings = { runTool: runnerOf(session, tools), maxRounds, cache };
      await sendStream(call, await llmOf(session).createChatStream(options, settings), take);
    },
  },
});

/** Every session with a folder gets a server, because this adapter does not look at the session's contract. */
async function serveRuns(session: Session): Promise<Opened | undefined> {
  if (session.workspace === undefined) return undefined;
  const runs = await Runs.open(session.workspace, session.clock, runsProvider(session));
  session.onClose(() => runs.stop());
  const server = new RunsServer(runs);
  const base = await server.listen();
  session.onClose(() => server.close());
  // Only after the harness knows that the session is open.
  setImmediate(() => runs.goOn());
  return { wire: { http: { base } } };
}

/** The provider of a session's nodes, played by the fake `provider`. */
function runsProvider(session: Session): Provider {
  const ask = async (method: string, args: Record<string, unknown>): Promise<unknown> => {
    try {
      return await session.fake("provider").call(method, args);
    } catch (error) {
      throw error instanceof SessionClosedError ? new ProviderGone(error.message) : error;
    }
  };
  return {
    turn: (question) => ask("turn", question),
    next: (turn) => ask("next", { turn }),
    resolve: (turn, toolId, status, args) => ask("resolve", { turn, toolId, status, ...(args === undefined ? {} : { args }) }),
    stop: (turn) => ask("stop", { turn }),
  };
}

function workspaceOf({ workspace }: Session): string {
  if (workspace === undefined) throw new Error("the session has no workspace");
  return workspace;
}

function chroniclesOf(session: Session): Chronicles {
  return chroniclesIn(workspaceOf(session));
}

interface Tools {
  readonly registry: ToolRegistry;
  readonly execute: Execute;
}

const tools = new WeakMap<Session, Tools>();

function toolsOf(session: Session): Tools {
  const known = tools.get(session);
  if (known) return known;
  const registry = standardRegistry(graph(session));
  const made = { registry, execute: toolRuntime(registry, session.clock) };
  tools.set(session, made);
  return made;
}

function contextOf(session: Session, call: Call, { secrets, logger, ...rest }: Record<string, unknown>): ToolContext {
  return {
    ...rest,
    cwd: workspaceOf(session),
    secretProvider: secrets === true ? secretProvider(session) : undefined,
    logger: logger === true ? eventLogger(call) : undefined,
  };
}

const chats = new WeakMap<Session, LLM>();

function llmOf(session: Session): LLM {
  const llm = chats.get(session) ?? createLLM();
  chats.set(session, llm);
  return llm;
}

function runnerOf(session: Session, tools: unknown): ToolRunner | undefined {
  if (tools === "fake") return toolRunner(session);
  // The model has no permissions.
  if (tools === "registry") return (name, input) => toolsOf(session).execute(name, input, { cwd: workspaceOf(session) });
  return undefined;
}

const locks = new WeakMap<Session, Map<string, () => void>>();

function held(session: Session): Map<string, () => void> {
  const ofSession = locks.get(session) ?? new Map<string, () => void>();
  locks.set(session, ofSession);
  return ofSession;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw invalid("the text is not JSON", [{ field: "json", reason: String(error) }]);
  }
}

function bytes(hex: string): Uint8Array {
  const decoded = Buffer.from(hex, "hex");
  if (decoded.length * 2 !== hex.length) throw invalid("not hex digits", [{ field: "hex", reason: "must be pairs of hex digits" }]);
  return decoded;
}
