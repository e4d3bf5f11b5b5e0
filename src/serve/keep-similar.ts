/** Results of searches for similar names that are kept, so that to go from page to page takes one search. */

import { ListedMatches, pageOf } from "../search/matches.ts";
import { createResults } from "../search/results.ts";
import type { SimilarSearches } from "../search/similar/similar.ts";
import type { Work } from "../search/slices.ts";
import type { Found, PageOf } from "../store/generation.ts";
import type { SearchName } from "./thread-messages.ts";

/**
 * Puts a cache in front of both searches.
 *
 * @param cacheBytes memory for results
 */
export function keepSimilar(
  searches: SimilarSearches,
  cacheBytes: number,
): (name: SearchName, term: string, page: PageOf) => Work<Found> {
  const results = createResults(cacheBytes);
  return function* search(name, term, page) {
    const key = `${name} ${term}`;
    const known = results.find(key, page);
    if (known !== undefined) return { total: known.total, rows: known.rows };
    const matches = new ListedMatches(yield* searches[name](term));
    results.keep(key, matches, page);
    return pageOf(matches, page);
  };
}
