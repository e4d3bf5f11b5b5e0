/** The search index: lists of very many documents, what is used again, and pauses. */

import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { longerGram, ROOT } from "../src/search/grams.ts";
import { indexGrams } from "../src/search/index-grams.ts";
import { indexUsers, indexWorlds } from "../src/search/search.ts";
import { documentsOf, listDocuments } from "../src/search/sets.ts";
import { joinTexts } from "../src/search/texts.ts";
import { runNow, type Work } from "../src/search/work.ts";
import {
  checkPages,
  longestStretch,
  openUsersOf,
  openWorldsOf,
  scanNames,
  scanWorlds,
} from "./support/search-scan.ts";

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
    indexUsers(2, (row) => names[row]!.toUpperCase(), { previous: users }),
    users,
  );
  for (const others of [["Ann", "Bo"], ["AnnB", "ob"], ["Ann"]])
    assert.notEqual(
      indexUsers(others.length, (row) => others[row]!, { previous: users }),
      users,
    );
  const worldsOf = (name: string, description: string, previous?: ReturnType<typeof indexWorlds>) =>
    indexWorlds(
      1,
      () => name,
      () => description,
      { previous },
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
