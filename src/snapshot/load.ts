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
  fileFingerprintsOf,
  fingerprintOf,
  fingerprintOfOpened,
  joinFingerprints,
  type Opened,
  openManifest,
  openPrepared,
  openRowFiles,
  PREPARED,
  realFiles,
} from "./files.ts";
import { tablesToOpen, unchangedFiles } from "./kept.ts";
import { type Finish, readRowFiles } from "./load-rows.ts";
import { isSystemError, type Loaded, type LoadOptions, type Refused, unreadable } from "./loaded.ts";
import { type Manifest, readManifest } from "./manifest.ts";
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

  const handle = await openManifest(folder, files, opened);
  const prepared = await openPrepared(folder, files, opened);
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
