/** The snapshot pipeline: reads, validates, filters, encodes and packs a folder's rows. It gives a whole store or a list of problems. */

import { stat } from "node:fs/promises";
import {
  checkKinds,
  checkPreparedAlone,
  type FileFingerprints,
  type FileSystem,
  fileFingerprintsOf,
  fingerprintOf,
  fingerprintOfOpened,
  isSameFile,
  joinFingerprints,
  MANIFEST,
  type Opened,
  openIfThere,
  openRowFiles,
  PREPARED,
  realFiles,
} from "./files.ts";
import { tablesToOpen, unchangedFiles } from "./kept.ts";
import { readRowFiles } from "./load-rows.ts";
import {
  type Before,
  isSystemError,
  type Loaded,
  type LoadOptions,
  type OpenedFiles,
  type Refused,
  refusedFor,
  unreadable,
} from "./loaded.ts";
import { compareWithManifest, readManifest } from "./manifest.ts";
import { loadPrepared } from "./prepared/load.ts";
import { Problems } from "./problems.ts";

export type { Before, FileReport, Loaded, LoadOptions, Refused } from "./loaded.ts";

interface Loading {
  readonly folder: string;
  readonly fingerprints: FileFingerprints;
  readonly opened: Opened;
  readonly problems: Problems;
  readonly options: LoadOptions;
}

/** Most attempts to read a folder while snapshots are being published in it. */
const MOST_LOOKS = 3;

/** Opens the files; undefined if there are problems, or "changed" if they no longer have the given fingerprints. */
async function openFiles(loading: Loading): Promise<OpenedFiles | "changed" | undefined> {
  const { folder, fingerprints, opened, problems, options } = loading;
  const began = performance.now();
  const files = options.files ?? realFiles;
  const handle = await openIfThere(folder, MANIFEST, files, opened);
  const prepared = await openIfThere(folder, PREPARED, files, opened);
  // Read again below, so that its problems follow the problems of files.
  const listed =
    options.before && (await handle?.stat())?.isFile()
      ? await readManifest(handle!, new Problems())
      : undefined;
  // Beside a prepared file no row file may exist, changed or not.
  const known = unchangedFiles(fingerprints, prepared ? undefined : options.before, listed);
  const rowProblems = prepared ? new Problems() : problems;
  const stored = await openRowFiles(folder, files, rowProblems, opened, tablesToOpen(known));
  const skipped = Array.from(known.values(), ({ name }) => name).filter((name) => !opened.has(name));
  const ofOpened = [...fingerprints].filter(([name]) => !skipped.includes(name)).map(([, one]) => one);
  if ((await fingerprintOfOpened(opened)) !== joinFingerprints(ofOpened)) return "changed";
  if (!(await checkKinds(opened, problems))) return undefined;
  if (prepared && !checkPreparedAlone(opened, problems)) return undefined;
  const manifest = handle ? await readManifest(handle, problems) : undefined;
  return problems.count > 0 ? undefined : { fingerprints, manifest, prepared, stored, known, began };
}

function refusedAsChanged(folder: string): Refused {
  return refusedFor(`${folder}: changed while it was being read`, { changed: true });
}

/** @returns "changed" if the opened files are of another snapshot than the fingerprints, and have a manifest */
async function loadOpened(loading: Loading): Promise<Loaded | Refused | "changed"> {
  const { folder, fingerprints, problems, options } = loading;
  const fingerprint = joinFingerprints(fingerprints.values());
  const refuse = (): Refused => ({ ok: false, problems: problems.lines(), fingerprint });
  const source = await openFiles(loading);
  // Without a manifest, a second attempt could mix files of two publications.
  if (source === "changed") return loading.opened.has(MANIFEST) ? source : refusedAsChanged(folder);
  if (source === undefined) return refuse();

  const read = source.prepared ? loadPrepared : readRowFiles;
  const finish = await read(source, problems, options);
  if (finish !== undefined && "ok" in finish) return finish;
  const isSound = finish !== undefined && problems.count === 0;
  // The files that the manifest lists were read whole, even if a newer snapshot was published meanwhile.
  if (!(isSound && source.manifest) && (await fingerprintOf(folder, options.files)) !== fingerprint)
    return refusedAsChanged(folder);
  return isSound ? { ...finish(), ok: true, fingerprint } : refuse();
}

/** The refusal for an error that ended a load; undefined for a defect. */
function refusalFor(error: unknown, folder: string, options: LoadOptions): Refused | undefined {
  if (isSystemError(error)) {
    if (error.code === "ENOENT") return refusedFor(`${folder}: directory does not exist (ENOENT)`);
    return unreadable(error.path ?? folder, error);
  }
  if (!options.signal?.aborted && !(error instanceof RangeError)) return undefined;
  return refusedFor(`${folder}: ${(error as Error).message}`, { died: true });
}

/** Loads a folder as it is now; "changed" if a snapshot was published between taking the fingerprints and opening the files. */
async function loadAsSeen(folder: string, options: LoadOptions): Promise<Loaded | Refused | "changed"> {
  const opened: Opened = new Map();
  try {
    if (!(await (options.files?.stat ?? stat)(folder)).isDirectory())
      return refusedFor(`${folder}: is not a directory`);
    const fingerprints = await fileFingerprintsOf(folder, options.files);
    return await loadOpened({ folder, fingerprints, opened, problems: new Problems(), options });
  } catch (error) {
    const refused = refusalFor(error, folder, options);
    if (refused === undefined) throw error;
    return refused;
  } finally {
    await Promise.allSettled(Array.from(opened.values(), (handle) => handle.close()));
  }
}

/**
 * Loads the snapshot in a folder.
 *
 * @returns the store, or the problems. Errors of the file system are problems, too, but the next check should try again.
 */
export async function loadSnapshot(folder: string, options: LoadOptions = {}): Promise<Loaded | Refused> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const result = await loadAsSeen(folder, options);
    if (result !== "changed") return result;
  }
  return refusedAsChanged(folder);
}

export interface Renewed {
  readonly createdAt: string | undefined;
  readonly fingerprint: string;
}

function servedFiles({ kept }: Before): Map<string, { fingerprint: string; bytes: number; sha256: string }> {
  const { prepared } = kept;
  const files = new Map(kept.files.map((file) => [file.name, file]));
  if (prepared?.sha256 === undefined) return files;
  return new Map([[PREPARED, { ...prepared, sha256: prepared.sha256 }]]);
}

/** Checks a folder without reading its rows; undefined if it has to be loaded. @throws errors of the file system */
export async function findRenewed(
  folder: string,
  before: Before,
  files: FileSystem = realFiles,
): Promise<Renewed | undefined> {
  const fingerprints = await fileFingerprintsOf(folder, files);
  const served = servedFiles(before);
  const others = [...fingerprints].filter(([name]) => name !== MANIFEST);
  const isKnown = ([name, look]: [string, string]): boolean =>
    isSameFile(look, served.get(name)?.fingerprint ?? "");
  if (others.length === 0 || others.length !== served.size || !others.every(isKnown)) return undefined;
  const opened: Opened = new Map();
  try {
    const handle = await openIfThere(folder, MANIFEST, files, opened);
    if (!(await handle?.stat())?.isFile()) return undefined;
    if ((await fingerprintOfOpened(opened)) !== fingerprints.get(MANIFEST)) return undefined;
    const problems = new Problems();
    const manifest = await readManifest(handle!, problems);
    if (manifest?.generation !== before.store.id) return undefined;
    compareWithManifest(manifest, served, problems);
    if (problems.count > 0) return undefined;
    const createdAt = manifest.createdAt ?? before.kept.prepared?.createdAt;
    return { createdAt, fingerprint: joinFingerprints(fingerprints.values()) };
  } finally {
    for (const handle of opened.values()) await handle.close();
  }
}
