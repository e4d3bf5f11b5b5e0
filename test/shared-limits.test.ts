/** Limits shared by replicas: any history of losses, delays and clocks, limits that change, and explanations. */

import assert from "node:assert/strict";
import { after, describe, it, test } from "node:test";
import fc from "fast-check";
import { explainKey } from "../src/admin/explain.ts";
import { createKeyRing, KeysFileError } from "../src/auth/keys.ts";
import {
  countInWindow,
  createCounters,
  createSharedCounters,
  type Quota,
  slotOf,
  usageOf,
} from "../src/auth/limit.ts";
import { openState } from "../src/server/open.ts";
import { SharedLimitsKeeper } from "../src/shared-limits/keep-shared.ts";
import { Lessee } from "../src/shared-limits/lessee.ts";
import type { OpenClient } from "../src/shared-limits/redis-client.ts";
import { readRedisUrl } from "../src/shared-limits/redis-url.ts";
import { ServersAway } from "../src/shared-limits/servers-away.ts";
import { planOf } from "../src/shared-limits/settings.ts";
import { createTally } from "../src/shared-limits/tally.ts";
import { createKeyState, grant, type KeyState } from "./support/grant.ts";
import { cleanUp, testOptions } from "./support/http-server.ts";
import { part, untilCovered } from "./support/long.ts";
import { keyRecord } from "./support/place.ts";
import { until } from "./support/process.ts";
import { type History, type Load, runHistory, type Trouble } from "./support/shared-world.ts";

const MS = 5000;

/** Also bounds the search for the shortest counterexample. */
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
      // With these limits a replica holds permits from its first request on.
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
  seed: 1,
  limit: 500,
  window: 60,
  replicas: 1,
  announced: 3,
  denies: false,
  offsets: [0, 0, 0, 0],
  loads: [],
  troubles: [],
};

type Seen = Awaited<ReturnType<typeof runHistory>>;

function isNeverAway({ alone }: Seen): void {
  assert.equal(alone, 0, "the server is not away");
}

/** Runs random histories, `count` at a time, until all together are enough. @param check checks a single one */
async function runHistories(
  count: number,
  histories: fc.Arbitrary<History>,
  { check, isEnough }: { check?: (seen: Seen) => void; isEnough: (all: Seen) => boolean },
): Promise<void> {
  const all = {} as Seen;
  const property = fc.asyncProperty(histories, async (history) => {
    const seen = await runHistory(history);
    for (const name of Object.keys(seen) as (keyof Seen)[]) all[name] = (all[name] ?? 0) + seen[name];
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
    const histories = historyOf([]).map((history) => ({ ...history, troubles: [far] }));
    await runHistories(40, histories, {
      check: isNeverAway,
      isEnough: ({ passed, refused, waited }) =>
        passed > part(3000) && refused > part(500) && waited > part(2000),
    });
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

  const late: Trouble = { kind: "late", at: 500, ms: 1e6, replica: 0 };
  const count = async (loads: History["loads"]) =>
    (await runHistory({ ...CALM, limit: 30, replicas: 2, announced: 2, loads, troubles: [late] })).passed;

  test("a replica whose answers are late lets its share through at most, what it had before included", async () => {
    const burst = { at: 1000, replica: 0, count: 100, every: 0 };
    const slowly = { ...burst, every: 20 };
    for (const load of [burst, slowly]) {
      assert.equal(await count([load]), 15, "alone");
      assert.equal(await count([{ ...load, at: 10, count: 9 }, load]), 15, "of which some had permits");
    }
    // The late answer grants permits to all waiting requests; permits beyond the share stay unused meanwhile.
    assert.equal(await count([burst, { ...burst, at: 1200 }]), 15);
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
    test(`lose little to replicas that stop after ${count} requests`, async () => {
      const idle = [0, 1].map((replica) => ({ at: replica * 20, replica, count, every: 1 }));
      const busy = { at: 1000, replica: 2, count: 1100, every: 1 };
      const seen = await runHistory({ ...CALM, limit: 1000, replicas: 3, loads: [...idle, busy] });
      assert.ok(seen.passed >= 900, `${seen.passed}`);
    });
  }
});

const SECONDS = 3600;

const NOW = Date.parse("2026-01-01T00:00:30Z");

/** Settings of simulated replicas. */
interface Setting {
  readonly wall?: number;
  readonly seconds?: number;
  readonly denies?: boolean;
}

/** Replicas of one counter server that answers at once. `count` sends requests to each in turn. */
function shareAmong(replicas: number, { wall = NOW, seconds = SECONDS, denies = false }: Setting = {}) {
  const state = createKeyState();
  let asks = 0;
  let isAway = false;
  const all = Array.from({ length: replicas }, (_, number) => {
    const counters = createCounters(seconds);
    slotOf(counters, "key");
    return new Lessee({
      counters,
      replicas,
      denies,
      tally: createTally(),
      now: () => ({ mono: 1000, wall }),
      async lease(_, ask) {
        asks++;
        if (isAway) throw new Error("away");
        return grant(state, `r${number}`, ask, seconds, NOW);
      },
      startTimer: () => () => {},
    });
  });
  return {
    asks: () => asks,
    goAway() {
      isAway = true;
    },
    async count(requests: number, limit: number): Promise<Quota[]> {
      const quotas: Quota[] = [];
      for (let at = 0; at < requests; at++)
        quotas.push(await all[at % replicas]!.count({ id: "key", slot: 0 }, limit, wall));
      return quotas;
    },
  };
}

it("a server that goes away again after a report refuses nothing of the share", async () => {
  const server = newServer();
  const one = replica(server, "a", 20, 2);
  server.isAway = true;
  for (let time = 0; time < 2; time++) assert.equal((await one.count()).passed, true);
  server.isAway = false;
  await one.limits.reportAgain(() => true);
  assert.equal(one.limits.leases.get(0)!.isAway, false);
  server.isAway = true;
  let passed = 2;
  while ((await one.count()).passed) passed++;
  assert.equal(passed, 10);
});

it("what remains is told anew when the limit is raised", async () => {
  const { count } = shareAmong(1);
  assert.equal((await count(11, 10)).at(-1)!.remaining, 0);
  assert.equal((await count(1, 1000))[0]!.remaining, 989);
});

it("what remains is exact for one replica, and falls to nothing", async () => {
  const quotas = await shareAmong(1).count(1001, 1000);
  assert.deepEqual(
    quotas.map(({ remaining }) => remaining),
    [...Array.from({ length: 1000 }, (_, at) => 999 - at), 0],
  );
  assert.equal(passedOf(quotas), 1000);
  // Of two replicas, each knows what the server had left at its last answer: never more than in truth by more than the other used since.
  const shared = await shareAmong(2).count(600, 1000);
  assert.ok(shared[0]!.remaining === 999 && shared.at(-1)!.remaining >= 400, `${shared.at(-1)!.remaining}`);
});

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
    // Lower and then higher, but not as high as the use so far.
    for (const limit of [200, 350]) assert.equal(passedOf(await count(20, limit)), 0);
  });

  it("is never passed where it is lowered above what was used, and is used up nearly", async () => {
    const { count } = shareAmong(3);
    const passed = passedOf(await count(400, 1000)) + passedOf(await count(400, 500));
    assert.ok(passed <= 500 && passed >= 480, `${passed}`);
  });

  it("is used up where it is raised, also after a lower one", async () => {
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

for (const seconds of [1, 60, SECONDS]) {
  it(`a shared limit that is as good as none is told of with no number that a cell has no room for: windows of ${seconds} s`, async () => {
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

for (const offset of [-3_600_000, 3000]) {
  it(`a replica whose clock is wrong says when to come back by the server's clock: ${offset} ms`, async () => {
    const { count } = shareAmong(1, { wall: NOW + offset });
    const { passed, reset, clockMs = 0 } = (await count(5, 3)).at(-1)!;
    assert.equal(passed, false);
    assert.equal(reset, Date.parse("2026-01-01T01:00:00Z") / 1000);
    assert.ok(Math.abs(clockMs + offset) < 100, `${clockMs}`);
  });
}

const KEY = keyRecord("svc_sk_k", { id: "k" });

/** A replica with a counter server of one key, which can go away. */
function replica(server: { state: KeyState; isAway: boolean }, name: string, limit: number, replicas = 2) {
  const counters = createSharedCounters(SECONDS);
  const keys = createKeyRing([KEY], counters);
  const slot = slotOf(counters, "k");
  const settings = { target: readRedisUrl("redis://127.0.0.1"), replicas, denies: false };
  const shared = new SharedLimitsKeeper(settings, counters, new ServersAway(true), () => ({
    tried: Promise.resolve(),
    isUp: nobody,
    close: nobody,
    async lease(_, asked) {
      await new Promise((resolve) => setImmediate(resolve));
      if (server.isAway) throw new Error("away");
      return grant(server.state, name, asked, SECONDS, Date.now());
    },
  }));
  const { limits } = shared;
  const key = { id: "k", slot };
  const gate = { prefixes: { api: "a", cli: "c" }, defaultLimit: limit, counters, keys };
  return {
    limits,
    key,
    counters,
    figures: () => shared.figures(),
    count: () => limits.count(key, limit, Date.now()),
    async explain() {
      const explained = await explainKey(gate, shared, "k", null, Date.now());
      return { fault: explained!.fault, ...explained!.quota! };
    },
    used: () => usageOf(counters, slot).used,
  };
}

const nobody = (): never => assert.fail("nobody asks for it");

const newServer = () => ({ state: createKeyState(), isAway: false });

test("a replica that gives back what it holds reports nothing more when a server comes back", async () => {
  const counters = createSharedCounters(SECONDS);
  createKeyRing([KEY], counters);
  const settings = { target: readRedisUrl("redis://127.0.0.1"), replicas: 2, denies: false };
  let asks = 0;
  let released = (): void => {};
  let comeBack = (): void => {};
  const shared = new SharedLimitsKeeper(settings, counters, new ServersAway(true), ({ onUp }) => {
    comeBack = onUp;
    return {
      tried: Promise.resolve(),
      isUp: () => true,
      lease: (_, { want }) => {
        if (want < 0) return new Promise((_resolve, reject) => (released = () => reject(new Error("away"))));
        asks++;
        return Promise.reject(new Error("away"));
      },
      close: () => {},
    };
  });
  await shared.limits.count({ id: "k", slot: slotOf(counters, "k") }, 10, Date.now());
  const before = asks;
  const closed = shared.close();
  comeBack();
  await new Promise((resolve) => setImmediate(resolve));
  released();
  await closed;
  assert.equal(asks, before, "it is counted once more");
});

describe("a shared limit, explained", () => {
  it("is what all replicas have left, and counts nothing", async () => {
    const server = newServer();
    const [a, b] = [replica(server, "a", 20), replica(server, "b", 20)];
    assert.deepEqual((await b.explain()).remaining, 20);
    for (let left = 19; left >= 0; left--) {
      assert.equal((await a.count()).passed, true);
      for (const one of [a, b]) {
        const { counted, used, remaining, fault } = await one.explain();
        assert.deepEqual([counted, used, remaining], ["shared", 20 - left, left]);
        assert.equal(fault, left === 0 ? "rateLimited" : null, `${left} left`);
      }
    }
    assert.deepEqual([a.used(), b.used(), server.state.granted], [20, 0, 20]);
    assert.equal((await b.count()).passed, false);
    assert.equal((await a.count()).passed, false);
  });

  it("says that permits of other replicas are used, and lets pass as many as it says", async () => {
    const server = newServer();
    const [a, b] = [replica(server, "a", 2000), replica(server, "b", 2000)];
    for (let at = 0; at < 300; at++) await a.count();
    const { remaining } = await b.explain();
    assert.ok(remaining < 1700, `${remaining}`);
    for (let at = 0; at < remaining; at++) assert.equal((await b.count()).passed, true, `${at}`);
    assert.equal((await b.count()).passed, false);
    assert.equal((await b.explain()).fault, "rateLimited");
  });

  it("is the replica's share while the server is away", async () => {
    const server = newServer();
    const one = replica(server, "a", 200, 4);
    server.isAway = true;
    const { counted, used, limit, remaining } = await one.explain();
    assert.deepEqual([counted, used, limit, remaining], ["alone", 0, 200, 50]);
    const before = one.figures();
    for (let left = 49; left >= 0; left--) {
      assert.equal((await one.count()).passed, true);
      assert.equal((await one.explain()).remaining, left);
    }
    assert.equal((await one.explain()).fault, "rateLimited");
    assert.equal((await one.count()).passed, false);
    assert.equal(one.figures().alone - before.alone, 50, "explanations are not requests");
  });

  it("is read as requests pass alone, whatever is held", async () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = (below: number): number => (Math.imul(seed * 31 + below, 2654435761) >>> 8) % below;
      const limit = 1 + random(30);
      const server = newServer();
      server.isAway = true;
      const { limits, key, counters, count } = replica(server, "a", limit, 1 + random(4));
      await count();
      const lease = limits.leases.get(key.slot)!;
      const current = Math.floor(Date.now() / 1000 / SECONDS);
      const window = current - (seed % 3 === 0 ? 1 : 0);
      const isValid = seed % 2 === 0;
      const used = random(limit + 1);
      counters.cells[key.slot] = 0n;
      for (let one = 0; one < used + random(3); one++) countInWindow(counters, key.slot, limit, window);
      Object.assign(lease, { window, permits: random(limit + 3), rest: random(7), usedWindow: window, used });
      Object.assign(lease, {
        limit: limit + random(2),
        isSpent: seed % 5 === 0,
        told: 1e9,
        toldWindow: current,
      });
      const until = (now: number): number => (isValid ? now + 60_000 : 0);
      Object.assign(lease, { until: until(performance.now()), wallUntil: until(Date.now()) });
      const { counted, remaining, reset } = limits.read(key, limit);
      let passed = 0;
      let last = await count();
      for (; last.passed; last = await count()) passed++;
      assert.deepEqual([counted, remaining, reset], ["alone", passed, last.reset], `seed ${seed}`);
    }
  });
});

after(cleanUp);

it("a keys file that cannot be read leaves no connection to the counter server behind", async () => {
  let [opened, closed] = [0, 0];
  const open: OpenClient = async () => {
    opened++;
    const evaluate = async () => [Math.floor(Date.now() / 3_600_000), 0, 0, 1000];
    return { servers: [], serverOf: () => "", evaluate, close: () => void closed++ };
  };
  const options = await testOptions({ rateWindow: 3600, keys: "no/such/file" }, []);
  const target = readRedisUrl("redis://127.0.0.1");
  const sharedLimits = planOf({ target, replicas: 1, denies: false, open });
  await assert.rejects(openState({ ...options, sharedLimits }), KeysFileError);
  assert.ok(opened > 0);
  await until(() => closed === opened, "the connection is closed");
});
