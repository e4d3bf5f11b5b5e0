/** Structures of the search index, compared with plain code: sets of documents, words, reordered indexes. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { BitsetLoan } from "../src/search/bitset.ts";
import {
  type DocumentSet,
  type OpenPostings,
  openPostings,
  type SetOrWords,
  sizeOf,
  unite,
} from "../src/search/document-sets.ts";
import { intersect } from "../src/search/intersect.ts";
import { findNgramDocuments, indexNgramDocuments } from "../src/search/ngram-documents.ts";
import { isWhiteSpace } from "../src/search/texts.ts";
import { type WordIndex, WordIndexBuilder } from "../src/search/word-index.ts";
import { runNow } from "../src/search/work.ts";
import { indexWorlds, rankWorldsAnew, type WorldIndex } from "../src/search/worlds.ts";
import { createRandom } from "../src/util/random.ts";

test("white space is what \\s matches", () => {
  for (let unit = 0; unit < 65_536; unit++) {
    assert.equal(isWhiteSpace(unit), /\s/u.test(String.fromCharCode(unit)), unit.toString(16));
  }
});

describe("sets of documents", () => {
  const DOCUMENTS = 200;
  /** Lists of entries, each ascending, no document twice. */
  const listsOf = (least: number, most: number): fc.Arbitrary<number[][]> =>
    fc.array(
      fc
        .uniqueArray(fc.nat(DOCUMENTS - 1), { minLength: least, maxLength: most })
        .chain((documents) =>
          fc
            .array(fc.boolean(), { minLength: documents.length, maxLength: documents.length })
            .map((flags) =>
              documents.sort((a, b) => a - b).map((document, at) => document * 2 + Number(flags[at])),
            ),
        ),
      { minLength: 1, maxLength: 4 },
    );
  // The second alternative: fast-check alone makes so few large lists that two of them hardly ever meet.
  const someLists = fc.oneof(listsOf(0, 60), listsOf(30, 60));

  function naiveUnion(lists: readonly (readonly number[])[]): Map<number, boolean> {
    const union = new Map<number, boolean>();
    for (const entry of lists.flat())
      union.set(entry >> 1, (union.get(entry >> 1) ?? false) || (entry & 1) === 1);
    return union;
  }

  function postingsOf(lists: readonly (readonly number[])[]): OpenPostings {
    const starts = new Uint32Array(lists.length + 1);
    lists.forEach((list, at) => {
      starts[at + 1] = starts[at]! + list.length;
    });
    return openPostings({ documents: DOCUMENTS, starts, entries: Uint32Array.from(lists.flat()) });
  }

  function setOf(lists: readonly (readonly number[])[]): DocumentSet {
    const postings = postingsOf(lists);
    return runNow(unite(postings, [...lists.keys()], new BitsetLoan(postings.pool)));
  }

  const has = (bits: Uint32Array, at: number): boolean => ((bits[at >>> 5]! >>> (at & 31)) & 1) === 1;
  const entriesIn = (set: DocumentSet): number[] => {
    if (set.kind === "list") return [...set.entries];
    const all = Array.from({ length: DOCUMENTS }, (_, at) => at).filter((at) => has(set.any, at));
    return all.map((at) => at * 2 + (has(set.inName, at) ? 1 : 0));
  };
  const naiveEntries = (union: Map<number, boolean>): number[] =>
    [...union].sort(([a], [b]) => a - b).map(([document, flag]) => document * 2 + Number(flag));

  test("are the union of their lists, large or small", () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(someLists, (lists) => {
        const set = setOf(lists);
        kinds.add(set.kind);
        const naive = naiveEntries(naiveUnion(lists));
        assert.deepEqual(entriesIn(set), naive);
        assert.equal(sizeOf(set), naive.length);
      }),
      { numRuns: 300 },
    );
    assert.deepEqual([...kinds].sort(), ["bits", "list"]);
  });

  test("intersect to what is in both, whatever their kinds", () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(someLists, someLists, fc.boolean(), (a, b, isSet) => {
        const postings = postingsOf(b);
        const foundA = setOf(a);
        const foundB: SetOrWords = isSet ? setOf(b) : { kind: "words", words: Uint32Array.from(b.keys()) };
        kinds.add(`${foundA.kind} ${foundB.kind}`);
        const naiveB = naiveUnion(b);
        const both = [...naiveUnion(a)]
          .filter(([document]) => naiveB.has(document))
          .map(([document, flag]): [number, boolean] => [document, flag && naiveB.get(document)!]);
        const naive = naiveEntries(new Map(both));
        const found = intersect(foundA, foundB, postings, new BitsetLoan(postings.pool));
        assert.deepEqual(entriesIn(found), naive);
      }),
      { numRuns: 1000 },
    );
    assert.equal(kinds.size, 6);
  });
});

const wordRandom = createRandom(4, "words");

const someWord = (units: number): string =>
  Array.from({ length: 1 + wordRandom.below(units) }, () => "abcdefgh"[wordRandom.below(8)]).join("");

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
  // More words hold a given letter than a given trigram.
  assert.equal(some.sizes[0], all.sizes[0]);
  assert.equal(some.sizes[3], undefined);
  assert.equal(bytesOf(0).keys.length, 0);
});

const random = createRandom(5, "ranked");

const WORDS = [..."moon moonbeam beam 東京タワー カフェ a ab 😀x naïve".split(" "), "x".repeat(150)];

/** A text of up to `most` words; some texts are equal. @param known the share of frequent words */
function textOf(most: number, known: number, rows: number): string {
  const word = (): string =>
    random.chance(known) ? WORDS[random.below(WORDS.length)]! : `w${random.below(rows * 3)}`;
  return Array.from({ length: random.below(most + 1) }, word).join(" ");
}

function shuffled(order: Uint32Array): Uint32Array {
  const mixed = order.slice();
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [mixed[at], mixed[other]] = [mixed[other]!, mixed[at]!];
  }
  return mixed;
}

function check(rows: number, known: number, mostTrigrams?: number): WorldIndex {
  const names = Array.from({ length: rows }, () => textOf(2, known, rows));
  const texts = Array.from({ length: rows }, () => textOf(20, known, rows));
  const nameOf = (row: number): string => names[row]!;
  const textAt = (row: number): string => texts[row]!;
  const indexIn = (ranking: Uint32Array) => indexWorlds(ranking, nameOf, textAt, 4, mostTrigrams);
  const first = Uint32Array.from({ length: rows }, (_, row) => row);
  const before = indexIn(shuffled(first));
  const kept = structuredClone(before);
  const moved = before.nameOrder.rows.slice();
  moved.copyWithin(1, 0, rows - 1);
  if (rows > 0) moved[0] = before.nameOrder.rows[rows - 1]!;
  for (const ranking of [shuffled(first), moved, before.nameOrder.rows]) {
    const anew = rankWorldsAnew(before, ranking);
    assert.deepEqual(anew, indexIn(ranking));
    // Texts are not indexed again.
    assert.equal(anew.words.trigrams, before.words.trigrams);
    assert.equal(anew.nameOrder.names, before.nameOrder.names);
  }
  assert.deepEqual(before, kept, "others still search what was there before");
  return before;
}

test("an index in the order of another ranking is that of its worlds in this order", () => {
  const { dense, sparse } = check(500, 0.4).words.ngramDocuments;
  const counts = [dense.keys.length, sparse.keys.length];
  assert.ok(Math.min(...counts) > 20, `there is something to get wrong: ${counts}`);
});

test("so is one of bigrams", () => {
  assert.equal(check(200, 0.4, 0).words.trigrams.gram, 2);
});

test("so is one of hardly any world", () => {
  for (const rows of [0, 1, 2]) check(rows, 1);
});
