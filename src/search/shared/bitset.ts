/** Bitsets: number n is bit n % 32 of the 32-bit word n / 32. */

/** Words that so many numbers take. */
export function bitWords(numbers: number): number {
  return (numbers + 31) >>> 5;
}

/** How many bits of a word are set. */
export function countWord(word: number): number {
  let bits = word - ((word >>> 1) & 0x5555_5555);
  bits = (bits & 0x3333_3333) + ((bits >>> 2) & 0x3333_3333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** How many bits are set. */
export function countBits(bits: Uint32Array): number {
  let count = 0;
  for (let at = 0; at < bits.length; at++) if (bits[at] !== 0) count += countWord(bits[at]!);
  return count;
}

/** The number of the lowest bit of a word that is not 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

/** Sets the bits of numbers from one up to another. */
export function addRange(bits: Uint32Array, from: number, to: number): void {
  const first = Math.min((from + 31) & ~31, to);
  const last = Math.max(to & ~31, first);
  for (let at = from; at < first; at++) bits[at >>> 5]! |= 1 << at;
  bits.fill(0xffff_ffff, first >>> 5, last >>> 5);
  for (let at = last; at < to; at++) bits[at >>> 5]! |= 1 << at;
}
