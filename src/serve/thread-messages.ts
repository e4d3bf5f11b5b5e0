/** What the serving thread and a generation's thread say to each other, and that to one which helps it: it says the index. */

import type { SearchIndex } from "../search/search.ts";
import type { Loaded, Refused } from "../snapshot/load.ts";
import type { Found, PageOf, Store } from "../store/generation.ts";

/** Which of the two searches. */
export type SearchName = "users" | "worlds";

/** What a thread is started for: a folder to load, an index whose search died with its thread, or worlds to index. */
export type Task =
  | {
      readonly kind: "load";
      readonly folder: string;
      readonly maxBytes: number | undefined;
      readonly cacheBytes: number;
      /** Of more users and worlds than these the worlds are indexed by another thread. */
      readonly mostAlone: number;
    }
  | { readonly kind: "search"; readonly index: SearchIndex; readonly cacheBytes: number }
  | { readonly kind: "index-worlds"; readonly store: Store };

/** One search. */
export interface SearchRequest {
  readonly number: number;
  /** Slot of the caller's key; see {@link Caller}. */
  readonly key: number;
  readonly name: SearchName;
  readonly term: string;
  readonly page: PageOf;
  /** Whether similar names are asked for. */
  readonly similar?: true;
}

/** What came up at about the same time. */
export interface SearchBatch {
  readonly asked: readonly SearchRequest[];
  /** Numbers of earlier ones that nobody waits for any more; they get no answer. */
  readonly dropped: readonly number[];
}

/** What became of a search. */
export type SearchAnswer =
  | { readonly number: number; readonly found: Found }
  | { readonly number: number; readonly problem: string }
  /** Nobody here can do it: whoever asked is to. Only the main thread says so. */
  | { readonly number: number; readonly over: true };

/** From a generation's thread. */
export type ThreadMessage =
  | { readonly kind: "progress"; readonly share: number }
  | { readonly kind: "refused"; readonly refused: Refused }
  /** Of an index that was handed in, `loaded` is undefined. */
  | {
      readonly kind: "ready";
      readonly loaded: Loaded | undefined;
      readonly index: SearchIndex;
      readonly indexMs: number;
    }
  | { readonly kind: "answers"; readonly answers: readonly SearchAnswer[] };
