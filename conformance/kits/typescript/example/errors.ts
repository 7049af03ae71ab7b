/** `sage.errors`: the global taxonomy. Every code has required properties. */

export interface TypedError extends Error {
  code: string;
  cause?: unknown;
  [property: string]: unknown;
}

export interface Detail {
  field: string;
  reason: string;
  received?: unknown;
  expected?: unknown;
}

type Kind = "string" | "number" | "any" | "details" | "object";

interface CodeSpec {
  readonly name: string;
  readonly required: Readonly<Record<string, Kind>>;
  readonly optional: Readonly<Record<string, Kind>>;
}

const TAXONOMY: ReadonlyMap<string, CodeSpec> = new Map<string, CodeSpec>([
  ["EVALIDATION", { name: "ValidationError", required: { details: "details" }, optional: {} }],
  [
    "EPERMISSION",
    { name: "PermissionError", required: { resource: "string", operation: "string" }, optional: { policy: "string" } },
  ],
  [
    "ETIMEOUT",
    {
      name: "TimeoutError",
      required: { timeoutMs: "number", elapsedMs: "number", operation: "string" },
      optional: {},
    },
  ],
  ["EIO", { name: "IOError", required: { operation: "string" }, optional: { path: "string", code: "string" } }],
  [
    "ELOCK_TIMEOUT",
    { name: "LockTimeoutError", required: { path: "string", timeoutMs: "number" }, optional: { holder: "string" } },
  ],
  [
    "EHALT",
    {
      name: "HaltError",
      required: { invariant: "string", expected: "any", actual: "any" },
      optional: { context: "object" },
    },
  ],
]);

/** The error's own members, which properties must not replace. */
const OWN = new Set(["code", "message", "stack", "name", "cause"]);

class SageError extends Error implements TypedError {
  code: string;
  [property: string]: unknown;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    define(this, "name", TAXONOMY.get(code)?.name ?? "TypedError", false);
  }
}

/** `err` of `sage.utils`: an error with a code, without the code's required properties. */
export function err(code: string, message: string, cause?: unknown): TypedError {
  const faults = [...mustBeString("code", code), ...mustBeString("message", message)];
  if (faults.length > 0) throw invalid("an error needs a code and a message", faults);
  return new SageError(code, message, cause);
}

/** An error of the taxonomy. Throws `EVALIDATION` if a property that the code requires is missing or of a wrong kind. */
export function typedError(
  code: string,
  message: string,
  properties: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): TypedError {
  if (!isRecord(properties)) {
    throw invalid("an error's properties are an object", [
      { field: "properties", reason: "must be an object", received: properties, expected: "object" },
    ]);
  }
  const error = err(code, message, cause ?? own(properties, "cause"));
  const faults = propertyFaults(code, properties);
  if (faults.length > 0) throw invalid(`an error with the code ${code} cannot be made`, faults);
  for (const [key, value] of Object.entries(properties)) {
    if (!OWN.has(key)) define(error, key, value, true);
  }
  // The taxonomy calls the system's code of an EIO `code`, a name that is taken.
  const systemCode = own(properties, "code");
  if (systemCode !== undefined && !Object.hasOwn(properties, "systemCode")) define(error, "systemCode", systemCode, true);
  return error;
}

/** An `EVALIDATION` whose details say what is wrong with which field. */
export function invalid(message: string, details: readonly Detail[]): TypedError {
  const error = new SageError("EVALIDATION", message);
  error["details"] = details;
  return error;
}

/** An `EIO` for an error of the file system. */
export function ioError(operation: string, path: string, cause: unknown): TypedError {
  const systemCode = isRecord(cause) && typeof cause["code"] === "string" ? { code: cause["code"] } : {};
  const reason = cause instanceof Error ? cause.message : String(cause);
  return typedError("EIO", `could not ${operation} \`${path}\`: ${reason}`, { operation, path, ...systemCode }, cause);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function propertyFaults(code: string, properties: Readonly<Record<string, unknown>>): Detail[] {
  const spec = TAXONOMY.get(code);
  if (!spec) return [];
  const faults: Detail[] = [];
  for (const [field, kind] of Object.entries(spec.required)) {
    if (!Object.hasOwn(properties, field) || properties[field] === undefined) {
      faults.push({ field, reason: `is required by ${code}`, expected: kind });
    } else faults.push(...kindFaults(field, kind, properties[field]));
  }
  for (const [field, kind] of Object.entries(spec.optional)) {
    const value = own(properties, field);
    if (value !== undefined) faults.push(...kindFaults(field, kind, value));
  }
  return faults;
}

function kindFaults(field: string, kind: Kind, value: unknown): Detail[] {
  switch (kind) {
    case "any":
      return [];
    case "string":
      return mustBeString(field, value);
    case "number":
      if (typeof value === "number" && Number.isFinite(value)) return [];
      return [{ field, reason: "must be a number", received: value, expected: "number" }];
    case "object":
      return isRecord(value) ? [] : [{ field, reason: "must be an object", received: value, expected: "object" }];
    case "details":
      if (!Array.isArray(value)) return [{ field, reason: "must be an array", received: value, expected: "array" }];
      return value.flatMap((detail: unknown, index) => detailFaults(`${field}[${index}]`, detail));
  }
}

function detailFaults(at: string, detail: unknown): Detail[] {
  if (!isRecord(detail)) return [{ field: at, reason: "must be an object", received: detail, expected: "object" }];
  return [
    ...mustBeString(`${at}.field`, own(detail, "field")),
    ...mustBeString(`${at}.reason`, own(detail, "reason")),
  ];
}

function mustBeString(field: string, value: unknown): Detail[] {
  if (typeof value === "string") return [];
  return [{ field, reason: "must be a string", received: value, expected: "string" }];
}

/** An own property (a JSON member), not one of the prototype. */
function own(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Not by assignment, which would misread a property called `__proto__`. */
function define(object: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(object, key, { value, enumerable, configurable: true, writable: true });
}
