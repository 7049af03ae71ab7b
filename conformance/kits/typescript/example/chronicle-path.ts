/** Resolves an untrusted chronicle path to a file inside the workspace. */

import { closeSync, fsync, lstatSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { promisify } from "node:util";
import { invalid, isRecord, type Detail } from "./errors.ts";

/** The faults of a path, independent of the file system. */
export function pathFaults(path: unknown): Detail[] {
  const fault = (reason: string): Detail[] => [{ field: "path", reason, received: path, expected: "src/Foo.ts.sage" }];
  if (typeof path !== "string") return fault("must be a string");
  if (!path.endsWith(".sage")) return fault("must end in `.sage`");
  if (path.startsWith("/")) return fault("must be relative to the workspace");
  if (path.split("/").includes("..")) return fault("must not have a `..` segment");
  if (path.includes("\0") || !path.isWellFormed()) return fault("holds a character that no file name can have");
  return [];
}

/** A chronicle's file and the workspace that it is in, both without symbolic links on the way. */
export interface Place {
  readonly file: string;
  readonly root: string;
}

/**
 * The path of a chronicle, with every symbolic link resolved and checked to stay in the workspace. `undefined` if it
 * does not exist, unless `makeFolders` creates its missing folders. Synchronous: the kernel knows the answers
 * without asking the disk, and appends keep the order in which they were called.
 */
export function locate(workspace: string, path: string, makeFolders: true): Place;
export function locate(workspace: string, path: string, makeFolders: boolean): Place | undefined;
export function locate(workspace: string, path: string, makeFolders: boolean): Place | undefined {
  const root = realpathSync.native(workspace);
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const name = segments.pop() ?? "";
  let folder = root;
  for (const segment of segments) {
    const next = inside(root, join(folder, segment), path);
    if (next === undefined && !makeFolders) return undefined;
    folder = next ?? makeFolder(join(folder, segment));
  }
  const file = inside(root, join(folder, name), path);
  if (file === undefined && !makeFolders) return undefined;
  return { file: file ?? join(folder, name), root };
}

/** Makes a new file survive a power loss: syncs its folder and all folders above, up to the root. */
export async function syncFolders({ file, root }: Place): Promise<void> {
  let folder = file;
  do {
    folder = dirname(folder);
    const descriptor = openSync(folder, "r");
    try {
      await promisify(fsync)(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } while (folder.length > root.length);
}

/** The target of a path, if it exists. */
function inside(root: string, at: string, path: string): string | undefined {
  const stat = lstatSync(at, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isSymbolicLink()) return at;
  const target = targetOf(at);
  // A dangling link could create a file anywhere.
  if (target === root || target.startsWith(root + sep)) return target;
  throw invalid(`\`${path}\` leaves the workspace through a symbolic link`, [
    { field: "path", reason: "must stay inside the workspace", received: path },
  ]);
}

function makeFolder(folder: string): string {
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another append may have made it in between.
    if (!isRecord(error) || error["code"] !== "EEXIST") throw error;
  }
  return folder;
}

function targetOf(link: string): string {
  try {
    return realpathSync.native(link);
  } catch (error) {
    if (isRecord(error) && error["code"] === "ENOENT") return "";
    throw error;
  }
}
