/** Searches in slices: fair between keys, few at a time, and none for callers that are gone. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MOST_RUNNING, Scheduler } from "../src/search/schedule/scheduler.ts";
import type { Work } from "../src/search/work.ts";
import { FairQueue } from "../src/server/search/inline-search.ts";
import { BUSY } from "../src/store/generation.ts";

/** Milliseconds of a clock that only work moves. */
const STEP_MS = 0.5;

interface FakeSearch {
  readonly name: string;
  readonly key: number;
  readonly result: Promise<unknown>;
  begunAt: number | undefined;
  endedAt: number | undefined;
  wasReturned: boolean;
  steps: number;
  gone: boolean;
}

/** A scheduler over fake work, and what it did with it. */
function createBench() {
  let now = 0;
  const scheduler = new Scheduler<string>(() => now);
  const all: FakeSearch[] = [];
  /** Most searches that had begun and not ended, over all and of one key. */
  const most = { all: 0, ofKey: 0 };

  function* work(search: FakeSearch, steps: number): Work<string> {
    search.begunAt = now;
    search.wasReturned = true;
    const open = all.filter(({ begunAt, endedAt }) => begunAt !== undefined && endedAt === undefined);
    most.all = Math.max(most.all, open.length);
    most.ofKey = Math.max(most.ofKey, open.filter(({ key }) => key === search.key).length);
    try {
      while (search.steps < steps) {
        now += STEP_MS;
        search.steps++;
        yield;
      }
      search.wasReturned = false;
      return search.name;
    } finally {
      search.endedAt = now;
    }
  }

  function run(key: number, name: string, steps: number): FakeSearch {
    const search: FakeSearch = {
      name,
      key,
      result: scheduler.run(() => work(search, steps), { key, isGone: () => search.gone }),
      begunAt: undefined,
      endedAt: undefined,
      wasReturned: false,
      steps: 0,
      gone: false,
    };
    all.push(search);
    return search;
  }
  return { run, all, most, now: () => now };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the scheduler", () => {
  it("gives a key beside the flood of another half of the time", async () => {
    const { run, most } = createBench();
    const flood = Array.from({ length: 200 }, (_, at) => run(1, `flood ${at}`, 100));
    for (let at = 0; at < 5; at++) await turn();
    const honest = run(2, "honest", 100);
    assert.equal(await honest.result, "honest");
    const alone = 100 * STEP_MS;
    assert.ok(honest.endedAt! - honest.begunAt! <= alone * 2 + 2, `${honest.endedAt! - honest.begunAt!} ms`);
    assert.deepEqual(most, { all: 2, ofKey: 1 });
    for (const search of flood) search.gone = true;
    await Promise.all(flood.map(({ result }) => result));
  });

  it("runs those of one key in order of arrival, one at a time", async () => {
    const { run, most, all } = createBench();
    const results = Array.from({ length: 20 }, (_, at) => run(7, String(at), 1 + (at % 5)).result);
    assert.deepEqual(
      await Promise.all(results),
      Array.from({ length: 20 }, (_, at) => String(at)),
    );
    assert.equal(most.ofKey, 1);
    const begun = all.map(({ begunAt }) => begunAt!);
    assert.deepEqual(
      begun.toSorted((a, b) => a - b),
      begun,
    );
  });

  it("begins few at a time, however many keys there are, and gives each its turn", async () => {
    const { run, most, all } = createBench();
    const keys = 40;
    const results = Array.from({ length: keys * 3 }, (_, at) => run(at % keys, String(at), 20).result);
    await Promise.all(results);
    assert.deepEqual(most, { all: MOST_RUNNING, ofKey: 1 });
    // Nobody's second search begins before everybody's first.
    const lastOfFirst = Math.max(...all.slice(0, keys).map(({ begunAt }) => begunAt!));
    const firstOfSecond = Math.min(...all.slice(keys, keys * 2).map(({ begunAt }) => begunAt!));
    assert.ok(lastOfFirst <= firstOfSecond, `${lastOfFirst} > ${firstOfSecond}`);
  });

  it("lets a long search go on beside a key that always has short ones", async () => {
    const { run } = createBench();
    const long = run(1, "long", 50);
    let over = false;
    void long.result.then(() => {
      over = true;
    });
    for (let at = 0; !over && at < 1000; at++) {
      run(2, `short ${at}`, 4);
      await turn();
    }
    assert.ok(over);
  });

  it("lets other events have their turn between slices", async () => {
    const { run } = createBench();
    let turns = 0;
    const counted = (async () => {
      for (; turns < 10; turns++) await turn();
    })();
    const { result } = run(1, "long", 1000);
    await counted;
    assert.equal(await Promise.race([result, Promise.resolve("under way")]), "under way");
    assert.equal(await result, "long");
  });

  it("never begins what nobody waits for, and stops what has begun", async () => {
    const { run, now } = createBench();
    const begun = run(1, "begun", 1_000_000);
    const waiting = Array.from({ length: 50 }, (_, at) => run(1, `waiting ${at}`, 1_000_000));
    const next = run(1, "next", 3);
    for (let at = 0; at < 3; at++) await turn();
    const before = now();
    for (const search of [begun, ...waiting]) search.gone = true;
    assert.equal(await next.result, "next");
    assert.equal(await begun.result, BUSY);
    assert.ok(begun.wasReturned, "what it holds is given back");
    for (const search of waiting) {
      assert.equal(await search.result, BUSY);
      assert.equal(search.begunAt, undefined);
    }
    assert.equal(now() - before, 3 * STEP_MS);
  });

  it("tells callers that are gone soon, though their turn has not come", async () => {
    const { run, now } = createBench();
    const begun = run(1, "begun", 1_000_000);
    const waiting = run(1, "waiting", 1);
    waiting.gone = true;
    assert.equal(await waiting.result, BUSY);
    assert.ok(now() < 50, `${now()} ms`);
    begun.gone = true;
    await begun.result;
  });

  it("fails a search alone, when it begins and when it runs", async () => {
    const scheduler = new Scheduler<string>();
    const caller = { key: 1, isGone: () => false };
    const beginning = scheduler.run(() => {
      throw new Error("cannot begin");
    }, caller);
    // biome-ignore lint/correctness/useYield: it fails before it could
    const running = scheduler.run(function* (): Work<string> {
      throw new Error("cannot go on");
    }, caller);
    // biome-ignore lint/correctness/useYield: it needs no pause
    const good = scheduler.run(function* (): Work<string> {
      return "good";
    }, caller);
    await assert.rejects(beginning, /cannot begin/);
    await assert.rejects(running, /cannot go on/);
    assert.equal(await good, "good");
  });

  it("answers everybody who stays, whoever comes and goes", async () => {
    const event = fc.record({
      key: fc.integer({ min: 0, max: 6 }),
      steps: fc.integer({ min: 0, max: 30 }),
      leaves: fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }),
      turns: fc.integer({ min: 0, max: 3 }),
    });
    let gone = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60 }), async (events) => {
        const { run, all, most, now } = createBench();
        const leaving: { at: number; search: FakeSearch }[] = [];
        let turns = 0;
        for (const [at, { key, steps, leaves, turns: pause }] of events.entries()) {
          const search = run(key, String(at), steps);
          if (leaves !== undefined) leaving.push({ at: turns + leaves, search });
          for (let waited = 0; waited < pause; waited++) {
            for (const { search: one } of leaving.filter(({ at: when }) => when <= turns)) one.gone = true;
            await turn();
            turns++;
          }
        }
        for (const { search } of leaving) search.gone = true;
        const results = await Promise.all(all.map(({ result }) => result));
        for (const [at, search] of all.entries()) {
          if (results[at] === BUSY) gone++;
          assert.ok(results[at] === search.name || (search.gone && results[at] === BUSY));
        }
        assert.ok(most.all <= MOST_RUNNING && most.ofKey <= 1);
        // Time passes for work alone: each step is done once.
        assert.equal(now(), all.reduce((sum, { steps }) => sum + steps, 0) * STEP_MS);
        for (const key of new Set(all.map((search) => search.key))) {
          const begun = all.filter((search) => search.key === key).flatMap(({ begunAt }) => begunAt ?? []);
          assert.deepEqual(
            begun.toSorted((a, b) => a - b),
            begun,
          );
        }
      }),
      { numRuns: 60 },
    );
    assert.ok(gone > 50, `${gone} left before their turn`);
  });
});

describe("a fair queue", () => {
  it("takes one of each key in turn, in order of arrival within a key", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "a3", "b1", "a4", "c1", "b2"]) queue.push(item.charCodeAt(0), item);
    assert.equal(queue.length, 7);
    const taken = [queue.shift(), queue.shift()];
    queue.push("d".charCodeAt(0), "d1");
    while (queue.length > 0) taken.push(queue.shift());
    assert.deepEqual(taken, ["a1", "b1", "c1", "a2", "b2", "d1", "a3", "a4"]);
    assert.equal(queue.shift(), undefined);
  });
});
