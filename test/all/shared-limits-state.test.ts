/** `--state` together with `--shared-limits`, in real processes: restarts while the counter server is up, away, or has lost its counts. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { need } from "../support/need.ts";
import { place, TOKEN } from "../support/place.ts";
import { get, type Served, serve, until } from "../support/process.ts";
import { PROGRAM, type Redis, startRedis, WINDOW } from "../support/redis.ts";

/** With a limit below a hundred each request asks, so that the server knows every passed request. */
const LIMIT = 60;
const ID = `key_${TOKEN.slice(-6)}`;

/** Replicas of one counter server, and the counts of their callers. */
class World {
  readonly #place: ReturnType<typeof place>;
  readonly redis: Redis;
  passed = 0;

  constructor(test: { after(done: () => void): void }, redis: Redis) {
    this.#place = place(test);
    this.redis = redis;
  }

  stateFile(name: string): string {
    return join(this.#place.folder, name);
  }

  start(state?: string): Promise<Served> {
    const limits = ["--rate-limit", String(LIMIT), "--rate-window", String(WINDOW)];
    const shared = ["--shared-limits", this.redis.url, "--replicas", "2"];
    const kept = state === undefined ? [] : ["--state", this.stateFile(state)];
    return serve(this.#place.snapshot, this.#place.keys, [...limits, ...shared, ...kept]);
  }

  /** Sends so many requests; returns how many passed. Callers are told a safe remainder, which never rises. */
  async ask(server: Served, times: number): Promise<number> {
    let passed = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let time = 0; time < times; time++) {
      const { status, headers } = await get(`${server.url}/stats`, { token: TOKEN });
      assert.ok(status === 200 || status === 429, `${status}`);
      const remaining = Number(headers["x-ratelimit-remaining"]);
      assert.ok(remaining <= least, `${remaining} remain, behind ${least}`);
      least = remaining;
      if (status === 200) passed++;
    }
    this.passed += passed;
    return passed;
  }

  async untilKept(state: string, count: number): Promise<void> {
    const file = this.stateFile(state);
    const text = (): string => (existsSync(file) ? readFileSync(file, "utf8") : "no file");
    await until(
      () => text().includes(`["${ID}",${count}]`),
      () => `${count} in ${text()}`,
    );
  }
}

const skip = need(PROGRAM);

describe("counts of shared limits over a restart", { skip, concurrency: 5 }, () => {
  test("are those of before, and all of the limit passes: a stop", async (t) => {
    const world = new World(t, await startRedis());
    const other = await world.start();
    const first = await world.start("a");
    assert.equal(await world.ask(first, 25), 25);
    await first.stop();
    await world.untilKept("a", 25);
    const second = await world.start("a");
    assert.equal(second.logs("state-restored")[0]!.keys, 1);
    await world.ask(second, 10);
    await world.ask(other, 10);
    await world.ask(second, LIMIT);
    await world.ask(other, LIMIT);
    assert.equal(world.passed, LIMIT);
    // A server that starts with nothing left lets nothing through.
    await second.stop();
    const third = await world.start("a");
    assert.equal(await world.ask(third, 5), 0);
    for (const server of [third, other]) await server.stop();
  });

  test("are those of before: a kill", async (t) => {
    const world = new World(t, await startRedis());
    const other = await world.start();
    const first = await world.start("a");
    await world.ask(first, 25);
    await world.untilKept("a", 25);
    await first.kill();
    const second = await world.start("a");
    await world.ask(second, LIMIT);
    await world.ask(other, LIMIT);
    assert.equal(world.passed, LIMIT);
    for (const server of [second, other]) await server.stop();
  });

  test("hold where the server has forgotten everything meanwhile", async (t) => {
    const world = new World(t, await startRedis());
    const first = await world.start("a");
    await world.ask(first, 25);
    await first.stop();
    world.redis.cli("FLUSHALL");
    const second = await world.start("a");
    assert.equal(await world.ask(second, LIMIT), LIMIT - 25);
    assert.equal(world.passed, LIMIT);
    await second.stop();
  });

  test("are each replica's own where the server has forgotten everything: it grants the limit once more over all", async (t) => {
    const world = new World(t, await startRedis());
    for (const state of ["a", "b"]) {
      const server = await world.start(state);
      assert.equal(await world.ask(server, 10), 10);
      await server.stop();
    }
    world.redis.cli("FLUSHALL");
    const [first, second] = [await world.start("a"), await world.start("b")];
    assert.equal(await world.ask(first, LIMIT), LIMIT - 10);
    assert.equal(await world.ask(second, LIMIT), 10);
    assert.equal(world.passed, 20 + LIMIT);
    for (const server of [first, second]) await server.stop();
  });

  test("hold where the server is away, and when it comes back with nothing", async (t) => {
    const world = new World(t, await startRedis());
    const first = await world.start("a");
    await world.ask(first, 25);
    world.redis.signal("SIGKILL");
    await first.logged("limits-away");
    assert.equal(await world.ask(first, 2), 2);
    await first.stop();
    const second = await world.start("a");
    await second.logged("limits-away");
    // Its share of the window, including all that passed before.
    assert.equal(await world.ask(second, LIMIT), LIMIT / 2 - 27);
    assert.equal(world.passed, LIMIT / 2);
    await world.redis.restart();
    await second.logged("limits-back");
    // It reports the requests that it counted alone, and continues.
    await until(() => world.redis.cli("EXISTS", `orrery:{${ID}}:${WINDOW}`) === "1", "the key at the server");
    assert.equal(await world.ask(second, LIMIT), LIMIT / 2);
    assert.equal(world.passed, LIMIT);
    await second.stop();
    await world.untilKept("a", LIMIT);
  });

  test("pass from a server to the one that takes its place, each once", async (t) => {
    const world = new World(t, await startRedis());
    const older = await world.start("a");
    await world.ask(older, 10);
    const younger = await world.start("a");
    for (let round = 0; round < 5; round++) {
      await world.ask(older, 2);
      await world.ask(younger, 3);
    }
    await older.stop();
    await world.untilKept("a", 35);
    await world.ask(younger, LIMIT);
    assert.equal(world.passed, LIMIT);
    // A kill afterwards gives nothing back, even if the counter server has lost its counts.
    await world.untilKept("a", LIMIT);
    await younger.kill();
    world.redis.cli("FLUSHALL");
    const last = await world.start("a");
    assert.equal(await world.ask(last, 5), 0);
    await last.stop();
  });
});
