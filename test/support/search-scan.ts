/** The hits that a search should find, by a scan of all texts; texts and queries that are hard to search. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { fold, readTerm } from "../../src/search/fold.ts";
import type { ResultSet } from "../../src/search/result-set.ts";
import { type Texts, TextsBuilder } from "../../src/search/texts.ts";
import { type OpenNameIndex, searchUsers } from "../../src/search/users.ts";
import { runNow, type Work } from "../../src/search/work.ts";
import { indexWorlds, type OpenWorldIndex, openWorlds } from "../../src/search/worlds.ts";
import type { PageOf } from "../../src/store/generation.ts";

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

/** Queries that hit: parts of texts, cut anywhere, folded or not. */
export function queriesOf(texts: readonly string[]): fc.Arbitrary<string> {
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

export function classOf(name: string, term: string): number {
  return name === term ? 0 : name.startsWith(term) ? 1 : 2;
}

export interface SomeWorld {
  readonly name: string;
  readonly description: string;
}

export function worldClassOf({ name, description }: SomeWorld, query: string, terms = query.split(" ")) {
  if (!terms.every((term) => name.includes(term) || description.includes(term))) return -1;
  return terms.every((term) => name.includes(term)) ? classOf(name, query) : 3;
}

/** The index of worlds, the most popular first. @param more the last arguments of {@link indexWorlds} */
export function openWorldsOf(
  worlds: readonly SomeWorld[],
  ...more: readonly [least?: number | undefined, mostTrigrams?: number]
): OpenWorldIndex {
  const ranking = Uint32Array.from(worlds, (_, row) => row);
  const nameOf = (row: number): string => worlds[row]!.name;
  return openWorlds(indexWorlds(ranking, nameOf, (row) => worlds[row]!.description, ...more));
}

export function textsOf(all: readonly string[]): Texts {
  const builder = new TextsBuilder();
  for (const text of all) builder.add(text);
  return builder.finish();
}

/** Numbers of the hits, by rank class; class -1 is no hit. */
export function scan(count: number, classAt: (at: number) => number): number[] {
  return Array.from({ length: count }, (_, at) => at)
    .filter((at) => classAt(at) >= 0)
    .sort((a, b) => classAt(a) - classAt(b) || a - b);
}

/** Checks all pages of some results, a first page of few, and one from anywhere. */
export function checkResults(results: ResultSet, naive: readonly number[], message: string): void {
  assert.equal(results.total, naive.length, message);
  const offset = naive.length >> 1;
  for (const page of [
    { limit: 3, offset: 0 },
    { limit: 50, offset },
    { limit: 2 ** 20, offset: 0 },
  ]) {
    assert.ok(results.has(page));
    assert.deepEqual([...results.page(page)], naive.slice(page.offset, page.offset + page.limit), message);
  }
}

export const EVERYTHING: PageOf = { limit: 2 ** 32, offset: 0 };

/** Pages as clients ask for them. The hits that a search retains for the first page end within another page. */
const PAGES = [
  { limit: 20, offset: 0 },
  { limit: 5, offset: 3 },
  { limit: 32, offset: 0 },
  { limit: 20, offset: 20 },
  { limit: 50, offset: 0 },
];

export function checkPages(
  find: (page: PageOf) => Work<ResultSet>,
  naive: readonly number[],
  message: string,
): void {
  for (const page of [...PAGES, { limit: 20, offset: Math.max(0, naive.length - 3) }]) {
    const results = runNow(find(page));
    assert.equal(results.total, naive.length, message);
    assert.ok(results.has(page));
    assert.deepEqual([...results.page(page)], naive.slice(page.offset, page.offset + page.limit), message);
  }
}

/**
 * Searches random names by an index and by a scan, and compares.
 *
 * @param open makes the index of some names
 * @returns the number of hits
 */
export function checkUserSearch(
  open: (names: readonly string[], folded: readonly string[]) => OpenNameIndex,
  { mostNames, numRuns }: { readonly mostNames: number; readonly numRuns: number },
): number {
  let found = 0;
  fc.assert(
    fc.property(
      fc.array(someText, { minLength: 60, maxLength: mostNames }).chain((names) =>
        fc.record({
          names: fc.constant(names),
          queries: fc.array(queriesOf(names), { minLength: 30, maxLength: 30 }),
        }),
      ),
      ({ names, queries }) => {
        const folded = names.map(fold);
        const index = open(names, folded);
        for (const query of queries) {
          const term = readTerm(query);
          if (term === "") continue;
          const naive = scan(names.length, (at) =>
            folded[at]!.includes(term) ? classOf(folded[at]!, term) : -1,
          );
          const message = JSON.stringify({ term, names });
          checkResults(runNow(searchUsers(index, term, EVERYTHING)), naive, message);
          checkPages((page) => searchUsers(index, term, page), naive, message);
          found += naive.length;
        }
      },
    ),
    { numRuns },
  );
  return found;
}
