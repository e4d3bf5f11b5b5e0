/** The snapshot pipeline: reads, validates, filters, encodes and packs a folder's rows. It gives a whole store or a list of problems. */

import { stat } from "node:fs/promises";
import { systemErrorText } from "../util/system-error.ts";
import {
  checkKinds,
  checkPreparedAlone,
  type FileFingerprints,
  fileFingerprintsOf,
  fingerprintOf,
  fingerprintOfOpened,
  joinFingerprints,
  MANIFEST,
  type Opened,
  openIfThere,
  openRowFiles,
  PREPARED,
} from "./files.ts";
import { type Loaded, type LoadInput, type LoadOptions, type Refused, refusedFor } from "./loaded.ts";
import { readManifest } from "./manifest.ts";
import { loadPrepared } from "./prepared/load.ts";
import { Problems } from "./problems.ts";
import { filesToOpen } from "./reuse.ts";
import { readRowFiles } from "./row-files.ts";
import { findUnchangedFiles, findUnchangedPrepared } from "./unchanged-files.ts";

export type { Loaded, LoadOptions, Previous, Refused } from "./loaded.ts";

/** Most attempts to read a folder while snapshots are being published in it. */
const MOST_ATTEMPTS = 3;

/** Opens the files; undefined if there are problems, or "changed" if they no longer have the given fingerprints. */
async function openFiles(
  folder: string,
  fingerprints: FileFingerprints,
  opened: Opened,
  { problems, options }: Pick<LoadInput, "problems" | "options">,
): Promise<LoadInput | "changed" | undefined> {
  const began = performance.now();
  const handle = await openIfThere(folder, MANIFEST, opened);
  const prepared = await openIfThere(folder, PREPARED, opened);
  // Read again below, so that its problems follow the problems of files.
  const isRegular = options.previous && (await handle?.stat())?.isFile();
  const listed = isRegular ? await readManifest(handle!, new Problems()) : undefined;
  // Beside a prepared file no row file may exist, changed or not.
  const unchanged = findUnchangedFiles(fingerprints, prepared ? undefined : options.previous, listed);
  const unchangedPrepared = findUnchangedPrepared(fingerprints, options.previous, listed);
  const tables = filesToOpen(new Set(unchanged.keys()));
  if (options.onlyIfUnchanged && !unchangedPrepared && tables.length > 0) return undefined;
  const rowProblems = prepared ? new Problems() : problems;
  const stored = await openRowFiles(folder, rowProblems, opened, tables);
  const skipped = new Set(Array.from(unchanged.values(), ({ file }) => file));
  const wanted = [...fingerprints].filter(([name]) => opened.has(name) || !skipped.has(name));
  if ((await fingerprintOfOpened(opened)) !== joinFingerprints(new Map(wanted))) return "changed";
  if (!(await checkKinds(opened, problems))) return undefined;
  if (prepared && !checkPreparedAlone(opened, problems)) return undefined;
  const manifest = handle ? await readManifest(handle, problems) : undefined;
  if (problems.count > 0) return undefined;
  return { options, problems, fingerprints, manifest, prepared, unchangedPrepared, stored, unchanged, began };
}

function refusedAsChanged(folder: string): Refused {
  return refusedFor(`${folder}: changed while it was being read`, { changed: true });
}

/** The refusal for an error that ended a load; undefined for a defect. */
function refusalFor(error: unknown, folder: string, options: LoadOptions): Refused | undefined {
  const words = systemErrorText(error);
  if (words !== undefined) {
    const { code, path = folder } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && path === folder)
      return refusedFor(`${folder}: directory does not exist (ENOENT)`);
    return refusedFor(`${path}: cannot be read: ${words}`);
  }
  if (!options.signal?.aborted && !(error instanceof RangeError)) return undefined;
  return refusedFor(`${folder}: ${(error as Error).message}`, { died: true });
}

/** Loads a folder as it is now; "changed" if a snapshot was published between taking the fingerprints and opening the files. */
async function loadAsSeen(folder: string, options: LoadOptions): Promise<Loaded | Refused | "changed"> {
  const opened: Opened = new Map();
  const problems = new Problems();
  try {
    if (!(await stat(folder)).isDirectory()) return refusedFor(`${folder}: is not a directory`);
    const fingerprints = await fileFingerprintsOf(folder);
    const fingerprint = joinFingerprints(fingerprints);
    const input = await openFiles(folder, fingerprints, opened, { problems, options });
    // Without a manifest, a second attempt could mix files of two publications.
    if (input === "changed") return opened.has(MANIFEST) ? input : refusedAsChanged(folder);
    const loaded = input && (await (input.prepared ? loadPrepared : readRowFiles)(input));
    // The files that the manifest lists were read whole, even if a newer snapshot was published meanwhile.
    const isSure = input === undefined || (loaded !== undefined && input.manifest !== undefined);
    if (!isSure && (await fingerprintOf(folder)) !== fingerprint) return refusedAsChanged(folder);
    return loaded
      ? { ...loaded, ok: true, fingerprint }
      : { ok: false, problems: problems.lines(), fingerprint };
  } catch (error) {
    const refused = refusalFor(error, folder, options);
    if (refused === undefined) throw error;
    return refused;
  } finally {
    await Promise.allSettled(Array.from(opened.values(), (handle) => handle.close()));
  }
}

/** Loads the snapshot in a folder. After errors of the file system, which are problems, too, the next check should try again. */
export async function loadSnapshot(folder: string, options: LoadOptions = {}): Promise<Loaded | Refused> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const result = await loadAsSeen(folder, options);
    if (result !== "changed") return result;
  }
  return refusedAsChanged(folder);
}
