/** From a chronicle's path, which may come from anyone, to a file that is really inside the workspace. */

import { closeSync, fsync, lstatSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { promisify } from "node:util";
import { invalid, isRecord, type Detail } from "./errors.ts";

/** What is wrong with a path, whatever the file system holds. */
export function pathFaults(path: unknown): Detail[] {
  const fault = (reason: string): Detail[] => [{ field: "path", reason, received: path, expected: "src/Foo.ts.sage" }];
  if (typeof path !== "string") return fault("must be a string");
  if (!path.endsWith(".sage")) return fault("must end in `.sage`");
  if (path.startsWith("/")) return fault("must be relative to the workspace");
  if (path.split("/").includes("..")) return fault("must not have a `..` segment");
  if (path.includes("\0") || !path.isWellFormed()) return fault("holds a character that no file name can have");
  return [];
}

/**
 * The real path of a chronicle, every symbolic link on the way resolved and found to stay in the workspace.
 * `undefined` if it does not exist; unless `makeFolders`, which makes what is missing above it.
 */
export async function locate(root: string, path: string, makeFolders: boolean): Promise<string | undefined> {
  const realRoot = realpathSync.native(root);
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const name = segments.pop() ?? "";
  let folder = realRoot;
  for (const segment of segments) {
    const next = inside(realRoot, join(folder, segment), path);
    if (next === undefined && !makeFolders) return undefined;
    folder = next ?? (await makeFolder(join(folder, segment)));
  }
  const file = inside(realRoot, join(folder, name), path);
  return file ?? (makeFolders ? join(folder, name) : undefined);
}

/** Makes a new entry of a folder survive a loss of power. */
export async function syncFolder(folder: string): Promise<void> {
  const descriptor = openSync(folder, "r");
  try {
    await promisify(fsync)(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Where a path leads, if anything is there. */
function inside(realRoot: string, at: string, path: string): string | undefined {
  // Synchronous: the kernel knows the answer without asking the disk, and a thread pool would take longer.
  const stat = lstatSync(at, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isSymbolicLink()) return at;
  const target = targetOf(at);
  // Through a link to nothing a file could be made anywhere.
  if (target === realRoot || target.startsWith(realRoot + sep)) return target;
  throw invalid(`\`${path}\` leaves the workspace through a symbolic link`, [
    { field: "path", reason: "must stay inside the workspace", received: path },
  ]);
}

async function makeFolder(folder: string): Promise<string> {
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another append may have made it in between.
    if (!isRecord(error) || error["code"] !== "EEXIST") throw error;
  }
  await syncFolder(dirname(folder));
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
