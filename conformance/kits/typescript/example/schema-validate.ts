/**
 * Validates a value against a JSON Schema and reports every fault with its field.
 *
 * Extra properties are rejected by default, at every level: a schema that lists some properties of an object
 * allows no others, as with `"unevaluatedProperties": false`. Subschemas (`allOf`, `$ref`, …) describe
 * the same object together, so their union is closed. `not` and `if` only test and close nothing.
 */

import { invalid, isRecord, type Detail } from "./errors.ts";
import { inPlace, isList, pattern, referred, schemaFaults, type Schema } from "./schema.ts";

/** Returns the value if the schema allows it; else throws `EVALIDATION`. */
export function validated(schema: Schema, value: unknown, what = "input"): unknown {
  const faults = faultsOf(schema, value, what);
  const [first] = faults;
  if (first) throw invalid(`the ${what} does not fit the schema: ${first.field} ${first.reason}`, faults);
  return value;
}

/** Throws `EVALIDATION` for an invalid or unsupported schema. */
export function checkSchema(schema: unknown, field: string): asserts schema is Record<string, unknown> {
  const details = schemaFaults(schema).map((reason): Detail => ({ field, reason, expected: "a JSON Schema" }));
  if (details.length > 0) throw invalid(`the schema is invalid: ${details[0]?.reason}`, details);
}

export function faultsOf(schema: Schema, value: unknown, what = "input"): Detail[] {
  return new Checker(isRecord(schema) ? schema : {}, what).check(schema, value, [], true).faults;
}

type Path = readonly (string | number)[];
type Keywords = Readonly<Record<string, unknown>>;

interface Findings {
  readonly faults: Detail[];
  /** Properties or indices that some schema mentions. */
  readonly seen: Set<string>;
}

class Checker {
  readonly #root: Readonly<Record<string, unknown>>;
  readonly #what: string;

  constructor(root: Readonly<Record<string, unknown>>, what: string) {
    this.#root = root;
    this.#what = what;
  }

  /** Validates a value against its schema. `isStrict`: extra properties are rejected. */
  check(schema: unknown, value: unknown, path: Path, isStrict: boolean): Findings {
    const findings = this.#apply(schema, value, path, isStrict);
    if (isStrict && isRecord(value) && this.#isAboutProperties(schema)) {
      for (const key of Object.keys(value)) {
        if (!findings.seen.has(key)) this.#fault(findings, [...path, key], "is not allowed", value[key]);
      }
    }
    return findings;
  }

  /** The same without rejecting extra properties, for subschemas of the same value. */
  #apply(schema: unknown, value: unknown, path: Path, isStrict: boolean): Findings {
    const findings: Findings = { faults: [], seen: new Set() };
    if (schema === false) this.#fault(findings, path, "is not allowed", value);
    if (!isRecord(schema)) return findings;
    this.#checkValue(findings, schema, value, path);
    if (typeof value === "string") this.#checkText(findings, schema, value, path);
    if (typeof value === "number") this.#checkNumber(findings, schema, value, path);
    this.#checkParts(findings, schema, value, path, isStrict);
    if (isList(value)) this.#checkItems(findings, schema, value, path, isStrict);
    if (isRecord(value)) this.#checkProperties(findings, schema, value, path, isStrict);
    return findings;
  }

  #checkValue(findings: Findings, schema: Keywords, value: unknown, path: Path): void {
    const { type, enum: options } = schema;
    if (type !== undefined) {
      const types = isList(type) ? type : [type];
      if (!types.some((name) => isOfType(name, value))) {
        this.#fault(findings, path, `must be of the type ${types.join(" or ")}`, value, type);
      }
    }
    if (isList(options) && !options.some((option) => isEqual(option, value))) {
      this.#fault(findings, path, "must be one of the listed values", value, options);
    }
    if ("const" in schema && !isEqual(schema["const"], value)) {
      this.#fault(findings, path, "must be the one allowed value", value, schema["const"]);
    }
  }

  #checkText(findings: Findings, schema: Keywords, text: string, path: Path): void {
    // Characters, not UTF-16 units.
    const length = Array.from(text).length;
    this.#checkCount(findings, schema, "Length", length, "characters", path);
    if (typeof schema["pattern"] === "string" && !pattern(schema["pattern"]).test(text)) {
      this.#fault(findings, path, `must match \`${schema["pattern"]}\``, text, schema["pattern"]);
    }
  }

  #checkNumber(findings: Findings, schema: Keywords, number: number, path: Path): void {
    const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema;
    const fault = (reason: string, expected: unknown) => this.#fault(findings, path, reason, number, expected);
    if (typeof minimum === "number" && number < minimum) fault(`must be at least ${minimum}`, minimum);
    if (typeof maximum === "number" && number > maximum) fault(`must be at most ${maximum}`, maximum);
    if (typeof above === "number" && number <= above) fault(`must be above ${above}`, above);
    if (typeof below === "number" && number >= below) fault(`must be below ${below}`, below);
    if (typeof multipleOf === "number" && !isMultiple(number, multipleOf)) fault(`must be a multiple of ${multipleOf}`, multipleOf);
  }

  #checkParts(findings: Findings, schema: Keywords, value: unknown, path: Path, isStrict: boolean): void {
    const part = (given: unknown, strict = isStrict) => this.#apply(given, value, path, strict);
    if (typeof schema["$ref"] === "string") merge(findings, part(referred(this.#root, schema["$ref"])));
    for (const one of listOf(schema["allOf"])) merge(findings, part(one));
    for (const keyword of ["anyOf", "oneOf"]) {
      if (!isList(schema[keyword])) continue;
      const outcomes = schema[keyword].map((one) => part(one));
      const fitting = outcomes.filter(({ faults }) => faults.length === 0);
      // If all alternatives fail, their properties do not count as extra: report one fault, not two.
      for (const { seen } of fitting.length > 0 ? fitting : outcomes) merge(findings, { faults: [], seen });
      if (fitting.length === 0) this.#fault(findings, path, "fits none of the alternatives", value);
      else if (keyword === "oneOf" && fitting.length > 1) this.#fault(findings, path, "fits more than one alternative", value);
    }
    if ("not" in schema && part(schema["not"], false).faults.length === 0) {
      this.#fault(findings, path, "must not fit the schema of `not`", value);
    }
    if ("if" in schema) {
      const condition = part(schema["if"], false);
      const holds = condition.faults.length === 0;
      if (holds) merge(findings, condition);
      const branch = holds ? "then" : "else";
      if (branch in schema) merge(findings, part(schema[branch]));
    }
    if (isRecord(value) && isRecord(schema["dependentSchemas"])) {
      for (const [key, dependent] of Object.entries(schema["dependentSchemas"])) {
        if (Object.hasOwn(value, key)) merge(findings, part(dependent));
      }
    }
  }

  #checkItems(findings: Findings, schema: Keywords, list: readonly unknown[], path: Path, isStrict: boolean): void {
    this.#checkCount(findings, schema, "Items", list.length, "items", path);
    const isRepeated = (item: unknown, index: number) => list.slice(0, index).some((other) => isEqual(item, other));
    if (schema["uniqueItems"] === true && list.some(isRepeated)) {
      this.#fault(findings, path, "must not hold the same item twice", list);
    }
    const first = listOf(schema["prefixItems"]);
    const holds = (item: unknown, index: number, one: unknown) => {
      findings.seen.add(String(index));
      findings.faults.push(...this.check(one, item, [...path, index], isStrict).faults);
    };
    list.forEach((item, index) => {
      if (index < first.length) holds(item, index, first[index]);
      else if ("items" in schema) holds(item, index, schema["items"]);
    });
    if ("contains" in schema) {
      const isFitting = (index: number) => this.check(schema["contains"], list[index], path, isStrict).faults.length === 0;
      const fitting = [...list.keys()].filter(isFitting);
      fitting.forEach((index) => findings.seen.add(String(index)));
      const [least, most] = [schema["minContains"] ?? 1, schema["maxContains"] ?? Infinity];
      if (fitting.length < Number(least)) this.#fault(findings, path, `must hold at least ${least} items that fit`, list);
      if (fitting.length > Number(most)) this.#fault(findings, path, `must hold at most ${most} items that fit`, list);
    }
    if ("unevaluatedItems" in schema) {
      list.forEach((item, index) => findings.seen.has(String(index)) || holds(item, index, schema["unevaluatedItems"]));
    }
  }

  #checkProperties(findings: Findings, schema: Keywords, object: Record<string, unknown>, path: Path, isStrict: boolean): void {
    this.#checkCount(findings, schema, "Properties", Object.keys(object).length, "properties", path);
    const named = recordOf(schema["properties"]);
    const patterns = Object.entries(recordOf(schema["patternProperties"])).map(([text, one]) => [pattern(text), one] as const);
    const missing = (key: unknown, why: string) => {
      if (!Object.hasOwn(object, String(key))) this.#fault(findings, [...path, String(key)], why);
    };
    for (const key of listOf(schema["required"])) missing(key, "is required");
    for (const [key, others] of Object.entries(recordOf(schema["dependentRequired"]))) {
      if (Object.hasOwn(object, key)) for (const other of listOf(others)) missing(other, `is required beside \`${key}\``);
    }
    for (const [key, value] of Object.entries(object)) {
      const schemas = patterns.filter(([text]) => text.test(key)).map(([, one]) => one);
      if (Object.hasOwn(named, key)) schemas.push(named[key]);
      if (schemas.length === 0 && "additionalProperties" in schema) schemas.push(schema["additionalProperties"]);
      const isUnseen = schemas.length === 0 && !findings.seen.has(key);
      if (isUnseen && "unevaluatedProperties" in schema) schemas.push(schema["unevaluatedProperties"]);
      if (schemas.length > 0) findings.seen.add(key);
      for (const one of schemas) findings.faults.push(...this.check(one, value, [...path, key], isStrict).faults);
      if ("propertyNames" in schema && this.check(schema["propertyNames"], key, path, isStrict).faults.length > 0) {
        this.#fault(findings, [...path, key], "is a name that is not allowed", key);
      }
    }
  }

  #checkCount(findings: Findings, schema: Keywords, of: string, count: number, what: string, path: Path): void {
    const [least, most] = [schema[`min${of}`], schema[`max${of}`]];
    if (typeof least === "number" && count < least) this.#fault(findings, path, `must have at least ${least} ${what}`, count, least);
    if (typeof most === "number" && count > most) this.#fault(findings, path, `must have at most ${most} ${what}`, count, most);
  }

  #isAboutProperties(schema: unknown): boolean {
    if (!isRecord(schema)) return false;
    const types = isList(schema["type"]) ? schema["type"] : [schema["type"]];
    if (types.includes("object") || "properties" in schema || "patternProperties" in schema) return true;
    const isQuestion = (part: unknown) => part === schema["not"] || part === schema["if"];
    return inPlace(this.#root, schema).some((part) => !isQuestion(part) && this.#isAboutProperties(part));
  }

  #fault(findings: Findings, path: Path, reason: string, received?: unknown, expected?: unknown): void {
    const field = path.length === 0 ? this.#what : path.join(".");
    findings.faults.push({
      field,
      reason,
      ...(isShort(received) ? { received } : {}),
      ...(isShort(expected) ? { expected } : {}),
    });
  }
}

/** Large values are not repeated: the caller already has them. */
function isShort(value: unknown): boolean {
  if (isList(value)) return value.every((item) => typeof item !== "object");
  return value !== undefined && (typeof value !== "object" || value === null);
}

function merge(into: Findings, { faults, seen }: Findings): void {
  into.faults.push(...faults);
  for (const key of seen) into.seen.add(key);
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return isList(value);
  if (type === "object") return isRecord(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function isMultiple(number: number, of: number): boolean {
  const quotient = number / of;
  // 0.3 is a multiple of 0.1, despite rounding.
  if (!Number.isFinite(quotient)) return true;
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient));
}

/** JSON equality: the order of members does not count. */
function isEqual(one: unknown, other: unknown): boolean {
  if (isList(one) && isList(other)) {
    return one.length === other.length && one.every((item, index) => isEqual(item, other[index]));
  }
  if (!isRecord(one) || !isRecord(other)) return one === other;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]));
}

const listOf = (value: unknown): readonly unknown[] => (isList(value) ? value : []);
const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});
