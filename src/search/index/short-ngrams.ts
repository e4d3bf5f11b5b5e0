/**
 * N-grams of one to three code units: trigrams are in order, so those that begin
 * with an n-gram are neighbours, and so are their posting lists.
 */

import { gallop } from "../query/galloping.ts";
import { PAD, PAD_TEXT } from "../shared/texts.ts";
import type { TrigramIndex } from "../shared/trigrams.ts";

/** An n-gram of up to three code units and its range of postings: the lists of all trigrams that begin with it. */
export interface ShortNgram {
  readonly ngram: string;
  readonly from: number;
  readonly to: number;
}

/**
 * The n-grams of so many code units, up to three, that are worth it.
 *
 * @param isWorth judges a range of postings; a part of one that is not is not either
 */
export function* shortNgrams(
  trigrams: TrigramIndex,
  units: number,
  isWorth: (from: number, to: number) => boolean,
): Generator<ShortNgram> {
  const { gram, pairs, thirds, starts } = trigrams;
  if (units > gram) {
    yield* extendShort(trigrams, units, isWorth);
    return;
  }
  for (let trigram = 0, next = 0; trigram < pairs.length; trigram = next) {
    const first = pairs[trigram]! >>> 16;
    const second = pairs[trigram]! & 0xffff;
    const third = thirds[trigram]!;
    for (next = trigram + 1; next < pairs.length; next++) {
      if (pairs[next]! >>> 16 !== first) break;
      if (units > 1 && (pairs[next]! & 0xffff) !== second) break;
      if (units > 2 && thirds[next] !== third) break;
    }
    // Most are not, and to make their texts would take the longest.
    if (!isWorth(starts[trigram]!, starts[next]!)) continue;
    const ngram = String.fromCharCode(first, second, third).slice(0, units);
    // What ends with a pad is a shorter n-gram. What ends with the half of a pair that looks like one is left out, too.
    if (!ngram.includes(PAD_TEXT)) yield { ngram, from: starts[trigram]!, to: starts[next]! };
  }
}

/** Trigrams where the dictionary is one of bigrams: parts of its lists, which are in order of what follows. */
function* extendShort(
  trigrams: TrigramIndex,
  units: number,
  isWorth: (from: number, to: number) => boolean,
): Generator<ShortNgram> {
  const { followers } = trigrams;
  for (const { ngram, from, to } of shortNgrams(trigrams, units - 1, isWorth)) {
    for (let at = from, end = from; at < to && isWorth(at, to); at = end) {
      const unit = followers[at]! >>> 16;
      end = gallop(followers, (unit + 1) * 65_536, at, to);
      if (unit !== PAD && isWorth(at, end))
        yield { ngram: ngram + String.fromCharCode(unit), from: at, to: end };
    }
  }
}
