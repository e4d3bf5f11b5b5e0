/** Texts with too many distinct trigrams for a dictionary: bigrams are indexed, and the hits are the same. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { indexTrigrams } from "../../src/search/index-trigrams.ts";
import { BIGRAM, positionOf } from "../../src/search/trigrams.ts";
import { openUsers } from "../../src/search/users.ts";
import { runNow } from "../../src/search/work.ts";
import { searchWorlds } from "../../src/search/worlds.ts";
import { createRandom } from "../../src/util/random.ts";
import {
  checkPages,
  checkResults,
  checkUserSearch,
  EVERYTHING,
  openWorldsOf,
  scan,
  textsOf,
  worldClassOf,
} from "../support/search-scan.ts";

const random = createRandom(11, "ideographs");
/** Few characters are frequent, as in a language. */
const ideographs = (length: number): string =>
  Array.from({ length }, () => String.fromCharCode(0x4e00 + Math.floor(random.below(400) ** 2 / 400))).join(
    "",
  );

test("postings of bigrams come in order of six code units", () => {
  const texts = textsOf([...Array.from({ length: 40 }, () => ideographs(150)), "", "a", "ab", "aaaaaaa"]);
  const trigrams = indexTrigrams(texts, 0);
  assert.equal(trigrams.gram, BIGRAM);
  const keys = Array.from(trigrams.postings, (posting) => {
    const at = positionOf(trigrams, posting);
    const text = String.fromCharCode(...texts.units.subarray(at, at + 6));
    // A text ends at its first pad.
    return { key: text.split("\udc00")[0]!.padEnd(6, "\udc00"), at };
  });
  const sorted = keys.slice().sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.at - b.at));
  assert.deepEqual(keys, sorted);
  assert.equal(new Set(keys.map(({ at }) => at)).size, texts.units.length - texts.count);
});

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
