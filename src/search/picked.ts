/** Worlds that match one term, of which the first are picked and the rest are only counted. */

import type { PageOf } from "../store/generation.ts";
import { countWord, lowestBit } from "./bits.ts";
import { addLists, countEntries } from "./documents.ts";
import type { Matches } from "./matches.ts";
import { EQUAL, FIRST, matchOf, type Ranking, rankList } from "./ranked.ts";
import type { WordIndex } from "./words.ts";

/** So many of the best are picked; the largest first page has fewer. */
const PICKED = 64;

/** Worlds known by the words that hold a term. A page behind those that were picked takes a list of all. */
export class PickedWorlds implements Matches {
  readonly #index: WordIndex;
  readonly #ranking: Ranking;
  readonly #words: Uint32Array;
  readonly #term: string;
  readonly #picked: Uint32Array;
  #listed: Matches | undefined;
  readonly total: number;

  /** @param words whose entries are so few that there is no need to pause */
  constructor(index: WordIndex, ranking: Ranking, words: Uint32Array, term: string) {
    this.#index = index;
    this.#ranking = ranking;
    this.#words = words;
    this.#term = term;
    addLists(index.postings, words, index.sorter);
    const equal: number[] = [];
    const first: number[] = [];
    const inName: number[] = [];
    const rest: number[] = [];
    const { any, flagged, used } = index.sorter;
    let total = 0;
    for (let block = 0; block < used.length; block++) {
      for (let blockLeft = used[block]!; blockLeft !== 0; blockLeft &= blockLeft - 1) {
        const at = block * 32 + lowestBit(blockLeft);
        const all = any[at]!;
        const named = flagged[at]!;
        total += countWord(all);
        for (let word = named; word !== 0; word &= word - 1) {
          const document = at * 32 + lowestBit(word);
          const match = matchOf(ranking, document, term);
          const those = match === EQUAL ? equal : match === FIRST ? first : inName;
          if (those.length < PICKED) those.push(document);
        }
        for (let word = all & ~named; word !== 0 && rest.length < PICKED; word &= word - 1) {
          rest.push(at * 32 + lowestBit(word));
        }
        any[at] = 0;
        flagged[at] = 0;
      }
      used[block] = 0;
    }
    this.total = total;
    this.#picked = new Uint32Array(Math.min(PICKED, total));
    let to = 0;
    for (const those of [equal, first, inName, rest]) {
      for (let at = 0; at < those.length && to < this.#picked.length; at++) {
        this.#picked[to++] = ranking.rows[those[at]!]!;
      }
    }
  }

  /** As if they were listed. */
  get bytes(): number {
    return this.total * Uint32Array.BYTES_PER_ELEMENT;
  }

  has(): boolean {
    return true;
  }

  page(page: PageOf): Uint32Array {
    if (page.offset + page.limit <= this.#picked.length || this.total === this.#picked.length) {
      return this.#picked.subarray(Math.min(page.offset, this.total), page.offset + page.limit);
    }
    this.#listed ??= this.#list();
    return this.#listed.page(page);
  }

  #list(): Matches {
    const { postings, sorter } = this.#index;
    addLists(postings, this.#words, sorter);
    const entries = new Uint32Array(countEntries(postings, this.#words));
    return rankList(entries.subarray(0, sorter.drain(entries)), this.#ranking, this.#term);
  }
}
