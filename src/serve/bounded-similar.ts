/** The bound on searches for similar names that wait: the same as for any other. */

import type { PendingSearches } from "../search/schedule/pending.ts";
import {
  BUSY,
  type Busy,
  type Caller,
  type Found,
  type PageOf,
  type SimilarSearch,
} from "../store/generation.ts";
import type { SearchName } from "./thread-messages.ts";

/** Asks for a page of similar names; resolves with undefined while there is no index of them. */
export type AskSimilar = (
  name: SearchName,
  term: string,
  page: PageOf,
  caller: Caller,
) => Promise<Found | Busy | undefined>;

/** Makes a search of what is always asked of another thread, or done in slices: it waits until it is answered. */
export function boundedSimilar(ask: AskSimilar, pending: PendingSearches): SimilarSearch {
  const search =
    (name: SearchName): SimilarSearch["users"] =>
    (term, page, caller) => {
      const leave = pending.enter(caller.key);
      return leave === undefined ? BUSY : ask(name, term, page, caller).finally(leave);
    };
  return { users: search("users"), worlds: search("worlds") };
}
