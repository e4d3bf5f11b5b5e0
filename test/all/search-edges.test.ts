/** Searches at the edges: indexes just below and above the small size, texts of one letter, and many long texts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { indexTrigrams } from "../../src/search/index-trigrams.ts";
import { SMALL } from "../../src/search/ngram-documents.ts";
import { indexUsers, openUsers, searchUsers } from "../../src/search/users.ts";
import { runNow, type Work } from "../../src/search/work.ts";
import { searchWorlds } from "../../src/search/worlds.ts";
import { createRandom } from "../../src/util/random.ts";
import {
  checkPages,
  checkResults,
  classOf,
  EVERYTHING,
  openWorldsOf,
  scan,
  textsOf,
  worldClassOf,
} from "../support/search-scan.ts";

const random = createRandom(3, "small");
const word = (letters: string): string =>
  Array.from({ length: 2 + random.below(6) }, () => letters[random.below(letters.length)]).join("");

/** Terms of all kinds: rare and frequent parts of texts, two words, and terms without a hit. */
function termsOf(texts: readonly string[]): string[] {
  const parts = Array.from({ length: 40 }, () => {
    const text = texts[random.below(texts.length)]!;
    const from = random.below(text.length);
    return text.slice(from, from + 1 + random.below(5)).trim();
  });
  const pairs = Array.from({ length: 10 }, () => `${word("abcd").slice(0, 2)} ${word("efg").slice(0, 1)}`);
  return [...new Set([..."abcdefgh", ...parts, ...pairs, "abcdefgh"])].filter((term) => term !== "");
}

test("an index just below the size from which more is found beforehand, and one just above it finds worlds as a scan does", () => {
  const worlds: { name: string; description: string }[] = [];
  let entries = 0;
  while (entries < SMALL - 1) {
    const name = `${word("abcdefgh")} ${word("efgh")}`;
    const words = new Set(Array.from({ length: 12 }, () => word("abcd")));
    for (const each of name.split(" ")) words.delete(each);
    const own = new Set(name.split(" ")).size;
    const kept = [...words].slice(0, Math.max(SMALL - 1 - entries - own, 0));
    worlds.push({ name, description: kept.join(" ") });
    entries += own + kept.length;
  }
  // The words of the last name may have exceeded the size.
  if (entries >= SMALL) worlds.at(-1)!.name = worlds.at(-1)!.name.split(" ")[0]!;
  const known: number[] = [];
  for (const more of [0, 1]) {
    const all = more === 0 ? worlds : [...worlds, { name: "b", description: "" }];
    const index = openWorldsOf(all);
    assert.equal(index.words.wordPostings.entries.length, SMALL - 1 + more);
    const { dense, sparse } = index.words.ngramDocuments;
    known.push(dense.keys.length + sparse.keys.length);
    for (const term of termsOf(worlds.flatMap(({ name, description }) => [name, description]))) {
      const naive = scan(all.length, (row) => worldClassOf(all[row]!, term));
      checkPages((page) => searchWorlds(index, term, page), naive, term);
    }
  }
  assert.ok(known[0]! > 10 && known[1]! > known[0]! * 2, `${known} known beforehand`);
});

/** Number of points where work could pause. */
function stepsOf(work: Work<unknown>): number {
  let steps = 0;
  while (!work.next().done) steps++;
  return steps;
}

test("a long term in long words of one letter takes a few steps for each word", () => {
  const rows = 24;
  const worlds = Array.from({ length: rows }, (_, row) => ({
    name: `w${row}`,
    description: `${"z".repeat(4000 + row)}${row % 3 === 0 ? "y" : ""}`,
  }));
  for (const mostTrigrams of [undefined, 0]) {
    const index = openWorldsOf(worlds, undefined, mostTrigrams);
    for (const term of ["z".repeat(200), "z".repeat(30), `${"z".repeat(199)}y`, `${"z".repeat(100)} w7`]) {
      const naive = scan(rows, (at) => worldClassOf(worlds[at]!, term));
      checkResults(runNow(searchWorlds(index, term, EVERYTHING)), naive, term);
      assert.ok(stepsOf(searchWorlds(index, term, EVERYTHING)) < rows * 4, term);
    }
  }
});

test("names of one letter are told from ones that only begin with the term or contain it", () => {
  const names = Array.from(
    { length: 450 },
    (_, row) => `${row % 5 === 0 ? "y" : ""}${"z".repeat(100 + (row % 150))}`,
  );
  const byBigrams = { trigrams: indexTrigrams(textsOf(names), 0) };
  for (const index of [indexUsers(names.length, (row) => names[row]!), byBigrams].map(openUsers)) {
    for (const units of [99, 150, 240]) {
      for (const term of ["z".repeat(units), `y${"z".repeat(units)}`]) {
        const naive = scan(names.length, (at) =>
          names[at]!.includes(term) ? classOf(names[at]!, term) : -1,
        );
        assert.ok(naive.length > 0);
        checkResults(runNow(searchUsers(index, term, EVERYTHING)), naive, term);
      }
    }
  }
});

/** Measures every stretch between two yields; returns the longest, in milliseconds of CPU time. */
function longestStretch<Result>(work: Work<Result>): { longest: number; result: Result } {
  let longest = 0;
  for (;;) {
    const began = process.cpuUsage();
    const step = work.next();
    const { user, system } = process.cpuUsage(began);
    longest = Math.max(longest, (user + system) / 1000);
    if (step.done) return { longest, result: step.value };
  }
}

test("long work is paused often, whatever the texts and the query", () => {
  // 60,000 different names of one long run of a letter and a number: every gram of the run is in all of them.
  const names = Array.from({ length: 60_000 }, (_, row) => `${"a".repeat(200)}${row.toString(36)}`);
  const index = openUsers(indexUsers(names.length, (row) => names[row]!));
  for (const term of ["a", "aa", "aaaa", "a".repeat(200), `${"a".repeat(199)}1`, "aa aa", "b".repeat(256)]) {
    const count = names.filter((name) => name.includes(term)).length;
    runNow(searchUsers(index, term, EVERYTHING));
    const { longest, result } = longestStretch(searchUsers(index, term, EVERYTHING));
    assert.equal(result.total, count, term.slice(0, 9));
    // A stretch takes some 2 ms; the bound is loose for busy machines.
    assert.ok(longest < 200, `${term.slice(0, 9)}: ${longest} ms`);
  }
});
