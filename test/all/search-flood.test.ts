/** Floods of long searches against real indexes: on one thread, in threads, and when one of these dies. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { whyNoSharing } from "../../src/http/port.ts";
import { BASE_PATH } from "../../src/model/model.ts";
import type { RunningServer } from "../../src/server/server.ts";
import { temporaryFolder, user, world, writeSnapshot } from "../support/folders.ts";
import { cleanUp, testOptions } from "../support/http-server.ts";
import { within } from "../support/patience.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { until } from "../support/process.ts";
import { dial, requestHead } from "../support/raw.ts";
import { assertPassesOn, findNode } from "../support/runtimes.ts";
import { startInThreads } from "../support/workers.ts";

const WORLDS = 6000;
/** Default bound of waiting searches of one key. */
const MOST_OF_KEY = 128;
const SHARED =
  "https://cdn.worlds.example.com/files/launch/index.html?region=europe&platform=standalone&asset=";

const folder = temporaryFolder();
const keysFile = writeKeys(
  join(folder, "keys.json"),
  ...["first", "second"].map((name) => keyRecord(`svc_sk_${name}`, { id: name })),
);
const worlds = Array.from({ length: WORLDS }, (_, at) =>
  world(at + 1, { name: `world ${at}`, description: SHARED + at.toString(36).padStart(5, "0") }),
);

/** Writes a snapshot. Another name of the user makes another generation. */
const nameOwner = (displayName: string): string =>
  writeSnapshot(join(folder, "snapshot"), {
    "users.ndjson": [user(1, { displayName })],
    "worlds.ndjson": worlds,
    "world-stats.ndjson": "",
    "instances.ndjson": "",
  });
const snapshot = nameOwner("owner");

after(cleanUp);

let searches = 0;

function longSearch(): string {
  const number = searches++;
  const pieces = Array.from({ length: 10 }, (_, at) => {
    const from = (number * 7 + at * 9) % (SHARED.length - 14);
    return SHARED.slice(from, from + 5 + ((number >> at) % 7));
  });
  return `${BASE_PATH}/worlds/search?q=${encodeURIComponent(`${pieces.join(" ")} `)}&offset=${number}`;
}

type Flood = Awaited<ReturnType<typeof flood>>;

/** Sends long searches at once, pipelined over connections. */
async function flood(server: RunningServer, key: string, count: number, connections: number) {
  const port = Number(new URL(server.url).port);
  /** Answers by status; "lost" counts connections. */
  const statuses = new Map<string, number>();
  const add = (what: string): void => void statuses.set(what, (statuses.get(what) ?? 0) + 1);
  const wires = await Promise.all(Array.from({ length: connections }, () => dial(port)));
  for (const [at, wire] of wires.entries()) {
    const share = Math.ceil((count - at) / connections);
    const head = (): string => requestHead(longSearch(), [`Authorization: Bearer svc_sk_${key}`]);
    void wire.send(Array.from({ length: share }, head).join(""));
    void (async () => {
      for (let left = share; left > 0; left--) add(String((await wire.response()).status));
    })().catch(() => add("lost"));
  }
  return { wires, statuses, answered: () => [...statuses.values()].reduce((sum, one) => sum + one, 0) };
}

const allOf = (one: Flood, count: number): Promise<boolean> =>
  until(
    () => one.answered() >= count,
    () => `${count} to be answered: ${JSON.stringify([...one.statuses])}`,
    90_000,
  );

async function start(t: TestContext, servingThreads = 1) {
  const own = { snapshot, keys: keysFile, threads: true, servingThreads, searchCacheBytes: 0 };
  return startInThreads(t, await testOptions(own, []));
}

async function askOnce(server: RunningServer, key: string): Promise<number> {
  const headers = { Authorization: `Bearer svc_sk_${key}` };
  const reply = await fetch(new URL(longSearch(), server.url), { headers });
  await reply.arrayBuffer();
  return reply.status;
}

/** CPU time of the process in half a second, in milliseconds. */
async function cpuWhileIdle(): Promise<number> {
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** So many that they outlast a search of another key, also on a quick machine whose other programs take turns. */
const FLOOD = 2400;

function hangUp({ wires }: Flood): void {
  for (const wire of wires) wire.destroy();
}

/** Serving threads share a port, which takes a newer Node; the tests of two threads run on such a one. */
const sharing = whyNoSharing() === undefined;
const other = sharing ? undefined : findNode(24);

if (other !== undefined) {
  it("floods of servers with threads", { skip: "missing" in other && other.missing }, async () => {
    await assertPassesOn(other, "test/all/search-flood.test.ts", {
      pattern: "2 serving|serving thread",
      atLeast: 3,
    });
  });
}

for (const threads of sharing ? [1, 2] : [1]) {
  describe(`a flood of long searches, ${threads} serving`, () => {
    it("of one key gets its share of answers, and others theirs meanwhile", async (t) => {
      const { server } = await start(t, threads);
      let one: Flood;
      // A busy machine may keep this process from asking until all of a flood are answered.
      for (let floods = 1; ; floods++) {
        one = await flood(server, "first", FLOOD, 30);
        await until(() => one.answered() > 0, "an answer");
        assert.equal(await askOnce(server, "second"), 200);
        const isMeanwhile = one.answered() < FLOOD;
        await allOf(one, FLOOD);
        if (isMeanwhile) break;
        assert.ok(floods < 5, "the other key waits for all of them");
        hangUp(one);
      }
      assert.deepEqual([...one.statuses.keys()].toSorted(), ["200", "503"]);
      // Answers during the arrival of the flood made room for more: the quicker the searches, the more.
      assert.ok(one.statuses.get("200")! >= MOST_OF_KEY, `${one.statuses.get("200")} answered`);
      hangUp(one);
    });

    it("costs nothing when it has hung up, and leaves room for the next", async (t) => {
      const { server } = await start(t, threads);
      for (let round = 0; round < 3; round++) {
        const one = await flood(server, "first", 400, 20);
        await until(() => one.answered() >= 200, "the 503s");
        hangUp(one);
        await new Promise((resolve) => setTimeout(resolve, 300));
        const cpu = await cpuWhileIdle();
        assert.ok(cpu < 200, `${cpu} ms of CPU for clients that are gone`);
        assert.equal(await askOnce(server, "first"), 200);
      }
    });
  });
}

if (sharing) {
  it("a serving thread that dies gives back the places of its searches", async (t) => {
    const { server, workers } = await start(t, 2);
    const one = await flood(server, "first", 400, 40);
    await until(() => one.answered() >= 200, "the 503s");
    for (const worker of workers.slice(1)) await worker.terminate();
    for (const { ending } of one.wires) await within(ending, "the end of a connection");
    await until(async () => (await askOnce(server, "first").catch(() => 0)) === 200, "another thread");
    const all = await flood(server, "first", MOST_OF_KEY, 20);
    await allOf(all, MOST_OF_KEY);
    assert.deepEqual([...all.statuses], [["200", MOST_OF_KEY]]);
    hangUp(all);
  });
}
