/**
 * The top-k of found worlds, for a first page: most searches are asked for no
 * other, and to list all of them in order takes longer than to find them.
 *
 * Class by class until there are k: names equal to the term are the beginning of
 * their range in the order of names, of longer ones that begin with it the k
 * smallest documents are kept, and the rest is taken in document order.
 */

import type { Rows } from "../store/generation.ts";
import { lowestBit } from "./bitset.ts";
import type { DocumentCounter } from "./document-sets.ts";
import { findNameRange, type NameOrder, type NameRange } from "./name-order.ts";
import { TopK } from "./top-k.ts";
import { STEP, type Work } from "./work.ts";

/** The top-k of a list, which must be short: there is no pause. @param k no more than there are */
export function topOfList(entries: Uint32Array, k: number, nameOrder: NameOrder, term: string): Rows {
  const range = findNameRange(nameOrder, term);
  const top: Rows = k > MOST_TOP ? new Uint32Array(k) : [];
  let to = takeEqual(nameOrder, range, top, k);
  if (to < k && range.equalEnd < range.end) {
    if (k <= MOST_TOP) to = takeSmallest(smallestOfRange(nameOrder, range, k - to), top, to, k);
    else to = takeEntries(entries, BEGINNING, nameOrder, range, top, to, k);
  }
  to = takeEntries(entries, IN_NAME, nameOrder, range, top, to, k);
  takeEntries(entries, IN_DESCRIPTION, nameOrder, range, top, to, k);
  return top;
}

/** The top-k of a list of any length. @param k no more than there are, nor than {@link MOST_TOP} */
export function* topOfLongList(
  entries: Uint32Array,
  k: number,
  nameOrder: NameOrder,
  term: string,
): Work<number[]> {
  const range = findNameRange(nameOrder, term);
  const top: number[] = [];
  let to = takeEqual(nameOrder, range, top, k);
  const smallest = new TopK(k - to);
  for (let from = range.equalEnd; from < range.end && to < k; from += STEP) {
    addSmallest(nameOrder, from, Math.min(from + STEP, range.end), smallest);
    yield;
  }
  to = takeSmallest(smallest, top, to, k);
  for (const rankClass of [IN_NAME, IN_DESCRIPTION] as const) {
    for (let at = 0; at < entries.length && to < k; at += STEP) {
      to = takeEntries(entries.subarray(at, at + STEP), rankClass, nameOrder, range, top, to, k);
      yield;
    }
  }
  return top;
}

/** How a document matches. */
type Class = typeof BEGINNING | typeof IN_NAME | typeof IN_DESCRIPTION;
/** Its name begins with the term, and is longer. */
const BEGINNING = 0;
/** Its name contains the term. */
const IN_NAME = 1;
const IN_DESCRIPTION = 2;

/** Takes the documents of a class. @returns how many are taken now */
function takeEntries(
  entries: Uint32Array,
  rankClass: Class,
  nameOrder: NameOrder,
  range: NameRange,
  top: Rows,
  before: number,
  k: number,
): number {
  const flag = rankClass === IN_DESCRIPTION ? 0 : 1;
  let to = before;
  for (let at = 0; at < entries.length && to < k; at++) {
    if ((entries[at]! & 1) !== flag) continue;
    const document = entries[at]! >>> 1;
    if (flag === 1) {
      const begins = beginsWithTerm(nameOrder, range, document);
      if (begins !== (rankClass === BEGINNING)) continue;
      if (begins && nameOrder.ranks[document]! < range.equalEnd) continue;
    }
    top[to++] = document;
  }
  return to;
}

/** The largest k; the largest first page of a client has fewer. */
export const MOST_TOP = 64;

/** The top-k of counted documents. @param total how many these are */
export function topOfCounter(
  { any, flagged }: DocumentCounter,
  total: number,
  nameOrder: NameOrder,
  term: string,
): number[] {
  const range = findNameRange(nameOrder, term);
  const k = Math.min(total, MOST_TOP);
  const top: number[] = [];
  let to = takeEqual(nameOrder, range, top, k);
  if (to < k && range.equalEnd < range.end) {
    to = takeSmallest(smallestOfRange(nameOrder, range, k - to), top, to, k);
  }
  for (let at = 0; at < any.length && to < k; at++) {
    for (let word = flagged[at]!; word !== 0 && to < k; word &= word - 1) {
      const document = at * 32 + lowestBit(word);
      if (!beginsWithTerm(nameOrder, range, document)) top[to++] = document;
    }
  }
  for (let at = 0; at < any.length && to < k; at++) {
    for (let word = any[at]! & ~flagged[at]!; word !== 0 && to < k; word &= word - 1) {
      top[to++] = at * 32 + lowestBit(word);
    }
  }
  return top;
}

/** Takes documents whose names are the term. @returns how many */
function takeEqual({ byName }: NameOrder, { from, equalEnd }: NameRange, top: Rows, k: number): number {
  let to = 0;
  for (let at = from; at < equalEnd && to < k; at++) top[to++] = byName[at]!;
  return to;
}

/** The first documents whose names begin with a term and are longer. */
function smallestOfRange(nameOrder: NameOrder, { equalEnd, end }: NameRange, k: number): TopK {
  const smallest = new TopK(k);
  addSmallest(nameOrder, equalEnd, end, smallest);
  return smallest;
}

function addSmallest({ byName }: NameOrder, from: number, to: number, smallest: TopK): void {
  for (let at = from; at < to; at++) if (byName[at]! < smallest.limit) smallest.add(byName[at]!);
}

/** @returns how many are taken now */
function takeSmallest({ numbers }: TopK, top: Rows, before: number, k: number): number {
  let to = before;
  for (let at = 0; at < numbers.length && to < k; at++) top[to++] = numbers[at]!;
  return to;
}

function beginsWithTerm({ ranks }: NameOrder, { from, end }: NameRange, document: number): boolean {
  // For most queries there is no such name, and no need to read a rank that is anywhere in memory.
  return from < end && ranks[document]! >= from && ranks[document]! < end;
}
