/** The parts of the search index: its grams and their lists, sets of documents, and what is used again. */

import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import fc from "fast-check";
import { fold } from "../src/search/fold.ts";
import { BEGIN, type Grams, isDense, longerGram, MOST_UNITS, ROOT } from "../src/search/grams.ts";
import { indexGrams } from "../src/search/index-grams.ts";
import { indexUsers, indexWorlds } from "../src/search/search.ts";
import { type DocumentSet, documentsOf, intersect, listDocuments, subtract } from "../src/search/sets.ts";
import { joinTexts } from "../src/search/texts.ts";
import { runNow, type Work } from "../src/search/work.ts";
import {
  checkPages,
  longestStretch,
  openUsersOf,
  openWorldsOf,
  scanNames,
  scanWorlds,
  someText,
} from "./support/search-scan.ts";

const listed = (set: DocumentSet): number[] => [...runNow(listDocuments(set))];

/** Every gram of an index, by its units; "^" stands for the beginning. */
function gramsOf(index: Grams): Map<string, number> {
  const texts = ["", "^"];
  for (let gram = BEGIN + 1; gram < index.keys.length; gram++) {
    const key = index.keys[gram]!;
    texts.push(texts[Math.floor(key / 65_536)]! + String.fromCharCode(key % 65_536));
    assert.equal(longerGram(index, Math.floor(key / 65_536), key % 65_536), gram);
  }
  return new Map(texts.slice(BEGIN + 1).map((text, at) => [text, at + BEGIN + 1]));
}

/** The grams that texts should have, and their documents. */
function naiveGrams(texts: readonly string[], few: number, by: "words" | "texts"): Map<string, number[]> {
  const found = new Map<string, number[]>();
  const pieces = texts.map((text) => (by === "words" ? text.split(/[ \n]/) : [`^${text}`]));
  const add = (gram: string): boolean => {
    const inGram = (piece: string) => piece.includes(gram);
    const documents = [...pieces.keys()].filter((at) => pieces[at]!.some(inGram));
    found.set(gram, documents);
    return documents.length > few;
  };
  for (const piece of new Set(pieces.flat())) {
    for (let from = 0; from < piece.length; from++) {
      const begins = piece[from] === "^" && by === "texts" && from === 0;
      for (let length = begins ? 2 : 1; length <= MOST_UNITS && from + length <= piece.length; length++) {
        const gram = piece.slice(from, from + length);
        if (found.has(gram) ? found.get(gram)!.length <= few : !add(gram)) break;
      }
    }
  }
  return found;
}

describe("an index of grams", () => {
  it("has every gram up to the first rare one, and the documents of each", () => {
    const kinds = { dense: 0, sparse: 0, shared: 0 };
    fc.assert(
      fc.property(
        fc.array(fc.oneof(someText, fc.stringMatching(/^[ab ]{0,30}$/)), {
          minLength: 1,
          maxLength: 120,
          size: "max",
        }),
        fc.constantFrom("words" as const, "texts" as const),
        fc.constantFrom(1, 2, 9, undefined),
        (some, by, few) => {
          const texts = some.map((text) => fold(text).replaceAll("^", ""));
          const index = indexGrams(
            joinTexts(texts.length, (at) => texts[at]!),
            by,
            few,
          );
          const grams = gramsOf(index);
          const naive = naiveGrams(texts, index.few, by);
          assert.deepEqual([...grams.keys()].sort(), [...naive.keys()].sort());
          const places = new Set<number>();
          for (const [text, gram] of grams) {
            const set = runNow(documentsOf(index, gram));
            assert.deepEqual(listed(set), naive.get(text), JSON.stringify({ text, texts }));
            assert.equal(set.count, index.counts[gram]);
            kinds[isDense(set.count, texts.length) ? "dense" : "sparse"]++;
            if (places.has(index.places[gram]!)) kinds.shared++;
            places.add(index.places[gram]!);
          }
        },
      ),
      { numRuns: 40 },
    );
    assert.ok(Math.min(...Object.values(kinds)) > 1000, JSON.stringify(kinds));
  });

  it("has differences of one to four bytes", () => {
    const documents = 2 ** 21 + 300;
    const marked = [0, 1, 128, 129 + 2 ** 14, documents - 1];
    const texts = joinTexts(documents, (at) => (marked.includes(at) ? "b" : "a"));
    const index = indexGrams(texts, "words");
    const gram = longerGram(index, ROOT, "b".charCodeAt(0));
    assert.deepEqual(listed(runNow(documentsOf(index, gram))), marked);
  });

  it("of no texts, and of empty ones, has no gram", () => {
    for (const texts of [[], ["", ""]]) {
      const index = indexGrams(
        joinTexts(texts.length, (at) => texts[at]!),
        "texts",
      );
      assert.equal(longerGram(index, BEGIN, 97), 0);
      assert.equal(longerGram(index, ROOT, 97), 0);
    }
  });
});

it("sets of documents are combined as sets are, lists and bitsets alike", () => {
  const DOCUMENTS = 200;
  const some = fc
    .uniqueArray(fc.nat(DOCUMENTS - 1), { maxLength: 60 })
    .map((list) => list.sort((a, b) => a - b));
  const setOf = (list: readonly number[], isList: boolean): DocumentSet => {
    if (isList) return { count: list.length, list: Uint32Array.from(list) };
    const bits = new Uint32Array(Math.ceil(DOCUMENTS / 32));
    for (const document of list) bits[document >>> 5]! |= 1 << document;
    return { count: list.length, bits };
  };
  fc.assert(
    fc.property(some, some, fc.boolean(), fc.boolean(), (a, b, isListA, isListB) => {
      const [setA, setB] = [setOf(a, isListA), setOf(b, isListB)];
      const both = a.filter((document) => b.includes(document));
      const found = runNow(intersect(setA, setB));
      assert.deepEqual([found.count, ...listed(found)], [both.length, ...both]);
      const left = a.filter((document) => !both.includes(document));
      const rest = runNow(subtract(setA, setOf(both, isListB)));
      assert.deepEqual([rest.count, ...listed(rest)], [left.length, ...left]);
      assert.deepEqual([listed(setA), listed(setB)], [a, b], "neither is changed");
    }),
  );
});

it("an index is used again if its texts are the same", () => {
  const names = ["Ann", "Bob"];
  const users = indexUsers(2, (row) => names[row]!);
  assert.equal(
    indexUsers(2, (row) => names[row]!.toUpperCase(), users),
    users,
  );
  for (const others of [["Ann", "Bo"], ["AnnB", "ob"], ["Ann"]])
    assert.notEqual(
      indexUsers(others.length, (row) => others[row]!, users),
      users,
    );
  const worldsOf = (name: string, description: string, previous?: ReturnType<typeof indexWorlds>) =>
    indexWorlds(
      1,
      () => name,
      () => description,
      previous,
    );
  const worlds = worldsOf("a", "b c");
  assert.equal(worldsOf("A", "b C", worlds), worlds);
  assert.notEqual(worldsOf("a b", "c", worlds), worlds);
});

const PAGE = { limit: 306, offset: 0 };

describe("searches pause", () => {
  const check = (start: () => Work<unknown>, leastPauses: number, message: string): void => {
    const { longest, pauses } = longestStretch(start);
    assert.ok(pauses >= leastPauses, `${message}: ${pauses} pauses`);
    // A stretch takes half a millisecond; the bound is loose for busy machines.
    assert.ok(longest < 5, `${message}: ${longest} ms`);
  };

  test("in texts of a megabyte, and in texts that nearly fit at each place", () => {
    const worlds = [
      { name: "long", description: `b${"a".repeat(1_000_000)}` },
      { name: "word", description: Array.from({ length: 100_000 }, (_, at) => `w${at}`).join(" ") },
    ];
    const find = openWorldsOf(worlds);
    for (const term of [`${"a".repeat(200)}b`, "a".repeat(250), "w9 w88 w777", `${"a".repeat(25)}`])
      checkPages(find, term, scanWorlds(worlds, term));
    check(() => find(`${"a".repeat(200)}b`, PAGE), 5, "one long text");
  });

  test("in very many texts, with a common term longer than a gram", () => {
    const names = Array.from({ length: 30_000 }, (_, row) => `${"a".repeat(40)}${row.toString(36)}`);
    const find = openUsersOf(names);
    for (const term of ["a".repeat(30), `${"a".repeat(39)}1`, "a".repeat(41), "a"])
      checkPages(find, term, scanNames(names, term));
    check(() => find("a".repeat(30), PAGE), 5, "all texts are read");
    check(() => find("a", { limit: 306, offset: 25_000 }), 0, "a late page");
  });
});
