/** The cells of the rate limit: exact between threads, and at the ends of their numbers. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import {
  type Counters,
  countRequest,
  createCounters,
  createSharedCounters,
  slotOf,
} from "../src/auth/limit.ts";
import { type Counted, type Counting, countAll } from "./support/counting-thread.ts";

const THREAD = new URL("./support/counting-thread.mjs", import.meta.url);

/** Counts in so many threads at once, this one among them. */
async function countInThreads(threads: number, counting: Counting): Promise<Counted[]> {
  const workers = Array.from(
    { length: threads - 1 },
    () => new Worker(THREAD, { workerData: counting, execArgv: [] }),
  );
  await Promise.all(workers.map((worker) => once(worker, "message")));
  const counted = workers.map(async (worker) => (await once(worker, "message"))[0] as Counted);
  Atomics.store(counting.gate, 0, 1);
  Atomics.notify(counting.gate, 0);
  const own = countAll(counting);
  return [own, ...(await Promise.all(counted))];
}

describe("threads that count requests of one key", () => {
  it("let exactly the limit pass in each window", async () => {
    const counters = createSharedCounters(60);
    const [threads, windows, requests, limit] = [3, 20, 20_000, 25_000];
    const slot = slotOf(counters, "k");
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const counted = await countInThreads(threads, { counters, slot, limit, windows, requests, gate });
    const sum = (at: number, of: keyof Counted): number =>
      counted.reduce((total, { [of]: counts }) => total + counts[at]!, 0);
    let asked = 0;
    let full = 0;
    for (let at = 0; at < windows; at++) {
      const [passed, refused] = [sum(at, "passed"), sum(at, "refused")];
      // A thread whose clock is behind counts in the window that others have begun.
      assert.equal(passed, Math.min(limit, passed + refused), `window ${at}`);
      asked += passed + refused;
      if (refused > 0) full++;
    }
    assert.equal(asked, threads * windows * requests);
    assert.ok(full > 0, "no window was full");
  });
});

it("counters that threads share count as others do", () => {
  const clock = [60_000, 60_000, 60_000, 60_000, 119_999, 120_000, 60_000, 120_001, 120_001, 180_000, 0];
  const [own, shared] = [createCounters, createSharedCounters].map((create) => {
    const counters = create(60);
    slotOf(counters, "another");
    return clock.map((now) => countRequest(counters, slotOf(counters, "k"), 3, now));
  });
  assert.deepEqual(shared, own);
  const passed = [true, true, true, false, false, true, true, true, false, true, true];
  assert.deepEqual(
    shared!.map((quota) => quota.passed),
    passed,
  );
});

/** Sets what a key has used of a window. */
function use(counters: Counters, slot: number, window: number, used: number): void {
  counters.cells[slot] = BigInt(window) * BigInt(counters.split) * 2n ** 32n + BigInt(used);
}

describe("a cell", () => {
  const NOW = Date.parse("2026-01-01T00:00:00Z");

  for (const seconds of [1, 2, 60, 3600, 2 ** 21, 31_536_000]) {
    it(`keeps large counts in windows of ${seconds} s`, () => {
      const counters = createCounters(seconds);
      const slot = slotOf(counters, "k");
      const most = Math.min(Number.MAX_SAFE_INTEGER, counters.split * 2 ** 32 - 1);
      const window = Math.floor(NOW / 1000 / seconds);
      const reset = (window + 1) * seconds;
      const edges = [2 ** 16, 2 ** 31, 2 ** 32, 2 ** 33, 2 ** 40, 2 ** 52].filter((edge) => edge < most);
      assert.ok(edges.length >= 2);
      for (const edge of edges) {
        use(counters, slot, window, edge - 1);
        const limit = edge + 1;
        assert.deepEqual(countRequest(counters, slot, limit, NOW), {
          passed: true,
          limit,
          remaining: 1,
          reset,
        });
        assert.deepEqual(countRequest(counters, slot, limit, NOW), {
          passed: true,
          limit,
          remaining: 0,
          reset,
        });
        assert.deepEqual(countRequest(counters, slot, limit, NOW), {
          passed: false,
          limit,
          remaining: 0,
          reset,
        });
        assert.equal(countRequest(counters, slot, limit, NOW + seconds * 1000).remaining, edge);
      }
    });

    it(`has room for 2^31 requests a second in windows of ${seconds} s, and refuses when it is full`, () => {
      const counters = createCounters(seconds);
      const slot = slotOf(counters, "k");
      const limit = Number.MAX_SAFE_INTEGER;
      const most = Math.min(limit, counters.split * 2 ** 32 - 1);
      assert.ok(most >= Math.min(limit, 2 ** 31 * seconds));
      const window = Math.floor(NOW / 1000 / seconds);
      use(counters, slot, window, most - 1);
      assert.equal(countRequest(counters, slot, limit, NOW).passed, true);
      assert.equal(countRequest(counters, slot, limit, NOW).passed, false);
      assert.equal(countRequest(counters, slot, limit, NOW).reset, (window + 1) * seconds);
    });

    it(`reopens no window of ${seconds} s where its numbers end, in 2106 or later`, () => {
      const counters = createCounters(seconds);
      const slot = slotOf(counters, "k");
      const last = 2 ** 32 / counters.split - 1;
      assert.ok((last + 1) * seconds >= 2 ** 32);
      const passed = [last - 1, last, last, last + 1, last * 2, last * 4].map(
        (window) => countRequest(counters, slot, 2, window * seconds * 1000).passed,
      );
      assert.deepEqual(passed, [true, true, true, false, false, false]);
    });
  }

  it("is not made for windows shorter than a second", () => {
    for (const seconds of [0, -1, 0.5, Number.NaN]) assert.throws(() => createCounters(seconds), RangeError);
  });
});
