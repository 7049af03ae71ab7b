// An adapter for the kits' shared wire suite (../wire): each operation exercises one feature of the kit.

import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { ContractError, serve } from "./proofmark.mjs";

/** By session: what waits for which handle's release, and which releases came first. */
const gates = new WeakMap();

function gate(session, handle) {
  if (!gates.has(session)) gates.set(session, new Map());
  const ofSession = gates.get(session);
  if (!ofSession.has(handle)) ofSession.set(handle, openable());
  return ofSession.get(handle);
}

function openable() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
}

const take = (count, read) => Array.from({ length: count }, () => read());

serve({
  name: "wire-typescript",
  version: "0.1.0",
  language: "typescript",
  contracts: ["kit.wire"],
  operations: {
    "wire.echo": ({ value }) => value,
    "wire.fail": ({ code, message, properties }) => {
      throw new ContractError(code, message, properties);
    },
    "wire.break": () => {
      throw new Error("broken on purpose");
    },
    "wire.now": ({ readings }, { clock }) => take(readings, () => clock.now()),
    "wire.random": ({ ints, floats }, { random }) => ({
      ints: take(ints, () => random.int()),
      floats: take(floats, () => random.float()),
    }),
    "wire.secret": ({ key }, session) => session.fake("secrets").call("get", { key }),
    "wire.secrets": ({ keys }, session) =>
      Promise.all(keys.map((key) => session.fake("secrets").call("get", { key }))),
    "wire.hold": async ({ handle }, session) => {
      await gate(session, handle).opened;
      return handle;
    },
    "wire.release": ({ handle }, session) => {
      gate(session, handle).open();
      return handle;
    },
    "wire.put": ({ value }, session) => session.put(value),
    "wire.get": ({ handle }, session) => session.get(handle),
    "wire.write": ({ path, text }, { workspace = "" }) => writeFile(resolve(workspace, path), text),
    "wire.read": ({ path }, { workspace = "" }) => readFile(resolve(workspace, path), "utf8"),
    "wire.stream": async function* ({ items }) {
      yield* items;
      return items.length;
    },
    "wire.print": ({ text }) => {
      console.log(text);
    },
  },
});
