/** Searches for similar names, as the core knows them: how it asks for them, and their bound. */

import type { Observe } from "../../observe/events.ts";
import type { CountSearch } from "../../observe/metrics/layout.ts";
import { whyBusy } from "../../search/cache.ts";
import type { PendingSearches } from "../../search/schedule/pending.ts";
import type { SearchIndex } from "../../search/search.ts";
import { BUSY, type FoundSimilar, type SimilarSearch, type Store } from "../../store/generation.ts";
import type { AskPage, SearchName } from "./questions.ts";

/**
 * Bounds searches that wait, as any others. What is always asked of another thread, or done in slices, waits
 * until it is answered.
 *
 * @param ask resolves with undefined while there is no index
 * @param count told of each search that is answered as one for similar names
 */
export function boundedSimilar(ask: AskPage, pending: PendingSearches, count?: CountSearch): SimilarSearch {
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

/** The similar search of one generation, as it is served. */
export interface OpenSimilar {
  readonly search: SimilarSearch;
  /** Another generation with the same names is served with it. */
  readonly serveAs: (generation: string) => void;
  readonly retire: () => void;
}

/** Similar search of whatever is served. */
export interface SimilarSearching {
  /** For a new generation. It is indexed at once, but none before {@link begin} was called. */
  readonly open: (store: Store, index: SearchIndex) => OpenSimilar;
  /** To be called when the first generation is served. */
  readonly begin: () => void;
  /** Its share of the memory for results. */
  readonly cacheBytes: number;
}

export interface SimilarGiven {
  /** Whether there are threads. */
  readonly threads: boolean;
  /** Memory for the results of all searches of a generation. */
  readonly cacheBytes: number;
  readonly pending: PendingSearches;
  readonly observe: Observe;
  readonly count: CountSearch | undefined;
}
