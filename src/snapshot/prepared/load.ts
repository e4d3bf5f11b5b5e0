/** A prepared file to what a load of rows gives, index included. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { SearchIndex } from "../../search/search.ts";
import { CORE_DEFAULTS } from "../../settings/settings.ts";
import type { Store } from "../../store/generation.ts";
import { PREPARED } from "../files.ts";
import { compareWithManifest, type Manifest } from "../manifest.ts";
import type { Problems } from "../problems.ts";
import { BadFileError } from "../read.ts";
import type { Dangling, Hidden } from "../stage.ts";
import type { SourceReport } from "./head.ts";
import { PREPARED_VERSION } from "./layout.ts";
import { type ReadPrepared, readPrepared } from "./read.ts";

/** How to load; see `LoadOptions`. */
export interface LoadPreparedOptions {
  readonly maxBytes?: number;
  readonly onProgress?: (share: number) => void;
  readonly keepHiddenIds?: boolean;
  readonly signal?: AbortSignal;
}

/** What was in a file of rows from which a snapshot was prepared. */
interface Report extends Omit<SourceReport, "hidden" | "dangling"> {
  readonly hidden: Hidden;
  readonly dangling: Dangling;
  readonly hiddenIds: Uint32Array | undefined;
}

/** What is known of a prepared file that was read. */
export interface KnownPrepared {
  readonly bytes: number;
  /** Hex SHA-256 of the file, where a manifest asked for it. */
  readonly sha256: string | undefined;
  /** The generation's name and contents as the file tells them. */
  readonly store: Pick<Store, "id" | "contents">;
  readonly createdAt: string | undefined;
  readonly prepared: { readonly version: number; readonly sections: ReadonlyMap<string, number> };
  readonly reports: readonly Report[];
}

/** A prepared file that was read before and did not change since, and the store that came of it. */
export interface EarlierPrepared {
  readonly known: KnownPrepared;
  readonly store: Store;
}

/** All of a loaded snapshot but what the folder's files look like. */
export interface LoadedPrepared {
  readonly known: KnownPrepared;
  readonly store: Store;
  /** Absent where the file was not read again. */
  readonly index?: SearchIndex;
  readonly prepared: KnownPrepared["prepared"];
  readonly createdAt: string | undefined;
  readonly reports: readonly (Report & { readonly isKept: boolean })[];
  readonly bytes: number;
  readonly readMs: number;
  readonly packMs: number;
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
  hash: boolean,
  options: LoadPreparedOptions,
): Promise<EarlierPrepared & { readonly index: SearchIndex }> {
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
  const { store, index } = contents;
  const reports = head.sources.map(({ hidden, dangling, ...source }) => ({
    ...source,
    hidden: new Map(Object.entries(hidden)),
    dangling: { count: dangling.count, examples: [...dangling.examples] },
    hiddenIds: options.keepHiddenIds && source.table === "worlds.ndjson" ? contents.hiddenWorlds : undefined,
  }));
  const { id, contents: hashOfContents } = store;
  const known = {
    bytes,
    sha256,
    store: { id, contents: hashOfContents },
    createdAt: head.createdAt,
    prepared: { version: PREPARED_VERSION, sections: sectionsOf(read) },
    reports,
  };
  return { known, store, index };
}

/**
 * Loads a prepared file.
 *
 * @param earlier the same file, which is not read again
 * @returns undefined when it cannot be used; why is in `problems`
 * @throws any error of the file system, and what the signal aborts with
 */
export async function loadPrepared(
  handle: FileHandle,
  manifest: Manifest | undefined,
  problems: Problems,
  options: LoadPreparedOptions,
  earlier?: EarlierPrepared,
): Promise<LoadedPrepared | undefined> {
  const began = performance.now();
  try {
    // A manifest wants a hash, which may not be known yet.
    const isKept = earlier !== undefined && (manifest === undefined || earlier.known.sha256 !== undefined);
    const read: EarlierPrepared & { readonly index?: SearchIndex } = isKept
      ? earlier
      : await readKnown(handle, manifest !== undefined, options);
    const { known } = read;
    const { bytes, sha256 } = known;
    if (manifest !== undefined) {
      const before = problems.count;
      compareWithManifest(manifest, new Map([[PREPARED, { bytes, sha256: sha256! }]]), problems);
      if (problems.count > before) return undefined;
    }
    const store = { ...read.store, ...known.store };
    return {
      known,
      store: manifest === undefined ? store : rename(store, manifest),
      ...(read.index ? { index: read.index } : {}),
      prepared: known.prepared,
      createdAt: manifest?.createdAt ?? known.createdAt,
      reports: known.reports.map((report) => ({ ...report, isKept })),
      bytes,
      readMs: performance.now() - began,
      packMs: 0,
    };
  } catch (error) {
    if (!(error instanceof BadFileError)) throw error;
    problems.file(PREPARED, error.message);
    return undefined;
  }
}
