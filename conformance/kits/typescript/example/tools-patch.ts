/**
 * Unified diffs for one file. Hunks may have moved, up or down, but must fit letter by letter (no fuzz), in their order, and all of
 * them: the result is the whole new text or an error.
 */

export interface Patch {
  readonly hunks: readonly Hunk[];
  /** `--- /dev/null`: the file is a new one. */
  readonly makes: boolean;
  /** `+++ /dev/null`: the file goes. */
  readonly deletes: boolean;
}

export interface Hunk {
  /** The index of the line at which it begins in the old text. */
  readonly at: number;
  readonly lines: readonly HunkLine[];
}

interface HunkLine {
  readonly sign: " " | "-" | "+";
  /** With its newline, unless the text ends without one. */
  readonly text: string;
}

export class PatchError extends Error {
  /** The patch is whole, but not one for this text. */
  readonly isUnfit: boolean;

  constructor(message: string, isUnfit = false) {
    super(message);
    this.isUnfit = isUnfit;
  }
}

const WITHOUT_NEWLINE = "\n\\ No newline at end of file\n";
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
/** Lines that would belong to a hunk, or to a patch of another file. */
const PATCHLIKE = /^([ +\\@]|-(?!- ?\r?$)|diff |Index: )/;

export function parsePatch(text: string): Patch {
  const lines = new Lines(text);
  const { from, to } = parseHeader(lines);
  const hunks: Hunk[] = [];
  while (HUNK.test(lines.peek() ?? "")) hunks.push(parseHunk(lines));
  if (hunks.length === 0) throw new PatchError("it has no hunks");
  if (hunks.every((hunk) => hunk.lines.every(({ sign }) => sign === " "))) throw new PatchError("it changes nothing");
  if (/^(diff |--- |Index: )/.test(lines.peek() ?? "")) throw new PatchError("it is for more than one file");
  // A mail may end with a signature; further hunk lines after a complete hunk are a mistake.
  for (; lines.peek() !== undefined; lines.take()) if (PATCHLIKE.test(lines.peek() ?? "")) throw new PatchError(lines.strange());
  const [makes, deletes] = [from === "/dev/null", to === "/dev/null"];
  if (makes && deletes) throw new PatchError("it makes and deletes the file at once");
  const has = (...signs: string[]) => hunks.some((hunk) => hunk.lines.some(({ sign }) => signs.includes(sign)));
  if (makes && has(" ", "-")) throw new PatchError("a new file has no old lines");
  if (deletes && has(" ", "+")) throw new PatchError("a file that goes has no new lines");
  return { hunks, makes, deletes };
}

/** The new text, and the hunks as they were found to fit. */
export function applyPatch(before: string, { hunks }: Patch): { after: string; hunks: Hunk[] } {
  const old = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const fitted: Hunk[] = [];
  const parts: string[] = [];
  let done = 0;
  let moved = 0;
  for (const [index, hunk] of hunks.entries()) {
    const wanted = hunk.lines.filter(({ sign }) => sign !== "+").map((line) => line.text);
    const at = find(old, hunk, wanted, hunk.at + moved, done);
    if (at === undefined) throw new PatchError(`hunk ${index + 1} does not fit`, true);
    moved = at - hunk.at;
    parts.push(...old.slice(done, at), ...hunk.lines.filter(({ sign }) => sign !== "-").map((line) => line.text));
    done = at + wanted.length;
    fitted.push({ at, lines: hunk.lines });
  }
  parts.push(...old.slice(done));
  if (parts.slice(0, -1).some((line) => !line.endsWith("\n"))) {
    throw new PatchError("a line without a newline would not be the last", true);
  }
  return { after: parts.join(""), hunks: fitted };
}

/** The patch as applied, with the positions where its hunks fitted. */
export function writePatch(file: string, { makes, deletes }: Patch, hunks: readonly Hunk[]): string {
  let text = `--- ${makes ? "/dev/null" : `a/${file}`}\n+++ ${deletes ? "/dev/null" : `b/${file}`}\n`;
  let grown = 0;
  for (const { at, lines } of hunks) {
    const olds = lines.filter(({ sign }) => sign !== "+").length;
    const news = lines.filter(({ sign }) => sign !== "-").length;
    text += `@@ -${range(at, olds)} +${range(at + grown, news)} @@\n`;
    for (const line of lines) text += line.sign + (line.text.endsWith("\n") ? line.text : line.text + WITHOUT_NEWLINE);
    grown += news - olds;
  }
  return text;
}

const range = (at: number, count: number): string => `${count === 0 ? at : at + 1},${count}`;

/** The nearest place to `guess` where the wanted lines stand, not before `from`. */
function find(old: readonly string[], hunk: Hunk, wanted: readonly string[], guess: number, from: number): number | undefined {
  const isInside = (at: number) => at >= from && at + wanted.length <= old.length;
  const fits = (at: number) => isInside(at) && wanted.every((line, index) => old[at + index] === line);
  const only = (at: number) => (fits(at) ? at : undefined);
  // Pure additions fit anywhere, so use the position in the patch.
  if (wanted.length === 0) return only(guess);
  const before = hunk.lines.findIndex(({ sign }) => sign !== " ");
  const behind = hunk.lines.length - 1 - hunk.lines.findLastIndex(({ sign }) => sign !== " ");
  // Context is missing on one side where the file begins or ends, and there the hunk must stay.
  if (hunk.at === 0 && before < behind) return only(0);
  if (behind === 0 && before > 0) return only(old.length - wanted.length);
  for (let distance = 0; distance <= Math.max(old.length, guess); distance++) {
    if (fits(guess + distance)) return guess + distance;
    if (fits(guess - distance)) return guess - distance;
  }
  return undefined;
}

/** The names of the files, if there are any. What stands before, as in a mail or as git writes it, does not matter here. */
function parseHeader(lines: Lines): { from?: string; to?: string } {
  while (lines.peek() !== undefined && !/^(--- |@@ )/.test(lines.peek() ?? "")) lines.take();
  if (!lines.peek()?.startsWith("--- ")) return {};
  const from = fileName(lines.take());
  if (!lines.peek()?.startsWith("+++ ")) throw new PatchError(lines.strange());
  return { from, to: fileName(lines.take()) };
}

function fileName(line: string): string {
  return (line.slice(4).split("\t")[0] ?? "").trimEnd();
}

function parseHunk(lines: Lines): Hunk {
  const [, start = "", olds = "1", , news = "1"] = HUNK.exec(lines.take()) ?? [];
  let [oldLeft, newLeft] = [Number(olds), Number(news)];
  const at = oldLeft === 0 ? Number(start) : Number(start) - 1;
  if (at < 0) throw new PatchError("a hunk begins at line 0");
  const found: HunkLine[] = [];
  while (oldLeft > 0 || newLeft > 0) {
    if (lines.peek() === undefined) throw new PatchError("the last hunk is not whole");
    const line = lines.take();
    // Editors like to strip the one space of an empty context line.
    const sign = line === "" ? " " : line[0];
    if (sign !== " " && sign !== "-" && sign !== "+") throw new PatchError(lines.strange(-1));
    if (sign !== "+") oldLeft--;
    if (sign !== "-") newLeft--;
    if (oldLeft < 0 || newLeft < 0) throw new PatchError(lines.strange(-1));
    const endsWithout = lines.peek()?.startsWith("\\ ") ?? false;
    if (endsWithout) lines.take();
    found.push({ sign, text: endsWithout ? line.slice(1) : `${line.slice(1)}\n` });
  }
  if (found.length === 0) throw new PatchError("a hunk has no lines");
  if (found.some(({ text }) => text === "")) throw new PatchError("an empty line must have its newline");
  return { at, lines: found };
}

/** Lines one after the other. They end with `\n` alone: a carriage return belongs to the text. */
class Lines {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(text: string) {
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    this.#lines = lines;
  }

  peek(): string | undefined {
    return this.#lines[this.#next];
  }

  take(): string {
    return this.#lines[this.#next++] ?? "";
  }

  strange(offset = 0): string {
    return `line ${this.#next + 1 + offset} does not belong there`;
  }
}
