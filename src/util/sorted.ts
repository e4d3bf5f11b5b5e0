/** Binary search and galloping search. Searches in typed arrays have functions of their own: a callback costs time. */

/** The first position from `from` up to `to` where ascending numbers are not below a value; `to` if there is none. */
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

/** The same as {@link lowerBound}, by galloping search. */
export function gallop(values: Uint32Array, value: number, from: number, to: number): number {
  let before = from;
  let step = 1;
  while (before + step <= to && values[before + step - 1]! < value) {
    before += step;
    step *= 2;
  }
  return lowerBound(values, value, before, Math.min(before + step, to));
}

/** The first position from `from` up to `to` where `holds` is false, as it must be from there on; `to` if there is none. */
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

/** The same as {@link endWhere}, by galloping search. @param first the first step */
export function gallopWhere(from: number, to: number, holds: (at: number) => boolean, first = 1): number {
  let before = from;
  let step = first;
  while (before + step <= to && holds(before + step - 1)) {
    before += step;
    step *= 2;
  }
  return endWhere(before, Math.min(before + step, to), holds);
}
