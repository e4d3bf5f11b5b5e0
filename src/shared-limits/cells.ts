/** Window and count in one 64-bit cell, as in `limit.ts`, read and made without garbage. */

const HALF = 2 ** 32;

/** Halves of a cell. */
const halves = new Uint32Array(2);
/** The cell that is read or made; a reader stores it here first. */
export const whole = new BigUint64Array(halves.buffer);

/** Window of the cell in {@link whole}, and its count: two functions, since an object would be garbage at each request. */
export function windowIn(split: number): number {
  return Math.floor(halves[1]! / split);
}

/** Count of the cell in {@link whole}. */
export function countIn(split: number): number {
  return (halves[1]! % split) * HALF + halves[0]!;
}

/** The largest count that a cell has room for; limits may be higher. */
export function mostIn(split: number): number {
  return split * HALF - 1;
}

/** Makes a cell. @param count at most {@link mostIn} */
export function cellOf(split: number, window: number, count: number): bigint {
  halves[0] = count;
  halves[1] = window * split + Math.floor(count / HALF);
  return whole[0]!;
}

/** Count of a cell if it is of the window, else 0. */
export function countOf(cells: BigUint64Array, slot: number, window: number, split: number): number {
  whole[0] = Atomics.load(cells, slot);
  return windowIn(split) === window ? countIn(split) : 0;
}
