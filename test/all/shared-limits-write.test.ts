/** A counter server that answers, but cannot write: away until it can. */

import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { after, describe, it } from "node:test";
import { need } from "../support/need.ts";
import { until } from "../support/process.ts";
import { counting, endAll, PROGRAM, startRedis } from "../support/redis.ts";

const skip = need(PROGRAM, "redis-cli");

after(endAll);

const FAULTS: Record<string, readonly [fault: readonly string[], mend: readonly string[]]> = {
  "has no memory": [
    ["CONFIG", "SET", "maxmemory", "1"],
    ["CONFIG", "SET", "maxmemory", "0"],
  ],
  "is read-only": [
    ["REPLICAOF", "127.0.0.1", "1"],
    ["REPLICAOF", "NO", "ONE"],
  ],
  "has nobody to copy to": [
    ["CONFIG", "SET", "min-replicas-to-write", "1"],
    ["CONFIG", "SET", "min-replicas-to-write", "0"],
  ],
};

describe("a counter server that cannot write", { skip }, () => {
  for (const [name, [fault, mend]] of Object.entries(FAULTS)) {
    it(`is told of once as away, and once as back: it ${name}`, async () => {
      const redis = await startRedis();
      const replica = await counting(redis.url, { replicas: 2 });
      for (let at = 0; at < 5; at++) assert.ok((await replica.count("a", 40)).passed);
      redis.cli(...fault);
      await replica.count("a", 40);
      const connections = (): number =>
        Number(/total_connections_received:(\d+)/.exec(redis.cli("INFO", "stats"))![1]);
      // Each look is a connection, too.
      let looks = 0;
      const before = connections();
      await until(
        () => connections() - before - ++looks >= 3,
        () => `connections: ${connections() - before}, looks: ${looks}, ${JSON.stringify(replica.seen)}`,
      );
      const kinds = (): string[] => replica.seen.map(({ kind }) => kind);
      assert.deepEqual(kinds(), ["limits-away"]);
      redis.cli(...mend);
      await until(
        () => kinds().includes("limits-back") && replica.keeper.leases.away[0] === 0,
        () => `the return, seen: ${JSON.stringify(replica.seen)}`,
      );
      assert.deepEqual(kinds(), ["limits-away", "limits-back"]);
      let passed = 6;
      for (let at = 0; at < 60; at++) if ((await replica.count("a", 40)).passed) passed++;
      assert.equal(passed, 40);
    });
  }
});

/** Answers of a server come so much later, in milliseconds: a check may take one and a half times as long. */
const LATER_MS = 400;

describe("a counter server that is far away", { skip }, () => {
  const sockets = new Set<Socket>();
  let far: Server;
  after(() => {
    for (const socket of sockets) socket.destroy();
    far.close();
  });

  it("is looked at in one round trip", async () => {
    const redis = await startRedis();
    far = createServer((near) => {
      const there = connect(redis.port, "127.0.0.1");
      for (const socket of [near, there]) {
        sockets.add(socket);
        socket
          .on("error", () => {})
          .on("close", () => {
            near.destroy();
            there.destroy();
          });
      }
      near.pipe(there);
      there.on("data", (chunk: Buffer) => setTimeout(() => near.destroyed || near.write(chunk), LATER_MS));
    });
    await new Promise<void>((resolve) => far.listen(0, "127.0.0.1", resolve));
    const replica = await counting(`redis://127.0.0.1:${(far.address() as AddressInfo).port}`);
    await until(
      () => replica.seen.at(-1)?.kind !== "limits-away",
      () => `that it can be asked, seen: ${JSON.stringify(replica.seen)}`,
    );
  });
});
