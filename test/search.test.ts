/** Both searches compared with a scan: every script, few texts and very many. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { fold, readTerm } from "../src/search/fold.ts";
import { createRandom } from "../src/util/random.ts";
import { IS_LONG, part } from "./support/long.ts";
import {
  checkPages,
  type Find,
  openUsersOf,
  openWorldsOf,
  type SomeWorld,
  scanNames,
  scanWorlds,
  someText,
} from "./support/search-scan.ts";

/** Queries that hit: parts of texts, cut anywhere, folded or not. */
function queriesOf(texts: readonly string[]): fc.Arbitrary<string> {
  const part = fc.tuple(fc.constantFrom("", ...texts), fc.nat(40), fc.nat(12)).map(([text, from, length]) => {
    const at = from % (text.length + 1);
    return text.slice(at, at + length + 1);
  });
  return fc.oneof(
    part,
    part.map(fold),
    fc.tuple(part, part).map(([a, b]) => `${a} ${b}`),
    someText,
  );
}

/** From hardly any rare gram to hardly any common one. */
const someFew = fc.constantFrom(1, 4, 30, undefined);

/**
 * Searches random documents by an index and by a scan, and compares.
 *
 * @param open gives the search, and the rows that a term should find
 * @returns the number of hits
 */
function checkSearch<Item>(
  item: fc.Arbitrary<Item>,
  { minLength, maxLength, numRuns }: Record<"minLength" | "maxLength" | "numRuns", number>,
  textsOf: (item: Item) => readonly string[],
  open: (items: readonly Item[], few?: number) => { find: Find; naiveOf: (term: string) => number[] },
): number {
  let found = 0;
  const searches = fc.array(item, { minLength, maxLength }).chain((items) => {
    const queries = fc.array(queriesOf(items.flatMap(textsOf)), { minLength: 30, maxLength: 30 });
    return fc.record({ items: fc.constant(items), queries, few: someFew });
  });
  fc.assert(
    fc.property(searches, ({ items, queries, few }) => {
      const { find, naiveOf } = open(items, few);
      for (const term of queries.map(readTerm)) {
        if (term === "") continue;
        const naive = naiveOf(term);
        checkPages(find, term, naive, JSON.stringify({ term, items, few }));
        found += naive.length;
      }
    }),
    { numRuns },
  );
  return found;
}

for (const [maxLength, numRuns, least] of [
  [150, part(300), part(15_000)],
  ...(IS_LONG ? [[1500, 60, 5000]] : []),
] as [number, number, number][])
  test(`users are found as a scan finds them, in every script, among ${maxLength} at most`, () => {
    const found = checkSearch(
      someText,
      { minLength: 60, maxLength, numRuns },
      (name) => [name],
      (names, few) => {
        const folded = names.map(fold);
        return { find: openUsersOf(names, few), naiveOf: (term) => scanNames(folded, term) };
      },
    );
    assert.ok(found > least, `${found} found`);
  });

test("worlds are found as a scan finds them, in every script", () => {
  const found = checkSearch(
    fc.record({ name: someText, description: someText }),
    { minLength: 40, maxLength: 100, numRuns: part(200) },
    ({ name, description }) => [name, description],
    (worlds, few) => {
      // The last row is the most popular world.
      const ranking = Uint32Array.from(worlds, (_, place) => worlds.length - 1 - place);
      const folded = worlds
        .map(({ name, description }) => ({ name: fold(name), description: fold(description) }))
        .reverse();
      const naiveOf = (term: string) => scanWorlds(folded, term).map((place) => ranking[place]!);
      return { find: openWorldsOf(worlds, few, ranking), naiveOf };
    },
  );
  assert.ok(found > part(12_000), `${found} found`);
});

test("an emoji is not found in its neighbours, however many there are", () => {
  const worlds = ["😂", "a😂", "🔥a", "a🔥", "🚀", "😎 b", "a🚀", "😂🔥", "a😎", "🐀", "a🐀"].flatMap(
    (name) => [name, name],
  );
  for (const few of [1, undefined]) {
    const find = openWorldsOf(
      worlds.map((name) => ({ name, description: "" })),
      few,
    );
    const users = openUsersOf(worlds, few);
    for (const term of ["🐀", "a🐀", "😂", "a", "𠀀"]) {
      const naive = scanNames(worlds, term);
      checkPages(find, term, naive);
      checkPages(users, term, naive);
    }
  }
});

describe("many results", () => {
  const random = createRandom(5, "many");
  /** Words of few letters: each of their substrings occurs in very many texts, often repeatedly. */
  const someWord = (units: number): string =>
    Array.from({ length: 1 + random.below(units) }, () => "abc"[random.below(3)]).join("");
  const TERMS = ["a", "ab", "abc", "abca", "abcabcab", "bcabcabcab", "aaaaaa", "cabcabcabcabcabcabc"];
  /** Longer than any gram. */
  const LONG = ["abc".repeat(9), `b${"cab".repeat(8)}`, "abc".repeat(30), `${"abc".repeat(20)}x`];

  test("of names come out as a scan finds them, longer than grams are, too", () => {
    const names = Array.from({ length: 40_000 }, (_, at) =>
      at % 5 === 0 ? "abc".repeat(at % 40) : someWord(18),
    );
    const find = openUsersOf(names);
    for (const term of [...TERMS, ...LONG]) {
      const naive = scanNames(names, term);
      assert.ok(naive.length > 0 || term.endsWith("x"), term);
      checkPages(find, term, naive);
    }
  });

  function checkWorlds(worlds: readonly SomeWorld[], queries: readonly string[]): void {
    const find = openWorldsOf(worlds);
    for (const query of queries) checkPages(find, query, scanWorlds(worlds, query));
  }

  test("of worlds come out as a scan finds them", () => {
    const worlds = Array.from({ length: 30_000 }, (_, at) => ({
      name: random.below(3) === 0 ? `abcd ${someWord(2)}` : `${someWord(6)} ${someWord(2)}`,
      description: `${at % 10 === 0 ? "abc".repeat(25) : someWord(9)} ${random.below(2) === 0 ? "abcd" : someWord(3)}`,
    }));
    const more = ["abcd", "abcd a", "abcd ab", "a abcd", "abca abcd", "ab bcab c a"];
    checkWorlds(worlds, [...TERMS, ...LONG, ...more]);
  });
});
