#!/usr/bin/env node
// Recomputes the eventIds in the cases and features, with the engine that the contract is written for.
//
//     node conformance/contracts/sage.chronicle/oracle.mjs
//
// Exit 1 names file, case and both values for every difference.

import {
  canonical, cases, expand, features, fileLines, finish, golden, hasMatcher, isObject, lines, sha256,
} from "../../../xtask/oracle/suite.mjs";

const isSha = (v) => typeof v === "string" && /^[0-9a-f]{64}$/.test(v);

function eventId(event) {
  const rest = Object.fromEntries(Object.entries(event).filter(([k]) => k !== "eventId"));
  return sha256(Buffer.from(canonical(rest), "utf8"));
}

/** Every object inside v that carries a literal eventId that looks like a SHA-256. */
function events(v) {
  if (Array.isArray(v)) return v.flatMap(events);
  if (!isObject(v)) return [];
  if (isSha(v.eventId) && !hasMatcher(v)) return [v];
  return Object.values(v).flatMap(events);
}

function checkCase(where, given) {
  const steps = [...(given.setup ?? []), ...given.steps].flatMap((s) => s.together ?? [s]);
  const supplied = new Set(
    steps.filter((s) => s.call === "chronicle.appendEventWithId").map((s) => s.args.event?.eventId),
  );
  const appended = steps.filter((s) => s.call === "chronicle.appendEvent" && isObject(s.args.event));
  const computed = new Set(appended.map((s) => eventId(s.args.event)));
  const found = [given.leaves, fileLines(given.leaves), fileLines(given.given?.files)];
  for (const step of steps) {
    found.push(step.leaves, fileLines(step.leaves), fileLines(step.files));
    for (const outcome of [step, ...(step.either ?? [])]) found.push(outcome.returns);
  }
  for (const event of events(found)) {
    if (supplied.has(event.eventId)) continue;
    // An id alone is that of an event that was appended.
    const alone = Object.keys(event).length === 1 && computed.has(event.eventId);
    golden(where, event.eventId, alone ? event.eventId : eventId(event));
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

for (const [where, given] of cases("sage.chronicle")) checkCase(where, given);
for (const [where, text] of features("sage.chronicle")) checkFeature(where, text);
finish("sage.chronicle");
