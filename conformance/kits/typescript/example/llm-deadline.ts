/** A deadline for a whole operation. */

import { typedError, type TypedError } from "./errors.ts";

/** The longest delay of a Node timer. */
const LONGEST_TIMER = 2 ** 31 - 1;

export class Deadline {
  /** The error that `keep` threw when the time was over. */
  error: TypedError | undefined;
  readonly #startedAt: number;
  readonly #timeoutMs: number | undefined;

  constructor(startedAt: number, timeoutMs: number | undefined) {
    this.#startedAt = startedAt;
    this.#timeoutMs = timeoutMs;
  }

  /** The result of the work, or `ETIMEOUT` at the deadline. The work itself continues unobserved. */
  async keep<T>(work: Promise<T>, operation: string): Promise<T> {
    const timeoutMs = this.#timeoutMs;
    if (timeoutMs === undefined) return work;
    work.catch(() => {});
    const left = this.#startedAt + timeoutMs - performance.now();
    // Checked here too: a provider that always answers first would starve the timer.
    if (left <= 0) throw this.#overdue(timeoutMs, operation);
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#overdue(timeoutMs, operation)), Math.min(left, LONGEST_TIMER));
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      clearTimeout(timer);
    }
  }

  #overdue(timeoutMs: number, operation: string): TypedError {
    // A timer may be early by a fraction of a millisecond.
    const elapsedMs = Math.max(timeoutMs, Math.round(performance.now() - this.#startedAt));
    return (this.error = typedError("ETIMEOUT", `the chat took longer than ${timeoutMs} ms`, { timeoutMs, elapsedMs, operation }));
  }
}
