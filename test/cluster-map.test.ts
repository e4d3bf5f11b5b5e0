/** What a cluster says of its servers and their slots. */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { OpenConnection } from "../src/shared-limits/connection.ts";
import { CounterServer } from "../src/shared-limits/counter-server.ts";
import { readRedisUrl } from "../src/shared-limits/redis-url.ts";

const SECONDS = 3600;
const WINDOW = 500_000;
const MAP = [
  [0, 16383, ["127.0.0.1", 7001]],
  [0, 8191, ["127.0.0.1", 7002]],
  [8192, 16383, ["127.0.0.1", 7003]],
];

it("a server whose slots are all another's is not asked whether it can count", async () => {
  const checked = new Set<number>();
  const open: OpenConnection = async ({ port }) => ({
    isCluster: true,
    async run([name]) {
      if (name === "CLUSTER") return MAP;
      checked.add(port);
      return [WINDOW, 0, 0, 1000];
    },
    close() {},
  });
  const ignore = (): void => {};
  const events = { onAway: ignore, onBack: ignore, onUp: ignore, onClock: ignore };
  const target = readRedisUrl("redis://127.0.0.1:7000");
  const server = new CounterServer({ target, seconds: SECONDS, replica: "replica", events, open });
  await server.tried();
  try {
    for (const key of ["one", "two", "three", "four"]) assert.ok(server.isUp(key), key);
    assert.deepEqual([...checked].sort(), [7002, 7003]);
  } finally {
    server.close();
  }
});
