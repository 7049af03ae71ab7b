/**
 * Checks that a schema is in the supported part of JSON Schema 2020-12. A keyword that is not supported, or whose value is
 * wrong, is refused when a tool is registered: silently skipping a check would be worse.
 *
 * Left out: schemas elsewhere (`$ref` must begin with `#`), `$dynamicRef`, and the array form of `items` of older drafts.
 * `format` and the other annotations are allowed and assert nothing.
 */

import { isRecord } from "./errors.ts";

export type Schema = boolean | Readonly<Record<string, unknown>>;

type Kind =
  | "annotation"
  | "schema"
  | "schemas"
  | "schema by name"
  | "schema by pattern"
  | "strings"
  | "strings by name"
  | "string"
  | "pattern"
  | "types"
  | "list"
  | "number"
  | "positive"
  | "count"
  | "boolean";

const KEYWORDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...of("annotation", "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"),
  ...of("annotation", "readOnly", "writeOnly", "format", "contentEncoding", "contentMediaType", "contentSchema", "const"),
  ...of("schema", "additionalProperties", "unevaluatedProperties", "propertyNames", "items", "unevaluatedItems", "contains"),
  ...of("schema", "not", "if", "then", "else"),
  ...of("schemas", "allOf", "anyOf", "oneOf", "prefixItems"),
  ...of("schema by name", "properties", "dependentSchemas", "$defs", "definitions"),
  ...of("schema by pattern", "patternProperties"),
  ...of("strings", "required"),
  ...of("strings by name", "dependentRequired"),
  ...of("string", "$ref", "$anchor"),
  ...of("pattern", "pattern"),
  ...of("types", "type"),
  ...of("list", "enum"),
  ...of("number", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
  ...of("positive", "multipleOf"),
  ...of("count", "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"),
  ...of("count", "minProperties", "maxProperties"),
  ...of("boolean", "uniqueItems"),
]);

const TYPES = ["null", "boolean", "object", "array", "number", "integer", "string"];

/** The faults of a schema, each with its place; empty if the whole schema is supported. */
export function schemaFaults(root: unknown): string[] {
  if (!isRecord(root)) return ["a tool's schema must be an object"];
  const faults: string[] = [];
  const met = new Set<unknown>();
  visit(root, "#");
  for (const schema of met) {
    if (isRecord(schema) && typeof schema["$ref"] === "string" && !met.has(referred(root, schema["$ref"]))) {
      faults.push(`\`$ref\`: \`${schema["$ref"]}\` leads to no schema of this tool`);
    }
  }
  if (faults.length === 0 && isCircular(root)) faults.push("a `$ref` leads to itself, so validation would never end");
  return faults;

  function visit(schema: unknown, at: string): void {
    if (typeof schema === "boolean") return void met.add(schema);
    if (!isRecord(schema)) return void faults.push(`${at}: a schema is an object or a boolean`);
    met.add(schema);
    for (const [keyword, value] of Object.entries(schema)) {
      const place = `${at}/${keyword}`;
      const kind = KEYWORDS.get(keyword) ?? (keyword.startsWith("x-") ? "annotation" : undefined);
      if (kind === undefined) faults.push(`${place}: the keyword is not supported`);
      else if (keyword === "$id" && schema !== root) faults.push(`${place}: a schema inside another has no \`$id\` here`);
      else visitKeyword(kind, value, place);
    }
  }

  function visitKeyword(kind: Kind, value: unknown, at: string): void {
    if (kind === "schema") visit(value, at);
    else if (kind === "schemas" && isList(value) && value.length > 0) value.forEach((item, index) => visit(item, `${at}/${index}`));
    else if ((kind === "schema by name" || kind === "schema by pattern") && isRecord(value)) {
      for (const [name, schema] of Object.entries(value)) {
        if (kind === "schema by pattern" && !isPattern(name)) faults.push(`${at}: \`${name}\` is not a regular expression`);
        visit(schema, `${at}/${name}`);
      }
    } else if (!isOfKind(kind, value)) faults.push(`${at}: the value is wrong for this keyword`);
  }
}

/** The schema that this `$ref` refers to. */
export function referred(root: Readonly<Record<string, unknown>>, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  const fragment = decode(reference.slice(1));
  if (fragment === undefined) return undefined;
  if (fragment !== "" && !fragment.startsWith("/")) return anchored(root, fragment);
  let found: unknown = root;
  for (const token of fragment.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    found = typeof found === "object" && found !== null && Object.hasOwn(found, key) ? Reflect.get(found, key) : undefined;
  }
  return found;
}

/** The subschemas that apply to the same value. */
export function inPlace(root: Readonly<Record<string, unknown>>, schema: Readonly<Record<string, unknown>>): unknown[] {
  const listed = ["allOf", "anyOf", "oneOf"].flatMap((keyword) => (isList(schema[keyword]) ? schema[keyword] : []));
  const single = ["not", "if", "then", "else"].flatMap((keyword) => (keyword in schema ? [schema[keyword]] : []));
  const dependent = isRecord(schema["dependentSchemas"]) ? Object.values(schema["dependentSchemas"]) : [];
  const referenced = typeof schema["$ref"] === "string" ? [referred(root, schema["$ref"])] : [];
  return [...referenced, ...listed, ...single, ...dependent];
}

/** ECMAScript patterns with the Unicode flag, as JSON Schema recommends. */
export function pattern(text: string): RegExp {
  return new RegExp(text, "u");
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isOfKind(kind: Kind, value: unknown): boolean {
  const isStrings = (list: unknown): boolean =>
    isList(list) && list.every((item) => typeof item === "string") && new Set(list).size === list.length;
  switch (kind) {
    case "annotation":
      return true;
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "number":
      return typeof value === "number";
    case "positive":
      return typeof value === "number" && value > 0;
    case "count":
      return Number.isInteger(value) && Number(value) >= 0;
    case "list":
      return isList(value);
    case "strings":
      return isStrings(value);
    case "strings by name":
      return isRecord(value) && Object.values(value).every(isStrings);
    case "pattern":
      return typeof value === "string" && isPattern(value);
    case "types":
      return isList(value) ? value.length > 0 && isStrings(value) && value.every(isType) : isType(value);
    default:
      return false;
  }
}

const isType = (value: unknown): boolean => typeof value === "string" && TYPES.includes(value);

function isPattern(text: string): boolean {
  try {
    pattern(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a schema refers to itself for the same value. */
function isCircular(root: Readonly<Record<string, unknown>>): boolean {
  const done = new Set<unknown>();
  const leadsBack = (schema: unknown, above: ReadonlySet<unknown>): boolean => {
    if (!isRecord(schema)) return false;
    if (above.has(schema)) return true;
    if (done.has(schema)) return false;
    done.add(schema);
    return inPlace(root, schema).some((next) => leadsBack(next, new Set([...above, schema])));
  };
  return schemasIn(root).some((schema) => leadsBack(schema, new Set()));
}

/** Every object in the schema, schemas among them. */
function schemasIn(value: unknown): Record<string, unknown>[] {
  if (isList(value)) return value.flatMap(schemasIn);
  return isRecord(value) ? [value, ...Object.values(value).flatMap(schemasIn)] : [];
}

function anchored(root: unknown, name: string): unknown {
  return schemasIn(root).find((schema) => schema["$anchor"] === name);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function of(kind: Kind, ...keywords: string[]): [string, Kind][] {
  return keywords.map((keyword) => [keyword, kind]);
}
