/**
 * Resolves a path, possibly from a model, to a file inside the workspace.
 *
 * The path is walked folder by folder, each opened without following links and entered through its descriptor
 * (`/proc/self/fd/N/name`, which is what `openat` is elsewhere). Links are followed here, not by the kernel, and none of them
 * may lead out. So it does not matter what somebody swaps for a link meanwhile: what was checked is what is used.
 */

import { closeSync, constants, lstatSync, mkdirSync, openSync, readlinkSync, type Stats } from "node:fs";
import { invalid, isRecord, typedError, type TypedError } from "./errors.ts";

export type Access = "read" | "write";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** The kernel's own limit. */
const MOST_LINKS = 40;

/** A name in an open folder. */
export class Place {
  readonly #folders: number[];
  /** Missing folders on the way. */
  readonly #missing: string[];
  readonly #name: string;

  constructor(folders: number[], missing: string[], name: string) {
    this.#folders = folders;
    this.#missing = missing;
    this.#name = name;
  }

  /** Where it is, for the calls of `node:fs`. The last name is not followed if it is a link: open it with O_NOFOLLOW. */
  get at(): string {
    return this.sibling(this.#name);
  }

  /** Another name in the same folder. */
  sibling(name: string): string {
    return entry(this.#folders, name);
  }

  stat(): Stats | undefined {
    return this.#missing.length > 0 ? undefined : lstatSync(this.at, { throwIfNoEntry: false });
  }

  makeFolders(): void {
    for (const name of this.#missing.splice(0)) {
      const at = this.sibling(name);
      try {
        mkdirSync(at);
      } catch (error) {
        if (!isRecord(error) || error["code"] !== "EEXIST") throw error;
      }
      this.#folders.push(openSync(at, FOLDER));
    }
  }

  close(): void {
    for (const descriptor of this.#folders.splice(0)) closeSync(descriptor);
  }
}

/** Runs an operation on a workspace path. File system errors become `EIO` with the path as given. */
export function atPath<T>(workspace: string, path: string, access: Access, work: (place: Place) => T): T {
  checkPath(path);
  if (path.startsWith("/")) throw refusal(path, access, OUTSIDE);
  const folders: number[] = [];
  try {
    folders.push(openSync(workspace, constants.O_RDONLY | constants.O_DIRECTORY));
    const place = walk(folders, path, access);
    try {
      return work(place);
    } finally {
      place.close();
    }
  } catch (error) {
    throw fileError(access, path, error);
  } finally {
    for (const descriptor of folders.splice(0)) closeSync(descriptor);
  }
}

/** Takes over the descriptors in `folders`, of which the first is the workspace. */
function walk(folders: number[], path: string, access: Access): Place {
  const todo = path.split("/").reverse();
  let links = 0;
  for (let name; (name = todo.pop()) !== undefined; ) {
    if (name === "" || name === ".") continue;
    if (access === "write" && isProtected(name)) throw refusal(path, access, "`.sage` is written by chronicles only");
    if (name === "..") {
      if (folders.length === 1) throw refusal(path, access, OUTSIDE);
      closeSync(folders.pop() ?? -1);
      continue;
    }
    const at = entry(folders, name);
    const stat = lstatSync(at, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) {
      const target = readlinkSync(at);
      if (target.startsWith("/")) throw refusal(path, access, OUTSIDE);
      if (++links > MOST_LINKS) throw systemError("ELOOP", "too many symbolic links");
      todo.push(...target.split("/").reverse());
      continue;
    }
    const rest = todo.filter((segment) => segment !== "" && segment !== ".").reverse();
    if (stat === undefined) return nowhere(folders, [name, ...rest], path, access);
    if (rest.length > 0) folders.push(openSync(at, FOLDER));
    else if (todo.length > 0 && !stat.isDirectory()) throw systemError("ENOTDIR", "not a folder");
    else return new Place(folders.splice(0), [], name);
  }
  // The workspace itself, or a folder that `..` came back to.
  return new Place(folders.splice(0), [], ".");
}

/** A place whose last folders, or only the file, do not exist. */
function nowhere(folders: number[], names: string[], path: string, access: Access): Place {
  if (names.includes("..")) throw refusal(path, access, "`..` after a folder that is not there");
  if (access === "write" && names.some(isProtected)) throw refusal(path, access, "`.sage` is written by chronicles only");
  if (path.endsWith("/")) throw systemError("EISDIR", "a file's path does not end in a slash");
  const name = names.pop() ?? "";
  return new Place(folders.splice(0), names, name);
}

function checkPath(path: string): void {
  const fault = (reason: string) =>
    invalid("the path cannot be used", [{ field: "file", reason, received: path, expected: "src/a.ts" }]);
  if (path === "") throw fault("must not be empty");
  if (path.includes("\0") || !path.isWellFormed()) throw fault("holds a character that no file name can have");
}

const OUTSIDE = "only files in the workspace can be reached";

function refusal(path: string, operation: Access, policy: string): TypedError {
  return typedError("EPERMISSION", `\`${path}\` is refused: ${policy}`, { resource: path, operation, policy });
}

/**
 * Whether some file system would treat the name as `.sage`: they may ignore case, normalise, drop invisible
 * seen, and dots and spaces at the end.
 */
export function isProtected(name: string): boolean {
  const plain = name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return plain.toUpperCase().toLowerCase().normalize("NFKC").replace(/[. ]+$/, "") === ".sage";
}

function entry(folders: readonly number[], name: string): string {
  return `/proc/self/fd/${folders.at(-1)}/${name}`;
}

export function systemError(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code, syscall: "open" });
}

/** Node's message contains our descriptor path, which changes each time; its first words are enough. */
function fileError(operation: string, path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !isRecord(error) || typeof error["syscall"] !== "string") return error;
  const code = String(error["code"]);
  return typedError("EIO", `could not ${operation} \`${path}\`: ${error.message.split(",")[0]}`, { operation, path, code });
}
