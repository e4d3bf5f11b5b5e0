/** Both searches compared with a scan: every script, few texts and very many. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { fold, readTerm } from "../src/search/fold.ts";
import { createRandom } from "../src/util/random.ts";
import { part } from "./support/long.ts";
import {
  checkPages,
  checkUserSearch,
  classOf,
  openUsersOf,
  openWorldsOf,
  queriesOf,
  type SomeWorld,
  scan,
  someFew,
  someText,
  worldClassOf,
} from "./support/search-scan.ts";

test("users are found as a scan finds them, in every script", () => {
  const found = checkUserSearch({ mostNames: 150, numRuns: part(300) });
  assert.ok(found > part(15_000), `${found} found`);
});

test("worlds are found as a scan finds them, in every script", () => {
  let found = 0;
  const someWorld = fc.record({ name: someText, description: someText });
  fc.assert(
    fc.property(
      fc.array(someWorld, { minLength: 40, maxLength: 100 }).chain((worlds) =>
        fc.record({
          worlds: fc.constant(worlds),
          queries: fc.array(queriesOf(worlds.flatMap(({ name, description }) => [name, description])), {
            minLength: 30,
            maxLength: 30,
          }),
          few: someFew,
        }),
      ),
      ({ worlds, queries, few }) => {
        // The last row is the most popular world.
        const ranking = Uint32Array.from(worlds, (_, place) => worlds.length - 1 - place);
        const find = openWorldsOf(worlds, few, ranking);
        const folded = [...ranking].map((row) => ({
          name: fold(worlds[row]!.name),
          description: fold(worlds[row]!.description),
        }));
        for (const query of queries) {
          const term = readTerm(query);
          if (term === "") continue;
          const terms = [...new Set(term.split(/\s+/u))].slice(0, 10);
          const byPlace = scan(worlds.length, (at) => worldClassOf(folded[at]!, term, terms));
          const naive = byPlace.map((place) => ranking[place]!);
          checkPages(find, term, naive, JSON.stringify({ term, worlds, few }));
          found += naive.length;
        }
      },
    ),
    { numRuns: part(200) },
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
      const naive = scan(worlds.length, (at) =>
        worlds[at]!.includes(term) ? classOf(worlds[at]!, term) : -1,
      );
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
      const naive = scan(names.length, (at) => (names[at]!.includes(term) ? classOf(names[at]!, term) : -1));
      assert.ok(naive.length > 0 || term.endsWith("x"), term);
      checkPages(find, term, naive);
    }
  });

  function checkWorlds(worlds: readonly SomeWorld[], queries: readonly string[]): void {
    const find = openWorldsOf(worlds);
    for (const query of queries) {
      const naive = scan(worlds.length, (at) => worldClassOf(worlds[at]!, query));
      checkPages(find, query, naive);
    }
  }

  test("of worlds come out as a scan finds them", () => {
    const worlds = Array.from({ length: 30_000 }, (_, at) => ({
      name: random.below(3) === 0 ? `abcd ${someWord(2)}` : `${someWord(6)} ${someWord(2)}`,
      description: `${at % 10 === 0 ? "abc".repeat(25) : someWord(9)} ${random.below(2) === 0 ? "abcd" : someWord(3)}`,
    }));
    const more = ["abcd", "abcd a", "abcd ab", "a abcd", "abca abcd", "ab bcab c a"];
    checkWorlds(worlds, [...TERMS, ...LONG, ...more]);
  });

  test("of worlds with rare and common terms come out as a scan finds them", () => {
    const someText = (words: number): string =>
      Array.from({ length: words }, () =>
        Array.from({ length: 1 + random.below(7) }, () => "abcdefghijklmn"[random.below(14)]).join(""),
      ).join(" ");
    const worlds = Array.from({ length: 6000 }, () => ({ name: someText(2), description: someText(8) }));
    const queries = Array.from({ length: 150 }, () =>
      Array.from({ length: 1 + random.below(3) }, () => someText(1).slice(0, 1 + random.below(5))).join(" "),
    );
    checkWorlds(worlds, queries);
  });
});
