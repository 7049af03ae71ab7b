/** What a chat may be asked with. Wrong options never reach a provider. */

import { invalid, type Detail } from "./errors.ts";
import type { ChatOptions } from "./llm.ts";
import { faultsOf } from "./schema-validate.ts";
import { schemaFaults } from "./schema.ts";

/** Members that are not listed may be there: providers have options of their own. */
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

/** The schemas of the tools' arguments, by the tools' names. Throws `EVALIDATION` with everything that is wrong. */
export function checkOptions(options: ChatOptions, maxRounds: number): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const faults = [...faultsOf(OPTIONS, options, "options"), ...faultsOf(ROUNDS, maxRounds, "maxRounds")];
  if (faults.length === 0) faults.push(...toolFaults(options));
  if (faults.length > 0) throw invalid(`this cannot be asked: ${faults[0]?.field} ${faults[0]?.reason}`, faults);
  return new Map(options.tools?.map(({ name, parameters }) => [name, parameters]));
}

function toolFaults({ tools = [] }: ChatOptions): Detail[] {
  return tools.flatMap(({ name, parameters }, index) => {
    const faults: Detail[] = schemaFaults(parameters).map((reason) => ({ field: `tools.${index}.parameters`, reason }));
    if (tools.findIndex((other) => other.name === name) < index) {
      faults.push({ field: `tools.${index}.name`, reason: "is there twice", received: name });
    }
    return faults;
  });
}
