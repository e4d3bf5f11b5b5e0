/** Similar search compared with the model, and as served: off, on, during indexing, across reloads and under floods. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { drawDisplayName } from "../src/generate/text.ts";
import { fold, readTerm } from "../src/search/fold.ts";
import { createPendingSearches } from "../src/search/pending.ts";
import { placesOf } from "../src/search/results.ts";
import type { SearchIndex } from "../src/search/search.ts";
import { runNow } from "../src/search/work.ts";
import { openSimilarSearching } from "../src/similar/feature.ts";
import { indexSimilarNames, LONGEST_NAME } from "../src/similar/names.ts";
import { MOST_SIMILAR, openSimilar } from "../src/similar/similar.ts";
import type { PageOf, SearchName, Store } from "../src/store/generation.ts";
import { codePointsOf, substringDistance, wholeDistance } from "../src/util/distance.ts";
import { createRandom } from "../src/util/random.ts";
import { modelFold, modelRank } from "./conformance/model.ts";
import {
  answersWhileIndexing,
  closesAnyTime,
  NAMES,
  namesIn,
  type Opened,
  open,
  pageOf,
  writeRows,
} from "./support/similar-served.ts";
import { NASTY_TEXTS } from "./support/snapshot.ts";

/** Few letters, so that texts are similar; marks, surrogate pairs, and letters that fold to several. */
const letter = fc.constantFrom(..."abc か가𝒳🐱éßﬁが\u0301\u0001\0");

const text = fc.array(letter, { maxLength: 9 }).map((letters) => letters.join(""));

/** Most edits between a query and a hit, by the query's length in code points. */
function modelEdits(query: string): number {
  const { length } = [...query];
  if (length < 3) return 0;
  return length < 6 ? 1 : 2;
}

/** Optimal string alignment distance of a query to a text, or to its nearest substring, straight from the recurrence. */
function modelDistance(from: string, to: string, isSubstring = true): number {
  const [query, text] = [[...from], [...to]];
  const table = Array.from({ length: query.length + 1 }, () => new Array<number>(text.length + 1).fill(0));
  for (let row = 0; row <= query.length; row++) {
    for (let at = 0; at <= text.length; at++) {
      if (row === 0) table[0]![at] = isSubstring ? 0 : at;
      else if (at === 0) table[row]![0] = row;
      else {
        const options = [
          table[row - 1]![at]! + 1,
          table[row]![at - 1]! + 1,
          table[row - 1]![at - 1]! + (query[row - 1] === text[at - 1] ? 0 : 1),
        ];
        if (row > 1 && at > 1 && query[row - 1] === text[at - 2] && query[row - 2] === text[at - 1]) {
          options.push(table[row - 2]![at - 2]! + 1);
        }
        table[row]![at] = Math.min(...options);
      }
    }
  }
  return isSubstring ? Math.min(...table[query.length]!) : table[query.length]![text.length]!;
}

/** Rank class of a name in a search of users or worlds; lower is better. */
function modelClass(name: string, term: string, isWorld: boolean): number {
  const rank = modelRank(modelFold(name), term);
  return isWorld ? rank : Math.min(rank, 2);
}

/** A search over names; later names belong to more popular worlds. */
function searchesOf(names: readonly string[]) {
  const folded = names.map(fold);
  const index = runNow(indexSimilarNames(names.length, (row) => folded[row]!));
  const popular = { all: Uint32Array.from(names, (_, row) => names.length - 1 - row) };
  const worldNames = [...folded].reverse();
  const worlds = runNow(indexSimilarNames(names.length, (place) => worldNames[popular.all[place]!]!));
  // The exact search by definition; in worlds it matches more than names.
  const exact = (isWorld: boolean) => (term: string) => {
    const rows = [...folded.keys()].filter((row) => folded[row]!.includes(term));
    const classes = new Map(rows.map((row) => [row, modelClass(names[row]!, term, isWorld)]));
    return rows.sort((a, b) => classes.get(a)! - classes.get(b)! || a - b);
  };
  const rowsOf = (table: SearchName, term: string): number[] => {
    if (table === "users") return exact(false)(term);
    const named = exact(true)(term).map((place) => popular.all[place]!);
    return [...named, ...[...names.keys()].filter((row) => !named.includes(row)).slice(0, 5)];
  };
  const search = openSimilar(
    { popular: popular as Store["popular"] },
    { places: placesOf(popular.all, new Uint32Array(names.length)) },
    { users: index, worlds },
    function* (table, term) {
      yield undefined;
      const rows = Uint32Array.from(rowsOf(table, term));
      return { total: rows.length, rows };
    },
  );
  return (table: SearchName, term: string, page: PageOf = EVERYTHING) => [
    ...runNow(search(table, term, page)).rows,
  ];
}

const EVERYTHING = { limit: MOST_SIMILAR, offset: 0 };

/** The rows of all users that a query finds. */
const rowsOf = (names: readonly string[], query: string): number[] => searchesOf(names)("users", query);

/** Compares the hits of a query with the model. @returns their number */
function judge(
  names: readonly string[],
  query: string,
  table: "users" | "worlds",
  searches = searchesOf(names),
): number {
  const term = readTerm(query);
  const rows = searches(table, term);
  // A world's row counts from the end of `names`.
  const places = table === "users" ? rows : rows.map((row) => names.length - 1 - row);
  const ranks = places.map((place): [number, number] => {
    const name = names[place]!;
    return [modelDistance(term, modelFold(name)), modelClass(name, term, table === "worlds")];
  });
  for (const [at, [distance, rankClass]] of ranks.entries()) {
    assert.ok(distance <= modelEdits(term), `${names[places[at]!]} is ${distance} away from ${query}`);
    if (at === 0) continue;
    const [before, beforeClass] = ranks[at - 1]!;
    const order = before - distance || beforeClass - rankClass || places[at - 1]! - places[at]!;
    assert.ok(order < 0, `${names[places[at - 1]!]} before ${names[places[at]!]}, looking for ${query}`);
  }
  assert.ok(rows.length <= MOST_SIMILAR);
  const exact = names.filter((name) => modelFold(name).includes(term)).length;
  const atZero = ranks.filter(([distance]) => distance === 0).length;
  assert.equal(atZero, Math.min(exact, MOST_SIMILAR));
  return rows.length;
}

it("the distance is that of the recurrence", () => {
  fc.assert(
    fc.property(text, text, fc.nat(3), (query, name, most) => {
      const [from, to] = [codePointsOf(query), codePointsOf(name)];
      assert.equal(wholeDistance(from, to), modelDistance(query, name, false));
      const expected = modelDistance(query, name);
      const got = substringDistance(from, to, most);
      assert.ok(expected <= most ? got === expected : got > most, `${got}, not ${expected}`);
    }),
    { numRuns: 600 },
  );
});

describe("similar search", () => {
  it("finds what lies within the distance, in order, and all that is exact", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), text, fc.boolean(), (names, query, isWorlds) => {
        if (readTerm(query) !== "") judge(names, query, isWorlds ? "worlds" : "users");
      }),
      { numRuns: 300 },
    );
  });

  it("finds names with a typing error, of any script", () => {
    const random = createRandom(3, "similar");
    const names = Array.from({ length: 1500 }, () => drawDisplayName(random));
    let asked = 0;
    let found = 0;
    const searches = searchesOf(names);
    for (let at = 0; at < names.length; at += 7) {
      const points = [...fold(names[at]!)];
      if (points.length < 5) continue;
      const place = random.below(points.length - 1);
      const kinds = [
        () => points.splice(place, 1),
        () => points.splice(place, 0, points[place + 1]!),
        () => points.splice(place, 1, points[0]!),
        () => points.splice(place, 2, points[place + 1]!, points[place]!),
      ];
      kinds[random.below(4)]!();
      const term = readTerm(points.join(""));
      const rows = searches("users", term, { limit: 20, offset: 0 });
      asked++;
      if (rows.some((row) => fold(names[row]!) === fold(names[at]!))) found++;
    }
    assert.ok(asked > 100 && found >= asked * 0.97, `${found} of ${asked}`);
  });

  it("takes any text for a query or a name", () => {
    const names = [...NASTY_TEXTS, ".*", "(a+)+$", "[", "\\", "x".repeat(300_000), "ﷺ".repeat(20)];
    const queries = [...names, "a".repeat(256), "ﷺ".repeat(256), "(a+)+$".repeat(60), "xyxyx".repeat(50)];
    // The model takes time proportional to the product of both lengths.
    const short = names.filter((name) => name.length < 100);
    const shortSearches = searchesOf(short);
    const searches = searchesOf(names);
    for (const query of queries) {
      const term = readTerm(query);
      if (term === "") continue;
      searches("users", term);
      if (term.length > 400) continue;
      for (const table of ["users", "worlds"] as const) judge(short, query, table, shortSearches);
    }
  });

  it("counts a thousand at most, and has the better ones", () => {
    const names = Array.from({ length: 2500 }, (_, at) => (at % 2 === 0 ? "the rabbit" : `rabbit ${at}`));
    assert.equal(judge(names, "rabbit", "users"), MOST_SIMILAR);
    // Names that begin with it come first.
    for (const row of rowsOf(names, "rabbit")) assert.equal(row % 2, 1);
    judge(names, "rabibt", "users");
  });

  it("shows a name before the many that contain one as near", () => {
    const names = ["rabbit", ...Array.from({ length: 900 }, (_, at) => `rabbit_${at + 100}`)].reverse();
    const rows = rowsOf(names, "rabit").slice(0, 20);
    assert.ok(rows.includes(900), rows.join());
  });

  it("asks only the exact search for what is too short to be misspelt", () => {
    const names = ["ab", "ba", "xaby", "a"];
    assert.deepEqual(rowsOf(names, "ab"), [0, 2]);
    assert.deepEqual(rowsOf(names, "🐱"), []);
  });

  it("leaves out names that are too long, unless they are exact", () => {
    const names = [`rabbit${"x".repeat(LONGEST_NAME)}`, "rabbit"];
    assert.deepEqual(rowsOf(names, "rabibt"), [1]);
    assert.deepEqual(rowsOf(names, "rabbit"), [1, 0]);
  });
});

writeRows("one", NAMES);

const QUERIES = ["", "q=rabit", "q=rabbit&limit=1&offset=1", `q=${encodeURIComponent("佐藤")}`, "q=%F0%9F"];

it("without the setting, or with another value of the parameter, replies are those of the exact search, to the byte", async (t) => {
  const off = await open(t, { similar: false, threads: false });
  const on = await open(t, { threads: false });
  await on.observed("similar-ready");
  for (const table of ["users", "worlds"]) {
    for (const query of QUERIES) {
      const expected = await off.ask(`/${table}/search?${query}`);
      for (const match of ["similar", "exact", "", "Similar", "similar%20", "fuzzy"]) {
        const target = `/${table}/search?${query}&match=${match}`;
        assert.deepEqual(await off.ask(target), expected, target);
        if (match !== "similar") assert.deepEqual(await on.ask(target), expected, target);
      }
      const first = `/${table}/search?match=x&${query}&match=similar`;
      assert.deepEqual(await on.ask(first), expected, "the first counts");
    }
    // Paths without a search ignore the parameter.
    assert.deepEqual(await on.ask(`/${table}/x?match=similar`), await off.ask(`/${table}/x`));
  }
  assert.ok(!off.seen.some(({ kind }) => kind.startsWith("similar")));
});

it("is on by default up to 50,000 users and worlds together", async (t) => {
  const opened = await open(t, { similar: "auto", threads: false });
  await opened.observed("similar-ready");
  assert.equal(pageOf(await opened.ask("/users/search?q=rabit&match=similar")).match, "similar");
  const pending = createPendingSearches(1);
  const given = { threads: false, cacheBytes: 0, pending, observe() {}, count: undefined };
  for (const [similar, users, worlds, isOpened] of [
    ["auto", 40_000, 10_000, true],
    ["auto", 40_000, 10_001, false],
    [true, 40_000, 10_001, true],
    [false, 1, 1, false],
  ] as const) {
    const searching = await openSimilarSearching({ similar }, given);
    const store = { id: "g", users: { rows: users }, worlds: { rows: worlds } } as Store;
    const opened = searching?.open(store, {} as SearchIndex);
    assert.equal(opened !== undefined, isOpened, `${similar} with ${users} and ${worlds}`);
  }
});

for (const threads of [true, false]) {
  describe(`similar search, ${threads ? "in a thread" : "on the calling thread"}`, () => {
    let opened: Opened;
    const ask = (target: string, rest?: object) => opened.ask(`${target}&match=similar`, rest);
    before(async () => {
      opened = await open({ after() {} }, { threads, searchCacheBytes: 0 });
      await opened.observed("similar-ready");
    });
    after(() => opened.orrery.close());

    it("finds names that are misspelt, and says so at the end", async () => {
      for (const [query, name] of [
        ["rabit", "Rabbit"],
        ["rabibt", "Rabbit"],
        ["zoe muler", "Zoë Müller"],
        ["佐藤 陽菜", "佐藤 陽葵"],
        ["さくもち", "さくらもち"],
        ["🐱🐱🐶", "🐱🐶🐱"],
      ] as const) {
        const reply = await ask(`/users/search?q=${encodeURIComponent(query)}`);
        const names = namesIn(pageOf(reply));
        assert.ok(names.includes(name), `${query}: ${names.join()}`);
        assert.match(reply.body, /,"pagination":\{"total":\d+,"limit":20,"offset":0\},"match":"similar"\}$/);
        for (const found of names)
          assert.ok(modelDistance(query, modelFold(found)) <= modelEdits(query), `${query}: ${found}`);
      }
      const worlds = pageOf(await ask("/worlds/search?q=gardne"));
      assert.deepEqual(namesIn(worlds).sort(), ["Garden of Cats", "Secret Garden"]);
      assert.deepEqual(Object.keys(worlds.data[0]!), ["id", "name", "description"]);
      assert.equal(pageOf(await ask("/worlds/search?q=rabbit")).pagination.total, 0);
    });

    it("pages through what it found", async () => {
      const whole = pageOf(await ask("/users/search?q=user%201&limit=50"));
      const { total } = whole.pagination;
      assert.ok(total > 20, `${total}`);
      const rows: unknown[] = [];
      for (let offset = 0; offset < total; offset += 7) {
        const page = pageOf(await ask(`/users/search?q=user%201&limit=7&offset=${offset}`));
        assert.equal(page.pagination.total, total);
        rows.push(...page.data);
      }
      assert.equal(rows.length, total);
      assert.deepEqual(rows.slice(0, 50), whole.data);
      const beyond = await ask("/users/search?q=user%201&offset=9007199254740991");
      assert.deepEqual(pageOf(beyond).data, []);
    });

    it("refuses what the exact search refuses; conditions and HEAD are the same", async () => {
      const target = "/users/search?q=rabit";
      const etag = `"${opened.orrery.generation()}"`;
      const get = await ask(target);
      assert.deepEqual(await ask(target, { method: "HEAD" }), { ...get, body: "" });
      assert.equal(get.headers.etag, etag);
      assert.equal((await ask(target, { ifNoneMatch: etag })).status, 304);
      assert.equal((await ask(target, { ifMatch: '"other"' })).status, 412);
      for (const q of ["", "%20", "%CC%81"]) {
        assert.equal((await ask(`/users/search?q=${q}`)).status, 400);
      }
      assert.equal((await ask(target, { authorization: "Bearer svc_sk_worlds" })).status, 403);
      assert.equal((await ask(target, { authorization: undefined })).status, 401);
      const megabyte = `/users/search?q=${"rabit%20".repeat(120_000)}`;
      assert.equal(pageOf(await ask(megabyte)).match, "similar");
    });

    it("is bounded and fair between keys; lookups go before it", async () => {
      const order: string[] = [];
      const flood = Array.from({ length: 188 }, async (_, at) => {
        const target = `/users/search?q=user%20${at}x`;
        const { status } = await ask(target, { authorization: "Bearer svc_sk_a" });
        order.push(`flood ${status}`);
      });
      const honest = ask("/users/search?q=rabit").then(({ status }) => order.push(`honest ${status}`));
      const lookup = opened.ask("/stats").then(({ status }) => order.push(`lookup ${status}`));
      await Promise.all([...flood, honest, lookup]);
      const served = order.filter((one) => one !== "flood 503");
      assert.equal(order.length - served.length, 60, "half of the bound is a key's");
      assert.equal(served[0], "lookup 200");
      assert.ok(served.indexOf("honest 200") < 10, served.join());
      assert.equal((await ask("/users/search?q=rabit")).status, 200);
    });

    if (threads) return;
    it("is answered by the exact one while names are indexed, also after a reload", (t) =>
      answersWhileIndexing(t, threads));

    it("can be closed at any time", (t) => closesAnyTime(t, threads));
  });
}
