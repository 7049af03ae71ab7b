/** Validates chat options. Wrong options never reach a provider. */

import { invalid, type Detail } from "./errors.ts";
import type { ChatOptions } from "./llm.ts";
import { faultsOf } from "./schema-validate.ts";
import { schemaFaults } from "./schema.ts";

/** Further members are allowed: providers have their own options. */
const OPTIONS = {
  type: "object",
  additionalProperties: true,
  required: ["model", "messages"],
  properties: {
    model: { type: "string", minLength: 1 },
    messages: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: true,
        required: ["role", "content"],
        properties: {
          role: { enum: ["system", "user", "assistant", "tool"] },
          content: { type: "string" },
          tool_call_id: { type: "string" },
        },
      },
    },
    tools: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: true,
        required: ["name", "parameters"],
        properties: {
          name: { type: "string", minLength: 1 },
          description: { type: "string" },
          parameters: { type: "object", additionalProperties: true },
        },
      },
    },
    temperature: { type: "number" },
    max_tokens: { type: "integer", minimum: 1 },
    timeoutMs: { type: "integer", minimum: 1 },
    requestId: { type: "string" },
  },
};

const ROUNDS = { type: "integer", minimum: 1 };

/** The schemas of the tools' arguments, by tool name. Throws `EVALIDATION` with all faults. */
export function checkOptions(options: ChatOptions, maxRounds: number): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const faults = [...faultsOf(OPTIONS, options, "options"), ...faultsOf(ROUNDS, maxRounds, "maxRounds")];
  if (faults.length === 0) faults.push(...toolFaults(options));
  if (faults.length > 0) throw invalid(`the options are invalid: ${faults[0]?.field} ${faults[0]?.reason}`, faults);
  return new Map(options.tools?.map(({ name, parameters }) => [name, parameters]));
}

function toolFaults({ tools = [] }: ChatOptions): Detail[] {
  return tools.flatMap(({ name, parameters }, index) => {
    const faults: Detail[] = schemaFaults(parameters).map((reason) => ({ field: `tools.${index}.parameters`, reason }));
    if (tools.findIndex((other) => other.name === name) < index) {
      faults.push({ field: `tools.${index}.name`, reason: "occurs twice", received: name });
    }
    return faults;
  });
}
