/** The served generation: its searches, and its replacement by the next one. */

import { ROW_FILES } from "../../model/model.ts";
import type { Observation } from "../../observe/events.ts";
import { CachedSearch, type SearchBounds } from "../../search/cache.ts";
import { openSearch, type SearchIndex } from "../../search/search.ts";
import { createGeneration, type Generation, type Store } from "../../store/generation.ts";
import { RELEASE_MS } from "../../util/process/collect.ts";
import type { OpenSimilar, SimilarSearching } from "../similar/similar.ts";
import type { LoadedSearchable, Serving } from "./loader.ts";

/** Called with every generation, the first included. */
export type TakeGeneration = (generation: Generation) => void;

/** A generation for other threads that serve: its memory, and its thread that searches for similar names. */
export type SharedGeneration = ReturnType<ServedGeneration["shared"]>;

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
  #similar: OpenSimilar | undefined;

  constructor(options: ServedOptions, onGeneration: TakeGeneration) {
    this.#options = options;
    this.#onGeneration = onGeneration;
  }

  shared() {
    const { store, index } = this.serving!;
    return { store, index, askSimilar: this.#similar?.ask };
  }

  /** Serves a loaded generation, and releases the previous one. */
  replace({ store, kept, index }: Serving): void {
    const { searchBounds, onReleased } = this.#options;
    const previous = this.serving;
    const retireSimilar = this.#replaceSimilar(store, index);
    this.serving = { store, kept, index };
    this.search = new CachedSearch(openSearch(store, index), searchBounds);
    this.generation = createGeneration(store, this.search.find, this.#similar?.search);
    this.#onGeneration(this.generation);
    retireSimilar?.();
    if (previous && onReleased) setTimeout(onReleased, RELEASE_MS).unref();
  }

  /** Notes the files of another load of this generation: if they only look different, they need not be read again. */
  keep({ kept }: Serving): void {
    this.serving = { ...this.serving!, kept };
  }

  /** Releases the resources of the searches; no search may follow. */
  retire(): void {
    this.#similar?.retire();
  }

  /** Keeps the similar search if the names are the same, else replaces it. @returns releases a replaced one */
  #replaceSimilar(store: Store, index: SearchIndex): OpenSimilar["retire"] | undefined {
    const old = this.#similar;
    const previous = this.serving?.index;
    if (old && index.users === previous?.users && index.worlds === previous.worlds) {
      old.serveAs(store.id);
      return undefined;
    }
    this.#similar = this.#options.openSimilar?.(store, index);
    return old?.retire;
  }
}

function tablesOf({ reused }: LoadedSearchable): Record<"read" | "kept", string[]> {
  const named = (kept: boolean): string[] =>
    ROW_FILES.filter((file) => reused.has(file) === kept).map((file) => file.replace(".ndjson", ""));
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
