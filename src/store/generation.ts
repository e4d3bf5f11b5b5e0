/** A generation: one loaded snapshot, immutable. All but the search is in shared memory, so that threads need no copy. */

import type { Slices } from "../model/body.ts";
import type { Period } from "../model/model.ts";
import type { RowLists } from "./lists.ts";
import { type Block, reviveBlock, type Table } from "./table.ts";

/** The tables and row lists of a snapshot: visible rows only. */
export interface Store {
  /** Opaque name, sent as the ETag. */
  readonly id: string;
  /** Hash over the stored files: equal contents, equal hash. */
  readonly contents: string;
  readonly users: Table;
  readonly worlds: Table;
  /** Row numbers are those of `worlds`. */
  readonly worldStats: Block;
  readonly instances: Table;
  /** World rows by period, most popular first. */
  readonly popular: Readonly<Record<Period, Uint32Array>>;
  /** Copies of the first of these rows, in this order. */
  readonly mostPopular: Readonly<Record<Period, Block>>;
  /** World rows by user row. */
  readonly worldsByOwner: RowLists;
  /** Instance rows by world row. */
  readonly instancesByWorld: RowLists;
  readonly platformStats: string;
}

/** Restores a store from another thread: the same memory, and byte blocks as Buffers again. */
export function reviveStore(store: Store): Store {
  const { all, week, month } = store.mostPopular;
  return {
    ...store,
    users: reviveBlock(store.users),
    worlds: reviveBlock(store.worlds),
    worldStats: reviveBlock(store.worldStats),
    instances: reviveBlock(store.instances),
    mostPopular: { all: reviveBlock(all), week: reviveBlock(week), month: reviveBlock(month) },
  };
}

export interface PageOf {
  readonly limit: number;
  readonly offset: number;
}

/** Row numbers, in order. A short list is a plain array: allocating and freeing typed arrays takes longer than most searches. */
type Rows = Uint32Array | number[];

export interface Found {
  readonly total: number;
  /** Row numbers of the page, in the order of the answer. */
  readonly rows: Rows;
  /** The page's JSON, if it was kept: its bytes, or one-byte text. */
  readonly json?: string | Buffer;
  /** Keeps the page's JSON; present only for a page that is requested often. */
  readonly keepJson?: (slices: Slices) => void;
}

/** The caller of a search, as far as its scheduling depends on it. */
export interface Caller {
  /** Slot of its key. Callers of one key share a queue and a limit on waiting searches. */
  readonly key: number;
  /** Whether the caller no longer waits for the answer. Polled while a search waits or runs. */
  readonly isGone: () => boolean;
}

/** Replaces a result when too many searches wait, or when their callers are gone. */
export const BUSY = "busy";

export type Busy = typeof BUSY;

export type SearchName = "users" | "worlds";

/** Both searches over one store. `term` is a folded, trimmed text that is not empty. */
export type SearchOf<Result> = (name: SearchName, term: string, page: PageOf, caller: Caller) => Result;

export type Search = SearchOf<Found | Busy | Promise<Found | Busy>>;

/** The result of a search for similar names; undefined while their index does not exist. */
export type FoundSimilar = Found | Busy | undefined;

export type SimilarSearch = SearchOf<FoundSimilar | Promise<FoundSimilar>>;

/** The state of the serving side: swapped as a whole. */
export interface Generation {
  readonly store: Store;
  readonly search: Search;
  /** Undefined unless it was requested. */
  readonly similar: SimilarSearch | undefined;
  readonly etag: string;
}

export function createGeneration(store: Store, search: Search, similar?: SimilarSearch): Generation {
  return { store, search, similar, etag: `"${store.id}"` };
}
