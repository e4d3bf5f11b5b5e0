/** Sorts row numbers by a radix sort: it is stable, and calls no comparator, which would take most of the time of a large sort. */

const WORD = 2 ** 32;
/** Below this number of rows the digits are short: counting all values of a long digit would take most of the time. */
const FEW = 16_384;

/** One stable pass, by some bits of one word of each row's key. */
function sortByDigit(
  order: Uint32Array,
  spare: Uint32Array,
  words: Uint32Array,
  shift: number,
  bits: number,
): void {
  const offsets = new Uint32Array(2 ** bits);
  const mask = offsets.length - 1;
  for (const row of order) offsets[(words[row]! >>> shift) & mask]!++;
  // Each count becomes the sum of all before it: the place where its rows begin.
  for (let at = 0, offset = 0; at < offsets.length; at++) {
    const count = offsets[at]!;
    offsets[at] = offset;
    offset += count;
  }
  for (const row of order) spare[offsets[(words[row]! >>> shift) & mask]!++] = row;
  order.set(spare);
}

/** Fills in row numbers, ascending from 0. */
export function countUp(rows: number, order: Uint32Array = new Uint32Array(rows)): Uint32Array {
  for (let row = 0; row < rows; row++) order[row] = row;
  return order;
}

/**
 * Sorts row numbers by a value, highest first; equal values keep their order.
 * @param order sorted in place
 * @param values by row number; whole numbers that differ by less than 2^53
 */
export function sortHighestFirst(order: Uint32Array, values: Float64Array): void {
  let highest = Number.NEGATIVE_INFINITY;
  for (const row of order) if (values[row]! > highest) highest = values[row]!;
  const low = new Uint32Array(values.length);
  const high = new Uint32Array(values.length);
  let largest = 0;
  for (const row of order) {
    const key = highest - values[row]!;
    if (key > largest) largest = key;
    const above = Math.floor(key / WORD);
    low[row] = key - above * WORD;
    high[row] = above;
  }
  const spare = new Uint32Array(order.length);
  const digit = order.length < FEW ? 8 : 16;
  for (let bit = 0; bit < 64 && largest >= 2 ** bit; bit += digit)
    sortByDigit(order, spare, bit < 32 ? low : high, bit % 32, digit);
}

/**
 * The list order: newest first, then id ascending. @param times milliseconds since the epoch, by row
 * @param compareIds compares the ids of two rows, as for `sort`
 */
export function newestFirst(
  times: Float64Array,
  rows: number,
  compareIds: (a: number, b: number) => number,
): Uint32Array {
  const order = countUp(rows);
  sortHighestFirst(order, times.subarray(0, rows));
  for (let from = 0; from < rows; ) {
    let to = from + 1;
    while (to < rows && times[order[to]!] === times[order[from]!]) to++;
    if (to - from > 1) order.subarray(from, to).sort(compareIds);
    from = to;
  }
  return order;
}
