/** Scanning a text for a term, code unit by code unit. */

import type { Texts } from "./texts.ts";
import type { Work } from "./work.ts";

/** Compares a text from a position on with some code units of a term: below 0 when it comes before them, 0 when they are there. */
export function compare(units: Uint16Array, at: number, term: string, from: number, to: number): number {
  for (let unit = from; unit < to; unit++) {
    // A text that ends has a pad here, which no term holds in such a position.
    const difference = units[at + unit]! - term.charCodeAt(unit);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Positions of a text that are tried without a pause: at each there may be all code units of the term to compare. */
const MOST_SCANNED = 1024;

/** Whether a text contains a term, with pauses where the text is long. */
export function* scanText(texts: Texts, text: number, term: string): Work<boolean> {
  const end = texts.starts[text + 1]! - term.length;
  for (let from = texts.starts[text]!; from < end; from += MOST_SCANNED) {
    if (beginsWithin(texts.units, from, Math.min(from + MOST_SCANNED, end), term)) return true;
    yield;
  }
  return false;
}

/** Whether a text contains a term; undefined when it is too long to tell without a pause. */
export function containsTerm({ units, starts }: Texts, text: number, term: string): boolean | undefined {
  const from = starts[text]!;
  const end = starts[text + 1]! - term.length;
  return end - from > MOST_SCANNED ? undefined : beginsWithin(units, from, end, term);
}

/** Whether a term begins at one of some positions. */
function beginsWithin(units: Uint16Array, from: number, end: number, term: string): boolean {
  const first = term.charCodeAt(0);
  for (let at = from; at < end; at++) {
    if (units[at] === first && compare(units, at, term, 1, term.length) === 0) return true;
  }
  return false;
}
