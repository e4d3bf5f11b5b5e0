/** Worlds in another order: what an index gets by being put in that order is what indexing them in it gives, array by array. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { indexWorlds, rankWorldsAnew, type WorldIndex } from "../src/search/worlds.ts";
import { createRandom } from "../src/util/random.ts";

const random = createRandom(5, "ranked");
const WORDS = [
  "moon",
  "moonbeam",
  "beam",
  "東京タワー",
  "カフェ",
  "a",
  "ab",
  "😀x",
  "x".repeat(150),
  "naïve",
];

/** A text of up to so many words; some texts are equal. @param known the share of frequent words */
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
  const indexIn = (ranking: Uint32Array): WorldIndex =>
    indexWorlds(
      ranking,
      (row) => names[row]!,
      (row) => texts[row]!,
      4,
      mostTrigrams,
    );
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
  const { words } = check(500, 0.4);
  const { dense, sparse } = words.ngramDocuments;
  const counts = [dense.keys.length, sparse.keys.length];
  assert.ok(
    counts.every((count) => count > 20),
    `there is something to get wrong: ${counts}`,
  );
});

test("so is one of bigrams", () => {
  assert.equal(check(200, 0.4, 0).words.trigrams.gram, 2);
});

test("so is one of hardly any world", () => {
  for (const rows of [0, 1, 2]) check(rows, 1);
});
