/** The cache of searches, and the bound on waiting ones. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, test } from "node:test";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { sliceAll } from "../src/model/body.ts";
import { CachedSearch } from "../src/search/cache.ts";
import {
  createPendingSearches,
  createSharedPending,
  type Leave,
  type PendingSearches,
  releasePending,
  sharePending,
} from "../src/search/pending.ts";
import { Scheduler } from "../src/search/schedule.ts";
import type { Caller, Found, PageOf } from "../src/store/generation.ts";
import { createRandom } from "../src/util/random.ts";

const STAYS: Caller = { key: 0, isGone: () => false };

describe("the cache", () => {
  const PAGE = { limit: 2, offset: 0 };
  const TOTAL = 5000;

  /** A cache of so many bytes over searches that find rows 0 to 4,999, the term's first unit added; what it was asked for. */
  function open(cacheBytes = 1_000_000) {
    const asked: string[] = [];
    const cached = new CachedSearch(
      function* search(name, term, { limit, offset }) {
        asked.push(`${name} ${term} ${offset}`);
        if (term === "no") throw new Error("no");
        const count = Math.max(0, Math.min(limit, TOTAL - offset));
        const first = offset + term.charCodeAt(0);
        return { total: TOTAL, rows: Uint32Array.from({ length: count }, (_, at) => first + at) };
      },
      { cacheBytes, scheduler: new Scheduler(undefined, () => 0), count: undefined },
    );
    return {
      asked,
      users: (term: string, page: PageOf = PAGE) => cached.find("users", term, page, STAYS) as Found,
      worlds: (term: string, page: PageOf = PAGE) => cached.find("worlds", term, page, STAYS) as Found,
      counts: () => cached.counts(),
    };
  }

  test("searches once for 256 results, users and worlds apart, and gives each page", () => {
    const search = open();
    for (const offset of [0, 100, 250, 255, 256, 511, 4990, 4999, 5000, 2 ** 53 - 1]) {
      for (const table of ["users", "worlds"] as const) {
        const { total, rows } = search[table]("a", { limit: 50, offset });
        const count = Math.max(0, Math.min(50, TOTAL - offset));
        assert.deepEqual(
          [total, ...rows],
          [TOTAL, ...Array.from({ length: count }, (_, at) => offset + 97 + at)],
        );
      }
    }
    const ofUsers = search.asked.filter((one) => one.startsWith("users"));
    assert.deepEqual(
      ofUsers,
      [0, 256, 4864, 2 ** 53 - 256].map((offset) => `users a ${offset}`),
    );
    assert.equal(search.asked.length, 2 * ofUsers.length);
    // A part without results is not kept.
    assert.deepEqual({ ...search.counts(), bytes: 0 }, { hits: 12, misses: 8, entries: 6, bytes: 0 });
  });

  test("is bounded in bytes, and forgets what was not asked for longest", () => {
    const search = open(7000);
    for (const term of "abcdefgh") search.users(term);
    assert.ok(search.counts().bytes <= 7000);
    assert.ok(search.counts().entries >= 3 && search.counts().entries < 8);
    search.users("h");
    assert.equal(search.asked.length, 8);
    search.users("a");
    assert.equal(search.asked.length, 9);
  });

  test("keeps nothing when it has no room, or of a result that is larger than all of it, or fails", () => {
    for (const bytes of [0, 1000]) {
      const search = open(bytes);
      search.users("a");
      search.users("a");
      assert.equal(search.asked.length, 2);
      assert.equal(search.counts().entries, 0);
    }
    const search = open();
    for (let times = 0; times < 2; times++) assert.throws(() => search.users("no"), /no/);
    assert.deepEqual([search.asked.length, search.counts().entries], [2, 0]);
  });

  test("keeps the JSON of a page that is asked for again and again, and gives it for no other", () => {
    const search = open();
    let kept = 0;
    let given = 0;
    const random = createRandom(7, "pages");
    for (let turn = 0; turn < 3000; turn++) {
      const term = "ab"[random.below(2)]!;
      const page = { limit: 1 + random.below(3), offset: random.below(2) };
      for (let again = random.below(5); again >= 0; again--) {
        const { total, rows: shown, json, keepJson } = search.users(term, page);
        const first = page.offset + term.charCodeAt(0);
        const right = [0, 1, 2].slice(0, page.limit).map((at) => first + at);
        assert.deepEqual([total, ...shown], [TOTAL, ...right]);
        if (json !== undefined) given++;
        assert.equal(String(json ?? right), String(right));
        if (keepJson !== undefined) kept++;
        keepJson?.(sliceAll(Buffer.from(String(right))));
      }
    }
    assert.ok(kept > 500 && given > kept, `${kept} kept, ${given} given`);
    assert.equal(search.asked.length, 2);
    const { bytes } = search.counts();
    search.users("c");
    const before = search.counts().bytes;
    search.users("c").keepJson!(sliceAll(Buffer.alloc(5000)));
    assert.equal(search.counts().bytes - before, 5000);
    assert.ok(bytes < before);
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
