/**
 * Edit distances, and the known word nearest to an unknown one.
 * A distance counts edits of code points: insertion, deletion, replacement, and transposition of two neighbours that are not
 * edited again (optimal string alignment; up to 2 the same as Damerau–Levenshtein).
 * Dynamic programming with a column per code point of the text (Sellers): cell `i` is the least number of edits between the
 * first `i` code points of the query and some suffix of the text read so far, or all of that text. In a column only the cells
 * up to the last one within the limit matter (Ukkonen).
 */

export function codePointsOf(text: string): Uint32Array {
  return Uint32Array.from(text, (character) => character.codePointAt(0)!);
}

/** The distance between a query and the nearest substring of a text; any number above `most` where it is larger. */
export function substringDistance(query: Uint32Array, text: Uint32Array, most: number): number {
  return distance(query, text, most, 0);
}

/** The distance between a query and a whole text. */
export function wholeDistance(query: Uint32Array, text: Uint32Array): number {
  return distance(query, text, query.length + text.length, 1);
}

/** @param skipCost cost of a code point of the text before the match, 0 or 1 */
function distance(query: Uint32Array, text: Uint32Array, most: number, skipCost: 0 | 1): number {
  const length = query.length;
  let beforeLast = new Uint32Array(length + 2);
  let last = Uint32Array.from({ length: length + 2 }, (_, at) => at);
  let column = new Uint32Array(length + 2);
  /** The last cell of the previous column that is not above `most`. */
  let reach = Math.min(length, most);
  let best = last[length]!;
  for (let at = 0; at < text.length; at++) {
    const point = text[at]!;
    const end = Math.min(reach + 1, length);
    column[0] = (at + 1) * skipCost;
    reach = 0;
    for (let row = 1; row <= end; row++) {
      const own = query[row - 1]!;
      let edits = last[row - 1]! + (own === point ? 0 : 1);
      edits = Math.min(edits, last[row]! + 1, column[row - 1]! + 1);
      if (row > 1 && at > 0 && own === text[at - 1] && query[row - 2] === point) {
        edits = Math.min(edits, beforeLast[row - 2]! + 1);
      }
      column[row] = edits;
      if (edits <= most) reach = row;
    }
    column[end + 1] = most + 1;
    const whole = end === length ? column[length]! : most + 1;
    if (skipCost === 1 || whole < best) best = whole;
    [beforeLast, last, column] = [last, column, beforeLast];
  }
  return best;
}

/** The nearest known word, ignoring case. @param most maximum number of edits; a third of the word's length when absent */
export function nearest(
  word: string,
  known: readonly string[],
  most = Math.max(1, Math.floor(word.length / 3)),
): string | undefined {
  let best: string | undefined;
  let least = most + 1;
  for (const candidate of known) {
    // The distance is at least the difference in length.
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const edits = wholeDistance(codePointsOf(word.toLowerCase()), codePointsOf(candidate.toLowerCase()));
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best;
}

/** Names the first unknown field of an object, and the known one that it may mean. @param what the word for a field */
export function problemWithNames(given: object, known: readonly string[], what: string): string | undefined {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    const help = meant === undefined ? `there are ${known.join(", ")}` : `did you mean "${meant}"?`;
    return `unknown ${what} ${JSON.stringify(name)}; ${help}`;
  }
  return undefined;
}
