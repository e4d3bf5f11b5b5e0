/**
 * The best of found worlds, for a first page: most searches are asked for no
 * other, and to list all of them in order takes longer than to find them.
 */

import type { Rows } from "../../store/generation.ts";
import { lowestBit } from "../shared/bits.ts";
import type { DocumentCounter } from "../shared/document-set.ts";
import { findNameRange, type NameRange, type Ranking } from "../shared/name-order.ts";
import { STEP, type Work } from "../shared/work.ts";
import { Smallest } from "./top-k.ts";

/** Picks the best out of a list, which must be short: there is no pause. @param many no more than there are */
export function pickFromList(entries: Uint32Array, many: number, ranking: Ranking, term: string): Rows {
  const range = findNameRange(ranking, term);
  const picked: Rows = many > PICKED ? new Uint32Array(many) : [];
  let to = pickEqual(ranking, range, picked, many);
  if (to < many && range.equalEnd < range.end) {
    if (many <= PICKED) to = pickFirst(smallestOf(ranking, range, many - to), picked, to, many);
    else to = pickEntries(entries, BEGINNING, ranking, range, picked, to, many);
  }
  to = pickEntries(entries, IN_NAME, ranking, range, picked, to, many);
  pickEntries(entries, IN_DESCRIPTION, ranking, range, picked, to, many);
  return picked;
}

/** Picks the best out of a list of any length. @param many no more than there are, nor than {@link PICKED} */
export function* pickFromLongList(
  entries: Uint32Array,
  many: number,
  ranking: Ranking,
  term: string,
): Work<number[]> {
  const range = findNameRange(ranking, term);
  const picked: number[] = [];
  let to = pickEqual(ranking, range, picked, many);
  const smallest = new Smallest(many - to);
  for (let from = range.equalEnd; from < range.end && to < many; from += STEP) {
    addSmallest(ranking, from, Math.min(from + STEP, range.end), smallest);
    yield;
  }
  to = pickFirst(smallest, picked, to, many);
  for (const one of [IN_NAME, IN_DESCRIPTION] as const) {
    for (let at = 0; at < entries.length && to < many; at += STEP) {
      to = pickEntries(entries.subarray(at, at + STEP), one, ranking, range, picked, to, many);
      yield;
    }
  }
  return picked;
}

/** How a document matches. */
type Class = typeof BEGINNING | typeof IN_NAME | typeof IN_DESCRIPTION;
/** Its name begins with the term, and is longer. */
const BEGINNING = 0;
/** Its name contains the term. */
const IN_NAME = 1;
const IN_DESCRIPTION = 2;

/** Picks the documents of a class. @returns how many are picked now */
function pickEntries(
  entries: Uint32Array,
  one: Class,
  ranking: Ranking,
  range: NameRange,
  picked: Rows,
  before: number,
  many: number,
): number {
  const flag = one === IN_DESCRIPTION ? 0 : 1;
  let to = before;
  for (let at = 0; at < entries.length && to < many; at++) {
    if ((entries[at]! & 1) !== flag) continue;
    const document = entries[at]! >>> 1;
    if (flag === 1) {
      const begins = beginsWithTerm(ranking, range, document);
      if (begins !== (one === BEGINNING)) continue;
      if (begins && ranking.places[document]! < range.equalEnd) continue;
    }
    picked[to++] = document;
  }
  return to;
}

/** So many are picked out of counted documents; the largest first page of a client has fewer. */
export const PICKED = 64;

/** Picks the best out of counted documents. @param total how many these are */
export function pickFromCounter(
  { any, flagged }: DocumentCounter,
  total: number,
  ranking: Ranking,
  term: string,
): number[] {
  const range = findNameRange(ranking, term);
  const many = Math.min(total, PICKED);
  const picked: number[] = [];
  let to = pickEqual(ranking, range, picked, many);
  if (to < many && range.equalEnd < range.end) {
    to = pickFirst(smallestOf(ranking, range, many - to), picked, to, many);
  }
  for (let at = 0; at < any.length && to < many; at++) {
    for (let word = flagged[at]!; word !== 0 && to < many; word &= word - 1) {
      const document = at * 32 + lowestBit(word);
      if (!beginsWithTerm(ranking, range, document)) picked[to++] = document;
    }
  }
  for (let at = 0; at < any.length && to < many; at++) {
    for (let word = any[at]! & ~flagged[at]!; word !== 0 && to < many; word &= word - 1) {
      picked[to++] = at * 32 + lowestBit(word);
    }
  }
  return picked;
}

/** Picks documents whose names are the term. @returns how many */
function pickEqual({ byName }: Ranking, { from, equalEnd }: NameRange, picked: Rows, many: number): number {
  let to = 0;
  for (let at = from; at < equalEnd && to < many; at++) picked[to++] = byName[at]!;
  return to;
}

/** The first documents whose names begin with a term and are longer. */
function smallestOf(ranking: Ranking, { equalEnd, end }: NameRange, many: number): Smallest {
  const smallest = new Smallest(many);
  addSmallest(ranking, equalEnd, end, smallest);
  return smallest;
}

function addSmallest({ byName }: Ranking, from: number, to: number, smallest: Smallest): void {
  for (let at = from; at < to; at++) if (byName[at]! < smallest.limit) smallest.add(byName[at]!);
}

/** @returns how many are picked now */
function pickFirst({ numbers }: Smallest, picked: Rows, before: number, many: number): number {
  let to = before;
  for (let at = 0; at < numbers.length && to < many; at++) picked[to++] = numbers[at]!;
  return to;
}

function beginsWithTerm({ places }: Ranking, { from, end }: NameRange, document: number): boolean {
  // For most queries there is no such name, and no need to go to a place that is anywhere in memory.
  return from < end && places[document]! >= from && places[document]! < end;
}
