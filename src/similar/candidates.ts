/**
 * Names that share n-grams with a query, those that share most of them first.
 *
 * FlexSearch keeps the posting lists and counts what a query's n-grams have in
 * common. It takes time for each posting, so a query of frequent n-grams is cut
 * down to its rarest, which tell names apart best.
 */

import { Index } from "flexsearch";
import { gramsOf } from "./grams.ts";

/** Names that a search looks at. */
const MOST_CANDIDATES = 400;

/** Postings that a search walks over, beyond those of its two rarest n-grams. */
const MOST_POSTINGS = 25_000;

/** Postings of the two rarest that may be walked over; of longer lists the beginning is taken. */
const MOST_POSTINGS_OF_TWO = 4 * MOST_POSTINGS;

/** Between the n-grams of a text that is handed to FlexSearch. */
const SEPARATOR = "\u0001";

/** Names by their numbers. */
export class Candidates {
  readonly #index = new Index({
    encode: (grams: string) => grams.split(SEPARATOR),
    tokenize: "strict",
    resolution: 1,
  });

  /** @param number different for each name */
  add(number: number, name: string): void {
    this.#index.add(number, gramsOf(name).join(SEPARATOR));
  }

  /** Numbers of at most {@link MOST_CANDIDATES} names; as many n-grams in common, the lower number first. */
  find(query: string): readonly number[] {
    const grams = this.#choose(query);
    return this.#search(grams.join(SEPARATOR), MOST_CANDIDATES);
  }

  #choose(query: string): string[] {
    const lists = [...new Set(gramsOf(query))]
      .map((gram) => ({ gram, postings: this.#search(gram, Number.MAX_SAFE_INTEGER).length }))
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

  /** Of one n-gram it is the posting list itself if that is not longer than the limit. */
  #search(grams: string, limit: number): readonly number[] {
    return this.#index.search(grams, { suggest: true, limit }) as number[];
  }
}
