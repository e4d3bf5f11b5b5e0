/** Crowds without a token that send endless pipelines, and ten clients beside them that send one request at a time. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pin } from "../../bench/support/child.ts";
import { percentile } from "../../bench/support/load.ts";
import { startCrowd } from "../support/crowds.ts";
import { slowness } from "../support/patience.ts";
import { place, TOKEN } from "../support/place.ts";
import { serve } from "../support/process.ts";
import { dial, requestHead } from "../support/raw.ts";

const HONEST = 10;
/** Pause between an answer and the next request, in milliseconds: small load compared with any flood. */
const PAUSE_MS = 2;
const CONNECTIONS = 200;
const MEASURED_MS = 1500;

const STATS = "/api/public/v1/stats";

/** Sends requests over some connections for a while. @returns the milliseconds of each wait, sorted */
async function askHonestly(port: number): Promise<Float64Array> {
  const waits: number[] = [];
  const end = performance.now() + MEASURED_MS;
  const client = async (): Promise<void> => {
    const wire = await dial(port);
    while (performance.now() < end) {
      const began = performance.now();
      void wire.send(requestHead(STATS, [`Authorization: Bearer ${TOKEN}`]));
      await wire.response();
      waits.push(performance.now() - began);
      await sleep(PAUSE_MS);
    }
    wire.destroy();
  };
  await Promise.all(Array.from({ length: HONEST }, client));
  return Float64Array.from(waits).sort();
}

/** Requests without a token; each crowd sends one of them repeatedly. */
const WITHOUT_TOKEN = [
  { name: "OPTIONS", small: `OPTIONS ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
  { name: "GET /", small: "GET / HTTP/1.1\r\nHost:\r\n\r\n" },
  { name: "/openapi.json", small: "GET /openapi.json HTTP/1.1\r\nHost:\r\n\r\n" },
  { name: "304 of a page", small: "GET /docs HTTP/1.1\r\nHost:\r\nIf-None-Match: *\r\n\r\n" },
  { name: "401", small: `GET ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
  { name: "404", small: "GET /x HTTP/1.1\r\nHost:\r\n\r\n" },
  { name: "405", small: `PUT ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
] as const;

/**
 * Bound of the median wait, in milliseconds of a quiet machine. It is 1 where turns are shared, and hundreds where a
 * connection gets as many answers as it requests; the slowest hundredth depends on the machine rather than the server.
 */
const MOST_MS = 50;

describe(`${CONNECTIONS} connections with endless pipelines leave room for others`, {
  concurrency: 1,
}, () => {
  for (const { name, small } of WITHOUT_TOKEN) {
    it(name, async (t) => {
      const { snapshot, keys } = place(t);
      const server = await serve(snapshot, keys, ["--watch", "0", "--rate-limit", "1000000"]);
      pin(server.child.pid!, 0);
      const crowd = await startCrowd(t, server.port, CONNECTIONS, "endless", small);
      pin(crowd.pid, 1);
      const waits = await askHonestly(server.port);
      const numbers = [0.5, 0.99, 1].map((share) => percentile(waits, share).toFixed(1)).join(", ");
      t.diagnostic(`p50, p99 and longest: ${numbers} ms`);
      const p50 = percentile(waits, 0.5);
      assert.ok(p50 <= MOST_MS || p50 <= MOST_MS * slowness(), `p50, p99 and longest: ${numbers} ms`);
      await crowd.end();
      await server.stop();
    });
  }
});
