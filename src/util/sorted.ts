/** Binary search. */

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
