/** Pending approvals of tools. They do not survive a restart, because the turn that asked is lost. */

import { randomUUID } from "node:crypto";
import type { LiveRun } from "./runs-run.ts";
import type { Resolution, Tool } from "./runs-types.ts";
import { notFound, Refusal } from "./runs-validation.ts";

export interface Approval {
  approvalId: string;
  runId: string;
  nodeId: string;
  tool: Tool;
}

interface Waiting {
  readonly approval: Approval;
  readonly run: LiveRun;
  readonly settle: (resolution: Resolution) => void;
}

export class Approvals {
  #waiting = new Map<string, Waiting>();

  /** Asks and waits for the answer. `withdraw` is for a turn that ends earlier. */
  request(run: LiveRun, nodeId: string, tool: Tool): { resolved: Promise<Resolution>; withdraw: () => void } {
    const approvalId = randomUUID();
    run.record({ type: "approval.requested", nodeId, approvalId, tool });
    const resolved = new Promise<Resolution>((settle) => {
      const approval = { approvalId, runId: run.id, nodeId, tool };
      this.#waiting.set(approvalId, { approval, run, settle });
    });
    return { resolved, withdraw: () => void this.#waiting.delete(approvalId) };
  }

  /** The pending approvals with their runs, the oldest first. */
  list(): { approvals: Approval[]; runs: Set<LiveRun> } {
    const all = [...this.#waiting.values()];
    return { approvals: all.map(({ approval }) => approval), runs: new Set(all.map(({ run }) => run)) };
  }

  /** Records a user's answer. Returns the run that logged it. */
  resolve(approvalId: string, resolution: Resolution, runs: Iterable<LiveRun>): LiveRun {
    const waiting = this.#waiting.get(approvalId);
    if (waiting === undefined) {
      for (const run of runs) {
        if (run.state.isResolved(approvalId)) {
          throw new Refusal(409, "ALREADY_RESOLVED", `the approval \`${approvalId}\` is already resolved`);
        }
      }
      throw notFound("approval that waits", approvalId);
    }
    const { approval, run, settle } = waiting;
    run.record({ type: "approval.resolved", nodeId: approval.nodeId, approvalId, resolution });
    this.#waiting.delete(approvalId);
    settle(resolution);
    return run;
  }
}
