/**
 * Limits of a generation, set by 32-bit offsets; checked before memory is allocated. Their messages become problems of snapshots.
 */

/** A snapshot exceeds a limit of generations, which more memory does not raise. The message names no file. */
export class LimitError extends RangeError {
  override name = "LimitError";
}

/** Most rows of a file, hidden ones included: the reach of the growing columns of ids. */
export const MOST_ROWS = 2 ** 28;

/** Most bytes of a table's visible rows: the reach of 32-bit offsets. A world's statistics take fewer bytes than the world. */
export const MOST_TABLE_BYTES = 2 ** 32;

/** Most users or worlds that are searched: a pass over a bitset of so many takes a millisecond. */
export const MOST_TEXTS = 2 ** 25;

/** Most UTF-16 units of all folded names, or of all folded names and descriptions of worlds. */
export const MOST_CODE_UNITS = 2 ** 31;

/** Most grams of an index: the hash table of its grams has at least twice as many slots. */
export const MOST_GRAMS = 2 ** 30;

/** Most 32-bit words of all lists of an index: the reach of their places. */
export const MOST_LIST_WORDS = 2 ** 32;

/** @param what the counted items, in the plural @throws {LimitError} when the count is above the limit */
export function checkLimit(count: number, most: number, what: string): void {
  if (count > most) throw new LimitError(`more than ${most} ${what}`);
}
