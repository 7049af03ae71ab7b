// Shared by the oracles in Node: the cases and features of a contract, canonical JSON, and a report of differences.
//
// Numbers and escapes come from ECMAScript's own JSON.stringify, digests from node:crypto; only the key order is
// ours. It shares no code with suite.py, so the two can disagree.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
export const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
export const sha256 = (data) => createHash("sha256").update(data).digest("hex");

export function canonical(v) {
  if (Array.isArray(v)) return `[${v.map(canonical).join(",")}]`;
  if (!isObject(v)) return JSON.stringify(v);
  // The default sort compares UTF-16 code units.
  const members = Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`);
  return `{${members.join(",")}}`;
}

// Object.fromEntries defines members, so that one named __proto__ stays a member.
export function expand(v, index) {
  if (typeof v === "string" && index !== undefined) {
    return v === "$index" ? index : v.replaceAll("{{index}}", String(index));
  }
  if (Array.isArray(v)) {
    return v.flatMap((x) => {
      if (!isObject(x) || Object.keys(x).join() !== "$repeat") return [expand(x, index)];
      const { times, item } = x.$repeat;
      return Array.from({ length: times }, (_, i) => expand(item, i));
    });
  }
  return isObject(v) ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, expand(x, index)])) : v;
}

const matcher = /^\$(any|matches|oneOf|optional|absent|startsWith|open|unordered|contains|literal|repeat)$/;
export const hasMatcher = (v) =>
  Array.isArray(v)
    ? v.some(hasMatcher)
    : isObject(v) && Object.entries(v).some(([k, x]) => matcher.test(k) || hasMatcher(x));

/** The JSON lines of a text; torn and corrupt lines are part of some cases. */
export function lines(text) {
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

export const fileLines = (files) =>
  Object.values(files ?? {}).flatMap((form) => lines(`${form?.text ?? ""}\n${form?.prefix ?? ""}`));

let goldens = 0;
let differ = 0;
export function golden(where, stands, computed) {
  goldens += 1;
  if (stands === computed) return;
  differ += 1;
  console.log(`${where}: differs\n  stands:   ${stands}\n  computed: ${computed}`);
}

const list = (path, suffix) =>
  existsSync(path) ? readdirSync(path).filter((f) => f.endsWith(suffix)).sort().map((f) => join(path, f)) : [];

/** The place and the expanded form of every case of a contract. */
export function cases(contract) {
  return list(join(root, "fixtures", contract), ".json").flatMap((path) =>
    JSON.parse(readFileSync(path, "utf8")).cases.map((given) => [`${path.slice(root.length + 1)} ${given.id}`, expand(given)]),
  );
}

/** The place and the text of every feature of a contract. */
export const features = (contract) =>
  list(join(root, "features", contract), ".feature").map((path) => [path.slice(root.length + 1), readFileSync(path, "utf8")]);

/** Prints how many goldens were recomputed. The exit code is 1 if one differs, or if there was none. */
export function finish(contract) {
  console.log(`${contract}: ${goldens} goldens recomputed in Node, ${differ} differ`);
  if (goldens === 0) console.log(`${contract}: nothing was checked`);
  process.exitCode = differ > 0 || goldens === 0 ? 1 : 0;
}
