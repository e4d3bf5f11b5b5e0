/** The documents of a short n-gram: its key is sought by halving among the kept ones. */

import type { DocumentSet } from "../shared/document-set.ts";
import { keyOf, type NgramDocuments } from "../shared/ngram-documents.ts";

/** The index of a key, or -1. */
function indexOfKey(keys: Float64Array, key: number): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return keys[low] === key ? low : -1;
}

/** The documents that contain an n-gram, if they are kept. @param ngram one to three code units */
export function findNgramDocuments(
  { dense, sparse }: NgramDocuments,
  ngram: string,
): DocumentSet | undefined {
  const key = keyOf(ngram);
  const inList = indexOfKey(sparse.keys, key);
  if (inList >= 0) {
    const { starts, entries } = sparse;
    return { kind: "list", entries: entries.subarray(starts[inList]!, starts[inList + 1]!) };
  }
  const inBits = indexOfKey(dense.keys, key);
  if (inBits < 0) return undefined;
  const [from, to] = [inBits * dense.words, (inBits + 1) * dense.words];
  return {
    kind: "bits",
    any: dense.any.subarray(from, to),
    inName: dense.inName.subarray(from, to),
    size: dense.sizes[inBits]!,
    named: dense.named[inBits]!,
  };
}
