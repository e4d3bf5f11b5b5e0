/** What is found beforehand is bounded by the number of documents, not by how long they are. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeOf } from "../src/search/document-sets.ts";
import { findNgramDocuments, indexNgramDocuments } from "../src/search/ngram-documents.ts";
import { countEntriesIn } from "../src/search/short-ngrams.ts";
import { type WordIndex, WordIndexBuilder } from "../src/search/word-index.ts";
import { createRandom } from "../src/util/random.ts";

const random = createRandom(4, "words");
const someWord = (units: number): string =>
  Array.from({ length: 1 + random.below(units) }, () => "abcdefgh"[random.below(8)]).join("");

function wordsOf(documents: number, words: number, least: number): WordIndex {
  const builder = new WordIndexBuilder();
  for (let document = 0; document < documents; document++) {
    builder.beginDocument();
    for (let word = 0; word < words; word++) builder.addField(someWord(120), false);
  }
  return builder.finish(least);
}

test("the documents of short n-grams take no more memory than is given for them: those of the most work are kept", () => {
  const { trigrams, wordPostings } = wordsOf(500, 20, 64);
  const entriesIn = countEntriesIn(trigrams, wordPostings);
  const bytesOf = (mostBytes?: number): { bytes: number; keys: number[]; sizes: (number | undefined)[] } => {
    const kept = indexNgramDocuments(trigrams, wordPostings, entriesIn, 64, mostBytes);
    const { dense, sparse } = kept;
    const sizes = ["a", "b", "ab", "abc", "hh"].map((ngram) => {
      const found = findNgramDocuments(kept, ngram);
      return found === undefined ? undefined : sizeOf(found);
    });
    const bytes = dense.any.byteLength + dense.inName.byteLength + sparse.entries.byteLength;
    return { bytes, keys: [...dense.keys, ...sparse.keys], sizes };
  };
  const all = bytesOf();
  const some = bytesOf(20_000);
  assert.ok(all.bytes > 40_000 && some.bytes <= 20_000 && some.bytes > 15_000, `${all.bytes}, ${some.bytes}`);
  assert.ok(some.keys.every((key) => all.keys.includes(key)));
  // One letter is in more words than three.
  assert.equal(some.sizes[0], all.sizes[0]);
  assert.equal(some.sizes[3], undefined);
  assert.equal(bytesOf(0).keys.length, 0);
});

test("the weight of postings is told by sums that these share, too", () => {
  const { trigrams, wordPostings } = wordsOf(50, 30, 64);
  const { length } = trigrams.postings;
  const each = countEntriesIn(trigrams, wordPostings);
  for (const mostSums of [length - 1, 100, 1]) {
    const shared = countEntriesIn(trigrams, wordPostings, mostSums);
    for (const [from, to] of [
      [0, length],
      [1, length - 1],
      [17, 18],
      [length >> 1, length],
      [5, 5],
    ] as const) {
      // A word of this test is in one document, or very few.
      const [wanted, told] = [each(from, to), shared(from, to)];
      assert.ok(
        told <= wanted && told >= to - from && wanted - told <= (to - from) / 2,
        `${told} of ${wanted}`,
      );
    }
  }
});
