/** The sampled access log: one in so many, but failures and slow requests always. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Observation } from "../src/observe/events.ts";
import { createSampling } from "../src/util/sampling.ts";
import { cleanUp, serve, TOKENS } from "./support/http-server.ts";
import { get, keepAlive } from "./support/process.ts";

after(cleanUp);

describe("a sample", () => {
  it("has one of each block, for which it stands", () => {
    for (const every of [1, 2, 7, 100]) {
      const keeps = createSampling({ every, slowMs: 500 });
      for (let block = 0; block < 50; block++) {
        const kept = Array.from({ length: every }, () => keeps(200, 1)).filter((sample) => sample > 0);
        assert.deepEqual(kept, [every]);
      }
    }
  });

  it("has any of a block, so that a rhythm hides nothing", () => {
    const keeps = createSampling({ every: 10, slowMs: 500 });
    const at = new Set<number>();
    for (let request = 0; request < 10_000; request++) if (keeps(200, 1) > 0) at.add(request % 10);
    assert.equal(at.size, 10);
  });

  it("leaves out no failure and nothing slow, and counts them for themselves", () => {
    const keeps = createSampling({ every: 1e9, slowMs: 500 }, () => 0.5);
    const cases: [status: number, ms: number, sample: number][] = [
      [200, 499.999, 0],
      [200, 500, 1],
      [304, 9999, 1],
      [404, 1, 0],
      [401, 1, 0],
      [429, 1, 0],
      [500, 0, 1],
      [503, 0, 1],
    ];
    for (const [status, ms, sample] of cases) assert.equal(keeps(status, ms), sample, `${status} ${ms}`);
  });
});

it("a server logs one in N of its requests and all failures, and answers each with an id", async () => {
  const server = await serve({ accessLog: true, accessLogSample: 10, slowMs: 3_600_000 });
  const agent = keepAlive(1);
  const ids = new Set<unknown>();
  for (let n = 0; n < 50; n++) {
    const target = n % 2 === 0 ? "stats" : "worlds/none";
    const { headers } = await get(`http://127.0.0.1:${server.port}/api/public/v1/${target}`, {
      agent,
      token: TOKENS.api,
    });
    ids.add(headers["x-request-id"]);
  }
  agent.destroy();
  assert.equal(ids.size, 50);
  const lines = server.observations.filter((one: Observation) => one.kind === "request");
  assert.equal(lines.length, 5);
  assert.ok(lines.every(({ id, sample }) => ids.has(id) && sample === 10));
  await server.stop();
});
