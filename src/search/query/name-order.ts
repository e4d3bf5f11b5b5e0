/** The range of names that begin with a term: the first by halving, the end by galloping search. */

import type { NameOrder } from "../shared/name-order.ts";
import { lengthOf, type Texts } from "../shared/texts.ts";

/** Ranks in the order of names: from `from` on names are a term, from `equalEnd` to before `end` they begin with it. */
export interface NameRange {
  readonly from: number;
  readonly equalEnd: number;
  readonly end: number;
}

/** Below 0 when a name comes before a term and all that begins with it, 0 when it begins with it. */
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

/** The names that begin with a term are neighbours in their order; those that are the term come first. */
export function findNameRange({ names, byName }: NameOrder, term: string): NameRange {
  let from = 0;
  let high = byName.length;
  while (from < high) {
    const middle = (from + high) >>> 1;
    if (compareName(names, middle, term) < 0) from = middle + 1;
    else high = middle;
  }
  // Mostly there are few, or none: galloping search for their end.
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
