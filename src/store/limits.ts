/**
 * Limits of a generation, set by 32-bit offsets and the bits of a posting. Each limit is checked while rows arrive, before more
 * memory is allocated; its message becomes a problem of the snapshot.
 */

/** A snapshot exceeds a limit of generations, which more memory does not raise. The message names no file. */
export class LimitError extends RangeError {
  override name = "LimitError";
}

/** Most rows of a file, hidden ones included: the reach of the growing columns of ids. */
export const MOST_ROWS = 2 ** 28;

/** Most bytes of a table's visible rows: the reach of 32-bit offsets. A world's statistics take fewer bytes than the world. */
export const MOST_TABLE_BYTES = 2 ** 32;

/** Most names, or distinct words, further chunks of long ones included: the range of the number in a posting. */
export const MOST_TEXTS = 2 ** 25;

/** Most code units of all names, or of all distinct words, together. */
export const MOST_CODE_UNITS = 2 ** 31;

/** Most words of all worlds together, each counted once per world. */
export const MOST_OCCURRENCES = 2 ** 31 - 1;

/** Most bytes of the documents that are precomputed by n-gram. */
export const MOST_FOUND_BYTES = 2 ** 33;

/** @param what the counted items, in the plural @throws {LimitError} when the count is above the limit */
export function checkLimit(count: number, most: number, what: string): void {
  if (count > most) throw new LimitError(`more than ${most} ${what}`);
}
