/** Shared limits of programs: of servers that restart, and of programs that embed the library, over every door. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { whyNoSharing } from "../../src/http/port.ts";
import { type OpenOptions, type Orrery, openOrrery } from "../../src/mod.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { place, TOKEN } from "../support/place.ts";
import { serveHttp } from "../support/ports.ts";
import { get, type Served, serve } from "../support/process.ts";
import { PROGRAM, startRedis, WINDOW } from "../support/redis.ts";

const skip = need(PROGRAM);
/** With a limit below a hundred each request asks, so that the counter server knows every passed request. */
const LIMIT = 60;
const ID = `key_${TOKEN.slice(-6)}`;

/** A counter server, replicas that count by it, and how many requests passed. */
async function startWorld(t: TestContext) {
  const { snapshot, keys } = place(t);
  const redis = await startRedis();
  const world = {
    redis,
    passed: 0,
    start(): Promise<Served> {
      const limits = ["--rate-limit", String(LIMIT), "--rate-window", String(WINDOW), "--replicas", "2"];
      return serve(snapshot, keys, [...limits, "--shared-limits", redis.url]);
    },
    /** Sends so many requests. The told remainder never rises. @returns how many passed */
    async ask(server: Served, times: number): Promise<number> {
      let passed = 0;
      let least = Number.POSITIVE_INFINITY;
      for (let time = 0; time < times; time++) {
        const { status, headers } = await get(`${server.url}/stats`, { token: TOKEN });
        assert.ok(status === 200 || status === 429, `${status}`);
        const remaining = Number(headers["x-ratelimit-remaining"]);
        assert.ok(remaining <= least, `${remaining} remain, after ${least}`);
        least = remaining;
        if (status === 200) passed++;
      }
      world.passed += passed;
      return passed;
    },
  };
  return world;
}

describe("counts of shared limits over a restart", { skip, concurrency: 2 }, () => {
  for (const how of ["stop", "kill"] as const) {
    test(`are those of before, and all of the limit passes: a ${how}`, async (t) => {
      const world = await startWorld(t);
      const other = await world.start();
      const first = await world.start();
      assert.equal(await world.ask(first, 25), 25);
      await first[how]();
      const second = await world.start();
      for (const times of [10, LIMIT]) for (const server of [second, other]) await world.ask(server, times);
      assert.equal(world.passed, LIMIT);
      for (const server of [second, other]) await server.stop();
    });
  }
});

describe("shared limits of serving threads", { skip: skip || whyNoSharing() }, () => {
  test("are leased by each, told of once, and given back at a stop", async (t) => {
    const { snapshot, keys } = place(t);
    const redis = await startRedis();
    const limits = ["--rate-limit", "600", "--rate-window", String(WINDOW), "--replicas", "2"];
    const start = () => serve(snapshot, keys, [...limits, "--threads", "2", "--shared-limits", redis.url]);
    const first = await start();
    // More connections than one thread gets.
    const ask = async (server: Served, times: number): Promise<number> => {
      const statuses = await Promise.all(
        Array.from(
          { length: times },
          async () => (await get(`${server.url}/stats`, { token: TOKEN })).status,
        ),
      );
      return statuses.filter((status) => status === 200).length;
    };
    let passed = 0;
    for (let round = 0; round < 4; round++) passed += await ask(first, 50);
    assert.equal(passed, 200);
    const lessees = Number(redis.cli("HLEN", `orrery:{${ID}}:${WINDOW}`)) - 2;
    assert.equal(lessees, 2, "each thread is a lessee");
    await first.stop();
    assert.equal(
      redis.cli("HGET", `orrery:{${ID}}:${WINDOW}`, "g"),
      "200",
      "what was not used is given back",
    );

    const second = await start();
    passed += await ask(second, 20);
    redis.signal("SIGSTOP");
    // The share of an outage is that of the process: 300, of which 20 have passed.
    let alone = 0;
    for (let round = 0; round < 7; round++) alone += await ask(second, 50);
    assert.ok(alone >= 280 && alone <= 300, `${alone}`);
    await second.logged("limits-away");
    redis.signal("SIGCONT");
    await second.logged("limits-back");
    assert.deepEqual([second.logs("limits-away").length, second.logs("limits-back").length], [1, 1]);
    passed += alone;
    for (let round = 0; round < 6; round++) passed += await ask(second, 50);
    assert.ok(passed <= 600 && passed >= 560, `${passed}`);
    await second.stop();
  });
});

const TARGET = "/api/public/v1/stats";
const authorization = `Bearer ${TOKEN}`;

function open(limit: number, more: Partial<OpenOptions>): Promise<Orrery> {
  const keys = [{ id: `key-${limit}`, kind: "api", token: TOKEN, limit }] as const;
  return openOrrery({ snapshot: "data/sample", keys, watch: 0, threads: false, ...more });
}

const askDirectly = async ({ ask }: Orrery): Promise<number> =>
  (await ask({ target: TARGET, authorization })).status;

/** Status of a request, by each door. */
const DOORS: readonly ((orrery: Orrery) => Promise<number>)[] = [
  askDirectly,
  async (orrery) =>
    (await orrery.fetch(new Request(`http://localhost${TARGET}`, { headers: { authorization } }))).status,
  async ({ handle }) =>
    (await fetch((await serveHttp({ after }, handle)) + TARGET, { headers: { authorization } })).status,
];

describe("programs that embed the library", { skip }, () => {
  test("share limits, whichever door a request comes through", async () => {
    const { url } = await startRedis();
    const limit = 20;
    const replicas = await Promise.all([1, 2].map(() => open(limit, { sharedLimits: url, replicas: 2 })));
    const statuses: number[] = [];
    for (let at = 0; at < limit + 5; at++) statuses.push(await DOORS[at % 3]!(replicas[at % 2]!));
    assert.deepEqual(statuses, [...Array(limit).fill(200), ...Array(5).fill(429)]);
    for (const { close } of replicas) close();
  });

  test("have a password in a file, and deny what cannot be counted when that is wished", async (t) => {
    const redis = await startRedis(["--requirepass", "not-to-be-seen"]);
    const file = join(temporaryFolder(t), "password");
    const seen: unknown[] = [];
    for (const [password, status] of [["not-to-be-seen", 200] as const, ["another", 429] as const]) {
      writeFileSync(file, `${password}\n`);
      const orrery = await open(1000, {
        sharedLimits: redis.url,
        sharedLimitsPasswordFile: file,
        limitsWhenAway: "deny",
        observe: (observation) => seen.push(observation),
      });
      assert.equal(await askDirectly(orrery), status);
      orrery.close();
    }
    assert.doesNotMatch(JSON.stringify(seen), /not-to-be-seen|another/);
  });
});
