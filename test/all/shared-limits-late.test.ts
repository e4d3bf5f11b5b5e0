/** A real counter server whose answers reach one replica too late: a loss for that replica, told once, that adds its share at most. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, describe, it } from "node:test";
import { countObservation, createObservedCounts } from "../../src/observe/metrics/observed.ts";
import { need } from "../support/need.ts";
import { beforeTimer } from "../support/patience.ts";
import { until } from "../support/process.ts";
import { type Counting, counting, endAll, PROGRAM, type Redis, startRedis } from "../support/redis.ts";

const skip = need(PROGRAM, PROGRAM.replace("-server", "-cli"));
after(endAll);

const LIMIT = 30;
/** One window for all of a test, whenever it begins. */
const OPTIONS = { replicas: 2, window: 315_360_000 };
/** Longer than replicas let a request wait, on a busy machine, too. */
const LATEST_MS = 5000;

/** The way to a server, on which answers can be held back: a delay in milliseconds would be none on a busy machine. */
async function wayTo({ port }: Redis, t: { after(done: () => void): void }) {
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
      if (!way.holds) way.release();
    });
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  way.url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return way;
}

const kindsOf = ({ seen }: Counting): string[] => seen.map(({ kind }) => kind);

async function count(replica: Counting): Promise<number> {
  const { passed } = await beforeTimer(replica.count("a", LIMIT), LATEST_MS, "a request");
  return passed ? 1 : 0;
}

/** Lets the answer pass once it is late, and waits until it was taken. */
async function answerLate(replica: Counting, way: { release: () => void }): Promise<void> {
  await until(() => kindsOf(replica).includes("limits-away"), "the loss");
  way.release();
  await until(() => replica.keeper.leases.recheck[0] !== 0, "the late answer");
}

/** Counts requests one after the other. */
async function countEach(replica: Counting, times: number): Promise<number> {
  let passed = 0;
  for (let time = 0; time < times; time++) passed += await count(replica);
  return passed;
}

describe("a replica whose answers are late", { skip, concurrency: 3 }, () => {
  it("logs and counts one loss, and lets its share through beside what others had", async (t) => {
    const redis = await startRedis();
    const way = await wayTo(redis, t);
    const [late, other] = [await counting(way.url, OPTIONS), await counting(redis.url, OPTIONS)];
    assert.equal(await countEach(other, 25), 25);
    way.holds = true;
    const passed = await Promise.all(Array.from({ length: 40 }, () => count(late)));
    assert.equal(
      passed.reduce((sum, one) => sum + one, 0),
      LIMIT / 2,
    );
    // Its question was answered with what was left; that is in its share already.
    await answerLate(late, way);
    assert.equal(await countEach(late, 20), 0);
    assert.equal(await countEach(other, 20), 0);
    assert.deepEqual(kindsOf(late), ["limits-away"]);
    assert.match(JSON.stringify(late.seen), /"problem":"no answer within \d+ ms"/);

    way.holds = false;
    way.release();
    await until(
      () => kindsOf(late).includes("limits-back") && late.keeper.leases.away[0] === 0,
      "the return",
    );
    assert.equal(await countEach(late, 20), 0);
    assert.deepEqual([kindsOf(late), kindsOf(other)], [["limits-away", "limits-back"], []]);
    const counts = createObservedCounts();
    for (const observation of late.seen) countObservation(counts, observation);
    assert.deepEqual([counts.limitsAway, counts.limitsLosses], [{ "": 0 }, { "": 1 }]);
  });

  it("heeds what a late answer says of the rest", async (t) => {
    const redis = await startRedis();
    const way = await wayTo(redis, t);
    const [late, other] = [await counting(way.url, OPTIONS), await counting(redis.url, OPTIONS)];
    assert.equal(await countEach(other, LIMIT + 5), LIMIT);
    way.holds = true;
    assert.equal(await count(late), 1, "nothing is known yet");
    await answerLate(late, way);
    assert.equal(await countEach(late, 20), 0);
    assert.deepEqual(kindsOf(late), ["limits-away"]);
  });

  it("lets nothing more through where it is to deny", async (t) => {
    const redis = await startRedis();
    const way = await wayTo(redis, t);
    const late = await counting(way.url, { ...OPTIONS, denies: true });
    const other = await counting(redis.url, OPTIONS);
    assert.equal(await countEach(other, 25), 25);
    way.holds = true;
    assert.equal(await count(late), 0);
    await answerLate(late, way);
    // What the server granted is good, whenever that is known.
    assert.equal((await countEach(late, 20)) + (await countEach(other, 20)), 5);
    assert.deepEqual(kindsOf(late), ["limits-away"]);
  });
});
