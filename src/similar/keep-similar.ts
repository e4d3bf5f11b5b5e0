/** Results of searches for similar names that are kept, so that to go from page to page takes one search. */

import { createResultCache } from "../search/result-cache.ts";
import { ListedResults, pageOf } from "../search/result-set.ts";
import type { Work } from "../search/work.ts";
import type { SearchName } from "../server/search/search-messages.ts";
import type { Found, PageOf } from "../store/generation.ts";
import type { SimilarSearches } from "./similar.ts";

/**
 * Puts a cache in front of both searches.
 *
 * @param cacheBytes memory for results
 */
export function keepSimilar(
  searches: SimilarSearches,
  cacheBytes: number,
): (name: SearchName, term: string, page: PageOf) => Work<Found> {
  const cache = createResultCache(cacheBytes);
  return function* search(name, term, page) {
    const key = `${name} ${term}`;
    const known = cache.find(key, page);
    if (known !== undefined) return { total: known.total, rows: known.rows };
    const found = new ListedResults(yield* searches[name](term));
    cache.keep(key, found, page);
    return pageOf(found, page);
  };
}
