// @ts-check
// The adapter of {{name}}: it lets Proofmark drive your build.
//
//   proofmark doctor        checks the adapter itself
//   proofmark run           shows which cases pass, and what is missing
//   proofmark certify       checks everything that the adapter claims
//
// Replace each `notImplemented` with a call of your build. A handler gets the call's arguments and the session
// (workspace, clock, random, fakes). It returns the value or throws a ContractError, and may be async.
// `proofmark guide operations` describes each operation, `proofmark show CASE` what a case expects.

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
  // Hooks that you offer for tests only. Their operations are below, after those of the contract.
  hooks: [],
  operations: {
{{operations}}
  },
});

// A contract's own error: throw new ContractError("EVALIDATION", "what was wrong", { details: […] })
void ContractError;
