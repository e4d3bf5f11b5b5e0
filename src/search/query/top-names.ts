/**
 * The top-k of few names without a list of all.
 *
 * A posting says whether its name holds the trigram once more. Those that do
 * not are a name each, which goes straight into the k smallest numbers of its
 * rank class; only the others are sorted and merged.
 */

import { isRepeated } from "../shared/posting.ts";
import { isBeginning, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { NO_NAMES } from "./equal-names.ts";
import { TopK } from "./top-k.ts";

/** With more postings of texts that may hold the term twice, all names are listed. */
const FEW_REPEATED = 1024;

/**
 * Names that may be at several of the postings, each once: number * 2, and 1 more when none of the postings is its beginning.
 *
 * @returns undefined when there are too many
 */
export function repeatedNames(
  trigrams: TrigramIndex,
  postings: Uint32Array,
): { names: Uint32Array; postings: number } | undefined {
  const found: number[] = [];
  for (let at = 0; at < postings.length; at++) {
    const posting = postings[at]!;
    if (!isRepeated(posting)) continue;
    if (found.length === FEW_REPEATED) return undefined;
    found.push(textOf(trigrams, posting) * 2 + (isBeginning(trigrams, posting) ? 0 : 1));
  }
  if (found.length === 0) return { names: NO_NAMES, postings: 0 };
  const names = Uint32Array.from(found);
  if (found.length < 2) return { names, postings: found.length };
  names.sort();
  let count = 0;
  for (const name of names) {
    if (count === 0 || names[count - 1]! >>> 1 !== name >>> 1) names[count++] = name;
  }
  return { names: names.subarray(0, count), postings: found.length };
}

/** The top-k names. @param k no more than there are */
export function topNames(
  trigrams: TrigramIndex,
  postings: Uint32Array,
  equal: Uint32Array,
  repeated: Uint32Array,
  k: number,
): number[] {
  const hasEqual = equal.length > 0;
  const first = new TopK(Math.max(k - equal.length, 0));
  const rest = new TopK(Math.max(k - equal.length, 0));
  for (let at = 0; at < postings.length; at++) {
    const posting = postings[at]!;
    const name = textOf(trigrams, posting);
    // Most names are too far behind, and that is all that is asked of them.
    if (name >= rest.limit && (name >= first.limit || !isBeginning(trigrams, posting))) continue;
    if (isRepeated(posting)) continue;
    if (!isBeginning(trigrams, posting)) rest.add(name);
    else if (name < first.limit && !(hasEqual && equal.includes(name))) first.add(name);
  }
  for (let at = 0; at < repeated.length; at++) {
    const name = repeated[at]! >>> 1;
    if (repeated[at]! & 1) {
      if (name < rest.limit) rest.add(name);
    } else if (name < first.limit && !(hasEqual && equal.includes(name))) first.add(name);
  }
  const top: number[] = [];
  for (let at = 0; at < equal.length && at < k; at++) top.push(equal[at]!);
  for (const { numbers } of [first, rest]) {
    for (let at = 0; at < numbers.length && top.length < k; at++) top.push(numbers[at]!);
  }
  return top;
}
