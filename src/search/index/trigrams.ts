/**
 * Builds a trigram index.
 *
 * The trigram at each position is numbered, and numbers are given anew in order
 * of the code units. Postings are sorted by their trigram and the two that follow.
 * Where there are more distinct trigrams than is worth it, those of bigrams are listed.
 */

import { sharedCopy, sharedUint32, Uint32Column } from "../../store/bytes.ts";
import { checkLimit, MOST_TEXTS } from "../../store/limits.ts";
import { CHUNK } from "../shared/posting.ts";
import type { Texts } from "../shared/texts.ts";
import { BIGRAM, GRAM, hashOfTrigram, type TrigramIndex } from "../shared/trigrams.ts";
import { sortBigrams } from "./bigrams.ts";
import { sortPostings } from "./sort-postings.ts";
import { fillSlots, numberTrigrams, sortTrigrams, TrigramNumbers } from "./trigram-numbers.ts";

type Chunks = Pick<TrigramIndex, "chunkTexts" | "chunkStarts">;

/** Where the further chunks of long texts are. */
function cutChunks({ count, starts }: Texts): Chunks {
  const texts = new Uint32Column();
  const firsts = new Uint32Column();
  for (let text = 0; text < count; text++) {
    for (let at = starts[text]! + CHUNK; at < starts[text + 1]! - 1; at += CHUNK) {
      texts.push(text);
      firsts.push(at);
    }
  }
  return { chunkTexts: sharedCopy(texts), chunkStarts: sharedCopy(firsts) };
}

/** Bits of the Bloom filter for each trigram: one that is nowhere is mostly seen to be so. */
const SPARSENESS = 16;

function filterOf(pairs: Uint32Array, thirds: Uint32Array): Uint32Array {
  let size = 32;
  while (size < pairs.length * SPARSENESS) size *= 2;
  const bits = sharedUint32(size / 32);
  for (let trigram = 0; trigram < pairs.length; trigram++) {
    const bit = hashOfTrigram(pairs[trigram]!, thirds[trigram]!) & (size - 1);
    bits[bit >>> 5]! |= 1 << bit;
  }
  return bits;
}

/** Distinct trigrams that are numbered whatever the texts, and for each text: one takes some forty bytes. */
const MOST_TRIGRAMS = 2 ** 22;
const MOST_TRIGRAMS_A_TEXT = 2;

function makeSlots(pairs: Uint32Array, thirds: Uint32Array): Uint32Array {
  let size = 2;
  while (size < pairs.length * 2) size *= 2;
  const slots = sharedUint32(size);
  fillSlots(slots, pairs, thirds, pairs.length);
  return slots;
}

/** Indexes texts by their bigrams. */
function indexBigrams(texts: Texts, chunks: Chunks): TrigramIndex {
  const lists = sortBigrams(texts);
  const { pairs } = lists;
  const thirds = sharedUint32(pairs.length);
  const slots = makeSlots(pairs, thirds);
  const bits = filterOf(pairs, thirds);
  return { texts, gram: BIGRAM, thirds, slots, bits, ...lists, depth: BIGRAM * 2, ...chunks };
}

/**
 * Indexes texts by their trigrams.
 *
 * @param mostTrigrams where there are more distinct ones, texts are indexed by their bigrams
 * @throws {LimitError} when there are more texts than postings can tell apart
 */
export function indexTrigrams(
  texts: Texts,
  mostTrigrams = MOST_TRIGRAMS + texts.count * MOST_TRIGRAMS_A_TEXT,
  mostTexts = MOST_TEXTS,
): TrigramIndex {
  const chunks = cutChunks(texts);
  const count = texts.count + chunks.chunkTexts.length;
  checkLimit(count, mostTexts, "names, or distinct words (a long one counts once for each 64 characters)");
  const numbers = new TrigramNumbers();
  const trigrams = numberTrigrams(texts, numbers, mostTrigrams);
  if (trigrams === undefined) return indexBigrams(texts, chunks);
  const sorted = sortTrigrams(numbers);
  const ranks = new Uint32Array(sorted.length);
  const pairs = sharedUint32(sorted.length);
  const thirds = sharedUint32(sorted.length);
  for (let rank = 0; rank < sorted.length; rank++) {
    const trigram = sorted[rank]!;
    ranks[trigram] = rank;
    pairs[rank] = numbers.pairs.values[trigram]!;
    thirds[rank] = numbers.thirds.values[trigram]!;
  }
  for (let at = 0; at < trigrams.length; at++) trigrams[at] = ranks[trigrams[at]!]!;
  const slots = makeSlots(pairs, thirds);
  const bits = filterOf(pairs, thirds);
  // The trigram of pads alone was the first.
  const lists = sortPostings(texts, trigrams, pairs.length, ranks[0]!);
  return { texts, gram: GRAM, pairs, thirds, slots, bits, ...lists, ...chunks };
}
