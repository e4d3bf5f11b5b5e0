/** The similar search of one generation: what it is, wherever it is done, its bound, and what its thread says. */

import type { Observe } from "../observe/events.ts";
import { type CountSearch, whyBusy } from "../search/cache.ts";
import type { PendingSearches } from "../search/schedule/pending.ts";
import type { SearchIndex } from "../search/search.ts";
import type { SearchAnswer, SearchName } from "../server/search/search-messages.ts";
import {
  BUSY,
  type Busy,
  type Caller,
  type Found,
  type FoundSimilar,
  type PageOf,
  type SimilarSearch,
  type Store,
} from "../store/generation.ts";

/** Asks for a page of similar names; resolves with undefined while there is no index of them. */
export type AskSimilar = (
  name: SearchName,
  term: string,
  page: PageOf,
  caller: Caller,
) => Promise<Found | Busy | undefined>;

/** What the similar search of a generation is made from. */
export interface SimilarOptions {
  readonly store: Store;
  /** Id of what is served with it: generations with the same names share one. */
  readonly generation: () => string;
  /** What the exact search runs over. */
  readonly index: SearchIndex;
  /** Memory for results. */
  readonly cacheBytes: number;
  readonly observe: Observe;
}

/** The similar search of one generation, wherever it is done. */
export interface SimilarEngine {
  readonly ask: AskSimilar;
  /** Begins to index. */
  start(): void;
  /** Lets go of the index, behind the last answer. */
  retire(): void;
}

/**
 * Bounds searches that wait, as any others. What is always asked of another thread, or done in slices, waits until it
 * is answered.
 *
 * @param count told of each search that is answered as one for similar names
 */
export function boundedSimilar(
  ask: AskSimilar,
  pending: PendingSearches,
  count?: CountSearch,
): SimilarSearch {
  const search =
    (name: SearchName): SimilarSearch["users"] =>
    (term, page, caller) => {
      const tell = (found: FoundSimilar): FoundSimilar => {
        const outcome = found === BUSY ? whyBusy(caller) : "searched";
        if (found !== undefined) count?.(`similar_${name}`, outcome);
        return found;
      };
      const leave = pending.enter(caller.key);
      if (leave === undefined) return tell(BUSY);
      const answer = ask(name, term, page, caller).finally(leave);
      return count === undefined ? answer : answer.then(tell);
    };
  return { users: search("users"), worlds: search("worlds") };
}

/** What the thread is started with. */
export interface SimilarTask {
  readonly store: Store;
  /** What the exact search runs over. */
  readonly index: SearchIndex;
  /** Memory for results. */
  readonly cacheBytes: number;
}

/** From the thread. */
export type FromSimilar =
  /** @param names distinct ones */
  | { readonly kind: "ready"; readonly names: number }
  /** There is more than an index can hold. */
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "answers"; readonly answers: readonly SearchAnswer[] };
