/** The generation that is served: its searches, and how the next one takes its place. */

import type { Observation, Observe } from "../../observe/events.ts";
import { type CacheCounts, type CachedSearch, observeSearches } from "../../search/cache.ts";
import type { SearchIndex } from "../../search/search.ts";
import { createGeneration, type Generation, type Store } from "../../store/generation.ts";
import { RELEASE_MS } from "../../util/process/collect.ts";
import type { OpenSimilar, SimilarSearching } from "../search/similar.ts";
import type { LoadedSearchable, Serving } from "./loader.ts";

/** Takes a generation to serve, and what its searches run over. */
export type TakeGeneration = (generation: Generation, index: SearchIndex) => void;

export interface ServedOptions {
  /** Makes the similar search of a generation; there is none when absent. */
  readonly openSimilar?: SimilarSearching["open"] | undefined;
  /** Called when nobody needs an old generation any longer. */
  readonly onReleased?: (() => void) | undefined;
  readonly observe: Observe;
}

const NO_SEARCHES: CacheCounts = { hits: 0, joined: 0, misses: 0, entries: 0, bytes: 0 };

/** The generation that is served; none until the first one was put in its place. */
export class ServedGeneration {
  readonly #options: ServedOptions;
  readonly #onGeneration: TakeGeneration;
  #generation: Generation | undefined;
  #serving: Serving | undefined;
  #similar: OpenSimilar | undefined;
  #retire = (): void => {};
  #search: CachedSearch | undefined;

  /** @param onGeneration called with every generation, the first included */
  constructor(options: ServedOptions, onGeneration: TakeGeneration) {
    this.#options = options;
    this.#onGeneration = onGeneration;
  }

  get generation(): Generation | undefined {
    return this.#generation;
  }

  /** What the next load may use again. */
  get serving(): Serving | undefined {
    return this.#serving;
  }

  /** What became of the searches of this generation. */
  searchCounts(): CacheCounts {
    return this.#search?.counts() ?? NO_SEARCHES;
  }

  /** Whether a page of a search would be answered from its cache. */
  readonly searchHolds: CachedSearch["holds"] = (...asked) => this.#search?.holds(...asked) ?? false;

  /** Serves what was loaded, and lets go of what was served before. */
  replace(loaded: LoadedSearchable): void {
    const { store, kept, index, search } = loaded;
    const { onReleased, observe } = this.#options;
    const before = this.#generation?.store;
    const retireSimilar = this.#replaceSimilar(store, index);
    const next = createGeneration(store, search, this.#similar?.search);
    if (before) {
      for (const shrunk of shrunkTables(before, store)) observe(shrunk);
      this.#observeSearches();
    }
    this.#search = search;
    this.#generation = next;
    this.#serving = { store, kept, index };
    this.#onGeneration(next, index);
    // Who still asks the old one is answered as long as others wait for it, and then searches for himself.
    this.#retire();
    retireSimilar?.();
    this.#retire = loaded.retire;
    if (before && onReleased) setTimeout(onReleased, RELEASE_MS).unref();
  }

  /** The same was loaded once more: files that only look different need not be read again. */
  keep({ kept }: LoadedSearchable): void {
    this.#serving = { ...this.#serving!, kept };
  }

  /** Lets go of what the searches hold; nothing can be searched after it. */
  retire(): void {
    this.#observeSearches();
    this.#retire();
    this.#similar?.retire();
  }

  /** Similar search goes on where the names are the same. @returns what lets go of the one before, if it does not */
  #replaceSimilar(store: Store, index: SearchIndex): OpenSimilar["retire"] | undefined {
    const old = this.#similar;
    const before = this.#serving?.index;
    if (old && index.users === before?.users && index.worlds === before.worlds) {
      old.serveAs(store.id);
      return undefined;
    }
    this.#similar = this.#options.openSimilar?.(store, index);
    return old?.retire;
  }

  #observeSearches(): void {
    observeSearches(this.#options.observe, this.#generation!.store.id, this.searchCounts());
  }
}

/** Visible rows of each table. */
function countsOf(store: Store): { users: number; worlds: number; instances: number } {
  return { users: store.users.rows, worlds: store.worlds.rows, instances: store.instances.rows };
}

/** The tables, however small, of which less than half is left. */
function shrunkTables(before: Store, after: Store): Observation[] {
  const counts = countsOf(after);
  return Object.entries(countsOf(before)).flatMap(([table, from]) => {
    const to = counts[table as keyof typeof counts];
    return to < from / 2 ? [{ kind: "snapshot-shrunk", table, from, to } as const] : [];
  });
}

/** Tables that were read, and tables that were kept from the generation before. */
function tablesOf({ reports }: LoadedSearchable): Record<"read" | "kept", string[]> {
  const named = (kept: boolean): string[] =>
    reports.filter(({ isKept }) => isKept === kept).map(({ table }) => table.replace(".ndjson", ""));
  return { read: named(false), kept: named(true) };
}

/** A generation is served. @param ms milliseconds that the load took */
export function loadedObservation(loaded: LoadedSearchable, ms: number): Observation {
  const { store, bytes, readMs, packMs, indexMs } = loaded;
  return {
    kind: "snapshot-loaded",
    generation: store.id,
    counts: countsOf(store),
    bytes,
    ms: Math.round(ms),
    readMs: Math.round(readMs),
    packMs: Math.round(packMs),
    indexMs: Math.round(indexMs),
    ...tablesOf(loaded),
  };
}

/** The same generation was loaded again. @param ms milliseconds that it took */
export function unchangedObservation(loaded: LoadedSearchable, ms: number): Observation {
  return {
    kind: "snapshot-unchanged",
    generation: loaded.store.id,
    ms: Math.round(ms),
    ...tablesOf(loaded),
  };
}
