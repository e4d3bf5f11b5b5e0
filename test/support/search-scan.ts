/** The hits that a search should find, by a scan of all texts; texts and queries that are hard to search. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { placesOf, type Results } from "../../src/search/results.ts";
import { indexUsers, indexWorlds, searchUsers, searchWorlds } from "../../src/search/search.ts";
import { runNow, type Work } from "../../src/search/work.ts";
import type { PageOf } from "../../src/store/generation.ts";
import { byRank, userRank, worldRank } from "../conformance/model.ts";

/** Snippets in which scripts, foldings and code units differ most. */
const SNIPPETS = [
  ..."aaAbeEiIoO 19-_.%_\\",
  ..."áÉñçøßſẞİıǅǆŉ\u0301\u0308",
  ..."σΣςΆάё中猫世界さがかゾぞ한글각ㄱالعن",
  ..."ﬁﬀﷺ㍿ＡｂKÅ①½😀🐀𠀀𝔸𝕓𠮷",
  ..."\u00a0\u3000\t\u200b\u0000",
  ...["e\u0301", "か\u3099", "Ａｂ", "ｶﾞ", "👩‍👩‍👧", "🏳️‍🌈", "𝔸𝕓", "''", "DŽ"],
  ...["the ", "world", "night", "straße", "ΟΔΥΣΣΕΥΣ", "İstanbul"],
];
const snippet = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...SNIPPETS) },
  fc.string({ unit: "binary", maxLength: 3 }),
);
export const someText = fc
  .oneof(
    { weight: 8, arbitrary: fc.array(snippet, { maxLength: 8 }) },
    { weight: 1, arbitrary: fc.array(snippet, { minLength: 40, maxLength: 120 }) },
    fc.nat(300).map((times) => ["a".repeat(times)]),
  )
  .map((snippets) => snippets.join("").toWellFormed());

/** Numbers of the names that a term should find, in the order of a search. */
export function scanNames(names: readonly string[], term: string): number[] {
  return byRank([...names.keys()], (at) => userRank(names[at]!, term));
}

export interface SomeWorld {
  readonly name: string;
  readonly description: string;
}

/** Numbers of the worlds that a query should find. */
export function scanWorlds(worlds: readonly SomeWorld[], query: string): number[] {
  return byRank([...worlds.keys()], (at) => worldRank(worlds[at]!, query));
}

/** A search of an index. */
export type Find = (term: string, page: PageOf) => Work<Results>;

/** Indexes names. @param few the most documents of a rare gram, if it is not what their number suggests */
export function openUsersOf(names: readonly string[], few?: number): Find {
  const index = indexUsers(names.length, (row) => names[row]!, undefined, few);
  return (term, page) => searchUsers(index, term, page);
}

/** Indexes worlds. @param rows the most popular first; in order if absent */
export function openWorldsOf(
  worlds: readonly SomeWorld[],
  few?: number,
  rows = Uint32Array.from(worlds.keys()),
): Find {
  const index = indexWorlds(
    worlds.length,
    (row) => worlds[row]!.name,
    (row) => worlds[row]!.description,
    undefined,
    few,
  );
  const ranking = { rows, places: placesOf(rows, new Uint32Array(rows.length)) };
  return (term, page) => searchWorlds(index, ranking, term, page);
}

/** Pages as clients ask for them, and all results at once. */
const PAGES: readonly PageOf[] = [
  { limit: 20, offset: 0 },
  { limit: 5, offset: 3 },
  { limit: 20, offset: 20 },
  { limit: 50, offset: 0 },
  { limit: 2 ** 32, offset: 0 },
];

/** Checks pages of a search. @param naive the rows that it should find, in order */
export function checkPages(find: Find, term: string, naive: readonly number[], message = term): void {
  const { length } = naive;
  const late = [length >> 1, Math.max(0, length - 3), length + 7, 2 ** 53 - 1];
  for (const page of [...PAGES, ...late.map((offset) => ({ limit: 50, offset }))]) {
    const results = runNow(find(term, page));
    assert.equal(results.total, length, message);
    assert.deepEqual([...results.rows], naive.slice(page.offset, page.offset + page.limit), message);
  }
}

/** Runs work, and measures its longest stretch without a pause in milliseconds of CPU time: the least of some runs. */
export function longestStretch(start: () => Work<unknown>) {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 5; run++) {
    const work = start();
    let longest = 0;
    for (let isDone = false; !isDone; ) {
      const began = process.cpuUsage();
      isDone = work.next().done === true;
      const { user, system } = process.cpuUsage(began);
      longest = Math.max(longest, (user + system) / 1000);
    }
    least = Math.min(least, longest);
  }
  return { longest: least };
}
