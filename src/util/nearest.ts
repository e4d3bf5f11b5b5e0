/** What somebody may have meant by a word that is not known. */

import { codePointsOf, wholeDistance } from "./distance.ts";

/**
 * The known word that is nearest to one that is not known.
 *
 * @returns undefined when none is near enough to be meant: a third of the word's length in edits, case apart
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    // A word of a different length by more than that is further away still.
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const edits = wholeDistance(codePointsOf(word.toLowerCase()), codePointsOf(candidate.toLowerCase()));
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best;
}

/**
 * What is wrong with the names of an object's fields: the first that is not known, and what may be meant by it.
 *
 * @param what a field is called
 * @returns undefined when all are known
 */
export function problemWithNames(given: object, known: readonly string[], what: string): string | undefined {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    const help = meant === undefined ? `there are ${known.join(", ")}` : `did you mean "${meant}"?`;
    return `unknown ${what} ${JSON.stringify(name)}; ${help}`;
  }
  return undefined;
}
