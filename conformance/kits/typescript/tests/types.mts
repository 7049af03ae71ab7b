// Checked by the compiler and never run: what a TypeScript author may write, and what must be an error.

import { AdapterError, ContractError, flattenError, isContractError, NotScriptedError, serve } from "../proofmark.mjs";
import type { Adapter, Handler, Operations, Session } from "../proofmark.mjs";

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

const error: Error = new NotScriptedError("m");
const isIt: boolean = isContractError(error) || error instanceof AdapterError;
const flat: Record<string, unknown> = flattenError(error);
export { flat, isIt };

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
