/** Worlds that match one term, of which the first are picked and the rest are only counted. */

import type { PageOf } from "../store/generation.ts";
import { lowestBit } from "./bits.ts";
import { addLists, countEntries } from "./documents.ts";
import type { Matches } from "./matches.ts";
import { findNameRange, type Ranking, rankList } from "./ranked.ts";
import { Smallest } from "./smallest.ts";
import type { WordIndex } from "./words.ts";

/** So many of the best are picked; the largest first page of a client has fewer. */
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
    const { counter } = index;
    const picked = new Uint32Array(PICKED);
    this.total = counter.count(index.postings, words);
    this.#picked = picked.subarray(0, this.total);
    this.#pick();
    counter.clear();
  }

  #pick(): void {
    const { any, flagged } = this.#index.counter;
    const { byName, places, rows } = this.#ranking;
    const { from, equalEnd, end } = findNameRange(this.#ranking, this.#term);
    const picked = this.#picked;
    let to = 0;
    for (let at = from; at < equalEnd && to < picked.length; at++) picked[to++] = byName[at]!;
    if (to < picked.length && equalEnd < end) {
      const first = new Smallest(picked.length - to);
      for (let at = equalEnd; at < end; at++) if (byName[at]! < first.limit) first.add(byName[at]!);
      picked.set(first.numbers, to);
      to += first.numbers.length;
    }
    for (let at = 0; at < any.length && to < picked.length; at++) {
      for (let word = flagged[at]!; word !== 0 && to < picked.length; word &= word - 1) {
        const document = at * 32 + lowestBit(word);
        const place = places[document]!;
        if (place < from || place >= end) picked[to++] = document;
      }
    }
    for (let at = 0; at < any.length && to < picked.length; at++) {
      for (let word = any[at]! & ~flagged[at]!; word !== 0 && to < picked.length; word &= word - 1) {
        picked[to++] = at * 32 + lowestBit(word);
      }
    }
    for (let at = 0; at < picked.length; at++) picked[at] = rows[picked[at]!]!;
  }

  /** As if they were listed. */
  get bytes(): number {
    return (this.total + PICKED) * Uint32Array.BYTES_PER_ELEMENT + this.#words.byteLength;
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
    const entries = new Uint32Array(countEntries(postings, this.#words));
    addLists(postings, this.#words, sorter);
    return rankList(entries.subarray(0, sorter.drain(entries)), this.#ranking, this.#term);
  }
}
