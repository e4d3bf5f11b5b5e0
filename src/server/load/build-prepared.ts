/** Preparing a snapshot: rows are loaded as a server loads them, and what it would serve is written to a file. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isForeign } from "../../files/foreign.ts";
import { isRowFile, MANIFEST, PREPARED } from "../../snapshot/files.ts";
import type { Refused } from "../../snapshot/load.ts";
import { PREPARED_BEGINNING } from "../../snapshot/prepared/head.ts";
import { writeLoaded } from "../../snapshot/prepared/write.ts";
import { type VisibleRows, visibleIn } from "../../snapshot/refusals.ts";
import { loadAsServed } from "./threaded-loader.ts";

/** How to prepare. */
export interface BuildOptions {
  /** Most bytes of uncompressed rows; the setting's default when absent. */
  readonly maxBytes?: number;
  /** Whether a manifest that lists the prepared file is written where there is none; one that is there is always renewed. */
  readonly manifest?: boolean;
  /** Judges what was loaded before anything is written. */
  readonly judge?: (visible: VisibleRows) => Promise<void>;
  /** Called before the new file takes the place of the old one. */
  readonly ready?: () => Promise<void>;
  /** Told what share of the rows was read, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
  /** Told what share of the prepared file was written, from 0 to 1. */
  readonly onWritten?: (share: number) => void;
}

/** What was made. */
export interface Built {
  readonly ok: true;
  readonly generation: string;
  /** Bytes of the prepared file. */
  readonly bytes: number;
}

/** Row files in a folder, which may be missing. */
async function rowFilesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter(isRowFile).sort();
}

/** The first file in a folder that a build would replace and that no build and no snapshot has made; undefined for none. */
async function foreignIn(folder: string): Promise<string | undefined> {
  if (await isForeign(join(folder, PREPARED), PREPARED_BEGINNING)) return PREPARED;
  const text = await readFile(join(folder, MANIFEST), "utf8").catch(() => "");
  return text === "" || isManifest(text) ? undefined : MANIFEST;
}

function isManifest(text: string): boolean {
  try {
    return String((JSON.parse(text) as { format?: unknown } | null)?.format).startsWith("orrery-");
  } catch {
    return false;
  }
}

/**
 * Loads the snapshot in one folder and writes it, prepared, to another, which is made when missing. The new file takes
 * its place in one step.
 *
 * @returns what was made, or why the snapshot cannot be served; nothing was changed then
 * @throws what `judge` and `ready` throw; {OvertakenError} when another build began to write to the folder; any error of the file system while writing
 */
export async function buildPrepared(
  from: string,
  to: string,
  { maxBytes, manifest = false, judge, ready, onProgress, onWritten }: BuildOptions = {},
): Promise<Built | Refused> {
  const [row] = await rowFilesIn(to);
  if (row !== undefined) {
    const problem = `${to}: holds ${row}; a folder holds rows or a prepared snapshot (${PREPARED})`;
    return { ok: false, problems: [problem], fingerprint: undefined };
  }
  const foreign = await foreignIn(to);
  if (foreign !== undefined) {
    const problem = `${to}: holds ${foreign}, which is none of orrery's and is not replaced; name another folder`;
    return { ok: false, problems: [problem], fingerprint: undefined };
  }
  const loaded = await loadAsServed(from, { keepHiddenIds: true, maxBytes, onProgress });
  if (!loaded.ok) return loaded;
  await judge?.(visibleIn(loaded.store));
  const bytes = await writeLoaded(to, loaded, loaded.index, {
    manifest,
    ...(ready ? { ready } : {}),
    ...(onWritten ? { onProgress: onWritten } : {}),
  });
  return { ok: true, generation: loaded.store.id, bytes };
}
