/**
 * Kills all remaining descendants of a program.
 *
 * A group or a session is not enough, since `setsid` leaves both, and who is whose child is lost when a parent ends. So the
 * program inherits two more open files, and so do all that come from it. One is a pipe: when that is closed, nobody is left, and
 * nobody need be looked for, which would cost more than most programs. The other is a deleted file that nobody else has: who has
 * it open, is in the program's session, or is the child of such a one, belongs to the program. A daemon that closes every file
 * that it did not open, and whose parents are gone, is not found: for that, run the whole in a container.
 */

import { randomUUID } from "node:crypto";
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** How long to wait for a program's exit before searching for processes, and the longest pause between two searches. */
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 100;
/** After this many searches without a result, give up: some process is too well hidden. */
const VAIN_LOOKS = 10;

const held = new Set<Leash>();
// Kill the descendants however this process exits.
process.on("exit", () => {
  for (const leash of held) leash.kill();
});

export class Leash {
  /** To be inherited by the program. */
  readonly descriptor: number;
  readonly #link: string;
  #leader = 0;
  #since = 0;

  constructor() {
    const path = join(tmpdir(), `sage-leash-${randomUUID()}`);
    this.descriptor = openSync(path, "wx", 0o600);
    unlinkSync(path);
    this.#link = `${path} (deleted)`;
  }

  /** The program's process, the first of its session. */
  hold(leader: number): void {
    this.#leader = leader;
    this.#since = processAt(leader)?.started ?? 0;
    held.add(this);
  }

  /** Kills what is left. Resolves when all that the program had open is `closed`. `hasEnded`: it did so by itself. */
  async pull(closed: Promise<unknown>, hasEnded: boolean): Promise<void> {
    let isClosed = false;
    const over = closed.then(() => (isClosed = true));
    // A program that still runs knows its children; they are looked for before it is killed.
    if (hasEnded) killOne(-this.#leader);
    else this.kill();
    let wait = FIRST_WAIT_MS;
    for (let vain = 0; vain < VAIN_LOOKS; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      await Promise.race([over, pause(wait)]);
      if (isClosed) return;
      // Repeat: new processes may have started during the kill.
      vain = this.kill() > 0 ? 0 : vain + 1;
    }
  }

  /** Finds and kills all processes of the program. Returns their number. */
  kill(): number {
    const found = this.#find();
    for (const pid of found) killOne(pid);
    return found.length;
  }

  drop(): void {
    held.delete(this);
    closeSync(this.descriptor);
  }

  #find(): number[] {
    // Older processes do not belong to the program.
    const all = processes().filter(({ started }) => started >= this.#since);
    const found = new Set<number>();
    for (const { pid, session, group } of all) {
      if (session === this.#leader || group === this.#leader || this.#isHeldBy(pid)) found.add(pid);
    }
    // Iteration over a set includes elements added meanwhile.
    for (const parent of found) {
      for (const child of all) if (child.parent === parent) found.add(child.pid);
    }
    return [...found];
  }

  #isHeldBy(pid: number): boolean {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((name) => linkAt(`/proc/${pid}/fd/${name}`) === this.#link);
    } catch {
      // Exited, or another user's.
      return false;
    }
  }
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** In ticks since boot. */
  readonly started: number;
}

/** All processes but this one. */
function processes(): Process[] {
  const found: Process[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    const one = Number.isInteger(pid) && pid !== process.pid ? processAt(pid) : undefined;
    if (one && !one.hasEnded) found.push(one);
  }
  return found;
}

function processAt(pid: number): (Process & { readonly hasEnded: boolean }) | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The command's name is in parentheses and may contain any character, even parentheses.
  const [state = "", ...numbers] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [parent = 0, group = 0, session = 0] = numbers.map(Number);
  // A zombie has exited and waits to be reaped.
  return { pid, parent, group, session, started: Number(numbers[18]), hasEnded: /[ZX]/.test(state) };
}

function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already exited.
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
