/** The search index: lists of very many documents, and what is used again. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { longerGram, ROOT } from "../src/search/grams.ts";
import { indexGrams } from "../src/search/index-grams.ts";
import { indexUsers, indexWorlds } from "../src/search/search.ts";
import { documentsOf, listDocuments } from "../src/search/sets.ts";
import { joinTexts } from "../src/search/texts.ts";
import { runNow } from "../src/search/work.ts";

it("an index of grams has differences of one to four bytes", () => {
  const documents = 2 ** 21 + 300;
  const marked = [0, 1, 128, 129 + 2 ** 14, documents - 1];
  const texts = joinTexts(documents, (at) => (marked.includes(at) ? "b" : "a"));
  const index = indexGrams(texts, "words");
  const gram = longerGram(index, ROOT, "b".charCodeAt(0));
  assert.deepEqual([...runNow(listDocuments(runNow(documentsOf(index, gram))))], marked);
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
