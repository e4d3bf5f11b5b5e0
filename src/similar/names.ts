/**
 * The distinct names of a table, the documents with each name, and the n-grams that lead to names.
 *
 * FlexSearch keeps the posting lists and counts the n-grams that a name has in common with a query. Each posting takes
 * time, so a query of frequent n-grams is cut down to its rarest, which tell names apart best.
 *
 * N-grams are trigrams, but bigrams where a code point belongs to a script of many letters (CJK, kana, emoji): names there are
 * short, and their pairs are as rare as three letters of another. Hangul is folded to its letters, so it has trigrams. A name
 * counts as if a space stood before and after it: a query is more like a whole name or word than like a longer one around it.
 *
 * Names are not kept: they are read from the rows and folded again, a few hundred a search.
 */

import { Index } from "flexsearch";
import type { Work } from "../search/work.ts";
import { groupRows, NO_GROUP, type RowLists } from "../store/lists.ts";

/** Longer names, in UTF-16 units, are not found: a distance takes time proportional to their length. */
export const LONGEST_NAME = 256;

/** Names between two yields: FlexSearch takes some 20 µs for each. */
const AT_ONCE = 64;

/** Distinct names by number, in order of the first document of each. */
export interface SimilarNames {
  /** Numbers of at most {@link MOST_CANDIDATES} names: most n-grams in common first, then the lower number first. */
  readonly candidates: (query: string) => readonly number[];
  readonly count: number;
  /** The documents of each name. */
  readonly documents: RowLists;
  readonly nameOf: (document: number) => string;
}

/** Indexes names. @throws {RangeError} when there are more names or n-grams than an index can hold */
export function* indexSimilarNames(
  documents: number,
  nameOf: (document: number) => string,
): Work<SimilarNames> {
  const index = new Index({ encode: (grams) => grams.split(SEPARATOR), tokenize: "strict", resolution: 1 });
  const numbers = new Map<string, number>();
  const numberOf = new Uint32Array(documents).fill(NO_GROUP);
  for (let document = 0; document < documents; document++) {
    const name = nameOf(document);
    if (name !== "" && name.length <= LONGEST_NAME) {
      const known = numbers.get(name);
      const number = known ?? numbers.size;
      if (known === undefined) {
        numbers.set(name, number);
        index.add(number, gramsOf(name).join(SEPARATOR));
      }
      numberOf[document] = number;
    }
    if (document % AT_ONCE === AT_ONCE - 1) yield;
  }
  const count = numbers.size;
  const candidates = (query: string) => postingsOf(index, chooseGrams(index, query), MOST_CANDIDATES);
  return { candidates, count, nameOf, documents: groupRows(numberOf, count) };
}

const MOST_CANDIDATES = 400;

/** Most postings of a search with more than its two rarest n-grams. */
const MOST_POSTINGS = 25_000;

/** Most postings of the two rarest n-grams; if the rarest alone has more, only the beginning of its list counts. */
const MOST_POSTINGS_OF_TWO = 4 * MOST_POSTINGS;

/** Separates the n-grams of a text for FlexSearch. */
const SEPARATOR = "\u0001";

/** The n-grams of a query that count. */
function chooseGrams(index: Index, query: string): string[] {
  const lists = [...new Set(gramsOf(query))]
    .map((gram) => ({ gram, postings: postingsOf(index, [gram]).length }))
    .filter(({ postings }) => postings > 0)
    .sort((a, b) => a.postings - b.postings);
  const chosen: string[] = [];
  let postings = 0;
  for (const list of lists) {
    postings += list.postings;
    if (postings > (chosen.length < 2 ? MOST_POSTINGS_OF_TWO : MOST_POSTINGS)) break;
    chosen.push(list.gram);
  }
  return chosen.length > 0 ? chosen : lists.slice(0, 1).map(({ gram }) => gram);
}

/** The names with some of the n-grams; of a single one its posting list, cut to the limit. */
function postingsOf(index: Index, grams: readonly string[], limit = Number.MAX_SAFE_INTEGER) {
  return index.search(grams.join(SEPARATOR), { suggest: true, limit }) as number[];
}

/** From CJK radicals on: kana, ideographs, full-width forms, emoji. */
const FIRST_OF_LARGE_SCRIPTS = 0x2e80;

/** The n-grams of a folded name or query, in order; some may come twice. */
export function gramsOf(text: string): string[] {
  const characters = [" ", ...text, " "];
  const large = characters.map((character) => character.codePointAt(0)! >= FIRST_OF_LARGE_SCRIPTS);
  const grams: string[] = [];
  for (let at = 0; at + 1 < characters.length; at++) {
    const pair = characters[at]! + characters[at + 1]!;
    if (large[at] || large[at + 1]) grams.push(pair);
    else if (at + 2 < characters.length && !large[at + 2]) grams.push(pair + characters[at + 2]!);
  }
  return grams;
}
