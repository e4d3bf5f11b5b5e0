/** What worlds are ranked by, and the range of names that a term begins. */

import { sharedUint32 } from "../../store/bytes.ts";
import { reorderTexts, sortTexts } from "../index/sort-texts.ts";
import { lengthOf, type Texts } from "./texts.ts";

/** What found documents are ranked by. All of it lies in shared memory. */
export interface Ranking {
  /** Names in their order, which is that of their units. */
  readonly names: Texts;
  /** Documents in order of their names, those of the same name ascending. */
  readonly byName: Uint32Array;
  /** By document: its place in that order. */
  readonly places: Uint32Array;
  /** What stands for each document in a result. */
  readonly rows: Uint32Array;
}

/** Sorts documents by their names. */
export function rankingOf(names: Texts, rows: Uint32Array): Ranking {
  const byName = sharedUint32(names.count);
  byName.set(sortTexts(names));
  const places = sharedUint32(names.count);
  for (let place = 0; place < byName.length; place++) places[byName[place]!] = place;
  return { names: reorderTexts(names, byName), byName, places, rows };
}

/** Places in the order of names: from `from` on names are a term, from `equalEnd` to before `end` they begin with it. */
export interface NameRange {
  readonly from: number;
  readonly equalEnd: number;
  readonly end: number;
}

/** Below 0 when a name comes before a term and all that begins with it, 0 when it begins with it. */
function compareName({ units, starts }: Texts, place: number, term: string): number {
  const start = starts[place]!;
  const length = starts[place + 1]! - 1 - start;
  for (let at = 0; at < term.length; at++) {
    if (at === length) return -1;
    const difference = units[start + at]! - term.charCodeAt(at);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The names that begin with a term are neighbours in their order; those that are the term come first. */
export function findNameRange({ names, byName }: Ranking, term: string): NameRange {
  let from = 0;
  let high = byName.length;
  while (from < high) {
    const middle = (from + high) >>> 1;
    if (compareName(names, middle, term) < 0) from = middle + 1;
    else high = middle;
  }
  // Mostly there are few, or none: their end is sought in steps that double, then by halves.
  let end = from;
  let step = 1;
  while (end < byName.length && compareName(names, Math.min(end + step, byName.length) - 1, term) === 0) {
    end = Math.min(end + step, byName.length);
    step *= 2;
  }
  high = Math.min(end + step, byName.length);
  while (end < high) {
    const middle = (end + high) >>> 1;
    if (compareName(names, middle, term) === 0) end = middle + 1;
    else high = middle;
  }
  let equalEnd = from;
  high = end;
  while (equalEnd < high) {
    const middle = (equalEnd + high) >>> 1;
    if (lengthOf(names, middle) === term.length) equalEnd = middle + 1;
    else high = middle;
  }
  return { from, equalEnd, end };
}
