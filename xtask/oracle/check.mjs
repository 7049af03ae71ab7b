#!/usr/bin/env node
// Recomputes the goldens in fixtures/ and features/ with the engine that the contract is written for.
//
// Numbers and escapes come from ECMAScript's own JSON.stringify, digests from node:crypto; only the order of
// keys is ours. It shares no code with check.py, so the two can disagree. Structure is check.py's work.
//
//     node xtask/oracle/check.mjs
//
// Exit 1 names file, case and both values for every difference.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const isSha = (v) => typeof v === "string" && /^[0-9a-f]{64}$/.test(v);
const sha256 = (data) => createHash("sha256").update(data).digest("hex");

function canonical(v) {
  if (Array.isArray(v)) return `[${v.map(canonical).join(",")}]`;
  if (!isObject(v)) return JSON.stringify(v);
  // The default sort compares UTF-16 code units.
  const members = Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`);
  return `{${members.join(",")}}`;
}

function eventId(event) {
  const rest = Object.fromEntries(Object.entries(event).filter(([k]) => k !== "eventId"));
  return sha256(Buffer.from(canonical(rest), "utf8"));
}

// Object.fromEntries defines members, so that one named __proto__ stays a member.
function expand(v, index) {
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
const hasMatcher = (v) =>
  Array.isArray(v)
    ? v.some(hasMatcher)
    : isObject(v) && Object.entries(v).some(([k, x]) => matcher.test(k) || hasMatcher(x));

/** Every object inside v that carries a literal eventId that looks like a SHA-256. */
function events(v) {
  if (Array.isArray(v)) return v.flatMap(events);
  if (!isObject(v)) return [];
  if (isSha(v.eventId) && !hasMatcher(v)) return [v];
  return Object.values(v).flatMap(events);
}

/** The JSON lines of a text; torn and corrupt lines are part of some cases. */
function lines(text) {
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

const fileLines = (files) =>
  Object.values(files ?? {}).flatMap((form) => lines(`${form?.text ?? ""}\n${form?.prefix ?? ""}`));

let goldens = 0;
let differ = 0;
function golden(where, stands, computed) {
  goldens += 1;
  if (stands === computed) return;
  differ += 1;
  console.log(`${where}: differs\n  stands:   ${stands}\n  computed: ${computed}`);
}

function checkCase(where, given) {
  const steps = given.steps.flatMap((s) => s.together ?? [s]);
  const supplied = new Set(
    steps.filter((s) => s.call === "chronicle.appendEventWithId").map((s) => s.args.event?.eventId),
  );
  const found = [given.leaves, fileLines(given.leaves), fileLines(given.given?.files)];
  for (const step of steps) {
    found.push(step.leaves, fileLines(step.leaves), fileLines(step.files));
    for (const outcome of [step, ...(step.either ?? [])]) {
      found.push(outcome.returns);
      if (typeof outcome.returns !== "string") continue;
      const args = step.args;
      if (step.call === "utils.canonicalJSONStringify") {
        const value = "json" in args ? JSON.parse(args.json) : args.value;
        golden(where, outcome.returns, canonical(value));
      }
      if (step.call === "utils.sha256") {
        golden(where, outcome.returns, sha256("hex" in args ? Buffer.from(args.hex, "hex") : Buffer.from(args.text)));
      }
    }
  }
  for (const event of events(found)) {
    if (!supplied.has(event.eventId)) golden(where, event.eventId, eventId(event));
  }
}

function checkFeature(where, text) {
  for (const [, doc] of text.matchAll(/^ *"""\n([\s\S]*?)\n *"""$/gm)) {
    let values;
    try {
      values = expand(JSON.parse(doc));
    } catch {
      values = lines(doc.replace(/^ +/gm, ""));
    }
    for (const event of events(values)) golden(where, event.eventId, eventId(event));
  }
}

const list = (path, suffix) =>
  existsSync(path) ? readdirSync(path).filter((f) => f.endsWith(suffix)).sort().map((f) => join(path, f)) : [];

for (const contract of readdirSync(join(root, "fixtures")).sort()) {
  for (const path of list(join(root, "fixtures", contract), ".json")) {
    const fixture = JSON.parse(readFileSync(path, "utf8"));
    for (const given of fixture.cases) checkCase(`${path.slice(root.length + 1)} ${given.id}`, expand(given));
  }
  for (const path of list(join(root, "features", contract), ".feature")) {
    checkFeature(path.slice(root.length + 1), readFileSync(path, "utf8"));
  }
}

console.log(`${goldens} goldens checked, ${differ} differ`);
if (goldens === 0) console.log("nothing was checked");
process.exitCode = differ > 0 || goldens === 0 ? 1 : 0;
