/** Similar search as the core knows it: its interface, and the bound of its waiting searches. */

import type { Observe } from "../../observe/events.ts";
import type { CountSearch } from "../../observe/metrics/counters.ts";
import { whyBusy } from "../../search/cache.ts";
import type { PendingSearches } from "../../search/pending.ts";
import type { SearchIndex } from "../../search/search.ts";
import { BUSY, type FoundSimilar, type SimilarSearch, type Store } from "../../store/generation.ts";
import type { AskPage } from "./questions.ts";

/**
 * Bounds waiting similar searches like all others. Each counts as waiting until its answer, since it runs in another
 * thread or in time slices.
 * @param ask resolves with undefined while there is no index
 * @param count counts each search as one for similar names, except without an index
 */
export function boundedSimilar(ask: AskPage, pending: PendingSearches, count?: CountSearch): SimilarSearch {
  return (name, term, page, caller) => {
    const counted = (found: FoundSimilar): FoundSimilar => {
      const outcome = found === BUSY ? whyBusy(caller) : "searched";
      if (found !== undefined) count?.(`similar_${name}`, outcome);
      return found;
    };
    const leave = pending.enter(caller.key);
    if (leave === undefined) return counted(BUSY);
    return ask(name, term, page, caller).finally(leave).then(counted);
  };
}

/** The similar search of one served generation. */
export interface OpenSimilar {
  readonly search: SimilarSearch;
  /** The same without its bound, for other threads. */
  readonly ask: AskPage;
  /** Serves another generation that has the same names. */
  readonly serveAs: (generation: string) => void;
  readonly retire: () => void;
}

/** Similar search across generations. */
export interface SimilarSearching {
  /** Opens the search of a new generation; undefined without one. Indexing begins at once, but not before {@link begin}. */
  readonly open: (store: Store, index: SearchIndex) => OpenSimilar | undefined;
  /** To be called when the first generation is served. */
  readonly begin: () => void;
  readonly cacheBytes: number;
}

export interface SimilarGiven {
  readonly threads: boolean;
  /** Memory for the results of all searches of a generation. */
  readonly cacheBytes: number;
  readonly pending: PendingSearches;
  readonly observe: Observe;
  readonly count: CountSearch | undefined;
}
