/** Searches in time slices and questions between threads: fair between keys, in batches, none for callers that are gone. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import fc from "fast-check";
import { MOST_RUNNING, Scheduler } from "../src/search/schedule.ts";
import type { Work } from "../src/search/work.ts";
import { type AskPage, type Question, Questions } from "../src/server/similar/questions.ts";
import { askOver, passOn } from "../src/server/threads/serving-messages.ts";
import { BUSY, type Caller, type Found } from "../src/store/generation.ts";
import { within } from "./support/patience.ts";

/** Milliseconds of one step; only work advances the clock. */
const STEP_MS = 0.5;

interface FakeSearch {
  readonly name: string;
  readonly key: number;
  readonly result: unknown;
  begunAt?: number;
  endedAt?: number;
  steps: number;
  gone: boolean;
}

/** A scheduler with fake work, and a record of its choices. */
function createBench() {
  let now = 0;
  const scheduler = new Scheduler(undefined, () => now);
  const all: FakeSearch[] = [];
  /** Most searches running at a time, of all keys and of one key. */
  const most = { all: 0, ofKey: 0 };

  function* work(search: FakeSearch, steps: number): Work<string> {
    search.begunAt = now;
    const open = all.filter(
      ({ begunAt, endedAt, gone }) => begunAt !== undefined && endedAt === undefined && !gone,
    );
    most.all = Math.max(most.all, open.length);
    most.ofKey = Math.max(most.ofKey, open.filter(({ key }) => key === search.key).length);
    while (search.steps < steps) {
      now += STEP_MS;
      search.steps++;
      yield;
    }
    search.endedAt = now;
    return search.name;
  }

  function run(key: number, name: string, steps: number): FakeSearch {
    const search = { name, key, steps: 0, gone: false, result: undefined as unknown };
    all.push(search);
    search.result = scheduler.run(work(search, steps), { key, isGone: () => search.gone });
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
    assert.ok(begun.steps < 20, "it is not gone on with");
    for (const search of waiting) {
      assert.equal(await search.result, BUSY);
      assert.equal(search.begunAt, undefined);
    }
    assert.equal(now() - before, 3 * STEP_MS);
  });

  it("does short searches at once, up to a slice in a turn", async () => {
    const { run } = createBench();
    assert.equal(run(1, "first", 0).result, "first");
    assert.equal(run(1, "second", 0).result, "second");
    const long = run(1, "long", 10).result;
    assert.ok(long instanceof Promise);
    assert.ok(run(2, "behind it", 0).result instanceof Promise);
    assert.equal(await long, "long");
    await turn();
    assert.equal(run(1, "later", 0).result, "later");
  });

  it("fails a search alone, at once or later", async () => {
    const scheduler = new Scheduler();
    const caller = { key: 1, isGone: () => false };
    function* work(steps: number, result?: string): Work<string> {
      for (let step = 0; step < steps; step++) {
        const until = performance.now() + 1;
        while (performance.now() < until);
        yield;
      }
      if (result === undefined) throw new Error("cannot go on");
      return result;
    }
    assert.throws(() => scheduler.run(work(0), caller), /cannot go on/);
    const failing = [scheduler.run(work(2), caller), scheduler.run(work(0), caller)];
    const good = scheduler.run(work(2, "good"), caller);
    for (const one of failing) await assert.rejects(async () => one, /cannot go on/);
    assert.equal(await good, "good");
  });

  it("answers everybody who stays, with others coming and going", async () => {
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
        // Only work takes time: each step runs once.
        assert.equal(now(), all.reduce((sum, { steps }) => sum + steps, 0) * STEP_MS);
        for (const key of new Set(all.map((search) => search.key))) {
          const begun = all.filter((search) => search.key === key).flatMap(({ begunAt }) => begunAt ?? []);
          const sorted = begun.toSorted((a, b) => a - b);
          assert.deepEqual(begun, sorted);
        }
      }),
      { numRuns: 60 },
    );
    assert.ok(gone > 50, `${gone} left before their turn`);
  });
});

const PAGE = { limit: 2, offset: 0 };

describe("questions to a thread", () => {
  it("are dropped when their callers are gone", async () => {
    const sent: Question[] = [];
    const questions = new Questions(() => {});
    questions.sendTo({ postMessage: (question: Question) => sent.push(question) });
    const gone = new Set<string>();
    const ask = (term: string) =>
      questions.ask("users", term, PAGE, { key: 1, isGone: () => gone.has(term) });
    const kept = ask("kept");
    const dropped = ask("dropped");
    gone.add("dropped");
    assert.equal(await dropped, BUSY);
    const numbers = sent.flatMap((one) => ("term" in one ? [one.number] : []));
    assert.deepEqual([numbers.length, sent.at(-1)], [2, { dropped: numbers[1] }]);
    questions.settle({ number: numbers[0]!, found: { total: 0, rows: [] } });
    await kept;
  });
});

const SOMEBODY: Caller = { key: 1, isGone: () => false };

const FOUND: Found = { total: 3, rows: Uint32Array.of(7, 9) };

interface Search {
  readonly term: string;
  readonly caller: Caller;
  readonly resolve: (found: Found | undefined) => void;
  readonly reject: (error: Error) => void;
}

function open() {
  const { port1, port2 } = new MessageChannel();
  after(() => port2.close());
  const searches: Search[] = [];
  let wake = (): void => {};
  const find: AskPage = (_name, term, _page, caller) =>
    new Promise<Found | undefined>((resolve, reject) => {
      searches.push({ term, caller, resolve, reject });
      wake();
    });
  passOn(find, port1);
  const asker = askOver(port2);
  /** Resolves once `count` searches have begun. */
  const begun = async (count: number): Promise<void> => {
    while (searches.length < count) {
      await within(new Promise<void>((resolve) => (wake = resolve)), "a search");
    }
  };
  const ask = (term: string) => asker.ask("users", term, PAGE, SOMEBODY);
  return { asker, ask, searches, begun, port1, port2 };
}

describe("questions over a port", () => {
  it("are answered each with its own answer, whichever comes first", async () => {
    const { ask, searches, begun } = open();
    const [a, b, c] = [ask("a"), ask("b"), ask("c")];
    await begun(3);
    searches[1]!.resolve(FOUND);
    searches[0]!.reject(new Error("no"));
    searches[2]!.resolve(undefined);
    await assert.rejects(a, /no/);
    assert.deepEqual(await b, FOUND);
    assert.equal(await c, undefined);
  });

  it("what was asked is answered after the end of its generation, and what is asked later is given back", async () => {
    const { asker, ask, searches, begun, port1 } = open();
    const asked = ask("asked");
    await begun(1);
    asker.retire();
    const late = ask("late");
    await begun(2);
    const closed = once(port1, "close");
    for (const { resolve } of searches) resolve(FOUND);
    assert.deepEqual(await Promise.all([asked, late]), [FOUND, FOUND]);
    await within(closed, "the end of the port");
    assert.equal(await ask("later"), undefined);
    assert.equal(searches.length, 2);
  });

  it("are given back when the other end is closed", async () => {
    const { ask, begun, port1 } = open();
    const asked = ask("asked");
    await begun(1);
    port1.close();
    assert.equal(await within(asked, "the question"), undefined);
    assert.equal(await ask("later"), undefined);
  });

  it("are nobody's when the client is gone", async () => {
    const { ask, searches, begun, port1, port2 } = open();
    void ask("asked");
    await begun(1);
    assert.equal(searches[0]!.caller.isGone(), false);
    const closed = once(port1, "close");
    port2.close();
    await within(closed, "the end of the port");
    assert.equal(searches[0]!.caller.isGone(), true);
  });
});
