/** Searches on a serving thread: short ones inline, long ones offloaded, the cache, and the bound on waiting searches. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, test } from "node:test";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { sliceAll } from "../src/model/body.ts";
import { CachedSearch, type FindResults } from "../src/search/cache.ts";
import { ListedResults, PartialResults, type ResultSet } from "../src/search/result-set.ts";
import {
  createPendingSearches,
  createSharedPending,
  type Leave,
  type PendingSearches,
  releasePending,
  sharePending,
} from "../src/search/schedule/pending.ts";
import type { Work } from "../src/search/work.ts";
import { createInlineSearch, createOffloadedSearch } from "../src/server/search/inline-search.ts";
import type { Caller, Found, PageOf, SearchName } from "../src/store/generation.ts";
import { createRandom } from "../src/util/random.ts";

const STAYS: Caller = { key: 0, isGone: () => false };

type Find = (term: string, page: PageOf) => ReturnType<FindResults>;

describe("searches where requests are answered", () => {
  const PAGE = { limit: 2, offset: 0 };
  /** Work of `milliseconds` that finds one row. */
  function* busy(milliseconds: number, row: number, isLong = false): Work<ResultSet> {
    if (isLong) yield "long";
    const until = performance.now() + milliseconds;
    while (performance.now() < until) yield;
    return new ListedResults(Uint32Array.of(row));
  }

  /** A term is a duration in milliseconds; one that ends in "!" yields "long". */
  function inlineSearch() {
    const asked: string[] = [];
    const begun: string[] = [];
    const work = (term: string): Work<ResultSet> => {
      begun.push(term);
      if (term === "no") throw new Error("no");
      return busy(Number.parseFloat(term), 1, term.endsWith("!"));
    };
    const searches = { users: work, worlds: work };
    const offloaded = createOffloadedSearch(searches, async (name, term, page) => {
      asked.push(`${name} ${term} ${page.limit} ${page.offset}`);
      return term.startsWith("1") ? undefined : { total: 3000, rows: new Uint32Array(page.limit).fill(2) };
    });
    const inline = createInlineSearch(searches, offloaded);
    const find = (name: SearchName, term: string, page: PageOf = PAGE) =>
      inline(name, term, page, STAYS) as ResultSet | Promise<ResultSet>;
    return { find, asked, begun };
  }

  test("short ones are done inline, long ones are offloaded", async () => {
    const { find, asked } = inlineSearch();
    const results = find("users", "0");
    assert.ok(!(results instanceof Promise));
    assert.deepEqual([...results.page(PAGE)], [1]);
    for (const term of ["0!", "30"]) {
      await new Promise(setImmediate);
      const far = await find("worlds", term);
      assert.deepEqual([far.total, ...far.page(PAGE)], [3000, 2, 2]);
    }
    await find("users", "0!", { limit: 50, offset: 2000 });
    // Without a thread to ask, the search runs inline after all.
    assert.deepEqual([...(await find("users", "1!")).page(PAGE)], [1]);
    assert.deepEqual(asked, ["worlds 0! 1024 0", "worlds 30 1024 0", "users 0! 50 2000", "users 1! 1024 0"]);
  });

  test("many of them leave room for others in every turn, come in order, and fail alone", async () => {
    const { find, asked, begun } = inlineSearch();
    const found = Array.from({ length: 30 }, (_, at) => find("users", at === 20 ? "no" : `0.${200 + at}`));
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
    const failed = settled.flatMap(({ status }, at) => (status === "rejected" ? [at] : []));
    assert.deepEqual(failed, [20]);
    const inOrder = begun.filter((term) => term !== "no");
    assert.deepEqual(inOrder.toSorted(), inOrder);
    assert.ok(asked.length < 29, "a busy machine may make some of them long, not all");
  });
});

describe("the cache", () => {
  const rows = (count: number): ResultSet => new ListedResults(new Uint32Array(count));
  const PAGE = { limit: 2, offset: 0 };
  const nobody = (): ResultSet => rows(0);

  /** A cache of so many bytes, asked by one caller. A search that waits gives a promise. */
  function open(users: Find, worlds: Find = nobody, bytes = 1_000_000) {
    const cache = new CachedSearch(
      (name, term, page) => (name === "users" ? users : worlds)(term, page),
      bytes,
    );
    const { find } = cache;
    return {
      users: (term: string, page: PageOf = PAGE) => find("users", term, page, STAYS) as Found,
      worlds: (term: string, page: PageOf = PAGE) => find("worlds", term, page, STAYS) as Found,
      counts: () => cache.counts(),
    };
  }

  /** A search that finds 1,000 rows, and the terms it was asked for. */
  function recorded() {
    const asked: string[] = [];
    const find = (term: string): ResultSet => {
      asked.push(term);
      return rows(1000);
    };
    return { asked, find };
  }

  test("searches once for many pages, users and worlds apart", () => {
    const users = recorded();
    const worlds = recorded();
    const search = open(users.find, worlds.find);
    for (const offset of [0, 500, 999, 1000, 2 ** 53 - 1]) {
      const page = search.users("a", { limit: 2, offset });
      assert.deepEqual([page.total, page.rows.length], [1000, Math.max(0, Math.min(2, 1000 - offset))]);
      search.worlds("a", { limit: 2, offset });
    }
    assert.deepEqual([users.asked, worlds.asked], [["a"], ["a"]]);
    const { hits, joined, misses, entries } = search.counts();
    assert.deepEqual({ hits, joined, misses, entries }, { hits: 8, joined: 0, misses: 2, entries: 2 });
  });

  test("is bounded in bytes, and forgets what was not asked for longest", () => {
    const users = recorded();
    const search = open(users.find, nobody, 20_000);
    for (const term of "abcdefgh") search.users(term);
    assert.ok(search.counts().bytes <= 20_000);
    assert.ok(search.counts().entries >= 3 && search.counts().entries < 8);
    search.users("h");
    assert.equal(users.asked.length, 8);
    search.users("a");
    assert.equal(users.asked.length, 9);
  });

  test("keeps nothing when it has no room, or of a result that is larger than all of it", () => {
    for (const bytes of [0, 1000]) {
      const users = recorded();
      const search = open(users.find, nobody, bytes);
      search.users("a");
      search.users("a");
      assert.equal(users.asked.length, 2);
      assert.equal(search.counts().entries, 0);
    }
  });

  test("keeps the JSON of a page that is asked for again and again, and gives it for no other", () => {
    const users = recorded();
    const numbers = (term: string): ResultSet => {
      users.find(term);
      const first = term.charCodeAt(0) * 10_000;
      return new ListedResults(Uint32Array.from({ length: 1000 }, (_, row) => first + row));
    };
    const search = open(numbers);
    let kept = 0;
    let given = 0;
    const random = createRandom(7, "pages");
    for (let turn = 0; turn < 3000; turn++) {
      const term = "ab"[random.below(2)]!;
      const page = { limit: 1 + random.below(3), offset: random.below(2) };
      for (let again = random.below(5); again >= 0; again--) {
        const { total, rows: shown, json, keepJson } = search.users(term, page);
        const first = page.offset + term.charCodeAt(0) * 10_000;
        const right = [0, 1, 2].slice(0, page.limit).map((at) => first + at);
        assert.deepEqual([total, ...shown], [1000, ...right]);
        if (json !== undefined) given++;
        assert.equal(String(json ?? right), String(right));
        if (keepJson !== undefined) kept++;
        keepJson?.(sliceAll(Buffer.from(String(right))));
      }
    }
    assert.ok(kept > 500 && given > kept, `${kept} kept, ${given} given`);
    assert.deepEqual(users.asked.toSorted(), ["a", "b"]);
    const { bytes } = search.counts();
    search.users("c");
    const before = search.counts().bytes;
    search.users("c");
    search.users("c").keepJson!(sliceAll(Buffer.alloc(5000)));
    assert.equal(search.counts().bytes - before, 5000);
    assert.ok(bytes < before);
  });

  test("waits for a running search, and forgets one that failed", async () => {
    let asked = 0;
    let fail = true;
    const search = open(async () => {
      asked++;
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (fail) throw new Error("no");
      return rows(2);
    });
    const both = await Promise.allSettled([search.users("a"), search.users("a")]);
    for (const { status } of both) assert.equal(status, "rejected");
    assert.equal(asked, 1);
    fail = false;
    assert.equal((await Promise.all([search.users("a"), search.users("a")]))[1]!.total, 2);
    assert.equal(asked, 2);
    await search.users("a");
    const { hits, joined, misses } = search.counts();
    assert.deepEqual({ hits, joined, misses }, { hits: 1, joined: 2, misses: 2 });
  });

  test("asks again for what another thread did not tell, and keeps what it told first", async () => {
    const pages: PageOf[] = [];
    const all = Uint32Array.from({ length: 100 }, (_, row) => row);
    /** Returns the first ten rows if they cover the page, else the page alone. */
    const tell = async (total: number, { limit, offset }: PageOf): Promise<PartialResults> => {
      const told = offset + limit <= 10 ? { limit: 10, offset: 0 } : { limit, offset };
      pages.push(told);
      const rows = all.subarray(0, total).subarray(told.offset, told.offset + told.limit);
      return new PartialResults({ total, rows }, told.offset);
    };
    const search = open(
      (_term, page) => tell(100, page),
      (_term, page) => tell(3, page),
    );
    for (const offset of [0, 4, 8, 9, 50, 99, 100]) {
      const { total, rows: shown } = await search.users("a", { limit: 2, offset });
      assert.deepEqual([total, ...shown], [100, ...[offset, offset + 1].filter((row) => row < 100)]);
    }
    const offsets = pages.map(({ offset }) => offset);
    assert.deepEqual(offsets, [0, 9, 50, 99]);
    // A caller that joins a search with too few rows asks once more.
    const both = [0, 50].map((offset) => search.users("b", { limit: 2, offset }));
    const shown = await Promise.all(both).then(([one, other]) => [...one!.rows, ...other!.rows]);
    assert.deepEqual(shown, [0, 1, 50, 51]);
    // A result with all its rows needs no further question.
    assert.equal((await search.worlds("a", { limit: 2, offset: 0 })).total, 3);
    assert.deepEqual([...(await search.worlds("a", { limit: 50, offset: 2 })).rows], [2]);
    assert.deepEqual(search.counts(), { ...search.counts(), hits: 4, joined: 1, misses: 7 });
  });
});

/** Bounds of both kinds, the shared one with views of several threads. */
const KINDS: Record<string, (most: number) => readonly PendingSearches[]> = {
  "on one thread": (most) => [createPendingSearches(most)],
  "on several threads": (most) => {
    const cells = createSharedPending(most);
    return [sharePending(cells, 0), sharePending(cells, 5), sharePending(cells, 63)];
  },
};

for (const [kind, create] of Object.entries(KINDS)) {
  it(`the bound ${kind} is what a model says, with any entries and exits`, () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.record({ key: fc.nat(3), leaves: fc.boolean(), at: fc.nat(100) }), { maxLength: 80 }),
        (most, events) => {
          const views = create(most);
          const inside: { key: number; leave: Leave }[] = [];
          for (const { key, leaves, at } of events) {
            if (leaves && inside.length > 0) {
              inside.splice(at % inside.length, 1)[0]!.leave();
              continue;
            }
            const same = inside.filter((one) => one.key === key).length;
            const expected = inside.length < most && same < Math.max(1, Math.floor(most / 2));
            const leave = views[at % views.length]!.enter(key);
            assert.equal(leave !== undefined, expected);
            if (leave !== undefined) inside.push({ key, leave });
          }
        },
      ),
    );
  });
}

it("what a thread held when it ended is given back, and nothing else", () => {
  const cells = createSharedPending(4);
  const first = sharePending(cells, 0);
  const second = sharePending(cells, 1);
  assert.ok(first.enter(1) && second.enter(1) && second.enter(2) && first.enter(0));
  assert.equal(first.enter(3), undefined);
  releasePending(cells, 1);
  assert.ok(first.enter(3) && first.enter(2));
  assert.equal(first.enter(4), undefined);
});

it("threads that enter and leave at the same time are never more than the bound", async () => {
  const most = 8;
  const cells = createSharedPending(most);
  /** Searches inside now, of all keys and of the one key; the most of both so far; number of entries. */
  const seen = new Int32Array(new SharedArrayBuffer(5 * 4));
  const entry = new URL("./support/pending-thread.mjs", import.meta.url);
  const workers = [0, 1, 2].map(
    (thread) => new Worker(entry, { workerData: { cells, thread, seen }, execArgv: [] }),
  );
  await Promise.all(workers.map((worker) => once(worker, "exit")));
  const [all, ofKey, mostAll, mostOfKey, entered] = seen;
  assert.deepEqual([all, ofKey], [0, 0]);
  assert.ok(mostAll! <= most && mostOfKey! <= most / 2, `${mostAll} and ${mostOfKey}`);
  assert.ok(entered! > 1000, `${entered} got in`);
  assert.ok(cells.every((cell) => cell === 0));
});
