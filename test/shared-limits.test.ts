/** Limits shared over replicas: any history of losses, delays and clocks, held to what was promised. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { part, untilCovered } from "./support/long.ts";
import { type History, type Load, runHistory, type Trouble } from "./support/shared-world.ts";

const MS = 5000;

/** Looking for the shortest counterexample ends after so long, too. */
const MOST_MS = 60_000;

const load: fc.Arbitrary<Load> = fc.record({
  at: fc.integer({ min: 0, max: MS }),
  replica: fc.nat(3),
  count: fc.integer({ min: 1, max: 150 }),
  every: fc.constantFrom(0, 1, 7, 30),
});

function troubleOf(kinds: readonly Trouble["kind"][]): fc.Arbitrary<Trouble> {
  return fc.record({
    kind: fc.constantFrom(...kinds),
    at: fc.integer({ min: 0, max: MS }),
    ms: fc.integer({ min: 1, max: 2500 }),
    replica: fc.nat(3),
  });
}

function historyOf(kinds: readonly Trouble["kind"][]): fc.Arbitrary<History> {
  return fc.record({
    seed: fc.nat(),
    limit: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 40 }) },
      { weight: 4, arbitrary: fc.integer({ min: 41, max: 600 }) },
      // Of these a replica holds some from its first request on.
      { weight: 1, arbitrary: fc.integer({ min: 8000, max: 100_000 }) },
    ),
    window: fc.integer({ min: 1, max: 3 }),
    replicas: fc.integer({ min: 1, max: 4 }),
    announced: fc.integer({ min: 1, max: 5 }),
    denies: fc.boolean(),
    offsets: fc.array(fc.integer({ min: -4000, max: 4000 }), { minLength: 4, maxLength: 4 }),
    loads: fc.array(load, { minLength: 1, maxLength: 10, size: "max" }),
    troubles:
      kinds.length === 0
        ? fc.constant([])
        : fc.array(troubleOf(kinds), { minLength: 1, maxLength: 6, size: "max" }),
  });
}

const CALM: History = {
  ...{ seed: 1, limit: 500, window: 60, replicas: 1, announced: 3, denies: false },
  ...{ offsets: [0, 0, 0, 0], loads: [], troubles: [] },
};

type Seen = Awaited<ReturnType<typeof runHistory>>;

function isNeverAway({ alone }: Seen): void {
  assert.equal(alone, 0, "the server is not away");
}

/** Runs random histories, so many at a time, until enough was seen in all of them. @param check looks at what was seen in one */
async function runHistories(
  count: number,
  histories: fc.Arbitrary<History>,
  { check, isEnough }: { check?: (seen: Seen) => void; isEnough: (all: Seen) => boolean },
): Promise<void> {
  const all: Seen = {
    passed: 0,
    refused: 0,
    asked: 0,
    alone: 0,
    late: 0,
    waited: 0,
    killed: 0,
    givenBack: 0,
  };
  const property = fc.asyncProperty(histories, async (history) => {
    const seen = await runHistory(history);
    for (const name of Object.keys(all) as (keyof Seen)[]) all[name] += seen[name];
    check?.(seen);
  });
  await untilCovered(
    () => fc.assert(property, { numRuns: part(count), interruptAfterTimeLimit: MOST_MS }),
    () => isEnough(all),
    () => JSON.stringify(all),
  );
}

describe("limits shared over replicas", () => {
  test("are kept in every history without trouble, and nobody is refused before they are reached", async () => {
    await runHistories(80, historyOf([]), {
      check: isNeverAway,
      isEnough: ({ passed, refused }) => passed > part(7000) && refused > part(1500),
    });
  });

  test("are kept where a question takes almost as long as a request may wait", async () => {
    const far: Trouble = { kind: "far", at: 0, ms: 2 * MS, replica: 0 };
    await runHistories(
      40,
      historyOf([]).map((history) => ({ ...history, troubles: [far] })),
      {
        check: isNeverAway,
        isEnough: ({ passed, refused, waited }) =>
          passed > part(3000) && refused > part(500) && waited > part(2000),
      },
    );
  });

  test("are kept where replicas stop, which give back what they have not used", async () => {
    await runHistories(80, historyOf(["stop"]), {
      check: isNeverAway,
      isEnough: ({ passed, refused, givenBack }) =>
        passed > part(7000) && refused > part(1000) && givenBack > part(100),
    });
  });

  test("are kept in every history of losses, delays, restarts and clocks", async () => {
    const kinds = ["partition", "hang", "empty", "kill", "stop", "slow", "lossy", "wall"] as const;
    await runHistories(160, historyOf(kinds), {
      isEnough: ({ passed, refused, alone, killed, givenBack }) =>
        passed > part(12_000) &&
        refused > part(2500) &&
        alone > part(300) &&
        killed > part(10) &&
        givenBack > part(20),
    });
  });

  test("are kept in every history of late answers", async () => {
    await runHistories(80, historyOf(["late", "slow"]), {
      isEnough: ({ passed, refused, alone, late }) =>
        passed > part(6000) && refused > part(1000) && alone > part(300) && late > part(100),
    });
  });

  const LATE: History = {
    ...{ ...CALM, limit: 30, replicas: 2, announced: 2 },
    troubles: [{ kind: "late", at: 500, ms: 1e6, replica: 0 }],
  };
  const count = async (loads: History["loads"], more: Partial<History> = {}) =>
    (await runHistory({ ...LATE, loads, ...more })).passed;

  test("a replica whose answers are late lets its share through at most, what it had before included", async () => {
    const burst = { at: 1000, replica: 0, count: 100, every: 0 };
    const slowly = { ...burst, every: 20 };
    for (const load of [burst, slowly]) {
      assert.equal(await count([load]), 15, "alone");
      assert.equal(await count([{ ...load, at: 10, count: 9 }, load]), 15, "of which some had permits");
    }
    // Its question is answered with permits for all that wait; those beyond the share stay unused meanwhile.
    assert.equal(await count([burst, { ...burst, at: 1200 }]), 15);
  });

  test("a late answer bounds what passes beside what others had", async () => {
    const others = (times: number) => ({ at: 10, replica: 1, count: times, every: 1 });
    const slowly = { at: 1000, replica: 0, count: 100, every: 70 };
    // One request passes before the first answer comes; it says how many are left.
    assert.equal(await count([others(25), slowly]), 30);
    assert.equal(await count([others(60), slowly]), 31);
    // All at once: nothing is known until they have passed.
    assert.equal(await count([others(60), { ...slowly, every: 0 }]), 45);
    assert.equal(await count([others(60), { ...slowly, every: 0 }], { denies: true }), 30);
  });

  test("replicas whose answers all are late let the limit through together", async () => {
    const troubles = [0, 1].map((replica) => ({ kind: "late", at: 0, ms: 1e6, replica }) as const);
    for (const every of [0, 3, 70]) {
      const loads = [0, 1].map((replica) => ({ at: 10, replica, count: 100, every }));
      assert.equal(await count(loads, { troubles }), 30);
    }
  });

  for (const limit of [1, 3, 50, 1000]) {
    test(`a replica that is used alone gets all of a limit of ${limit}`, async () => {
      for (const every of [0, 1, 40]) {
        const count = limit + 30;
        const loads = [{ at: 10, replica: 0, count, every }];
        const seen = await runHistory({ ...CALM, limit, replicas: 3, announced: 1000, loads });
        assert.equal(seen.passed, limit);
        assert.equal(seen.refused, 30);
        assert.ok(limit < 1000 || every === 0 || seen.asked < limit / 4, `${seen.asked} questions`);
      }
    });
  }

  for (const count of [1, 30, 150]) {
    test(`lose little to replicas that stop behind ${count} requests`, async () => {
      const idle = [0, 1].map((replica) => ({ at: replica * 20, replica, count, every: 1 }));
      const busy = { at: 1000, replica: 2, count: 1100, every: 1 };
      const seen = await runHistory({ ...CALM, limit: 1000, replicas: 3, loads: [...idle, busy] });
      assert.ok(seen.passed >= 900, `${seen.passed}`);
    });
  }
});
