/** A key whose limit is changed while replicas share it. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCounters, type Quota, slotOf } from "../src/auth/limit.ts";
import { Asking } from "../src/shared-limits/asking.ts";
import { createLeases } from "../src/shared-limits/leases.ts";
import { WaitingRequests } from "../src/shared-limits/waiting.ts";
import { createKeyState, grant } from "./support/grant.ts";

const SECONDS = 3600;
const NOW = Date.parse("2026-01-01T00:00:30Z");

/** How the replicas stand to each other. */
interface Setting {
  readonly wall?: number;
  readonly seconds?: number;
  readonly denies?: boolean;
}

/** Replicas of one server that answers at once. @returns counts requests, at each in turn */
function shareAmong(replicas: number, { wall = NOW, seconds = SECONDS, denies = false }: Setting = {}) {
  const state = createKeyState();
  let asks = 0;
  let isAway = false;
  const all = Array.from({ length: replicas }, (_, number) => {
    const counters = createCounters(seconds);
    slotOf(counters, "key");
    const leases = createLeases(counters, replicas, denies);
    const asking = new Asking(leases, {
      now: () => ({ mono: 1000, wall }),
      lease(_, ask, settle) {
        asks++;
        const answer = isAway ? undefined : grant(state, `r${number}`, ask, seconds, NOW);
        queueMicrotask(() => settle(answer));
      },
    });
    const settle = (slot: number, sent: number | undefined): void => limits.settle(slot, sent);
    const limits = new WaitingRequests(leases, {
      mono: () => 1000,
      ask: (slot, limit, want, since) => asking.ask(slot, limit, want, settle, since),
      startTimer: () => () => {},
    });
    return limits;
  });
  return {
    asks: () => asks,
    goAway() {
      isAway = true;
    },
    async count(requests: number, limit: number): Promise<Quota[]> {
      const quotas: Quota[] = [];
      for (let at = 0; at < requests; at++) quotas.push(await all[at % replicas]!.count(0, limit, wall));
      return quotas;
    },
  };
}

const passedOf = (quotas: readonly Quota[]): number => quotas.filter(({ passed }) => passed).length;

describe("a shared limit that is changed in the window", () => {
  it("refuses at once what is beyond a lower one, though it was leased", async () => {
    const { count, asks } = shareAmong(2);
    assert.equal(passedOf(await count(400, 1000)), 400);
    const refused = await count(100, 300);
    assert.equal(passedOf(refused), 0);
    for (const { limit, remaining } of refused) assert.deepEqual([limit, remaining], [300, 0]);
    const before = asks();
    await count(100, 300);
    assert.equal(asks(), before, "who is refused asks nobody");
    // Lower and higher again, but not as high as what was used.
    for (const limit of [200, 350]) assert.equal(passedOf(await count(20, limit)), 0);
  });

  it("is never passed where it is lowered above what was used, and is used up nearly", async () => {
    const { count } = shareAmong(3);
    const passed = passedOf(await count(400, 1000)) + passedOf(await count(400, 500));
    assert.ok(passed <= 500 && passed >= 480, `${passed}`);
  });

  it("is used up to the last where it is raised by a few", async () => {
    const { count } = shareAmong(2);
    assert.equal(passedOf(await count(45, 40)), 40);
    assert.equal(passedOf(await count(10, 30)), 0);
    assert.equal(passedOf(await count(10, 42)), 2);
    assert.equal(passedOf(await count(10, 45)), 3);
  });

  it("is used up where it is raised, also behind a lower one", async () => {
    const { count } = shareAmong(2);
    let passed = passedOf(await count(400, 1000));
    passed += passedOf(await count(50, 300));
    passed += passedOf(await count(4000, 3000));
    assert.equal(passed, 3000);
  });

  for (const denies of [false, true]) {
    it(`is not passed by what was leased before while the server is away: ${denies ? "deny" : "share"}`, async () => {
      const unasked = shareAmong(2, { denies });
      assert.equal(passedOf(await unasked.count(400, 1000)), 400);
      unasked.goAway();
      assert.equal(passedOf(await unasked.count(200, 300)), 0);
      const refused = shareAmong(2, { denies });
      assert.equal(passedOf(await refused.count(400, 1000)), 400);
      assert.equal(passedOf(await refused.count(2, 300)), 0);
      refused.goAway();
      assert.equal(passedOf(await refused.count(200, 350)), 0);
    });
  }
});

describe("a shared limit that is as good as none", () => {
  for (const seconds of [1, 60, SECONDS]) {
    it(`is told of with no number that a cell has no room for: windows of ${seconds} s`, async () => {
      const { count, asks } = shareAmong(2, { seconds });
      const quotas = await count(200, Number.MAX_SAFE_INTEGER);
      const reset = (Math.floor(NOW / 1000 / seconds) + 1) * seconds;
      const told = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
      for (const [at, quota] of quotas.entries()) {
        const { remaining } = quota;
        assert.deepEqual([quota.passed, quota.reset], [true, reset]);
        assert.ok(remaining > 1e9 && remaining <= told[at % 2]!, `${remaining} behind ${told}`);
        told[at % 2] = remaining;
      }
      assert.ok(asks() < 20, `${asks()} questions`);
    });
  }
});

describe("a replica whose clock is wrong", () => {
  for (const offset of [-3_600_000, 3000]) {
    it(`says when to come back by the server's clock: ${offset} ms`, async () => {
      const { count } = shareAmong(1, { wall: NOW + offset });
      const { passed, reset, clockMs = 0 } = (await count(5, 3)).at(-1)!;
      assert.equal(passed, false);
      assert.equal(reset, Date.parse("2026-01-01T01:00:00Z") / 1000);
      assert.ok(Math.abs(clockMs + offset) < 100, `${clockMs}`);
    });
  }
});
