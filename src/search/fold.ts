/** Folding: what makes two texts equal to a search. */

const MARKS = /[\u0300-\u036f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole ASCII range is meant
const ASCII = /^[\x00-\x7f]*$/;

/**
 * Folds case, width, compatibility forms and Latin, Greek and Cyrillic accents.
 *
 * Only the combining marks U+0300–U+036F go: a Japanese voiced sound mark
 * changes the letter and stays.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { fold } from "./fold.ts";
 * assert.equal(fold("ＣＡＦÉ"), "cafe");
 * assert.notEqual(fold("が"), fold("か"));
 * ```
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text.normalize("NFKC").toLowerCase().normalize("NFD").replace(MARKS, "").normalize("NFC");
}

/** How much of a query counts, in UTF-16 units. */
export const MAX_QUERY_UNITS = 256;

/**
 * The text a query really asks for: cut, folded, trimmed; half of a surrogate pair becomes U+FFFD, as it does in UTF-8.
 *
 * @returns "" when there is nothing to search for
 */
export function readTerm(query: string): string {
  let cut = query.slice(0, MAX_QUERY_UNITS);
  if (query.length > MAX_QUERY_UNITS && !cut.isWellFormed()) cut = cut.slice(0, -1);
  // No text that came as UTF-8 holds half of a pair, and the index has a use for one; see `PAD`.
  return fold(cut.toWellFormed()).trim();
}
