/** Limits shared by a cluster: keys where they lie, on servers that are lost or replaced, and on the move. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { slotOfKey } from "../../src/shared-limits/redis-client.ts";
import { need } from "../support/need.ts";
import { until } from "../support/process.ts";
import {
  type Counting,
  countAll,
  PROGRAM,
  PROGRAMS,
  startCluster,
  startNode,
  startPair,
  untilWhole,
  WINDOW,
} from "../support/redis.ts";

const skip = need(PROGRAM, PROGRAM.replace("-server", "-cli"));
const LIMIT = 40;
const KEYS = Array.from({ length: 30 }, (_, at) => `key ${at}`);

const seenBy = ({ seen }: Counting): string => JSON.stringify(seen);

/** Counts every key so often at each replica. @returns how many requests of each key passed */
async function countKeys(replicas: readonly Counting[], times: number, passed = new Map<string, number>()) {
  for (const key of KEYS)
    passed.set(key, (passed.get(key) ?? 0) + (await countAll(replicas, key, LIMIT, times)));
  return passed;
}

/** Waits until the server is asked for every key again, and every lost server has come back or been replaced. */
async function untilShared(replicas: readonly Counting[]): Promise<void> {
  for (const replica of replicas) {
    const count = (wanted: string): number => replica.seen.filter(({ kind }) => kind === wanted).length;
    await until(
      () => replica.keysAway() === 0 && count("limits-away") === count("limits-back"),
      () => `all keys to be shared, seen: ${seenBy(replica)}, away: ${replica.keysAway()}`,
    );
  }
}

function isAll(passed: ReadonlyMap<string, number>): void {
  for (const key of KEYS) assert.equal(passed.get(key), LIMIT, key);
}

describe("limits shared by a cluster", { skip, concurrency: 3 }, () => {
  for (const program of PROGRAMS)
    it(`counts each key where it lies, and goes on with two when one is gone: ${program}`, async () => {
      const nodes = await startCluster(program);
      const [first, second, third] = nodes;
      const replicas = await startPair(first.url, second.url);
      for (let at = 0; at < 6; at++) {
        for (const key of KEYS) {
          const quota = await replicas[at % 2]!.count(key, 4);
          assert.equal(quota.passed, at < 4, `${key}, request ${at}: ${JSON.stringify(replicas[0]!.seen)}`);
        }
      }
      for (const node of nodes) assert.ok(Number(node.cli("DBSIZE")) > 3);
      third.signal("SIGKILL");
      const [one] = replicas;
      // A question about a key of the lost server finds it away.
      for (let at = 0; at < 30; at++) await one.count(`other ${at}`, 4);
      await one.untilAway();
      let alone = 0;
      for (let at = 0; at < 90; at++) {
        alone += 2 - (await one.countEach(`new ${at}`, 2, 2));
      }
      // For keys of the lost server, one of two passes here; for all others, both.
      assert.ok(alone > 10 && alone < 60, `${alone}`);
    });

  it("are shared again when another server has taken the place of one that is gone", async () => {
    const [first, second, third] = await startCluster();
    const successor = await startNode();
    successor.cli("CLUSTER", "MEET", "127.0.0.1", String(first.port));
    const thirdId = third.cli("CLUSTER", "MYID");
    await until(
      () => successor.cli("CLUSTER", "REPLICATE", thirdId) === "OK",
      "the successor to know whom to follow",
    );
    await until(() => successor.cli("INFO", "replication").includes("master_link_status:up"), "its copy");
    const replicas = await startPair(first.url, second.url);
    const passed = await countKeys(replicas, 3);
    // The last counts are copied, too.
    assert.ok(Number(third.cli("WAIT", "1", "5000")) >= 0);
    third.signal("SIGKILL");
    // Each key finds the server away by itself, and then asks no more.
    await countKeys(replicas, 1, passed);
    await until(() => successor.cli("INFO", "replication").includes("role:master"), "the successor's turn");
    await untilShared(replicas);
    await countKeys(replicas, LIMIT, passed);
    isAll(passed);
    assert.ok(Number(successor.cli("DBSIZE")) > 3);
  });

  it("are shared while slots move, and after that", async () => {
    const [first, second] = await startCluster();
    const replicas = await startPair(first.url, second.url);
    const passed = await countKeys(replicas, 3);
    const [from, to] = [first.cli("CLUSTER", "MYID"), second.cli("CLUSTER", "MYID")];
    const all = new Set(KEYS.map((key) => slotOfKey(`orrery:{${key}}:${WINDOW}`)));
    const slots = [...all].filter((slot) => slot < 5461).map(String);
    assert.ok(slots.length > 3);
    for (const slot of slots) {
      second.cli("CLUSTER", "SETSLOT", slot, "IMPORTING", from);
      first.cli("CLUSTER", "SETSLOT", slot, "MIGRATING", to);
      for (const key of first.cli("CLUSTER", "GETKEYSINSLOT", slot, "100").split("\n")) {
        first.cli("MIGRATE", "127.0.0.1", String(second.port), key, "0", "5000");
      }
    }
    // During the move: the old server no longer has the keys.
    await countKeys(replicas, 2, passed);
    for (const slot of slots)
      for (const node of [second, first]) node.cli("CLUSTER", "SETSLOT", slot, "NODE", to);
    await untilShared(replicas);
    await countKeys(replicas, LIMIT, passed);
    isAll(passed);
    // A busy machine may delay answers; that is no fault of the move.
    for (const problem of replicas.flatMap(({ problems }) => problems()))
      assert.match(problem, /^(the server did not answer in time|no answer within )/);
  });

  it("are shared though the server of the URL was away at the start", async () => {
    const nodes = await startCluster();
    const [first, second] = nodes;
    first.signal("SIGSTOP");
    const [late, other] = await startPair(first.url, second.url);
    assert.match(seenBy(late), /limits-away/);
    first.signal("SIGCONT");
    await untilWhole(nodes);
    await late.untilBack();
    const passed = await countKeys([late, other], LIMIT);
    isAll(passed);
    await untilShared([late, other]);
  });
});
