/** The results of a search: how many there are, and the rows of a page, in order. */

import type { PageOf } from "../store/generation.ts";
import { wordsFor } from "./grams.ts";
import { DOCUMENTS_AT_ONCE, type DocumentSet, hasBit, listDocuments, onesIn, subtract } from "./sets.ts";
import type { Work } from "./work.ts";

export interface Results {
  readonly total: number;
  readonly rows: Uint32Array;
}

/** Rows in another order than their own, and the place of each row in it. */
export interface RankedRows {
  readonly rows: Uint32Array;
  readonly places: Uint32Array;
}

export function placesOf(rows: Uint32Array, places: Uint32Array): Uint32Array {
  for (let place = 0; place < rows.length; place++) places[rows[place]!] = place;
  return places;
}

/**
 * Takes a page of the results.
 * @param nested the documents of the best class; these and those of the next class; and so on
 * @param ranking the order within a class; that of the rows if absent
 */
export function* takeResults(
  nested: readonly DocumentSet[],
  { limit, offset }: PageOf,
  ranking?: RankedRows,
): Work<Results> {
  const total = nested.at(-1)!.count;
  const rows = new Uint32Array(Math.max(Math.min(limit, total - offset), 0));
  let before: DocumentSet | undefined;
  let taken = 0;
  for (const set of nested) {
    const from = before?.count ?? 0;
    const skip = Math.max(offset - from, 0);
    if (taken < rows.length && skip < set.count - from) {
      const one = before === undefined ? set : yield* subtract(set, before);
      const room = rows.subarray(taken);
      taken += ranking === undefined ? take(one, skip, room) : yield* takeRanked(one, ranking, skip, room);
    }
    before = set;
  }
  return { total, rows };
}

/** Writes the documents of a set after the first `skip`. @returns how many */
function take(set: DocumentSet, skip: number, rows: Uint32Array): number {
  if (set.list !== undefined) {
    const some = set.list.subarray(skip, skip + rows.length);
    rows.set(some);
    return some.length;
  }
  const { bits } = set;
  let at = 0;
  let left = skip;
  for (let ones = 0; ; at++) {
    ones = onesIn(bits[at]!);
    if (ones > left) break;
    left -= ones;
  }
  const end = Math.min(rows.length, set.count - skip);
  let word = bits[at]!;
  for (; left > 0; left--) word &= word - 1;
  for (let to = 0; to < end; word = bits[++at]!)
    for (; word !== 0 && to < end; word &= word - 1) rows[to++] = at * 32 + 31 - Math.clz32(word & -word);
  return end;
}

/** Places of a ranking that are read in the time of sorting one document. */
const SORT_WORTH = 16;
/** So many are sorted without a pause. */
const MOST_SORTED = 8192;

/** The same in order of a ranking: its top is read until the page is full, or the places of few documents are sorted. */
function* takeRanked(set: DocumentSet, ranking: RankedRows, skip: number, rows: Uint32Array): Work<number> {
  const end = Math.min(rows.length, set.count - skip);
  const read = (ranking.rows.length / set.count) * (skip + end);
  if (set.count <= MOST_SORTED && set.count * SORT_WORTH <= read) {
    const places = (yield* listDocuments(set)).map((row) => ranking.places[row]!).sort();
    for (let to = 0; to < end; to++) rows[to] = ranking.rows[places[skip + to]!]!;
    return end;
  }
  const bits = set.bits ?? bitsOf(set.list, ranking.rows.length);
  let to = -skip;
  for (let place = 0; to < end; place++) {
    const row = ranking.rows[place]!;
    if (place % DOCUMENTS_AT_ONCE === DOCUMENTS_AT_ONCE - 1) yield;
    if (!hasBit(bits, row)) continue;
    if (to >= 0) rows[to] = row;
    to++;
  }
  return end;
}

function bitsOf(list: Uint32Array, documents: number): Uint32Array {
  const bits = new Uint32Array(wordsFor(documents));
  for (const document of list) bits[document >>> 5]! |= 1 << document;
  return bits;
}
