/** The bound on searches that wait: over all and by key, on one thread and on many. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import {
  createPendingSearches,
  createSharedPending,
  type Leave,
  type PendingSearches,
  releasePending,
  sharePending,
} from "../src/search/schedule/pending.ts";

/** Bounds of both kinds; of the shared one another thread's view. */
const KINDS: Record<string, (most: number) => readonly PendingSearches[]> = {
  "on one thread": (most) => [createPendingSearches(most)],
  "on several threads": (most) => {
    const cells = createSharedPending(most);
    return [sharePending(cells, 0), sharePending(cells, 5), sharePending(cells, 63)];
  },
};

for (const [kind, create] of Object.entries(KINDS)) {
  describe(`the bound ${kind}`, () => {
    it("is half of all for one key", () => {
      const [pending] = create(6);
      const leaves = [1, 1, 1].map((key) => pending!.enter(key));
      assert.ok(leaves.every((leave) => leave !== undefined));
      assert.equal(pending!.enter(1), undefined);
      for (const key of [2, 3, 0]) assert.ok(pending!.enter(key));
      assert.equal(pending!.enter(4), undefined);
      leaves[0]!();
      assert.ok(pending!.enter(4));
    });

    it("lets one search wait where it is 1", () => {
      const [pending] = create(1);
      const leave = pending!.enter(0);
      assert.equal(pending!.enter(1), undefined);
      leave!();
      assert.ok(pending!.enter(1));
    });

    it("is what a model says, whoever enters and leaves", () => {
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
  /** How many are inside now, of all and of the one key; the most of both so far; how often somebody got in. */
  const seen = new Int32Array(new SharedArrayBuffer(5 * 4));
  const entry = new URL("./support/pending-thread.mjs", import.meta.url);
  await Promise.all(
    [0, 1, 2].map(
      (thread) =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(entry, { workerData: { cells, thread, seen }, execArgv: [] });
          worker.once("error", reject);
          worker.once("exit", () => resolve());
        }),
    ),
  );
  const [all, ofKey, mostAll, mostOfKey, entered] = seen;
  assert.deepEqual([all, ofKey], [0, 0]);
  assert.ok(mostAll! <= most && mostOfKey! <= most / 2, `${mostAll} and ${mostOfKey}`);
  assert.ok(entered! > 1000, `${entered} got in`);
  assert.ok(cells.every((cell) => cell === 0));
});
