// Errors of an adapter, and which of them are contract errors.

// An error's own members, which no property may replace.
const RESERVED = new Set(["name", "code", "message", "cause", "stack"]);

/** An error of the contract: the answer is `{"error": {code, message, name, ...properties}}`. */
export class ContractError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {Readonly<Record<string, unknown>>} [properties]
   * @param {{ readonly name?: string | undefined, readonly cause?: unknown }} [more]
   */
  constructor(code, message, properties = {}, { name = "ContractError", cause } = {}) {
    if (typeof code !== "string") throw new TypeError("a contract error's code must be a string");
    super(message, cause === undefined ? undefined : { cause });
    Object.defineProperty(this, "name", { value: name, configurable: true, writable: true });
    for (const [key, value] of Object.entries(properties ?? {})) {
      if (!RESERVED.has(key)) own(this, key, value);
    }
    this.code = code;
  }
}

/** The adapter failed: the answer is a JSON-RPC error, never a rejection by the contract. */
export class AdapterError extends Error {
  constructor(message, rpcCode = -32000) {
    super(message);
    this.name = "AdapterError";
    this.rpcCode = rpcCode;
  }
}

/** A tape or a fake that the case did not provide: the case and the subject disagree about what is needed. */
export class NotScriptedError extends AdapterError {
  constructor(message) {
    super(message);
    this.name = "NotScriptedError";
  }
}

/** The session is closed, or the harness has gone. No collaborator has failed. */
export class SessionClosedError extends AdapterError {
  constructor(message) {
    super(message);
    this.name = "SessionClosedError";
  }
}

/**
 * Whether a thrown value is a contract's error: a ContractError, or anything with a string `code` and `message` that is
 * not Node's own. A missing file must not pass for a legal `ENOENT`, nor a wrong call of Node's API for `ERR_…`.
 * @param {any} error
 */
export function isContractError(error) {
  if (error instanceof ContractError) return true;
  if (typeof error !== "object" || error === null) return false;
  if (typeof error.code !== "string" || typeof error.message !== "string") return false;
  const isNodes =
    typeof error.errno === "number" ||
    typeof error.syscall === "string" ||
    /^(ERR_|ABORT_ERR$|MODULE_NOT_FOUND$)/.test(error.code);
  return !isNodes;
}

/** An error as one flat JSON object: `{name, code, message, cause?, ...own properties}`, without its stack. */
export function flattenError(error, causesLeft = 8) {
  const flat = {};
  if (typeof error.name === "string") flat.name = error.name;
  if (error.code !== undefined) flat.code = error.code;
  flat.message = String(error.message).toWellFormed();
  for (const [key, value] of Object.entries(error)) {
    if (!RESERVED.has(key)) own(flat, key, value);
  }
  const { cause } = error;
  if (cause !== undefined) {
    const isError = cause instanceof Error || isContractError(cause);
    // Causes may form a cycle, and a few are enough for a report.
    flat.cause = !isError ? cause : causesLeft > 0 ? flattenError(cause, causesLeft - 1) : String(cause.message);
  }
  return flat;
}

/** The code and message of the JSON-RPC error for a thrown value, which may be a hostile object. */
export function rpcError(error) {
  try {
    if (error instanceof AdapterError) return [error.rpcCode, error.message];
    return [-32000, describe(error)];
  } catch {
    return [-32000, "the thrown value cannot be described"];
  }
}

export function describe(error) {
  if (error instanceof Error) return String(error.stack ?? error.message);
  return typeof error === "object" ? JSON.stringify(error) : String(error);
}

/** Sets an own property, even one called `__proto__`. */
function own(object, key, value) {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
}
