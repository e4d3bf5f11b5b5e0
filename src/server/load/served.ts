/** The served generation: its searches, and its replacement by the next one. */

import { ROW_FILES } from "../../model/model.ts";
import type { Observation } from "../../observe/events.ts";
import { CachedSearch, type SearchBounds } from "../../search/cache.ts";
import { openSearch } from "../../search/search.ts";
import { createGeneration, type Generation } from "../../store/generation.ts";
import { RELEASE_MS } from "../../util/process/collect.ts";
import type { OpenSimilar, SimilarSearching } from "../similar/similar.ts";
import type { LoadedSearchable, Serving } from "./loader.ts";

/** Called with every generation, the first included. */
export type TakeGeneration = (generation: Generation) => void;

export interface ServedOptions {
  readonly searchBounds: SearchBounds;
  /** Makes the similar search of a generation; absent without similar search. */
  readonly openSimilar?: SimilarSearching["open"] | undefined;
  /** Called once an old generation can be collected. */
  readonly onReleased?: (() => void) | undefined;
}

/** Holds the served generation: none before the first {@link replace}, which comes before any use of its searches. */
export class ServedGeneration {
  readonly #options: ServedOptions;
  readonly #onGeneration: TakeGeneration;
  generation: Generation | undefined;
  /** The parts that the next load may use again. */
  serving: Serving | undefined;
  search!: CachedSearch;
  similar: OpenSimilar | undefined;

  constructor(options: ServedOptions, onGeneration: TakeGeneration) {
    this.#options = options;
    this.#onGeneration = onGeneration;
  }

  /** Serves a loaded generation, and releases the previous one. */
  replace({ store, kept, index }: Serving): void {
    const { searchBounds, openSimilar, onReleased } = this.#options;
    const { serving: previous, similar } = this;
    const hasSameNames = index.users === previous?.index.users && index.worlds === previous?.index.worlds;
    if (similar && hasSameNames) similar.serveAs(store.id);
    else this.similar = openSimilar?.(store, index);
    this.serving = { store, kept, index };
    this.search = new CachedSearch(openSearch(store, index), searchBounds);
    this.generation = createGeneration(store, this.search.find, this.similar?.search);
    this.#onGeneration(this.generation);
    if (similar !== this.similar) similar?.retire();
    if (previous && onReleased) setTimeout(onReleased, RELEASE_MS).unref();
  }

  /** Notes the files of another load of this generation: if they only look different, they need not be read again. */
  keep({ kept }: Serving): void {
    this.serving = { ...this.serving!, kept };
  }
}

function tablesOf({ reused }: LoadedSearchable): Record<"read" | "kept", string[]> {
  const named = (isReused: boolean): string[] =>
    ROW_FILES.filter((file) => reused.has(file) === isReused).map((file) => file.replace(".ndjson", ""));
  return { read: named(false), kept: named(true) };
}

export function loadedObservation(loaded: LoadedSearchable, ms: number): Observation {
  const { store, bytes, readMs, packMs, indexMs, reports } = loaded;
  const worldRows = reports.find(({ table }) => table === "worlds.ndjson")?.rows ?? 0;
  return {
    kind: "snapshot-loaded",
    generation: store.id,
    counts: { users: store.users.rows, worlds: store.worlds.rows, instances: store.instances.rows },
    hiddenWorlds: Math.max(0, worldRows - store.worlds.rows),
    bytes,
    ms: Math.round(ms),
    readMs: Math.round(readMs),
    packMs: Math.round(packMs),
    indexMs: Math.round(indexMs),
    ...tablesOf(loaded),
  };
}

export function unchangedObservation(loaded: LoadedSearchable, ms: number): Observation {
  return { kind: "snapshot-unchanged", generation: loaded.store.id, ms: Math.round(ms), ...tablesOf(loaded) };
}
