/**
 * Names of very many postings: these are read block by block, straight into a
 * bitset for each rank class, so that they are never listed.
 */

import type { PageOf } from "../../store/generation.ts";
import { countBits } from "../shared/bitset.ts";
import { beginningMask, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { STEP, type Work } from "../shared/work.ts";
import { BitsetLoan, type BitsetPool } from "./bitset-pool.ts";
import { isName, NO_NAMES } from "./equal-names.ts";
import { type Located, postingsAtEnd } from "./locate.ts";
import { PostingReader } from "./posting-reader.ts";
import { BitsetResults, type RankClass, type ResultSet, retainPage } from "./result-set.ts";
import { postingsIn } from "./trigram-postings.ts";

/** Where names are gathered. */
interface OpenNames {
  readonly trigrams: TrigramIndex;
  /** Bitsets of names. */
  readonly pool: BitsetPool;
}

/** Names that match, as bitsets. */
interface NameSets {
  readonly any: Uint32Array;
  /** Those that begin with the term. */
  readonly first: Uint32Array;
  /** Those that are the term. */
  readonly equal: Uint32Array;
}

/** Names of any number of postings, ranked. */
export function* gatherNames(
  index: OpenNames,
  located: Located,
  term: string,
  page: PageOf | undefined,
): Work<ResultSet> {
  yield "long";
  const loan = new BitsetLoan(index.pool);
  try {
    const sets: NameSets = { any: loan.take(), first: loan.take(), equal: loan.take() };
    yield* markNames(index, located, term, sets);
    yield* markEqual(index.trigrams, located, term, sets.equal);
    return retainPage(rankSets(sets), page, () => loan.keepAll());
  } finally {
    loan.end();
  }
}

function* markNames(
  index: OpenNames,
  located: Located,
  term: string,
  { any, first, equal }: NameSets,
): Work<void> {
  const { trigrams } = index;
  // Those of a longer term are not told from others by their postings.
  const hasNoEnds = !located.isExact || term.length >= trigrams.depth;
  const reader = new PostingReader(trigrams, located, term);
  for (let chunk = reader.next(); chunk !== undefined; chunk = reader.next()) {
    for (let at = 0; at < chunk.length; at++) {
      const posting = chunk[at]!;
      const name = textOf(trigrams, posting);
      const bit = 1 << name;
      any[name >>> 5]! |= bit;
      // Nothing here is foreseen by a processor; without a branch it takes half the time.
      first[name >>> 5]! |= bit & beginningMask(trigrams, posting);
    }
    if (hasNoEnds) addEqual(trigrams, chunk, term, equal);
    yield;
  }
}

/** Sets the bits of names that are the term, where the postings at the end of names are known. */
function* markEqual(trigrams: TrigramIndex, located: Located, term: string, equal: Uint32Array): Work<void> {
  if (!located.isExact || term.length >= trigrams.depth) return;
  const ends = postingsAtEnd(trigrams, postingsIn(trigrams, located.range), term);
  for (let at = 0; at < ends.length; at += STEP) {
    addEqual(trigrams, ends.subarray(at, at + STEP), term, equal);
    yield;
  }
}

function addEqual(
  trigrams: TrigramIndex,
  postings: Uint32Array,
  { length }: string,
  equal: Uint32Array,
): void {
  for (let at = 0; at < postings.length; at++) {
    if (!isName(trigrams, postings[at]!, length)) continue;
    const name = textOf(trigrams, postings[at]!);
    equal[name >>> 5]! |= 1 << name;
  }
}

function rankSets({ any, first, equal }: NameSets): BitsetResults {
  const equalCount = countBits(equal);
  const firstCount = countBits(first);
  const classes: RankClass[] = [
    { count: equalCount, bits: equal, butNot: undefined },
    { count: firstCount - equalCount, bits: first, butNot: equal },
    { count: countBits(any) - firstCount, bits: any, butNot: first },
  ];
  return new BitsetResults(NO_NAMES, classes);
}
