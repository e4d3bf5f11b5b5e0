/**
 * Binary search and galloping search: in steps that double, then halving the last of them, so that a place near the beginning
 * costs little. Searches in typed arrays have functions of their own, since a callback costs time.
 */

/** The first place of ascending numbers, from one up to another, that is not below a value. */
export function lowerBound(values: Uint32Array, value: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The same as {@link lowerBound}, by galloping. */
export function gallop(values: Uint32Array, value: number, from: number, to: number): number {
  let before = from;
  let step = 1;
  while (before + step <= to && values[before + step - 1]! < value) {
    before += step;
    step *= 2;
  }
  return lowerBound(values, value, before, Math.min(before + step, to));
}

/**
 * The first place, from one up to another, at which something no longer holds.
 *
 * @param holds true for a number of first places, and false for the rest
 */
export function endWhere(from: number, to: number, holds: (at: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The same as {@link endWhere}, by galloping. @param first the first step */
export function gallopWhere(from: number, to: number, holds: (at: number) => boolean, first = 1): number {
  let before = from;
  let step = first;
  while (before + step <= to && holds(before + step - 1)) {
    before += step;
    step *= 2;
  }
  return endWhere(before, Math.min(before + step, to), holds);
}
