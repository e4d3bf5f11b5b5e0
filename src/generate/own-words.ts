/** Words that no other text has: addresses, handles, ids, hashes, names of makers and songs. */

import type { Random } from "../util/random.ts";
import { compileGrammar, type Draw } from "./grammar.ts";
import { extras } from "./words/extras.ts";

const draws = compileGrammar(extras);

const BASE_62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const HEX = "0123456789abcdef";

/** Signs of an alphabet of a power of two, several from each random number. */
function signs(random: Random, alphabet: string, many: number): string {
  const bits = 31 - Math.clz32(alphabet.length);
  let text = "";
  let left = 0;
  let word = 0;
  for (let at = 0; at < many; at++) {
    if (left < bits) {
      word = random.word();
      left = 32;
    }
    text += alphabet[word & (alphabet.length - 1)];
    word >>>= bits;
    left -= bits;
  }
  return text;
}

function uuid(random: Random): string {
  const [a, b, c] = [8, 4, 4].map((many) => signs(random, HEX, many));
  return `${a}-${b}-4${signs(random, HEX, 3)}-${c}-${signs(random, HEX, 12)}`;
}

const ADDRESSES: readonly Draw[] = [
  (random) => `https://discord.example.com/${signs(random, BASE_62, 8)}`,
  (random) => `https://discord.example.com/invite/${signs(random, BASE_62, 10)}`,
  (random) => `https://www.example.com/watch?v=${signs(random, BASE_62, 11)}`,
  (random) => `https://v.example.com/${signs(random, BASE_62, 11)}?si=${signs(random, BASE_62, 16)}`,
  (random) => `https://worlds.example.com/home/world/${uuid(random)}`,
  (random) => `https://${draws.coined(random)}.shop.example.org/items/${random.below(9_000_000) + 1_000_000}`,
  (random) => `https://social.example.net/${draws.proper(random)}/status/${random.word()}${random.word()}`,
  (random) => `social.example.net/${draws.proper(random)}`,
  (random) =>
    `https://git.example.org/${draws.proper(random)}/${draws.coined(random)}-${draws.coined(random)}`,
  (random) => `https://docs.example.com/d/${signs(random, BASE_62, 44)}/edit?usp=sharing`,
  (random) => `www.${draws.proper(random)}.example.com`,
];

const IDS: readonly Draw[] = [
  (random) => signs(random, HEX, 7),
  (random) => `sha1:${signs(random, HEX, 40)}`,
  (random) => signs(random, HEX, 32),
  uuid,
  (random) => `ID:${signs(random, BASE_62, 10)}`,
  (random) => `#${random.word().toString(36).toUpperCase()}`,
];

function oneOf(choices: readonly Draw[]): Draw {
  return (random) => choices[random.below(choices.length)]!(random);
}

/** Draws an address: with it come a scheme, a host that many share, and a path that none shares. */
export const drawAddress: Draw = oneOf(ADDRESSES);
/** Draws an id or a hash. */
export const drawId: Draw = oneOf(IDS);

/** Draws the parts of a description that are no sentences; by what they are. */
export const drawExtra = draws;
