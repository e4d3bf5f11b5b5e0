/** Worlds that match one term, of which the first are picked and the rest are only counted. */

import { lowestBit } from "./bits.ts";
import { uniteFew } from "./documents.ts";
import { type Matches, PickedMatches } from "./matches.ts";
import { findNameRange, type Ranking, rankList } from "./ranked.ts";
import { Smallest } from "./smallest.ts";
import type { WordIndex } from "./words.ts";

/** So many of the best are picked; the largest first page of a client has fewer. */
const PICKED = 64;

/**
 * Picks the best of the worlds that are known by the words that hold a term.
 *
 * @param words their entries are so few that there is no need to pause
 */
export function pickWorlds(index: WordIndex, ranking: Ranking, words: Uint32Array, term: string): Matches {
  const { counter, postings, sorter } = index;
  const picked = new Uint32Array(PICKED);
  const total = counter.count(postings, words);
  const best = picked.subarray(0, total);
  pick(index, ranking, term, best);
  counter.clear();
  const listBytes = total * Uint32Array.BYTES_PER_ELEMENT;
  return new PickedMatches(total, best, listBytes + words.byteLength, () =>
    rankList(uniteFew(postings, words, sorter).entries, ranking, term),
  );
}

/** Takes the best of the counted worlds, as many as there is room for. */
function pick({ counter }: WordIndex, ranking: Ranking, term: string, picked: Uint32Array): void {
  const { any, flagged } = counter;
  const { byName, places, rows } = ranking;
  const { from, equalEnd, end } = findNameRange(ranking, term);
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
