/**
 * Ends what is left of a program: its children, and theirs, wherever they went.
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

/** What a program's end is waited for before anybody is looked for, and the longest pause between two looks. */
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 100;
/** So often nobody is found before the wait is given up: somebody is hidden too well. */
const VAIN_LOOKS = 10;

const held = new Set<Leash>();
// Whatever ends this process, it leaves no other behind.
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
      // Again and again: while some were killed, others may have been born.
      vain = this.kill() > 0 ? 0 : vain + 1;
    }
  }

  /** Looks for all that belong to the program, and kills them. How many there were. */
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
    // Who was there before is none of them.
    const all = processes().filter(({ started }) => started >= this.#since);
    const found = new Set<number>();
    for (const { pid, session, group } of all) {
      if (session === this.#leader || group === this.#leader || this.#isHeldBy(pid)) found.add(pid);
    }
    // A set may grow while it is walked, and the walk then goes on to what was added.
    for (const parent of found) {
      for (const child of all) if (child.parent === parent) found.add(child.pid);
    }
    return [...found];
  }

  #isHeldBy(pid: number): boolean {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((name) => linkAt(`/proc/${pid}/fd/${name}`) === this.#link);
    } catch {
      // Gone, or another user's.
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
  // The command's name stands in parentheses and may hold any character, parentheses too.
  const [state = "", ...numbers] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [parent = 0, group = 0, session = 0] = numbers.map(Number);
  // A zombie has ended, and only waits for its parent to ask.
  return { pid, parent, group, session, started: Number(numbers[18]), hasEnded: /[ZX]/.test(state) };
}

function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has gone by itself.
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
