/** The standard tools that read and change files: Read, Write and Edit. */

import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import {
  accessSync, closeSync, constants, fchmodSync, fstatSync, fsyncSync, openSync, readFileSync, renameSync, unlinkSync, writeFileSync,
} from "node:fs";
import { invalid } from "./errors.ts";
import { atPath, systemError, type Place } from "./tools-path.ts";
import { applyPatch, parsePatch, PatchError, writePatch, type Patch } from "./tools-patch.ts";
import { defineTool, type Tool } from "./tools.ts";

/** A larger file is useless to a model, and would not fit into an answer. */
const LARGEST = 16 * 1024 * 1024;
// Never follow a link created after the path was resolved; never wait for the other end of a pipe.
const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const TO_CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const FILE = { type: "string", description: "A path relative to the workspace" };

export const read: Tool<{ file: string }, { content: string }> = defineTool({
  name: "Read",
  description: "Reads a text file of the workspace",
  schema: { type: "object", properties: { file: FILE }, required: ["file"], additionalProperties: false },
  async execute({ file }, { cwd }) {
    return { ok: true, data: { content: atPath(cwd, file, "read", readText) } };
  },
});

export const write: Tool<{ file: string; content: string }, { bytes: number }> = defineTool({
  name: "Write",
  description: "Writes a text file of the workspace, as a whole",
  schema: {
    type: "object",
    properties: { file: FILE, content: { type: "string" } },
    required: ["file", "content"],
    additionalProperties: false,
  },
  async execute({ file, content }, { cwd, dryRun }) {
    atPath(cwd, file, "write", (place) => {
      checkReplaceable(place);
      if (!dryRun) replace(place, content);
    });
    return { ok: true, data: { bytes: Buffer.byteLength(content) } };
  },
});

interface Edit {
  file: string;
  patch: string;
  strategy?: "apply" | "check";
}

interface Edited {
  patched: boolean;
  diff?: string;
}

export const edit = defineTool<Edit, Edited>({
  name: "Edit",
  description: "Applies a unified diff to a text file of the workspace, as a whole or not at all",
  schema: {
    type: "object",
    properties: { file: FILE, patch: { type: "string" }, strategy: { enum: ["apply", "check"] } },
    required: ["file", "patch"],
    additionalProperties: false,
  },
  async execute({ file, patch: text, strategy = "apply" }, { cwd, dryRun }) {
    try {
      const patch = parsePatch(text);
      const diff = atPath(cwd, file, "write", (place) => editAt(place, file, patch, strategy === "apply" && !dryRun));
      return { ok: true, data: { patched: true, diff } };
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      if (error.isUnfit && strategy === "check") return { ok: true, data: { patched: false } };
      throw invalid(`the patch cannot be applied: ${error.message}`, [{ field: "patch", reason: error.message }]);
    }
  },
});

/** Synchronous from the first read to the last write, so that no concurrent edit is lost. */
function editAt(place: Place, file: string, patch: Patch, isForReal: boolean): string {
  const isThere = place.stat() !== undefined;
  if (patch.makes && isThere) throw new PatchError("it makes a file that is there already", true);
  const before = patch.makes ? "" : readText(place);
  checkReplaceable(place);
  const { after, hunks } = applyPatch(before, patch);
  if (patch.deletes && after !== "") throw new PatchError("it deletes the file, but does not remove all of its lines", true);
  if (isForReal && patch.deletes) unlinkSync(place.at);
  else if (isForReal) replace(place, after);
  return writePatch(file, patch, hunks);
}

function readText(place: Place): string {
  const stat = place.stat();
  if (!stat) throw systemError("ENOENT", "no such file");
  // Checked before opening, because opening a device may have effects, and after, because the file may have been replaced.
  if (!stat.isFile()) throw systemError(stat.isDirectory() ? "EISDIR" : "EINVAL", "it is not a regular file");
  const descriptor = openSync(place.at, TO_READ);
  try {
    const { size } = fstatSync(descriptor);
    if (!fstatSync(descriptor).isFile()) throw systemError("EINVAL", "it is not a regular file");
    if (size > LARGEST) throw systemError("EFBIG", `it is larger than ${LARGEST} bytes`);
    const bytes = readFileSync(descriptor);
    if (!isUtf8(bytes)) throw systemError("EILSEQ", "it is not UTF-8");
    return bytes.toString("utf8");
  } finally {
    closeSync(descriptor);
  }
}

function checkReplaceable(place: Place): void {
  const stat = place.stat();
  if (!stat) return;
  if (stat.isDirectory()) throw systemError("EISDIR", "it is a folder");
  if (!stat.isFile()) throw systemError("EINVAL", "it is not a regular file");
  accessSync(place.at, constants.W_OK);
}

/**
 * Replaces a file atomically: a concurrent reader sees the old or the new text, and other names
 * of the old file (hard links) keep the old.
 */
function replace(place: Place, text: string): void {
  const mode = place.stat()?.mode;
  place.makeFolders();
  const temporary = place.sibling(`.${randomUUID()}.tmp`);
  const descriptor = openSync(temporary, TO_CREATE, 0o666);
  try {
    try {
      writeFileSync(descriptor, text);
      if (mode !== undefined) fchmodSync(descriptor, mode & 0o7777);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, place.at);
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  }
}
