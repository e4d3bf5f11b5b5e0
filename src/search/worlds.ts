/**
 * Search over names and descriptions of worlds. Documents are places in the
 * all-time ranking, so document order is popularity order.
 */

import { fold } from "./fold.ts";
import { type Names, nameAt, packNames, rankByClass } from "./ranked.ts";
import { findAll, NAME_CONTAINS, type WordIndex, WordIndexBuilder } from "./words.ts";

/** The index over all worlds. */
export interface WorldIndex {
  readonly words: WordIndex;
  readonly names: Names;
  /** World row of each document. */
  readonly ranking: Uint32Array;
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
  return { words: builder.finish(), names: packNames(names), ranking };
}

/**
 * Finds the worlds that contain every term of a query in name or description.
 *
 * @param term folded and trimmed, not empty
 * @returns world rows: name equal to the query, name beginning with it, name
 *   containing every term, the rest
 */
export function searchWorlds(index: WorldIndex, term: string): Uint32Array<ArrayBuffer> {
  const terms = [...new Set(term.split(/\s+/u))].slice(0, MAX_TERMS);
  const documents = rankByClass(findAll(index.words, terms), 4, (document, how) => {
    if ((how & NAME_CONTAINS) === 0) return 3;
    const name = nameAt(index.names, document);
    return name === term ? 0 : name.startsWith(term) ? 1 : 2;
  });
  return documents.map((document) => index.ranking[document]!);
}
