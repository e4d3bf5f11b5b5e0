/**
 * The snapshot pipeline: folder, read, validate, keep the visible, encode, pack.
 *
 * A load either gives a whole store or a list of problems; nothing in between.
 */

import { type FileHandle, stat } from "node:fs/promises";
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
import { type Before, tablesToOpen, unchangedFiles } from "./kept.ts";
import { type Finish, readRowFiles } from "./load-rows.ts";
import { isSystemError, type Loaded, type LoadOptions, type Refused, unreadable } from "./loaded.ts";
import { compareWithManifest, type Manifest, readManifest } from "./manifest.ts";
import { loadPrepared } from "./prepared/load.ts";
import { Problems } from "./problems.ts";

export type { FileReport, Loaded, LoadOptions, Refused } from "./loaded.ts";

/** Reads a prepared file; as {@link readRowFiles}. */
async function readPreparedFile(
  file: FileHandle,
  fingerprint: string,
  manifest: Manifest | undefined,
  problems: Problems,
  options: LoadOptions,
): Promise<Finish | Refused | undefined> {
  const { before } = options;
  const same = before?.kept.prepared?.fingerprint === fingerprint ? before : undefined;
  const earlier = same && { known: same.kept.prepared!, store: same.store };
  try {
    const loaded = await loadPrepared(file, manifest, problems, options, earlier);
    if (loaded === undefined) return undefined;
    const { known, ...rest } = loaded;
    return () => ({ ...rest, kept: { files: [], prepared: { ...known, fingerprint } } });
  } catch (error) {
    if (isSystemError(error)) return unreadable(PREPARED, error);
    throw error;
  }
}

async function loadOpened(
  folder: string,
  fingerprints: FileFingerprints,
  opened: Opened,
  options: LoadOptions,
): Promise<Loaded | Refused> {
  const files = options.files ?? realFiles;
  const began = performance.now();
  const problems = new Problems();
  const fingerprint = joinFingerprints(fingerprints.values());
  const refuse = (): Refused => ({ ok: false, problems: problems.lines(), fingerprint });
  const changed: Refused = {
    ok: false,
    problems: [`${folder}: changed while it was being read`],
    fingerprint: undefined,
    changed: true,
  };

  const handle = await openIfThere(folder, MANIFEST, files, opened);
  const prepared = await openIfThere(folder, PREPARED, files, opened);
  // Read once more below, so that its problems follow the problems of files.
  const listed =
    options.before && (await handle?.stat())?.isFile()
      ? await readManifest(handle!, new Problems())
      : undefined;
  // Beside a prepared file none may be there, whatever they look like.
  const known = unchangedFiles(fingerprints, prepared ? undefined : options.before, listed);
  const rowProblems = prepared ? new Problems() : problems;
  const stored = await openRowFiles(folder, files, rowProblems, opened, tablesToOpen(known));
  const notOpened = new Set<string>(
    [...known.values()].filter(({ name }) => !opened.has(name)).map(({ name }) => name),
  );
  const ofOpened = [...fingerprints].filter(([name]) => !notOpened.has(name)).map(([, one]) => one);
  if ((await fingerprintOfOpened(opened)) !== joinFingerprints(ofOpened)) return changed;
  if (!(await checkKinds(opened, problems))) return refuse();
  if (prepared && !checkPreparedAlone(opened, problems)) return refuse();
  const manifest = handle ? await readManifest(handle, problems) : undefined;
  if (problems.count > 0) return refuse();

  const finish = prepared
    ? await readPreparedFile(prepared, fingerprints.get(PREPARED)!, manifest, problems, options)
    : await readRowFiles({ stored, known, fingerprints, manifest, began }, problems, options);
  if (finish !== undefined && "ok" in finish) return finish;
  const isSound = finish !== undefined && problems.count === 0;
  // What the manifest lists was read whole, even if something newer was published meanwhile.
  if (!(isSound && manifest) && (await fingerprintOf(folder, files)) !== fingerprint) return changed;
  if (!isSound) return refuse();
  return { ...finish(), ok: true, fingerprint };
}

/**
 * Loads the snapshot in a folder.
 *
 * @returns the store, or what is wrong. Errors of the file system are problems
 *   too, but ones that the next check should try again.
 */
export async function loadSnapshot(folder: string, options: LoadOptions = {}): Promise<Loaded | Refused> {
  const opened: Opened = new Map();
  try {
    if (!(await (options.files?.stat ?? stat)(folder)).isDirectory()) {
      return { ok: false, problems: [`${folder}: is not a directory`], fingerprint: undefined };
    }
    const fingerprints = await fileFingerprintsOf(folder, options.files);
    return await loadOpened(folder, fingerprints, opened, options);
  } catch (error) {
    if (isSystemError(error)) {
      if (error.code !== "ENOENT") return unreadable(error.path ?? folder, error);
      return {
        ok: false,
        problems: [`${folder}: directory does not exist (ENOENT)`],
        fingerprint: undefined,
      };
    }
    const isAborted = options.signal?.aborted ?? false;
    if (isAborted || error instanceof RangeError) {
      return {
        ok: false,
        problems: [`${folder}: ${(error as Error).message}`],
        fingerprint: undefined,
        died: true,
      };
    }
    throw error;
  } finally {
    await Promise.allSettled(Array.from(opened.values(), (handle) => handle.close()));
  }
}

/** What is new. */
export interface Renewed {
  /** The moment of the data. */
  readonly createdAt: string | undefined;
  /** The folder's fingerprint; see `fingerprintOf`. */
  readonly fingerprint: string;
}

/** What was read of the files that are served, by name. */
function servedFiles({ kept }: Before): Map<string, { fingerprint: string; bytes: number; sha256: string }> {
  const { prepared } = kept;
  const files = new Map(kept.files.map((file) => [file.name, file]));
  if (prepared?.sha256 === undefined) return files;
  return new Map([[PREPARED, { ...prepared, sha256: prepared.sha256 }]]);
}

/**
 * Looks at a folder without reading its rows.
 *
 * @returns undefined where it has to be loaded to know what it holds
 * @throws errors of the file system
 */
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
