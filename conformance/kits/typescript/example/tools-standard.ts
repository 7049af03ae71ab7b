/** The five tools that every registry begins with. */

import { bash } from "./tools-bash.ts";
import { edit, read, write } from "./tools-files.ts";
import { createRegistry, defineTool, type Tool, type ToolRegistry } from "./tools.ts";

/** Answers queries. Its errors become the tool's. */
export interface Graph {
  query(query: string, params?: Readonly<Record<string, unknown>>, commit?: string): Promise<unknown[]>;
}

interface Query {
  query: string;
  params?: Record<string, unknown>;
  commit?: string;
}

export function standardRegistry(graph: Graph): ToolRegistry {
  return createRegistry([graphQuery(graph), read, write, edit, bash]);
}

function graphQuery(graph: Graph): Tool<Query, { rows: unknown[] }> {
  return defineTool({
    name: "GraphQuery",
    description: "Asks the graph of the code; changes nothing",
    schema: {
      type: "object",
      properties: {
        query: { type: "string" },
        params: { type: "object", additionalProperties: true },
        commit: { type: "string" },
      },
      required: ["query"],
      additionalProperties: false,
    },
    async execute({ query, params, commit }) {
      return { ok: true, data: { rows: await graph.query(query, params, commit) } };
    },
  });
}
