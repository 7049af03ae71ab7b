#!/usr/bin/env node
// Recomputes the canonical JSON and the SHA-256 digests that the cases expect, with the engine that the contract is
// written for.
//
//     node conformance/contracts/sage.utils/oracle.mjs
//
// Exit 1 names file, case and both values for every difference.

import { canonical, cases, finish, golden, sha256 } from "../../../xtask/oracle/suite.mjs";

for (const [where, given] of cases("sage.utils")) {
  for (const step of [...(given.setup ?? []), ...given.steps].flatMap((s) => s.together ?? [s])) {
    for (const outcome of [step, ...(step.either ?? [])]) {
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
}
finish("sage.utils");
