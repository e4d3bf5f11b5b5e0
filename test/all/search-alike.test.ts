/** Terms in words that share a prefix, and overlapping terms: the hits equal brute force without reading every posting. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BitsetLoan } from "../../src/search/bitset.ts";
import { findAll, mergeTerms } from "../../src/search/conjunction.ts";
import type { DocumentSet } from "../../src/search/document-sets.ts";
import { locate } from "../../src/search/locate.ts";
import { PostingReader } from "../../src/search/posting-reader.ts";
import { gatherDocuments } from "../../src/search/terms.ts";
import { type OpenWordIndex, openWords, WordIndexBuilder } from "../../src/search/word-index.ts";
import { runNow } from "../../src/search/work.ts";
import { createRandom } from "../../src/util/random.ts";

const random = createRandom(1, "alike");

function signs(many: number, alphabet = "0123456789ab"): string {
  return Array.from({ length: many }, () => alphabet[random.below(alphabet.length)]).join("");
}

type Document = readonly [name: string, description: string];

/** Addresses of few sites; some repeat a part, end early, or continue far past the first piece of a text. */
function drawDocuments(many: number): Document[] {
  const sites = [
    "https://worlds.example.com/home/wrld_",
    "https://worlds.example.org/w/",
    "ababababababab/",
    "https://w0rlds.example.com/home/wrld_zone/",
  ];
  const far = `/${"x".repeat(25)}`;
  const end = "?ref=description&lang=en";
  // Some contain only a part of the end.
  const ends = [
    ...["", end, "/home/wrld_", "?ref=descant", "/prescription&lang=en", `${far}?ref=descant`],
    `${far}/prescription&lang=en`,
  ];
  const address = (): string => {
    const site = sites[random.chance(0.8) ? 0 : random.below(sites.length)]!;
    return (
      site.slice(0, random.chance(0.02) ? random.below(site.length) : site.length) +
      signs(9) +
      (random.chance(0.6) ? far + end : ends[random.below(ends.length)]!)
    );
  };
  return Array.from({ length: many }, () => [
    // Some names contain as separate parts what their description contains in one.
    random.chance(0.3)
      ? `${address()} b`
      : random.chance(0.1)
        ? `${sites[0]!.slice(0, 28)} ${sites[0]!.slice(4)}`
        : signs(3),
    random.chance(0.9) ? `a ${address()} ${random.chance(0.2) ? address() : ""}` : "a",
  ]);
}

function indexOf(documents: readonly Document[]): OpenWordIndex {
  const builder = new WordIndexBuilder();
  for (const [name, description] of documents) {
    builder.beginDocument();
    builder.addField(name, true);
    builder.addField(description, false);
  }
  return openWords(builder.finish());
}

/** Entries of the documents with every term, by brute force. */
function expected(documents: readonly Document[], terms: readonly string[]): number[] {
  const entries: number[] = [];
  for (const [at, [name, description]] of documents.entries()) {
    const inName = terms.map((term) => name.includes(term));
    const isThere = terms.every((term, one) => inName[one] || description.includes(term));
    if (isThere) entries.push(at * 2 + (inName.every(Boolean) ? 1 : 0));
  }
  return entries;
}

function entriesOf(set: DocumentSet): number[] {
  if (set.kind === "list") return [...set.entries];
  const has = (bits: Uint32Array, at: number): number => (bits[at >>> 5]! >>> at) & 1;
  const documents = [...Array(set.any.length * 32).keys()].filter((at) => has(set.any, at) === 1);
  return documents.map((at) => at * 2 + has(set.inName, at));
}

function* slices(text: string, units: number, step: number): Generator<string> {
  for (let at = 0; at + units <= text.length; at += step) yield text.slice(at, at + units);
}

describe("words that begin alike", () => {
  const documents = drawDocuments(7000);
  const index = indexOf(documents);

  test("are taken together, and give the documents of a term", () => {
    let together = 0;
    const texts = ["https://worlds.example.com/home/wrld_", "xxx?ref=description&lang=en", "ababababababab/"];
    const terms = texts.flatMap((text) =>
      [4, 8, 9, 10, 17, 24].flatMap((units) => [...slices(text, units, 3)]),
    );
    for (const term of [
      ...terms,
      "https://worlds.example.com/home/wrld_0",
      "com/home/wrld_ab",
      "a/home/wrld_",
    ]) {
      const located = locate(index.trigrams, term);
      for (const reader = new PostingReader(index.trigrams, located, term); ; ) {
        const alike = reader.nextShared();
        if (alike !== undefined) {
          together++;
          for (let word = alike[0]; word < alike[1]; word++) {
            const { units, starts } = index.trigrams.texts;
            assert.ok(
              String.fromCharCode(...units.subarray(starts[word]!, starts[word + 1]! - 1)).includes(term),
            );
          }
        }
        if (reader.next() === undefined) break;
      }
      const loan = new BitsetLoan(index.pool);
      const found = runNow(gatherDocuments(index, located, term, loan));
      assert.deepEqual(entriesOf(found), expected(documents, [term]), term);
      loan.end();
    }
    assert.ok(together > terms.length / 4);
  });

  test("and terms that overlap, many or few, give the documents of all", () => {
    const texts = ["https://worlds.example.com/home/wrld_", "xxx?ref=description&lang=en", "ababababababab/"];
    const pieces = texts.flatMap((text) => [4, 9, 14, 24].flatMap((units) => [...slices(text, units, 2)]));
    const ofOne = [...slices(texts[0]!, 24, 2)];
    for (let round = 0; round < 80; round++) {
      const from = random.chance(0.5) ? pieces : ofOne;
      const terms = Array.from({ length: 2 + random.below(9) }, () =>
        random.chance(0.1) ? signs(1 + random.below(3)) : from[random.below(from.length)]!,
      );
      const loan = new BitsetLoan(index.pool);
      const found = runNow(findAll(index, terms, loan, round % 2 === 0 ? 64 : undefined));
      assert.deepEqual(entriesOf(found), expected(documents, terms), terms.join(" "));
      loan.end();
    }
  });
});

test("texts that overlap are joined as far as it is worth it", () => {
  const pieces = [...slices("https://worlds.example.com/home", 12, 3)];
  const text = "https://worlds.example.com/hom";
  for (const shift of pieces.keys()) {
    const texts = [...pieces.slice(shift), ...pieces.slice(0, shift)];
    assert.equal(
      mergeTerms(texts, () => true),
      text,
    );
    assert.equal(
      mergeTerms(texts, () => false),
      texts[0],
    );
    assert.ok(mergeTerms(texts, (longer) => text.includes(longer) && longer.length <= 15).length <= 15);
  }
  assert.equal(
    mergeTerms(["abc", "cde"], () => true),
    "abc",
  );
});
