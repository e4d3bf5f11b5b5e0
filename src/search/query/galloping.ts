/** Searching ascending numbers by halving, and by galloping: in steps that double, then by halving. */

/** Where a value, or the first above it, is among ascending ones. */
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

/** The same by galloping, for a value that is expected near the beginning: little memory is read. */
export function gallop(values: Uint32Array, value: number, from: number, to: number): number {
  let before = from;
  let step = 1;
  while (before + step <= to && values[before + step - 1]! < value) {
    before += step;
    step *= 2;
  }
  return lowerBound(values, value, before, Math.min(before + step, to));
}
