/** A real counter server whose answers reach one replica too late: the replica reports one loss, and adds at most its share. */

import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { ObservedCounts } from "../../src/admin/metrics/observed.ts";
import { PROGRAM as WHOLE } from "../../src/features.ts";
import { need } from "../support/need.ts";
import { listen } from "../support/ports.ts";
import { until } from "../support/process.ts";
import {
  type Counting,
  counting,
  ONE_OF_TWO,
  PROGRAM,
  type Redis,
  startPair,
  startRedis,
} from "../support/redis.ts";

const skip = need(PROGRAM, PROGRAM.replace("-server", "-cli"));
const LIMIT = 30;

/** A proxy to a server that can hold answers back until told: a mere delay would prove nothing on a busy machine. */
async function wayTo({ port }: Redis, t: { after(done: () => void): void }, laterMs = 0) {
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  const way = {
    url: "",
    holds: false,
    /** Passes on the answers that were held back. */
    release: () => {
      for (const pass of held.splice(0)) pass();
    },
  };
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => [client, upstream].map((one) => one.destroy()));
    }
    client.on("data", (chunk: Buffer) => upstream.write(chunk));
    upstream.on("data", (chunk: Buffer) => {
      held.push(() => client.writable && client.write(chunk));
      if (laterMs > 0) setTimeout(way.release, laterMs);
      else if (!way.holds) way.release();
    });
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  way.url = `redis://127.0.0.1:${await listen(server)}`;
  return way;
}

/** Releases the answer after its timeout, and waits until the replica has used it. */
async function answerLate(replica: Counting, way: { release: () => void }): Promise<void> {
  await replica.untilAway();
  way.release();
  await until(() => replica.keeper.leases.recheck[0] !== 0, "the late answer");
}

describe("a replica whose answers are late", { skip, concurrency: 3 }, () => {
  it("logs and counts one loss, and lets its share through beside what others had", async (t) => {
    const redis = await startRedis();
    const way = await wayTo(redis, t);
    const [late, other] = await startPair(way.url, redis.url);
    assert.equal(await other.countEach("a", LIMIT, 25), 25);
    way.holds = true;
    const quotas = await Promise.all(Array.from({ length: 40 }, () => late.count("a", LIMIT)));
    assert.equal(quotas.filter(({ passed }) => passed).length, LIMIT / 2);
    // The late answer granted the rest, which its share already includes.
    await answerLate(late, way);
    assert.equal(await late.countEach("a", LIMIT, 20), 0);
    assert.equal(await other.countEach("a", LIMIT, 20), 0);
    assert.deepEqual(late.kinds(), ["limits-away"]);
    assert.match(JSON.stringify(late.seen), /"problem":"no answer within \d+ ms"/);

    way.holds = false;
    way.release();
    await late.untilBack();
    assert.equal(await late.countEach("a", LIMIT, 20), 0);
    assert.deepEqual([late.kinds(), other.kinds()], [["limits-away", "limits-back"], []]);
    const counts = new ObservedCounts(WHOLE.tables);
    for (const observation of late.seen) counts.observe(observation);
    assert.deepEqual([counts.values.limitsAway, counts.values.limitsLosses], [{ "": 0 }, { "": 1 }]);
  });

  it("heeds what a late answer says of the rest", async (t) => {
    const redis = await startRedis();
    const way = await wayTo(redis, t);
    const [late, other] = await startPair(way.url, redis.url);
    assert.equal(await other.countEach("a", LIMIT, LIMIT + 5), LIMIT);
    way.holds = true;
    assert.equal(await late.countEach("a", LIMIT, 1), 1, "nothing is known yet");
    await answerLate(late, way);
    assert.equal(await late.countEach("a", LIMIT, 20), 0);
    assert.deepEqual(late.kinds(), ["limits-away"]);
  });

  it("lets nothing more through where it is to deny", async (t) => {
    const redis = await startRedis();
    const way = await wayTo(redis, t);
    const late = await counting(way.url, { ...ONE_OF_TWO, denies: true });
    const other = await counting(redis.url, ONE_OF_TWO);
    assert.equal(await other.countEach("a", LIMIT, 25), 25);
    way.holds = true;
    assert.equal(await late.countEach("a", LIMIT, 1), 0);
    await answerLate(late, way);
    // A grant stays valid, however late it is known.
    assert.equal((await late.countEach("a", LIMIT, 20)) + (await other.countEach("a", LIMIT, 20)), 5);
    assert.deepEqual(late.kinds(), ["limits-away"]);
  });

  it("is asked all the same where each takes a while: the server is looked at in one round trip", async (t) => {
    const redis = await startRedis();
    // Within the bound: a check may take one and a half times as long.
    const far = await counting((await wayTo(redis, t, 400)).url);
    await far.untilGood();
  });
});
