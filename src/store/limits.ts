/**
 * What a generation can hold at most, by 32-bit offsets and the bits of a posting. Each limit is met while rows arrive, before
 * more memory is taken, with a message that becomes a problem of the snapshot.
 */

/** There is more than a generation can hold, however much memory there is. The message names no file. */
export class LimitError extends RangeError {
  override name = "LimitError";
}

/** Most rows of a file, hidden ones too: what the growing columns of ids can reach. */
export const MOST_ROWS = 2 ** 28;

/** Most bytes of a table's visible rows: what 32-bit offsets can reach. Those of a world's statistics are fewer than its own. */
export const MOST_TABLE_BYTES = 2 ** 32;

/** Most names, or distinct words, further chunks of long ones included: what a posting can tell apart. */
export const MOST_TEXTS = 2 ** 25;

/** Most code units of all names, or of all distinct words, together. */
export const MOST_CODE_UNITS = 2 ** 31;

/** Most words of all worlds together, each counted once a world. */
export const MOST_OCCURRENCES = 2 ** 31 - 1;

/** Most bytes of documents that are found beforehand. */
export const MOST_FOUND_BYTES = 2 ** 33;

/** @param what is counted, in the plural @throws {LimitError} when the count is above the limit */
export function checkLimit(count: number, most: number, what: string): void {
  if (count > most) throw new LimitError(`more than ${most} ${what}`);
}
