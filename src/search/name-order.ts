/**
 * The order of all names, for ranking worlds: names that begin with a query are neighbours, and names equal to it come
 * first among them.
 */

import { sharedUint32 } from "../store/bytes.ts";
import { endWhere, gallopWhere } from "../util/sorted.ts";
import type { Renumbering } from "./document-sets.ts";
import { lengthOf, ranksIn, reorderTexts, sortTexts, type Texts } from "./texts.ts";

/** The order of documents by name, for ranking them; all in shared memory. */
export interface NameOrder {
  /** Names in order of their code units. */
  readonly names: Texts;
  /** Documents in order of their names, documents with the same name ascending. */
  readonly byName: Uint32Array;
  /** By document: its rank in that order. */
  readonly ranks: Uint32Array;
  /** By document: the row that a result gives for it. */
  readonly rows: Uint32Array;
}

/** Sorts documents by their names. @param rows the row of each document */
export function orderNames(names: Texts, rows: Uint32Array): NameOrder {
  const byName = sharedUint32(names.count);
  byName.set(sortTexts(names));
  const ranks = ranksIn(byName, sharedUint32(names.count));
  return { names: reorderTexts(names, byName), byName, ranks, rows };
}

/** The order of names after documents are renumbered: equal names are in order of the new numbers. @param rows by new number */
export function renumberNames(
  { names, byName: before }: NameOrder,
  numbers: Renumbering,
  rows: Uint32Array,
): NameOrder {
  const byName = sharedUint32(before.length);
  for (let rank = 0; rank < byName.length; rank++) byName[rank] = numbers[before[rank]!]!;
  for (let from = 0, to = 0; from < byName.length; from = to) {
    to = from + 1;
    while (to < byName.length && isSameText(names, from, to)) to++;
    if (to - from > 1) byName.subarray(from, to).sort();
  }
  return { names, byName, ranks: ranksIn(byName, sharedUint32(byName.length)), rows };
}

function isSameText(texts: Texts, a: number, b: number): boolean {
  const { units, starts } = texts;
  const length = lengthOf(texts, a);
  if (length !== lengthOf(texts, b)) return false;
  for (let at = 0; at < length; at++) if (units[starts[a]! + at] !== units[starts[b]! + at]) return false;
  return true;
}

/** Ranks in the order of names: names from `from` to before `equalEnd` equal a term, names from there to before `end` begin with it. */
export interface NameRange {
  readonly from: number;
  readonly equalEnd: number;
  readonly end: number;
}

/** Below 0 when a name sorts before a term, 0 when it begins with the term, else above 0. */
function compareName({ units, starts }: Texts, rank: number, term: string): number {
  const start = starts[rank]!;
  const length = starts[rank + 1]! - 1 - start;
  for (let at = 0; at < term.length; at++) {
    if (at === length) return -1;
    const difference = units[start + at]! - term.charCodeAt(at);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The names that begin with a term are neighbours in their order; names equal to it come first. */
export function findNameRange({ names, byName }: NameOrder, term: string): NameRange {
  const from = endWhere(0, byName.length, (at) => compareName(names, at, term) < 0);
  // Most terms begin few names, or none.
  const end = gallopWhere(from, byName.length, (at) => compareName(names, at, term) === 0);
  const equalEnd = endWhere(from, end, (at) => lengthOf(names, at) === term.length);
  return { from, equalEnd, end };
}
