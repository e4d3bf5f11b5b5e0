/**
 * Search over names and descriptions of worlds. Documents are places in the
 * all-time ranking, so document order is popularity order.
 */

import { fold } from "./fold.ts";
import { packNames } from "./names.ts";
import { headsOf, type Ranking, rank } from "./ranked.ts";
import type { Work } from "./slices.ts";
import { findAll, WHITE_SPACE, type WordIndex, WordIndexBuilder } from "./words.ts";

/** The index over all worlds. */
export interface WorldIndex {
  readonly words: WordIndex;
  readonly ranking: Ranking;
}

/** How many different terms of a query count. */
const MAX_TERMS = 10;

/**
 * Indexes worlds.
 *
 * @param ranking world rows, most popular first
 * @param nameOf name by row
 * @param descriptionOf description by row
 */
export function indexWorlds(
  ranking: Uint32Array,
  nameOf: (row: number) => string,
  descriptionOf: (row: number) => string,
): WorldIndex {
  const builder = new WordIndexBuilder();
  const names: string[] = [];
  for (const row of ranking) {
    const name = fold(nameOf(row));
    names.push(name);
    builder.beginDocument();
    builder.addField(name, true);
    builder.addField(fold(descriptionOf(row)), false);
  }
  return {
    words: builder.finish(),
    ranking: {
      names: packNames(names),
      heads: headsOf(names),
      rows: ranking,
    },
  };
}

/**
 * Finds the worlds that contain every term of a query in name or description.
 *
 * @param term folded and trimmed, not empty
 * @returns world rows: name equal to the query, name beginning with it, name
 *   containing every term, the rest
 */
export function* searchWorlds({ words, ranking }: WorldIndex, term: string): Work<Uint32Array<ArrayBuffer>> {
  const terms = [...new Set(term.split(WHITE_SPACE))].slice(0, MAX_TERMS);
  return yield* rank(yield* findAll(words, terms), ranking, term);
}
