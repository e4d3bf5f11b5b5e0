/** Both searches compared with a scan: every script, few texts and very many. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { fold, readTerm } from "../src/search/fold.ts";
import { indexTrigrams } from "../src/search/index-trigrams.ts";
import { findTerm } from "../src/search/terms.ts";
import { indexUsers, openUsers, searchUsers } from "../src/search/users.ts";
import { runNow } from "../src/search/work.ts";
import { indexWorlds, type OpenWorldIndex, openWorlds, searchWorlds } from "../src/search/worlds.ts";
import { createRandom } from "../src/util/random.ts";
import { part } from "./support/long.ts";
import {
  checkPages,
  checkResults,
  checkUserSearch,
  classOf,
  EVERYTHING,
  openWorldsOf,
  queriesOf,
  type SomeWorld,
  scan,
  someText,
  textsOf,
  worldClassOf,
} from "./support/search-scan.ts";

test("users are found as a scan finds them, in every script", () => {
  const found = checkUserSearch((names) => openUsers(indexUsers(names.length, (row) => names[row]!)), {
    mostNames: 150,
    numRuns: part(300),
  });
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
        }),
      ),
      ({ worlds, queries }) => {
        // The last row is the most popular world.
        const ranking = Uint32Array.from(worlds, (_, place) => worlds.length - 1 - place);
        const nameOf = (row: number): string => worlds[row]!.name;
        const index = openWorlds(indexWorlds(ranking, nameOf, (row) => worlds[row]!.description, 2));
        const folded = [...ranking].map((row) => ({
          name: fold(nameOf(row)),
          description: fold(worlds[row]!.description),
        }));
        for (const query of queries) {
          const term = readTerm(query);
          if (term === "") continue;
          const terms = [...new Set(term.split(/\s+/u))].slice(0, 10);
          const byPlace = scan(worlds.length, (at) => worldClassOf(folded[at]!, term, terms));
          const naive = byPlace.map((place) => ranking[place]!);
          const message = JSON.stringify({ term, worlds });
          checkResults(runNow(searchWorlds(index, term, EVERYTHING)), naive, message);
          checkPages((page) => searchWorlds(index, term, page), naive, message);
          found += naive.length;
        }
      },
    ),
    { numRuns: part(200) },
  );
  assert.ok(found > part(12_000), `${found} found`);
});

test("an emoji is not found in its neighbours, however many there are", () => {
  // U+1F400 ends with the code unit that also marks the end of a text.
  const worlds = ["😂", "a😂", "🔥a", "a🔥", "🚀", "😎 b", "a🚀", "😂🔥", "a😎", "🐀", "a🐀"].flatMap(
    (name) => [name, name],
  );
  const index = openWorldsOf(worlds.map((name) => ({ name, description: "" })));
  const users = openUsers(indexUsers(worlds.length, (row) => worlds[row]!));
  for (const term of ["🐀", "a🐀", "😂", "a", "𠀀"]) {
    const naive = scan(worlds.length, (at) => (worlds[at]!.includes(term) ? classOf(worlds[at]!, term) : -1));
    checkResults(runNow(searchWorlds(index, term, EVERYTHING)), naive, term);
    checkResults(runNow(searchUsers(users, term, EVERYTHING)), naive, term);
  }
});

describe("many results", () => {
  const random = createRandom(5, "many");
  /** Words of few letters: each of their substrings occurs in very many texts, often repeatedly. */
  const someWord = (units: number): string =>
    Array.from({ length: 1 + random.below(units) }, () => "abc"[random.below(3)]).join("");
  const TERMS = ["a", "ab", "abc", "abca", "abcabcab", "bcabcabcab", "aaaaaa", "cabcabcabcabcabcabc"];

  test("of names come out as a scan finds them, longer than lists are in order too", () => {
    const names = Array.from({ length: 40_000 }, (_, at) =>
      at % 50 === 0 ? "abc".repeat(at % 40) : someWord(18),
    );
    const byScan = TERMS.map((term) =>
      scan(names.length, (at) => (names[at]!.includes(term) ? classOf(names[at]!, term) : -1)),
    );
    assert.ok(byScan[0]!.length > 30_000 && byScan.every(({ length }) => length > 0));
    const index = openUsers({ trigrams: indexTrigrams(textsOf(names)) });
    for (const [at, term] of TERMS.entries()) {
      checkResults(runNow(searchUsers(index, term, EVERYTHING)), byScan[at]!, term);
      checkPages((page) => searchUsers(index, term, page), byScan[at]!, term);
    }
  });

  function checkWorlds(
    worlds: readonly SomeWorld[],
    index: OpenWorldIndex,
    queries: readonly string[],
  ): void {
    for (const query of queries) {
      const naive = scan(worlds.length, (at) => worldClassOf(worlds[at]!, query));
      checkResults(runNow(searchWorlds(index, query, EVERYTHING)), naive, query);
      checkPages((page) => searchWorlds(index, query, page), naive, query);
    }
  }

  test("of worlds come out as a scan finds them", () => {
    const worlds = Array.from({ length: 30_000 }, () => ({
      name: random.below(3) === 0 ? `abcd ${someWord(2)}` : `${someWord(6)} ${someWord(2)}`,
      description: `${someWord(9)} ${random.below(2) === 0 ? "abcd" : someWord(3)}`,
    }));
    const more = ["abcd", "abcd a", "abcd ab", "a abcd", "abca abcd", "ab bcab c a"];
    checkWorlds(worlds, openWorldsOf(worlds), [...TERMS.slice(0, 8), ...more]);
  });

  test("of worlds with n-grams in lists and n-grams in bitsets come out as a scan finds them", () => {
    const someText = (words: number): string =>
      Array.from({ length: words }, () =>
        Array.from({ length: 1 + random.below(7) }, () => "abcdefghijklmn"[random.below(14)]).join(""),
      ).join(" ");
    const worlds = Array.from({ length: 6000 }, () => ({ name: someText(2), description: someText(8) }));
    const index = openWorldsOf(worlds, 256);
    const { sparse, dense } = index.words.ngramDocuments;
    assert.ok(
      sparse.keys.length > 100 && dense.keys.length > 10,
      `${sparse.keys.length} and ${dense.keys.length}`,
    );
    const kinds = new Set<string>();
    const queries = Array.from({ length: 150 }, () =>
      Array.from({ length: 1 + random.below(3) }, () => someText(1).slice(0, 1 + random.below(5))).join(" "),
    );
    for (const term of queries.flatMap((query) => query.split(" "))) {
      kinds.add(runNow(findTerm(index.words, term)).kind);
    }
    assert.equal(kinds.size, 3);
    checkWorlds(worlds, index, queries);
  });
});
