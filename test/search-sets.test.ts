/** Sets of documents: their union and intersection, whatever their kinds, against plain sets. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { BitsetLoan } from "../src/search/bitset.ts";
import {
  createScratch,
  type DocumentSet,
  sizeOf,
  unite,
  type WordPostings,
} from "../src/search/document-sets.ts";
import { intersect } from "../src/search/intersect.ts";
import { runNow } from "../src/search/work.ts";

describe("sets of documents", () => {
  const DOCUMENTS = 200;
  const scratch = createScratch(DOCUMENTS);
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
  // The second: left alone, fast-check makes so few large ones that two of them hardly ever meet.
  const someLists = fc.oneof(listsOf(0, 60), listsOf(30, 60));

  function naiveUnion(lists: readonly (readonly number[])[]): Map<number, boolean> {
    const union = new Map<number, boolean>();
    for (const entry of lists.flat())
      union.set(entry >> 1, (union.get(entry >> 1) ?? false) || (entry & 1) === 1);
    return union;
  }

  function postingsOf(lists: readonly (readonly number[])[]): WordPostings {
    const starts = new Uint32Array(lists.length + 1);
    lists.forEach((list, at) => {
      starts[at + 1] = starts[at]! + list.length;
    });
    return { documents: DOCUMENTS, starts, entries: Uint32Array.from(lists.flat()) };
  }

  function setOf(lists: readonly (readonly number[])[]): DocumentSet {
    return runNow(unite(postingsOf(lists), [...lists.keys()], scratch, new BitsetLoan(scratch.pool)));
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
      fc.property(someLists, someLists, fc.boolean(), fc.boolean(), (a, b, isSetA, isSetB) => {
        const postings = postingsOf([...a, ...b]);
        const foundA = isSetA ? setOf(a) : Uint32Array.from(a.keys());
        const foundB = isSetB ? setOf(b) : Uint32Array.from(b.keys(), (list) => a.length + list);
        kinds.add([foundA, foundB].map((found) => ("kind" in found ? found.kind : "lists")).join(" "));
        const naiveB = naiveUnion(b);
        const both = [...naiveUnion(a)]
          .filter(([document]) => naiveB.has(document))
          .map(([document, flag]): [number, boolean] => [document, flag && naiveB.get(document)!]);
        const naive = naiveEntries(new Map(both));
        assert.deepEqual(
          entriesIn(intersect(foundA, foundB, postings, scratch, new BitsetLoan(scratch.pool))),
          naive,
        );
      }),
      { numRuns: 1000 },
    );
    assert.equal(kinds.size, 9);
  });
});
