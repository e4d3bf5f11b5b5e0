/** Search by module: sets of documents, both indexes against a scan, slices, the cache. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createRandom } from "../src/generate/random.ts";
import { withCache } from "../src/search/cache.ts";
import { fold, readTerm } from "../src/search/fold.ts";
import { indexGrams } from "../src/search/index/trigrams.ts";
import { intersect } from "../src/search/query/intersect.ts";
import { indexNames } from "../src/search/query/names.ts";
import { ListedMatches, type Matches, SomeMatches } from "../src/search/query/result-set.ts";
import { findTerm } from "../src/search/query/term.ts";
import { BitLoan } from "../src/search/shared/bits.ts";
import {
  createScratch,
  type DocumentSet,
  type Postings,
  sizeOf,
  unite,
} from "../src/search/shared/document-set.ts";
import { TextsBuilder } from "../src/search/shared/texts.ts";
import { findTop, TOP, type Tops } from "../src/search/shared/top-table.ts";
import { runNow, type Work } from "../src/search/shared/work.ts";
import { indexUsers, openUsers, searchUsers } from "../src/search/users.ts";
import { indexWorlds, openWorlds, searchWorlds, type WorldIndex } from "../src/search/worlds.ts";
import { createFarSearch, createNearSearch } from "../src/serve/near-search.ts";
import type { Busy, Caller, Found, PageOf } from "../src/store/generation.ts";

describe("sets of documents", () => {
  const DOCUMENTS = 200;
  const scratch = createScratch(DOCUMENTS);
  /** Lists of entries, each ascending, no document twice. */
  const listsOf = (least: number, most: number): fc.Arbitrary<number[][]> =>
    fc.array(
      fc
        .uniqueArray(fc.nat(DOCUMENTS - 1), { minLength: least, maxLength: most })
        .chain((documents) =>
          fc
            .array(fc.boolean(), { minLength: documents.length, maxLength: documents.length })
            .map((flags) =>
              documents.sort((a, b) => a - b).map((document, at) => document * 2 + Number(flags[at])),
            ),
        ),
      { minLength: 1, maxLength: 4 },
    );
  // The second: left alone, fast-check makes so few large ones that two of them hardly ever meet.
  const someLists = fc.oneof(listsOf(0, 60), listsOf(30, 60));

  function naiveUnion(lists: readonly (readonly number[])[]): Map<number, boolean> {
    const union = new Map<number, boolean>();
    for (const entry of lists.flat())
      union.set(entry >> 1, (union.get(entry >> 1) ?? false) || (entry & 1) === 1);
    return union;
  }

  function postingsOf(lists: readonly (readonly number[])[]): Postings {
    const starts = new Uint32Array(lists.length + 1);
    lists.forEach((list, at) => {
      starts[at + 1] = starts[at]! + list.length;
    });
    return { documents: DOCUMENTS, starts, postings: Uint32Array.from(lists.flat()) };
  }

  function setOf(lists: readonly (readonly number[])[]): DocumentSet {
    return runNow(unite(postingsOf(lists), [...lists.keys()], scratch, new BitLoan(scratch.pool)));
  }

  const has = (bits: Uint32Array, at: number): boolean => ((bits[at >>> 5]! >>> (at & 31)) & 1) === 1;
  const entriesIn = (set: DocumentSet): number[] => {
    if (set.kind === "list") return [...set.entries];
    const all = Array.from({ length: DOCUMENTS }, (_, at) => at).filter((at) => has(set.any, at));
    return all.map((at) => at * 2 + (has(set.inName, at) ? 1 : 0));
  };
  const naiveEntries = (union: Map<number, boolean>): number[] =>
    [...union].sort(([a], [b]) => a - b).map(([document, flag]) => document * 2 + Number(flag));

  test("are the union of their lists, large or small", () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(someLists, (lists) => {
        const set = setOf(lists);
        kinds.add(set.kind);
        const naive = naiveEntries(naiveUnion(lists));
        assert.deepEqual(entriesIn(set), naive);
        assert.equal(sizeOf(set), naive.length);
      }),
      { numRuns: 300 },
    );
    assert.deepEqual([...kinds].sort(), ["bits", "list"]);
  });

  test("intersect to what is in both, whatever their kinds", () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(someLists, someLists, fc.boolean(), fc.boolean(), (a, b, isSetA, isSetB) => {
        const postings = postingsOf([...a, ...b]);
        const foundA = isSetA ? setOf(a) : Uint32Array.from(a.keys());
        const foundB = isSetB ? setOf(b) : Uint32Array.from(b.keys(), (list) => a.length + list);
        kinds.add([foundA, foundB].map((found) => ("kind" in found ? found.kind : "lists")).join(" "));
        const naiveB = naiveUnion(b);
        const both = [...naiveUnion(a)]
          .filter(([document]) => naiveB.has(document))
          .map(([document, flag]): [number, boolean] => [document, flag && naiveB.get(document)!]);
        const naive = naiveEntries(new Map(both));
        assert.deepEqual(
          entriesIn(intersect(foundA, foundB, postings, scratch, new BitLoan(scratch.pool))),
          naive,
        );
      }),
      { numRuns: 1000 },
    );
    assert.equal(kinds.size, 9);
  });
});

/** Pieces in which scripts, foldings and units differ most. */
const PIECES = [
  ..."aaAbeEiIoO 19-_.",
  ..."áÉñçøßſẞİıǅǆŉ",
  ..."σΣςΆάё中猫世界さがかゾぞ한글각ㄱالعن",
  "\u0301\u0308",
  "e\u0301",
  "か\u3099",
  "ﬁ",
  "ﬀ",
  "ﷺ",
  "㍿",
  "Ａｂ",
  "ｶﾞ",
  "K",
  "Å",
  "①",
  "½",
  "😀",
  "🐀",
  "𠀀",
  "👩‍👩‍👧",
  "🏳️‍🌈",
  "𝔸𝕓",
  "𠮷",
  "\u00a0",
  "\u3000",
  "\t",
  "\u200b",
  "\u0000",
  "%",
  "_",
  "''",
  "\\",
  "the ",
  "world",
  "night",
  "straße",
  "ΟΔΥΣΣΕΥΣ",
  "İstanbul",
  "DŽ",
];
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PIECES) },
  fc.string({ unit: "binary", maxLength: 3 }),
);
const someText = fc
  .oneof(
    { weight: 8, arbitrary: fc.array(piece, { maxLength: 8 }) },
    { weight: 1, arbitrary: fc.array(piece, { minLength: 40, maxLength: 120 }) },
    fc.nat(300).map((times) => ["a".repeat(times)]),
  )
  .map((pieces) => pieces.join("").toWellFormed());

/** Queries that hit: parts of texts, cut anywhere, folded or not. */
function queriesOf(texts: readonly string[]): fc.Arbitrary<string> {
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

function classOf(name: string, term: string): number {
  return name === term ? 0 : name.startsWith(term) ? 1 : 2;
}

/** Numbers of what matches, by class; -1 is none. */
function scan(count: number, classAt: (at: number) => number): number[] {
  return Array.from({ length: count }, (_, at) => at)
    .filter((at) => classAt(at) >= 0)
    .sort((a, b) => classAt(a) - classAt(b) || a - b);
}

/** All pages of some matches, a first one of few, and one from anywhere. */
function checkMatches(matches: Matches, naive: readonly number[], message: string): void {
  assert.equal(matches.total, naive.length, message);
  const offset = naive.length >> 1;
  for (const page of [
    { limit: 3, offset: 0 },
    { limit: 50, offset },
    { limit: 2 ** 20, offset: 0 },
  ]) {
    assert.ok(matches.has(page));
    assert.deepEqual([...matches.page(page)], naive.slice(page.offset, page.offset + page.limit), message);
  }
}

/** Pages as they are asked for; the best matches of a frequent run are known beforehand, and end within one of these. */
const PAGES = [
  { limit: 20, offset: 0 },
  { limit: 5, offset: 3 },
  { limit: TOP, offset: 0 },
  { limit: 20, offset: 20 },
  { limit: 50, offset: 0 },
];

/** Checks what a search finds that is told which page is asked for. @returns how many pages were known beforehand */
function checkPages(
  find: (page: PageOf) => Work<Matches>,
  tops: Tops,
  term: string,
  naive: readonly number[],
  message: string,
): number {
  let known = 0;
  for (const page of PAGES) {
    const matches = runNow(find(page));
    assert.equal(matches.total, naive.length, message);
    assert.ok(matches.has(page));
    assert.deepEqual([...matches.page(page)], naive.slice(page.offset, page.offset + page.limit), message);
    if (findTop(tops, term, page) !== undefined) known++;
  }
  return known;
}

test("users are found as a scan finds them, in every script", () => {
  let found = 0;
  let known = 0;
  fc.assert(
    fc.property(
      fc.array(someText, { minLength: 60, maxLength: 150 }).chain((names) =>
        fc.record({
          names: fc.constant(names),
          queries: fc.array(queriesOf(names), { minLength: 30, maxLength: 30 }),
        }),
      ),
      ({ names, queries }) => {
        const index = openUsers(indexUsers(names.length, (row) => names[row]!, 2));
        const folded = names.map(fold);
        for (const query of queries) {
          const term = readTerm(query);
          if (term === "") continue;
          const naive = scan(names.length, (at) =>
            folded[at]!.includes(term) ? classOf(folded[at]!, term) : -1,
          );
          const message = JSON.stringify({ term, names });
          checkMatches(runNow(searchUsers(index, term)), naive, message);
          known += checkPages((page) => searchUsers(index, term, page), index.tops, term, naive, message);
          found += naive.length;
        }
      },
    ),
    { numRuns: 300 },
  );
  assert.ok(found > 15_000, `${found} found`);
  assert.ok(known > 3000, `${known} known beforehand`);
});

test("worlds are found as a scan finds them, in every script", () => {
  let found = 0;
  let known = 0;
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
        // The last row is the most popular one.
        const ranking = Uint32Array.from(worlds, (_, place) => worlds.length - 1 - place);
        const index = openWorlds(
          indexWorlds(
            ranking,
            (row) => worlds[row]!.name,
            (row) => worlds[row]!.description,
            2,
          ),
        );
        const ranked = [...ranking].map((row) => worlds[row]!);
        const folded = ranked.map(({ name, description }) => ({
          name: fold(name),
          description: fold(description),
        }));
        for (const query of queries) {
          const term = readTerm(query);
          if (term === "") continue;
          const terms = [...new Set(term.split(/\s+/u))].slice(0, 10);
          const classAt = (at: number): number => {
            const { name, description } = folded[at]!;
            if (!terms.every((each) => name.includes(each) || description.includes(each))) return -1;
            return terms.every((each) => name.includes(each)) ? classOf(name, term) : 3;
          };
          const naive = scan(worlds.length, classAt).map((place) => ranking[place]!);
          const message = JSON.stringify({ term, worlds });
          checkMatches(runNow(searchWorlds(index, term)), naive, message);
          known += checkPages((page) => searchWorlds(index, term, page), index.tops, term, naive, message);
          found += naive.length;
        }
      },
    ),
    { numRuns: 200 },
  );
  assert.ok(found > 12_000, `${found} found`);
  assert.ok(known > 3000, `${known} known beforehand`);
});

test("an emoji is not found in its neighbours, however many there are", () => {
  // U+1F400 ends with the unit that elsewhere stands behind the end of a text.
  const worlds = ["😂", "a😂", "🔥a", "a🔥", "🚀", "😎 b", "a🚀", "😂🔥", "a😎", "🐀", "a🐀"].flatMap(
    (name) => [name, name],
  );
  const index = openWorlds(
    indexWorlds(
      Uint32Array.from(worlds, (_, row) => row),
      (row) => worlds[row]!,
      () => "",
    ),
  );
  const users = openUsers(indexUsers(worlds.length, (row) => worlds[row]!));
  for (const term of ["🐀", "a🐀", "😂", "a", "𠀀"]) {
    const naive = scan(worlds.length, (at) => (worlds[at]!.includes(term) ? classOf(worlds[at]!, term) : -1));
    checkMatches(runNow(searchWorlds(index, term)), naive, term);
    checkMatches(runNow(searchUsers(users, term)), naive, term);
  }
});

describe("many matches", () => {
  const random = createRandom(5, "many");
  /** Words of few letters: every run of them is in very many texts, often more than once. */
  const someWord = (units: number): string =>
    Array.from({ length: 1 + random.below(units) }, () => "abc"[random.below(3)]).join("");
  const TERMS = [
    "a",
    "ab",
    "abc",
    "abca",
    "bcabc",
    "bcabca",
    "abcabcab",
    "bcabcabcab",
    "aaaaaa",
    "cabcabcabcabcabcabc",
  ];

  test("of names come out as a scan finds them, however far their lists are in order", () => {
    const names = Array.from({ length: 40_000 }, (_, at) =>
      at % 50 === 0 ? "abc".repeat(at % 40) : someWord(18),
    );
    const byScan = TERMS.map((term) =>
      scan(names.length, (at) => (names[at]!.includes(term) ? classOf(names[at]!, term) : -1)),
    );
    assert.ok(byScan[0]!.length > 30_000 && byScan.every(({ length }) => length > 0));
    const builder = new TextsBuilder();
    for (const name of names) builder.add(name);
    const texts = builder.finish();
    const depths = [64, 24].map((bits) => {
      const grams = indexGrams(texts, bits);
      const index = openUsers(indexNames(grams));
      let known = 0;
      for (const [at, term] of TERMS.entries()) {
        checkMatches(runNow(searchUsers(index, term)), byScan[at]!, term);
        known += checkPages((page) => searchUsers(index, term, page), index.tops, term, byScan[at]!, term);
      }
      // The first pages of all terms that are no longer than lists are in order.
      assert.equal(known, TERMS.filter(({ length }) => length <= grams.depth).length * 3);
      return grams.depth;
    });
    assert.deepEqual(depths, [9, 6]);
  });

  test("of runs behind which but one unit follows are those of the run without it", () => {
    // What is equal to a run, or to the run without its last unit, comes first, and only there.
    const names = Array.from({ length: 3000 }, (_, at) =>
      at % 500 === 499 ? "guest-" : at % 500 === 498 ? "guest" : `${"xyz".slice(at % 4)}guest-${at % 7}${at}`,
    );
    const users = openUsers(indexUsers(names.length, (row) => names[row]!));
    const rows = Uint32Array.from(names, (_, row) => row);
    const worlds = openWorlds(
      indexWorlds(
        rows,
        (row) => names[row]!,
        (row) => `guest-${row % 7}1`,
      ),
    );
    for (const { tops } of [users, worlds]) {
      assert.ok(new Set(tops.starts).size < tops.starts.length - 10, "many share what they found");
    }
    const terms = ["xyzguest-12", "guest-3", "zguest", "est-5"].flatMap((text) =>
      Array.from({ length: text.length }, (_, at) => text.slice(0, at + 1)),
    );
    let known = 0;
    for (const term of terms) {
      const byName = scan(names.length, (at) => (names[at]!.includes(term) ? classOf(names[at]!, term) : -1));
      known += checkPages((page) => searchUsers(users, term, page), users.tops, term, byName, term);
      const byBoth = scan(names.length, (at) => {
        if (names[at]!.includes(term)) return classOf(names[at]!, term);
        return `guest-${at % 7}1`.includes(term) ? 3 : -1;
      });
      known += checkPages((page) => searchWorlds(worlds, term, page), worlds.tops, term, byBoth, term);
    }
    assert.ok(known > 100, `${known} known beforehand`);
  });

  test("of searches that take turns, and of one that is given up, do not mix", () => {
    const names = Array.from({ length: 120_000 }, () => someWord(9));
    const index = openUsers(indexUsers(names.length, (row) => names[row]!));
    const expected = (term: string): number[] =>
      scan(names.length, (at) => (names[at]!.includes(term) ? classOf(names[at]!, term) : -1));
    for (let round = 0; round < 2; round++) {
      const givenUp = searchUsers(index, "c");
      for (let step = 0; step < 3; step++) assert.ok(!givenUp.next().done, "it is under way");
      const terms = ["a", "b", "ab"];
      const under = new Map(terms.map((term) => [term, searchUsers(index, term)]));
      let turns = 0;
      while (under.size > 0) {
        for (const [term, work] of under) {
          const step = work.next();
          turns++;
          if (!step.done) continue;
          checkMatches(step.value, expected(term), term);
          under.delete(term);
        }
      }
      assert.ok(turns > terms.length * 3, "none of them ends at once");
    }
  });

  function checkWorlds(
    worlds: readonly { readonly name: string; readonly description: string }[],
    index: WorldIndex,
    queries: readonly string[],
  ): void {
    for (const query of queries) {
      const terms = query.split(" ");
      const classAt = (at: number): number => {
        const { name, description } = worlds[at]!;
        if (!terms.every((each) => name.includes(each) || description.includes(each))) return -1;
        return terms.every((each) => name.includes(each)) ? classOf(name, query) : 3;
      };
      const naive = scan(worlds.length, classAt);
      checkMatches(runNow(searchWorlds(index, query)), naive, query);
      checkPages((page) => searchWorlds(index, query, page), index.tops, query, naive, query);
    }
  }

  const indexOf = (worlds: readonly { readonly name: string; readonly description: string }[]): WorldIndex =>
    openWorlds(
      indexWorlds(
        Uint32Array.from(worlds, (_, row) => row),
        (row) => worlds[row]!.name,
        (row) => worlds[row]!.description,
      ),
    );

  test("of worlds come out as a scan finds them", () => {
    const worlds = Array.from({ length: 30_000 }, () => ({
      name: random.below(3) === 0 ? `abcd ${someWord(2)}` : `${someWord(6)} ${someWord(2)}`,
      description: `${someWord(9)} ${random.below(2) === 0 ? "abcd" : someWord(3)}`,
    }));
    const more = ["abcd", "abcd a", "abcd ab", "a abcd", "abca abcd", "ab bcab c a"];
    checkWorlds(worlds, indexOf(worlds), [...TERMS.slice(0, 8), ...more]);
  });

  test("of worlds with runs that are listed and runs that are bits come out as a scan finds them", () => {
    const someText = (words: number): string =>
      Array.from({ length: words }, () =>
        Array.from({ length: 1 + random.below(7) }, () => "abcdefghijklmn"[random.below(14)]).join(""),
      ).join(" ");
    const worlds = Array.from({ length: 6000 }, () => ({ name: someText(2), description: someText(8) }));
    const index = indexOf(worlds);
    const { few, many } = index.words.runs;
    assert.ok(few.keys.length > 100 && many.keys.length > 10, `${few.keys.length} and ${many.keys.length}`);
    const kinds = new Set<string>();
    const queries = Array.from({ length: 150 }, () =>
      Array.from({ length: 1 + random.below(3) }, () => someText(1).slice(0, 1 + random.below(5))).join(" "),
    );
    for (const term of queries.flatMap((query) => query.split(" "))) {
      const found = runNow(findTerm(index.words, term));
      kinds.add("kind" in found ? found.kind : "words");
    }
    assert.equal(kinds.size, 3);
    checkWorlds(worlds, index, queries);
  });
});

/** The same search, asked by one caller that waits for all of it. */
function asOne<Result, More>(
  search: More & Record<"users" | "worlds", (term: string, page: PageOf, caller: Caller) => Result>,
) {
  const caller: Caller = { key: 0, isGone: () => false };
  const ask =
    (name: "users" | "worlds") =>
    (
      term: string,
      page: PageOf,
    ): Exclude<Result, Busy | Promise<unknown>> | Promise<Exclude<Awaited<Result>, Busy>> => {
      const found = search[name](term, page, caller);
      return found as ReturnType<ReturnType<typeof ask>>;
    };
  return { ...search, users: ask("users"), worlds: ask("worlds") };
}

describe("searches where requests are answered", () => {
  const PAGE = { limit: 2, offset: 0 };
  /** Work of some milliseconds that finds one row. */
  function* busy(milliseconds: number, row: number, isLong = false): Work<Matches> {
    if (isLong) yield "long";
    const until = performance.now() + milliseconds;
    while (performance.now() < until) yield;
    return new ListedMatches(Uint32Array.of(row));
  }

  /** Terms are milliseconds; those that end in "!" say that they are long. */
  function nearSearch() {
    const asked: string[] = [];
    const begun: string[] = [];
    const work = (term: string): Work<Matches> => {
      begun.push(term);
      if (term === "no") throw new Error("no");
      return busy(Number.parseFloat(term), 1, term.endsWith("!"));
    };
    const searches = { users: work, worlds: work };
    const far = createFarSearch(searches, async (name, term, page) => {
      asked.push(`${name} ${term} ${page.limit} ${page.offset}`);
      return term.startsWith("1") ? undefined : { total: 3000, rows: new Uint32Array(page.limit).fill(2) };
    });
    return { near: asOne(createNearSearch(searches, far)), asked, begun };
  }

  test("short ones are done here, long ones elsewhere", async () => {
    const { near, asked } = nearSearch();
    const matches = near.users("0", PAGE);
    assert.ok(!(matches instanceof Promise));
    assert.deepEqual([...matches.page(PAGE)], [1]);
    for (const term of ["0!", "30"]) {
      await new Promise(setImmediate);
      const far = await near.worlds(term, PAGE);
      assert.deepEqual([far.total, ...far.page(PAGE)], [3000, 2, 2]);
    }
    await near.users("0!", { limit: 50, offset: 2000 });
    // Where nobody is left to be asked, it is done here after all.
    assert.deepEqual([...(await near.users("1!", PAGE)).page(PAGE)], [1]);
    assert.deepEqual(asked, ["worlds 0! 1024 0", "worlds 30 1024 0", "users 0! 50 2000", "users 1! 1024 0"]);
  });

  test("many of them leave room for others in every turn, come in order, and fail alone", async () => {
    const { near, asked, begun } = nearSearch();
    const found = Array.from({ length: 30 }, (_, at) => near.users(at === 20 ? "no" : `0.${200 + at}`, PAGE));
    const soon = begun.length;
    assert.ok(soon < 10, `${soon} in the first turn`);
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns++;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const settled = await Promise.allSettled(found);
    counting = false;
    assert.ok(turns >= 5, `${turns} turns`);
    assert.deepEqual(
      settled.flatMap(({ status }, at) => (status === "rejected" ? [at] : [])),
      [20],
    );
    const inOrder = begun.filter((term) => term !== "no");
    assert.deepEqual(inOrder.toSorted(), inOrder);
    assert.ok(asked.length < 5, "a busy machine may make a few of them long");
  });
});

describe("the cache", () => {
  const rows = (count: number): Matches => new ListedMatches(new Uint32Array(count));
  const PAGE = { limit: 2, offset: 0 };
  const nobody = (): Matches => rows(0);

  /** A search that finds 1,000 rows, and what it was asked. */
  function recorded() {
    const asked: string[] = [];
    const find = (term: string): Matches => {
      asked.push(term);
      return rows(1000);
    };
    return { asked, find };
  }

  test("searches once for many pages, users and worlds apart", () => {
    const users = recorded();
    const worlds = recorded();
    const search = asOne(withCache({ users: users.find, worlds: worlds.find }, 1_000_000));
    for (const offset of [0, 500, 999, 1000, 2 ** 53 - 1]) {
      const page = search.users("a", { limit: 2, offset }) as Found;
      assert.deepEqual([page.total, page.rows.length], [1000, Math.max(0, Math.min(2, 1000 - offset))]);
      search.worlds("a", { limit: 2, offset });
    }
    assert.deepEqual([users.asked, worlds.asked], [["a"], ["a"]]);
    const { hits, joined, misses, entries } = search.counts();
    assert.deepEqual({ hits, joined, misses, entries }, { hits: 8, joined: 0, misses: 2, entries: 2 });
  });

  test("is bounded in bytes, and forgets what was not asked for longest", () => {
    const users = recorded();
    const search = asOne(withCache({ users: users.find, worlds: nobody }, 20_000));
    for (const term of "abcdefgh") search.users(term, PAGE);
    assert.ok(search.counts().bytes <= 20_000);
    assert.ok(search.counts().entries >= 3 && search.counts().entries < 8);
    search.users("h", PAGE);
    assert.equal(users.asked.length, 8);
    search.users("a", PAGE);
    assert.equal(users.asked.length, 9);
  });

  test("keeps nothing when it has no room, or of a result that is larger than all of it", () => {
    for (const bytes of [0, 1000]) {
      const users = recorded();
      const search = asOne(withCache({ users: users.find, worlds: nobody }, bytes));
      search.users("a", PAGE);
      search.users("a", PAGE);
      assert.equal(users.asked.length, 2);
      assert.equal(search.counts().entries, 0);
    }
  });

  test("keeps the JSON of a page that is asked for again and again, and gives it for no other", () => {
    const users = recorded();
    const numbers = (term: string): Matches => {
      users.find(term);
      return new ListedMatches(
        Uint32Array.from({ length: 1000 }, (_, row) => row + term.charCodeAt(0) * 10_000),
      );
    };
    const search = asOne(withCache({ users: numbers, worlds: nobody }, 1_000_000));
    let kept = 0;
    let given = 0;
    const random = createRandom(7, "pages");
    for (let turn = 0; turn < 3000; turn++) {
      const term = "ab"[random.below(2)]!;
      const page = { limit: 1 + random.below(3), offset: random.below(2) };
      for (let again = random.below(5); again >= 0; again--) {
        const { total, rows: shown, text, keepText } = search.users(term, page) as Found;
        const right = Array.from(
          { length: page.limit },
          (_, at) => at + page.offset + term.charCodeAt(0) * 10_000,
        );
        assert.deepEqual([total, ...shown], [1000, ...right]);
        if (text !== undefined) given++;
        assert.equal(text ?? String(right), String(right));
        if (keepText !== undefined) kept++;
        keepText?.(String(right));
      }
    }
    assert.ok(kept > 500 && given > kept, `${kept} kept, ${given} given`);
    assert.deepEqual(users.asked.toSorted(), ["a", "b"]);
    const { bytes } = search.counts();
    search.users("c", PAGE);
    const before = search.counts().bytes;
    search.users("c", PAGE);
    (search.users("c", PAGE) as Found).keepText!("x".repeat(5000));
    assert.equal(search.counts().bytes - before, 5000);
    assert.ok(bytes < before);
  });

  test("does not lose a result to the JSON of a page", () => {
    const users = recorded();
    const search = asOne(withCache({ users: users.find, worlds: nobody }, 5000));
    for (let turn = 0; turn < 4; turn++) (search.users("a", PAGE) as Found).keepText?.("x".repeat(2000));
    assert.equal(users.asked.length, 1);
  });

  test("waits for a search that is under way, and forgets one that failed", async () => {
    let asked = 0;
    let fail = true;
    const search = asOne(
      withCache(
        {
          users: async () => {
            asked++;
            await new Promise((resolve) => setTimeout(resolve, 5));
            if (fail) throw new Error("no");
            return rows(2);
          },
          worlds: nobody,
        },
        1_000_000,
      ),
    );
    const both = await Promise.allSettled([search.users("a", PAGE), search.users("a", PAGE)]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ["rejected", "rejected"],
    );
    assert.equal(asked, 1);
    fail = false;
    assert.equal((await Promise.all([search.users("a", PAGE), search.users("a", PAGE)]))[1]!.total, 2);
    assert.equal(asked, 2);
    await search.users("a", PAGE);
    const { hits, joined, misses } = search.counts();
    assert.deepEqual({ hits, joined, misses }, { hits: 1, joined: 2, misses: 2 });
  });

  test("asks again for what another thread did not tell, and keeps what it told first", async () => {
    const pages: PageOf[] = [];
    const all = Uint32Array.from({ length: 100 }, (_, row) => row);
    /** Tells ten rows where they are enough, or the page alone. */
    const tell = async (total: number, { limit, offset }: PageOf): Promise<SomeMatches> => {
      const told = offset + limit <= 10 ? { limit: 10, offset: 0 } : { limit, offset };
      pages.push(told);
      const rows = all.subarray(0, total).subarray(told.offset, told.offset + told.limit);
      return new SomeMatches({ total, rows }, told.offset);
    };
    const search = asOne(
      withCache(
        { users: (_term, page) => tell(100, page), worlds: (_term, page) => tell(3, page) },
        1_000_000,
      ),
    );
    for (const offset of [0, 4, 8, 9, 50, 99, 100]) {
      const { total, rows: shown } = await search.users("a", { limit: 2, offset });
      assert.deepEqual([total, ...shown], [100, ...[offset, offset + 1].filter((row) => row < 100)]);
    }
    assert.deepEqual(
      pages.map(({ offset }) => offset),
      [0, 9, 50, 99],
    );
    // Who joins a search that tells too little asks once more.
    const both = await Promise.all([
      search.users("b", { limit: 2, offset: 0 }),
      search.users("b", { limit: 2, offset: 50 }),
    ]);
    assert.deepEqual(
      both.map(({ rows: shown }) => [...shown]),
      [
        [0, 1],
        [50, 51],
      ],
    );
    // A result that was told to its end is known.
    assert.equal((await search.worlds("a", { limit: 2, offset: 0 })).total, 3);
    assert.deepEqual([...(await search.worlds("a", { limit: 50, offset: 2 })).rows], [2]);
    assert.deepEqual(search.counts(), { ...search.counts(), hits: 4, joined: 1, misses: 7 });
  });
});
