/** Prepares a snapshot: loads its rows as a server does, and writes the result to a file. */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { openRegular, readGiven, readStart } from "../../files/given.ts";
import { isRowFile, MANIFEST, PREPARED } from "../../snapshot/files.ts";
import { type LoadOptions, refusedFor } from "../../snapshot/loaded.ts";
import { PREPARED_BEGINNING } from "../../snapshot/prepared/head.ts";
import { writePrepared } from "../../snapshot/prepared/write.ts";
import { refuseShrunk, type ShrinkGuard, visibleIn } from "../../snapshot/refusals.ts";
import { isObject, parsedJson } from "../../util/json.ts";
import { codeOf } from "../../util/system-error.ts";
import { loadInThread } from "./threaded-loader.ts";

export interface BuildOptions extends Pick<LoadOptions, "onProgress"> {
  /** Whether to write a missing manifest, which lists the prepared file; an existing one is always renewed. */
  readonly manifest?: boolean;
  readonly guard?: ShrinkGuard;
}

/** Why a folder must not be written to: it holds rows, or a foreign manifest or prepared file. It may be missing. */
async function whyOccupied(folder: string): Promise<string | undefined> {
  const [row] = (await readdir(folder).catch(() => [])).filter(isRowFile).sort();
  if (row !== undefined)
    return `${folder}: holds ${row}; a folder holds rows or a prepared snapshot (${PREPARED})`;
  const given = await readGiven(join(folder, MANIFEST)).catch(() => undefined);
  const text = given?.bytes.toString() ?? "";
  let foreign = text === "" || isManifest(text) ? "" : MANIFEST;
  if (await isForeign(join(folder, PREPARED))) foreign = PREPARED;
  if (foreign === "") return undefined;
  return `${folder}: holds ${foreign}, which is none of orrery's and is not replaced; name another folder`;
}

/** Whether a regular file begins as no prepared one; false for an empty or missing file. @throws errors of the file system */
async function isForeign(file: string): Promise<boolean> {
  try {
    // Opening a pipe would announce a reader to its writer.
    if (!(await stat(file)).isFile()) return false;
    const { handle } = await openRegular(file);
    const start = await readStart(handle, PREPARED_BEGINNING.length).finally(() => handle.close());
    return start.length > 0 && start.toString("latin1") !== PREPARED_BEGINNING;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function isManifest(text: string): boolean {
  const manifest = parsedJson(text);
  return isObject(manifest) && String(manifest.format).startsWith("orrery-");
}

/**
 * Loads the snapshot in one folder and writes it, prepared, to another in one step. @returns why it cannot be served, if so
 * @throws {PlaceError} as `guard` demands, or when another build began to write to the folder; any error of writing
 */
export async function buildPrepared(
  from: string,
  to: string,
  { manifest = false, guard, onProgress }: BuildOptions = {},
) {
  const problem = await whyOccupied(to);
  if (problem !== undefined) return refusedFor(problem);
  const loaded = await loadInThread(from, { onProgress });
  if (!loaded.ok) return loaded;
  if (guard !== undefined) await refuseShrunk(visibleIn(loaded.store), guard);
  const bytes = await writePrepared(to, loaded, loaded.index, { manifest });
  return { ok: true as const, generation: loaded.store.id, bytes };
}
