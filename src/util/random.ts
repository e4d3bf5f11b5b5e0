/**
 * Random numbers that are the same on every machine: this file and its callers use only the four basic operations and square
 * roots, whose results IEEE 754 fixes; the results of `Math.log` or `Math.pow` may differ between engines.
 */

/** A stream of random numbers. */
export type Random = ReturnType<typeof createRandom>;

const TWO_32 = 4_294_967_296;
/** Numbers dropped at first, since they still show the seed; fewer for a row, since its state is hashed before. */
const WARM_UP = 20;
const ROW_WARM_UP = 4;

/** Spreads every bit over all others (the finalizer of MurmurHash3). */
function mix(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/**
 * Makes the stream (sfc32) of a seed and a name; streams of different names are independent.
 *
 * @param seed any safe integer
 */
export function createRandom(seed: number, name: string) {
  const low = seed >>> 0;
  const high = Math.floor(seed / TWO_32) >>> 0;
  let key = 0x9e3779b9;
  for (let at = 0; at < name.length; at++) key = Math.imul(key ^ name.charCodeAt(at), 0x01000193);
  // The state a, b, c and a counter; a typed array avoids an allocation at every draw.
  const state = Int32Array.of(low, high, key, 1);

  /** A whole number from 0 to 2^32 - 1. */
  function word(): number {
    const [b, c] = [state[1]!, state[2]!];
    const sum = (state[0]! + b + state[3]!) | 0;
    state[0] = b ^ (b >>> 9);
    state[1] = c + (c << 3);
    state[2] = ((c << 21) | (c >>> 11)) + sum;
    state[3]!++;
    return sum >>> 0;
  }
  /** A number from 0 up to, not including, 1. */
  const unit = (): number => word() / TWO_32;

  /** Begins the stream of a row, a whole number from 0, so that any row can be drawn again without the rows before it. */
  function startRow(row: number): void {
    state[0] = mix(low ^ mix(row + 0x9e3779b9));
    state[1] = mix(high ^ mix(Math.floor(row / TWO_32) + 0x7f4a7c15));
    state[2] = mix(key + Math.imul(row, 0x85ebca77));
    state[3] = 1;
    for (let round = 0; round < ROW_WARM_UP; round++) word();
  }

  for (let round = 0; round < WARM_UP; round++) word();
  return {
    word,
    unit,
    startRow,
    /** A whole number from 0 to `count - 1`; 0 when count is 0. */
    below: (count: number) => Math.floor(unit() * count),
    /** True with the given chance, from 0 to 1. */
    chance: (chance: number) => unit() < chance,
  };
}
