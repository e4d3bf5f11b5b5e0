/**
 * A posting in one number: where a text contains a trigram.
 *
 *   bits 7–31  number of the text, or of a further chunk of a long one
 *   bits 1–6   position in the chunk, in code units
 *   bit 0      whether the text contains the trigram once more
 */

/** Where the number of a text, or chunk, begins. */
export const NUMBER_SHIFT = 7;
/** Code units of a chunk. A longer text goes on in further chunks, which are numbered on from the last text. */
export const CHUNK = 64;
/** The bit of a posting whose text contains the trigram once more. */
export const REPEATED = 1;

/** Whether the text of a posting may contain a term that begins there somewhere else, too. */
export function isRepeated(posting: number): boolean {
  return (posting & REPEATED) !== 0;
}

/** Makes a posting. @param position in its chunk */
export function makePosting(number: number, position: number): number {
  return number * (1 << NUMBER_SHIFT) + position * 2;
}

/** What is to be added to a posting for one some code units on, or back if below 0, if that is in the same chunk. */
export function shiftOf(units: number): number {
  return units * 2;
}

/** Whether two postings are in the same chunk of a text. */
export function isSameChunk(a: number, b: number): boolean {
  return a >>> NUMBER_SHIFT === b >>> NUMBER_SHIFT;
}

/** Whether two postings are at the same position of the same chunk. */
export function isSamePosition(a: number, b: number): boolean {
  return a >>> 1 === b >>> 1;
}
