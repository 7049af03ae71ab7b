/** The state of a run is the fold of its log. Internal state (inboxes, sessions) is folded too, so that it survives a restart. */

import type { AgentNode, Edge, Run, RunEvent } from "./runs-types.ts";

/** The first event of a log does not make a run, or a later one does not fit what came before. */
export class FoldError extends Error {
  override readonly name = "FoldError";
}

export class RunState {
  #run: Run | undefined;
  #inboxes = new Map<string, string[]>();
  #turnsOfSession = new Map<string, number>();
  #resolved = new Set<string>();

  get run(): Run {
    if (this.#run === undefined) throw new FoldError("the log does not begin with the run");
    return this.#run;
  }

  node(id: string): AgentNode | undefined {
    return this.run.nodes[id];
  }

  /** The inputs of the node's next turn, in order. */
  inboxOf(nodeId: string): readonly string[] {
    return this.#inboxes.get(nodeId) ?? [];
  }

  /** Whether the node's session has had no turn yet. */
  isSessionNew(nodeId: string): boolean {
    return (this.#turnsOfSession.get(nodeId) ?? 0) === 0;
  }

  isResolved(approvalId: string): boolean {
    return this.#resolved.has(approvalId);
  }

  /** An edge for a handoff between the two nodes. */
  edgeBetween(from: string, to: string): Edge | undefined {
    return Object.values(this.run.edges).find(
      (edge) => (edge.from === from && edge.to === to) || (edge.bidirectional && edge.from === to && edge.to === from),
    );
  }

  /** For a turn that never reached its provider: the session still counts as new. */
  forgetTurn(nodeId: string): void {
    this.#turnsOfSession.set(nodeId, Math.max(0, (this.#turnsOfSession.get(nodeId) ?? 0) - 1));
  }

  apply(event: RunEvent): void {
    switch (event.type) {
      case "run.patch":
        this.#run = { ...this.#run, ...event.patch } as Run;
        return;
      case "node.patch":
        return this.#patchNode(event.nodeId, event.patch);
      case "edge.created":
        this.run.edges[event.edge.id] = event.edge;
        return;
      case "edge.deleted":
        delete this.run.edges[event.edgeId];
        return;
      case "artifact.created":
        this.run.artifacts[event.artifact.id] = event.artifact;
        return;
      case "message.user": {
        const { nodeId, content, interrupt } = event.message;
        if (nodeId === undefined || this.#known(nodeId).session.resetCommands.includes(content)) return;
        this.#inboxes.set(nodeId, interrupt ? [content, ...this.inboxOf(nodeId)] : [...this.inboxOf(nodeId), content]);
        return;
      }
      case "handoff.sent": {
        const { toNodeId, payload } = event.envelope;
        this.#inboxes.set(toNodeId, [...this.inboxOf(toNodeId), payload.message]);
        return;
      }
      case "approval.resolved":
        this.#resolved.add(event.approvalId);
        return;
      default:
        // Other events do not change the state.
        return;
    }
  }

  #known(nodeId: string): AgentNode {
    const node = this.run.nodes[nodeId];
    if (node === undefined) throw new FoldError(`an event is about the node \`${nodeId}\`, which was never created`);
    return node;
  }

  #patchNode(id: string, patch: Partial<AgentNode>): void {
    const before = this.run.nodes[id];
    if (before === undefined && patch.id !== id) this.#known(id);
    const after = { ...before, ...patch } as AgentNode;
    this.run.nodes[id] = after;
    if (before !== undefined && before.session.sessionId !== after.session.sessionId) this.#turnsOfSession.set(id, 0);
    // A turn begins and takes the whole inbox.
    if (patch.status === "running") {
      this.#inboxes.delete(id);
      this.#turnsOfSession.set(id, (this.#turnsOfSession.get(id) ?? 0) + 1);
    }
  }
}

/** The members of `next` that differ from `before`. */
export function changesOf<T extends object>(before: T, next: Partial<T>): Partial<T> {
  const changed = Object.entries(next).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key as keyof T]));
  return Object.fromEntries(changed) as Partial<T>;
}
