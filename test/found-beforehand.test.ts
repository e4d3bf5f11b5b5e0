/** What is found beforehand is bounded by the number of documents, not by how long they are. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeOf } from "../src/search/document-sets.ts";
import { findNgramDocuments, indexNgramDocuments } from "../src/search/ngram-documents.ts";
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
  const bytesOf = (mostBytes?: number): { bytes: number; keys: number[]; sizes: (number | undefined)[] } => {
    const kept = indexNgramDocuments(trigrams, wordPostings, 64, mostBytes);
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
