/** How a tool is run: permission, secrets, validation, execution, redaction. The answer is always a result. */

import { ioError, isRecord, typedError } from "./errors.ts";
import { injectSecrets, redactorOf, type Secrets } from "./tools-secrets.ts";
import type { Tool, ToolContext, ToolError, ToolRegistry, ToolResult } from "./tools.ts";
import type { Clock } from "./utils.ts";

/** Tools that change something, with their operation and the input member that names the resource. All others are allowed. */
const NEEDS_PERMISSION: ReadonlyMap<string, { operation: string; resource: string }> = new Map([
  ["Write", { operation: "write", resource: "file" }],
  ["Edit", { operation: "write", resource: "file" }],
  ["Bash", { operation: "execute", resource: "command" }],
]);

export type Execute = (name: string, input: unknown, ctx: ToolContext) => Promise<ToolResult>;

export function toolRuntime(registry: ToolRegistry, clock: Clock): Execute {
  return async (name, input, ctx) => {
    const startedAt = clock.now();
    const result = await run(registry, name, input, ctx);
    const endedAt = clock.now();
    return { ...result, meta: { startedAt, endedAt, durationMs: Date.parse(endedAt) - Date.parse(startedAt) } };
  };
}

async function run(registry: ToolRegistry, name: string, given: unknown, ctx: ToolContext): Promise<ToolResult> {
  const secrets: Secrets = new Map();
  try {
    const tool = registry.get(name);
    checkPermission(tool, given, ctx);
    const input = ctx.secretProvider ? await injectSecrets(given, ctx.secretProvider, secrets) : given;
    const redact = redactorOf(secrets);
    const { logger } = ctx;
    const result = await tool.execute(tool.validate(input), {
      ...ctx,
      logger: logger && ((entry) => logger(redact(entry))),
    });
    return redactResult(checkResult(name, result), redact);
  } catch (error) {
    return redactResult({ ok: false, error: asToolError(error) }, redactorOf(secrets));
  }
}

function checkPermission({ name }: Tool, input: unknown, { permissions = [] }: ToolContext): void {
  const needed = NEEDS_PERMISSION.get(name);
  if (!needed || permissions.includes(name)) return;
  const resource = isRecord(input) ? input[needed.resource] : undefined;
  throw typedError("EPERMISSION", `${name} needs the permission \`${name}\``, {
    resource: typeof resource === "string" ? resource : name,
    operation: needed.operation,
    policy: `\`${name}\` is denied unless it is permitted`,
  });
}

function checkResult(name: string, result: unknown): ToolResult {
  if (isRecord(result) && typeof result["ok"] === "boolean") return result as unknown as ToolResult;
  throw typedError("EIO", `${name} returned no result`, { operation: "execute" });
}

/** `ok` and `meta` are the runtime's own; an error's `code` is the taxonomy's, unless a tool made one up. */
function redactResult(result: ToolResult, redact: <T>(value: T) => T): ToolResult {
  const { data, error } = result;
  return {
    ok: result.ok,
    ...(data === undefined ? {} : { data: redact(data) }),
    ...(error === undefined ? {} : { error: isOurs(error.code) ? { ...redact(error), code: error.code } : redact(error) }),
  };
}

const OUR_CODES = ["EVALIDATION", "EPERMISSION", "ETIMEOUT", "EIO", "ELOCK_TIMEOUT", "EHALT", "ESECRET_NOT_FOUND"];
const isOurs = (code: string): boolean => OUR_CODES.includes(code);

/**
 * Converts a typed error to a result; a system error, whose code is not in the taxonomy, becomes `EIO`. An error without a code is
 * a bug, and is rethrown.
 */
export function asToolError(error: unknown): ToolError {
  if (!(error instanceof Error) || !isRecord(error)) throw error;
  if (typeof error["syscall"] === "string") return asToolError(ioError(error["syscall"], String(error["path"] ?? ""), error));
  const { code, name: _name, stack: _stack, cause: _cause, ...properties } = error;
  if (typeof code !== "string") throw error;
  return { ...properties, code, message: error.message };
}
