/** A prepared file to what a load of rows gives, index included. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { SearchIndex } from "../../search/search.ts";
import { CORE_DEFAULTS } from "../../settings/settings.ts";
import type { Store } from "../../store/generation.ts";
import { PREPARED } from "../files.ts";
import {
  type Finish,
  isSystemError,
  type KeptPrepared,
  type LoadOptions,
  type Refused,
  unreadable,
} from "../loaded.ts";
import { compareWithManifest, type Manifest } from "../manifest.ts";
import type { Problems } from "../problems.ts";
import { BadFileError } from "../read.ts";
import { PREPARED_VERSION } from "./layout.ts";
import { type ReadPrepared, readPrepared } from "./read.ts";

/** A prepared file that was read, and the store in it. */
interface Known {
  readonly known: KeptPrepared;
  readonly store: Store;
  /** Absent where the file was not read again. */
  readonly index?: SearchIndex;
}

/** The manifest names the generation, as that of rows does. */
function rename(store: Store, { generation }: Manifest): Store {
  if (generation === store.id) return store;
  const contents = createHash("sha256").update(`${store.contents}\n${generation}`).digest("hex");
  return { ...store, id: generation, contents };
}

/** Bytes of the arrays by the first two names of their paths; one that has two paths counts once. */
function sectionsOf({ head }: ReadPrepared): Map<string, number> {
  const sections = new Map<string, number>();
  const seen = new Set<number>();
  for (const { path, offset, bytes } of head.arrays) {
    if (bytes > 0 && seen.has(offset)) continue;
    if (bytes > 0) seen.add(offset);
    const name = path.split(".").slice(0, 2).join(".");
    sections.set(name, (sections.get(name) ?? 0) + bytes);
  }
  return sections;
}

/** Reads a file and says what is in it. */
async function readKnown(
  handle: FileHandle,
  fingerprint: string,
  hash: boolean,
  options: LoadOptions,
): Promise<Known> {
  const { size } = await handle.stat();
  let seen = 0;
  const read = await readPrepared(handle, {
    maxBytes: options.maxBytes ?? CORE_DEFAULTS.maxSnapshotBytes,
    hash,
    onBytes(bytes) {
      options.signal?.throwIfAborted();
      seen += bytes;
      options.onProgress?.(Math.min(1, seen / size));
    },
  });
  const { head, contents, bytes, sha256 } = read;
  const { store, index, hiddenWorlds } = contents;
  const reports = head.sources.map(({ hidden, ...source }) => ({
    ...source,
    hidden: new Map(Object.entries(hidden)),
    isKept: false,
    hiddenIds: options.keepHiddenIds && source.table === "worlds.ndjson" ? hiddenWorlds : undefined,
  }));
  const known = {
    ...{ fingerprint, bytes, sha256, reports },
    store: { id: store.id, contents: store.contents },
    createdAt: head.createdAt,
    prepared: { version: PREPARED_VERSION, sections: sectionsOf(read) },
  };
  return { known, store, index };
}

/**
 * Loads a prepared file, which is not read again where it is the one that is served.
 *
 * @returns undefined when it cannot be used; why is in `problems`. Or why the file system did not let it
 * @throws what the signal aborts with
 */
export async function loadPrepared(
  handle: FileHandle,
  fingerprint: string,
  manifest: Manifest | undefined,
  problems: Problems,
  options: LoadOptions,
): Promise<Finish | Refused | undefined> {
  const began = performance.now();
  const { store: served, kept } = options.before ?? {};
  const earlier = kept?.prepared?.fingerprint === fingerprint ? kept.prepared : undefined;
  try {
    // A manifest wants a hash, which may not be known yet.
    const isKept = earlier !== undefined && (manifest === undefined || earlier.sha256 !== undefined);
    const { known, store, index }: Known = isKept
      ? { known: earlier, store: served! }
      : await readKnown(handle, fingerprint, manifest !== undefined, options);
    const { bytes, sha256 } = known;
    if (manifest !== undefined)
      compareWithManifest(manifest, new Map([[PREPARED, { bytes, sha256: sha256! }]]), problems);
    const ownStore = { ...store, ...known.store };
    return () => ({
      store: manifest === undefined ? ownStore : rename(ownStore, manifest),
      ...(index ? { index } : {}),
      prepared: known.prepared,
      createdAt: manifest?.createdAt ?? known.createdAt,
      reports: known.reports.map((report) => ({ ...report, isKept })),
      kept: { files: [], prepared: known },
      bytes,
      readMs: performance.now() - began,
      packMs: 0,
    });
  } catch (error) {
    if (isSystemError(error)) return unreadable(PREPARED, error);
    if (!(error instanceof BadFileError)) throw error;
    problems.file(PREPARED, error.message);
    return undefined;
  }
}
