/** `sage.tools`: what a tool is, and the registry that knows them by name. */

import { invalid, type Detail } from "./errors.ts";
import { checkSchema, validated } from "./schema-validate.ts";
import { schemaFaults } from "./schema.ts";
import type { SecretProvider } from "./utils.ts";

export interface ToolLog {
  ts: string;
  name: string;
  msg: string;
  data?: unknown;
}

export interface ToolContext {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly dryRun?: boolean | undefined;
  readonly permissions?: readonly string[] | undefined;
  readonly logger?: ((entry: ToolLog) => void) | undefined;
  readonly secretProvider?: SecretProvider | undefined;
}

export interface ToolError {
  code: string;
  message: string;
  [property: string]: unknown;
}

export interface ToolResult<T = unknown> {
  ok: boolean;
  data?: T;
  error?: ToolError;
  meta?: { startedAt: string; endedAt: string; durationMs: number };
}

export interface Tool<I = any, O = any> {
  readonly name: string;
  readonly description?: string | undefined;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly version?: string | undefined;
  validate(input: unknown): I;
  execute(input: I, ctx: ToolContext): Promise<ToolResult<O>>;
}

export interface ToolSchema {
  name: string;
  parameters: Readonly<Record<string, unknown>>;
  description?: string;
}

export interface ToolRegistry {
  /** Throws `EVALIDATION` for an incomplete tool or a taken name. */
  register<TI, TO>(tool: Tool<TI, TO>): void;
  /** Throws `EVALIDATION` for an unknown name. */
  get<TI = any, TO = any>(name: string): Tool<TI, TO>;
  /** Sorted by name, so that prompts are deterministic. */
  getToolSchemas(): ToolSchema[];
}

/** A tool whose inputs are validated by its schema. */
export function defineTool<I, O>(tool: Omit<Tool<I, O>, "validate">): Tool<I, O> {
  // A copy, in case the caller changes the object later.
  const schema = structuredClone(tool.schema);
  return {
    ...tool,
    schema,
    validate(input) {
      checkSchema(schema, "schema");
      return validated(schema, input) as I;
    },
  };
}

export function createRegistry(tools: readonly Tool[] = []): ToolRegistry {
  const byName = new Map<string, Tool>();
  const registry: ToolRegistry = {
    register(tool) {
      const faults = toolFaults(tool, byName);
      if (faults.length > 0) throw invalid("the tool cannot be registered", faults);
      byName.set(tool.name, tool);
    },
    get(name) {
      const tool = byName.get(name);
      if (!tool) throw invalid(`there is no tool \`${name}\``, [{ field: "name", reason: "is not the name of a tool", received: name }]);
      return tool;
    },
    getToolSchemas() {
      return [...byName.keys()].sort().map((name) => {
        const { description, schema } = registry.get(name);
        return { name, parameters: schema, ...(description === undefined ? {} : { description }) };
      });
    },
  };
  for (const tool of tools) registry.register(tool);
  return registry;
}

function toolFaults(tool: Tool, taken: ReadonlyMap<string, Tool>): Detail[] {
  const { name, description, schema, version }: { [key in keyof Tool]?: unknown } = tool;
  const faults: Detail[] = [];
  if (typeof name !== "string" || name === "") {
    faults.push({ field: "name", reason: "must be a string that is not empty", received: name, expected: "string" });
  } else if (taken.has(name)) faults.push({ field: "name", reason: "is already taken", received: name });
  for (const [field, value] of Object.entries({ description, version })) {
    if (value !== undefined && typeof value !== "string") {
      faults.push({ field, reason: "must be a string", received: value, expected: "string" });
    }
  }
  faults.push(...schemaFaults(schema).map((reason) => ({ field: "schema", reason, expected: "a JSON Schema" })));
  for (const field of ["validate", "execute"] as const) {
    if (typeof tool[field] !== "function") faults.push({ field, reason: "must be a function", expected: "function" });
  }
  return faults;
}
