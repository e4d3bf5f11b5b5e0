/** Shared limits of very many keys: what is told of them at a return and at a stop does not come all at once, and nothing of what is over is told. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createSharedCounters, slotOf } from "../../src/auth/limit.ts";
import { keepSharedLimits } from "../../src/shared-limits/keep-shared.ts";
import { readRedisUrl } from "../../src/shared-limits/redis-url.ts";
import { goodLease, HELLO, type HostileRedis, startHostile } from "../support/hostile-redis.ts";
import { until } from "../support/process.ts";
import { type Counting, counting, endAll } from "../support/redis.ts";

const servers = new Set<HostileRedis>();
after(async () => {
  await endAll();
  for (const server of servers) server.close();
});

const KEYS = 2000;
/** One window for all of a test, whenever it begins. */
const WINDOW = 315_360_000;

/** A server that takes a moment for each answer, and notes how many wait. */
async function startSlow() {
  const server = await startHostile();
  servers.add(server);
  const seen = { waiting: 0, most: 0, leases: 0, releases: 0 };
  const answer = (command: readonly string[], write: (text: string) => void): string | undefined => {
    if (command[0] === "HELLO") return HELLO;
    if (command[0] === "EVAL") return goodLease(command);
    seen.leases++;
    if (command.at(-1) === "-1") seen.releases++;
    seen.most = Math.max(seen.most, ++seen.waiting);
    setTimeout(() => {
      seen.waiting--;
      write(goodLease(command));
    }, 2);
    return undefined;
  };
  return {
    server,
    seen,
    good: () =>
      server.turn((command, socket) =>
        answer(command, (text) => void (socket.writable && socket.write(text))),
      ),
  };
}

const isBack = ({ seen }: Counting): boolean => seen.at(-1)?.kind === "limits-back";

describe("shared limits of many keys", () => {
  it("are told of a few at a time", async () => {
    const { server, seen, good } = await startSlow();
    good();
    const replica = await counting(`redis://127.0.0.1:${server.port}`, { window: WINDOW, replicas: 2 });
    const keys = Array.from({ length: KEYS }, (_, n) => `key ${n}`);
    server.turn(() => "-ERR no\r\n");
    for (const key of keys) await replica.count(key, 10);
    const away = (): number =>
      replica.keeper.leases.away.subarray(0, KEYS).reduce((sum, isAway) => sum + isAway, 0);
    assert.equal(away(), KEYS);
    good();
    await until(
      () => isBack(replica) && away() === 0,
      () => `${away()} keys to be told of: ${JSON.stringify(replica.seen)}`,
    );
    assert.equal(seen.leases, KEYS);
    assert.ok(seen.most <= 64, `${seen.most} at once`);
    await replica.keeper.close();
    assert.ok(seen.releases > 64, `${seen.releases} given back`);
    assert.ok(seen.most <= 64, `${seen.most} at once`);
  });

  it("are not told of when their window is over", async () => {
    const { server, seen, good } = await startSlow();
    good();
    const replica = await counting(`redis://127.0.0.1:${server.port}`, { window: 1, replicas: 2 });
    for (let n = 0; n < 100; n++) await replica.count(`key ${n}`, 10);
    server.turn(() => "-ERR no\r\n");
    for (let n = 0; n < 100; n++) await replica.count(`key ${n}`, 10);
    await new Promise((resolve) => setTimeout(resolve, 2100));
    const before = seen.leases;
    good();
    await until(() => isBack(replica), "the return of the server");
    await until(
      () => replica.keeper.leases.away.subarray(0, 100).every((isAway) => isAway === 0),
      "all keys to be asked for again",
    );
    await replica.keeper.close();
    assert.equal(seen.leases, before);
  });

  it("are counted where a reload brings more of them than a call takes arguments", async () => {
    const server = await startHostile();
    servers.add(server);
    const counters = createSharedCounters(WINDOW);
    for (let n = 0; n < 300_000; n++) slotOf(counters, `key ${n}`);
    const target = readRedisUrl(`redis://127.0.0.1:${server.port}`);
    const keeper = await keepSharedLimits({ target, replicas: 1, denies: false }, counters, () => {});
    try {
      const quota = await keeper.limits.count(299_999, 10, Date.now());
      assert.equal(quota.passed, true);
    } finally {
      await keeper.close();
    }
  });
});
