// @ts-check
// The adapter of {{name}}: it lets Proofmark drive your build.
//
//   proofmark doctor        is the adapter itself sound?
//   proofmark run           which cases pass, and what is missing?
//   proofmark certify       is everything that is claimed there?
//
// Put your build in the place of each `notImplemented`. A handler gets the call's arguments and the session
// (workspace, clock, random, fakes), and returns the value or throws a ContractError; it may be async.
// `proofmark guide operations` says what each takes and gives, `proofmark show CASE` what a case expects.

import { AdapterError, ContractError, serve } from "./proofmark/proofmark.mjs";

/** @type {import("./proofmark/proofmark.d.mts").Handler} */
const notImplemented = () => {
  throw new AdapterError("not implemented yet", -32601);
};

serve({
  name: "{{name}}",
  version: "0.1.0",
  language: "typescript",
  contracts: [{{contracts}}],
  // What you offer for tests alone; its operations stand below, under the contract's own.
  hooks: [],
  operations: {
{{operations}}
  },
});

// A contract's own error: throw new ContractError("EVALIDATION", "what was wrong", { details: […] })
void ContractError;
