/** Whether a folder holds what is served, and nothing but its manifest is new: then there is nothing to load. */

import {
  type FileSystem,
  fileFingerprintsOf,
  fingerprintOfOpened,
  isSameFile,
  joinFingerprints,
  MANIFEST,
  type Opened,
  openManifest,
  PREPARED,
  realFiles,
} from "./files.ts";
import type { Before } from "./kept.ts";
import { compareWithManifest, readManifest } from "./manifest.ts";
import { Problems } from "./problems.ts";

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
    const handle = await openManifest(folder, files, opened);
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
