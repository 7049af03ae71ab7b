// Checked by the compiler and never run: what a TypeScript author may write, and what must be an error.

import { AdapterError, ContractError, flattenError, isContractError, NotScriptedError, serve, SessionClosedError } from "../proofmark.mjs";
import type { Adapter, Call, Handler, Opened, Operations, Session } from "../proofmark.mjs";
import { eventLogger, graph, llmProvider, scriptedExecute, secretProvider, sendStream, toolRunner } from "../proofmark-fakes.mjs";

const typed: Handler = ({ path, n }: { path: string; n?: number }, session: Session) => `${session.workspace}/${path}/${n}`;

const operations: Operations = {
  typed,
  inferred: ({ anything }, { clock, random }) => [anything, clock.now().length, random.int() + random.float()],
  async asked(_, session) {
    const secret = await session.fake("secrets").call<string | null>("get", { key: "k" });
    return secret?.length ?? null;
  },
  async *streamed({ items }: { items: string[] }, _session, call) {
    for (const item of items) yield item;
    await call.event({ last: true });
    return items.length;
  },
  handled: (_, session) => {
    session.onClose(async () => {});
    const handle: string = session.put(new Map(), "map");
    return session.has(handle) && session.get<Map<string, number>>(handle).size && session.remove(handle);
  },
  refused: () => {
    throw new ContractError("EIO", "m", { path: "p" }, { name: "IOError", cause: new Error() });
  },
};

const adapter: Adapter = { name: "n", version: "v", language: "typescript", contracts: ["c"], operations };
serve(adapter);
serve({ ...adapter, operations: async () => operations, hooks: ["h"], isContractError: (error) => error instanceof RangeError });

const http = { base: "http://127.0.0.1:1", stream: "/ws?runId={runId}" };
const opened: Opened = { wire: { http, mcp: { command: ["server", "--stdio"], env: { NAME: "value" } } } };
serve({ ...adapter, open: async (): Promise<Opened> => ({ wire: { http } }) });

const closed: AdapterError = new SessionClosedError("m");
const error: Error = new NotScriptedError("m");
const isIt: boolean = isContractError(error) || error instanceof AdapterError;
const flat: Record<string, unknown> = flattenError(error);
export { closed, flat, isIt, opened };

export async function collaborators(session: Session, call: Call): Promise<unknown[]> {
  const secret: string | undefined = await secretProvider(session).get("KEY");
  const rows: { name: string }[] = await graph(session).query<{ name: string }>("MATCH (n) RETURN n.name", { a: 1 }, "c1");
  const logger: (entry: { msg: string }) => void = eventLogger(call);
  const result: { ok: boolean } = await scriptedExecute(session, "Tool")({ a: 1 }, { logger });
  const run: (name: string, input: unknown) => Promise<{ ok: boolean }> = toolRunner(session);
  const answer = await llmProvider(session, "p").chat({ model: "m" });
  if ("text" in answer) return [answer.text, secret, rows, result, run];
  await sendStream(call, answer, 3);
  return [await answer.next(), await answer.return()];
}

// @ts-expect-error a code is a string
new ContractError(7, "m");
// @ts-expect-error contracts are required
serve({ name: "n", version: "v", language: "typescript", operations });
// @ts-expect-error an operation is a function
serve({ ...adapter, operations: { wrong: 7 } });
// @ts-expect-error there may be no workspace
operations["inferred"] = (_: unknown, session: Session): string => session.workspace;
// @ts-expect-error the harness opened it
(session: Session) => (session.workspace = "/elsewhere");
// @ts-expect-error a wire is of some kind
const wireless: Opened = { wire: {} };
// @ts-expect-error a server has an address
const homeless: Opened = { wire: { http: {} } };
