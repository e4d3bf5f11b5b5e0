/** A prepared file to what a load of rows gives, index included. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { defaultOf } from "../../settings.ts";
import type { Store } from "../../store/generation.ts";
import { PREPARED } from "../files.ts";
import type { Loaded, LoadOptions } from "../load.ts";
import { compareWithManifest, type Manifest } from "../manifest.ts";
import type { Problems } from "../problems.ts";
import { BadFileError } from "../read.ts";
import { PREPARED_VERSION } from "./layout.ts";
import { type ReadPrepared, readPrepared } from "./read.ts";

/** What {@link loadPrepared} gives: all of {@link Loaded} but what the folder's files look like. */
export type LoadedPrepared = Omit<Loaded, "ok" | "fingerprint">;

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

/**
 * Loads a prepared file.
 *
 * @returns undefined when it cannot be used; why is in `problems`
 * @throws any error of the file system, and what the signal aborts with
 */
export async function loadPrepared(
  handle: FileHandle,
  manifest: Manifest | undefined,
  problems: Problems,
  options: LoadOptions,
): Promise<LoadedPrepared | undefined> {
  const began = performance.now();
  const { size } = await handle.stat();
  let seen = 0;
  try {
    const read = await readPrepared(handle, {
      maxBytes: options.maxBytes ?? Number(defaultOf("max-snapshot-bytes")),
      hash: manifest !== undefined,
      onBytes(bytes) {
        options.signal?.throwIfAborted();
        seen += bytes;
        options.onProgress?.(Math.min(1, seen / size));
      },
    });
    const { head, contents, bytes, sha256 } = read;
    if (manifest !== undefined) {
      const before = problems.count;
      compareWithManifest(manifest, new Map([[PREPARED, { bytes, sha256: sha256! }]]), problems);
      if (problems.count > before) return undefined;
    }
    return {
      store: manifest === undefined ? contents.store : rename(contents.store, manifest),
      index: contents.index,
      prepared: { version: PREPARED_VERSION, sections: sectionsOf(read) },
      createdAt: manifest?.createdAt ?? head.createdAt,
      reports: head.sources.map(({ hidden, dangling, ...source }) => ({
        ...source,
        hidden: new Map(Object.entries(hidden)),
        dangling: { count: dangling.count, examples: [...dangling.examples] },
        hiddenIds:
          options.keepHiddenIds && source.table === "worlds.ndjson" ? contents.hiddenWorlds : undefined,
      })),
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
