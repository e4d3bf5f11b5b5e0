/**
 * Searches at the edges: indexes just below and above the small size, texts of one letter, many long texts, words that share
 * a prefix, and texts with too many distinct trigrams for a dictionary. The hits are those of a scan.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { BitsetLoan } from "../../src/search/bitset.ts";
import type { DocumentSet } from "../../src/search/document-sets.ts";
import { indexTrigrams } from "../../src/search/index-trigrams.ts";
import { locate } from "../../src/search/locate.ts";
import { SMALL } from "../../src/search/ngram-documents.ts";
import { PostingReader } from "../../src/search/posting-reader.ts";
import { gatherDocuments } from "../../src/search/terms.ts";
import { BIGRAM } from "../../src/search/trigrams.ts";
import { indexUsers, openUsers, searchUsers } from "../../src/search/users.ts";
import { type OpenWordIndex, openWords, WordIndexBuilder } from "../../src/search/word-index.ts";
import { runNow, type Work } from "../../src/search/work.ts";
import { searchWorlds } from "../../src/search/worlds.ts";
import { createRandom } from "../../src/util/random.ts";
import {
  checkPages,
  checkResults,
  checkUserSearch,
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

const randomAlike = createRandom(1, "alike");

function signs(many: number, alphabet = "0123456789ab"): string {
  return Array.from({ length: many }, () => alphabet[randomAlike.below(alphabet.length)]).join("");
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
  // Some go on far past the first piece of a text.
  const ends = ["", "/home/wrld_", "?ref=description&lang=en", `/${"x".repeat(25)}?ref=description&lang=en`];
  const address = (): string => {
    const site = sites[randomAlike.chance(0.8) ? 0 : randomAlike.below(sites.length)]!;
    const units = randomAlike.chance(0.02) ? randomAlike.below(site.length) : site.length;
    return site.slice(0, units) + signs(9) + ends[randomAlike.below(ends.length)]!;
  };
  return Array.from({ length: many }, () => [
    randomAlike.chance(0.3) ? `${address()} b` : signs(3),
    randomAlike.chance(0.9) ? `a ${address()} ${randomAlike.chance(0.2) ? address() : ""}` : "a",
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

/** Entries of the documents with a term, by brute force. */
function expected(documents: readonly Document[], term: string): number[] {
  return documents.flatMap(([name, description], at) => {
    const inName = name.includes(term);
    return inName || description.includes(term) ? [at * 2 + Number(inName)] : [];
  });
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

test("words that begin alike are taken together, and give the documents of a term", () => {
  const documents = drawDocuments(7000);
  const index = indexOf(documents);
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
    assert.deepEqual(entriesOf(found), expected(documents, term), term);
    loan.end();
  }
  assert.ok(together > terms.length / 4);
});

const randomIdeographs = createRandom(11, "ideographs");
/** Few characters are frequent, as in a language. */
const ideographs = (length: number): string =>
  Array.from({ length }, () =>
    String.fromCharCode(0x4e00 + Math.floor(randomIdeographs.below(400) ** 2 / 400)),
  ).join("");

test("names are found by bigrams as a scan finds them, in every script", () => {
  const found = checkUserSearch(
    (_names, folded) => openUsers({ trigrams: indexTrigrams(textsOf(folded), 0) }),
    { mostNames: 120, numRuns: 30 },
  );
  assert.ok(found > 1000, `${found} found`);
});

test("long descriptions without white space are found by bigrams as a scan finds them", () => {
  const rows = 300;
  const common = ideographs(90);
  const worlds = Array.from({ length: rows }, (_, row) => ({
    name: row % 7 === 0 ? common.slice(0, 5) : ideographs(6),
    description:
      row % 5 === 0 ? `${ideographs(200)}${common}` : `${ideographs(100)} ${ideographs(40)} world ${row}`,
  }));
  const textAt = (row: number): string => worlds[row]!.description;
  const index = openWorldsOf(worlds, 8, 0);
  assert.equal(index.words.trigrams.gram, BIGRAM);
  const terms = [1, 2, 3, 4, 5, 6, 9, 20, 80].flatMap((length) => [
    common.slice(0, length),
    common.slice(3, 3 + length),
    textAt(length)
      .slice(10, 10 + length)
      .trim(),
    `${textAt(length + 1).slice(20, 20 + length)} ${textAt(length + 1).slice(3, 4)}`.trim(),
  ]);
  let found = 0;
  for (const term of [...terms, "world", "world 12", "wor 一", "龘", "wq"]) {
    const naive = scan(rows, (at) => worldClassOf(worlds[at]!, term));
    checkResults(runNow(searchWorlds(index, term, EVERYTHING)), naive, term);
    checkPages((page) => searchWorlds(index, term, page), naive, term);
    found += naive.length;
  }
  assert.ok(found > 2000, `${found} found`);
});
