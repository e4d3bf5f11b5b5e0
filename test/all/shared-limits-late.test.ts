/** A real counter server whose answers reach one replica too late: a loss for that replica, told once, that adds its share at most. */

import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { after, describe, it } from "node:test";
import { countObservation, createObservedCounts } from "../../src/observe/metrics/observed.ts";
import { need } from "../support/need.ts";
import { listen } from "../support/ports.ts";
import { until } from "../support/process.ts";
import {
  type Counting,
  counting,
  endAll,
  ONE_OF_TWO,
  PROGRAM,
  type Redis,
  startPair,
  startRedis,
} from "../support/redis.ts";

const skip = need(PROGRAM, PROGRAM.replace("-server", "-cli"));
after(endAll);

const LIMIT = 30;

/** The way to a server, on which answers can be held back: a delay in milliseconds would be none on a busy machine. */
async function wayTo({ port }: Redis, t: { after(done: () => void): void }, laterMs = 0) {
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  const way = {
    url: "",
    holds: false,
    /** Lets those pass that were held back. */
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

/** Lets the answer pass once it is late, and waits until it was taken. */
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
    // Its question was answered with what was left; that is in its share already.
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
    const counts = createObservedCounts();
    for (const observation of late.seen) countObservation(counts, observation);
    assert.deepEqual([counts.limitsAway, counts.limitsLosses], [{ "": 0 }, { "": 1 }]);
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
    // What the server granted is good, whenever that is known.
    assert.equal((await late.countEach("a", LIMIT, 20)) + (await other.countEach("a", LIMIT, 20)), 5);
    assert.deepEqual(late.kinds(), ["limits-away"]);
  });

  it("is asked all the same where each takes a while: the server is looked at in one round trip", async (t) => {
    const redis = await startRedis();
    // A check may take one and a half times as long.
    const far = await counting((await wayTo(redis, t, 400)).url);
    await far.untilGood();
  });
});
