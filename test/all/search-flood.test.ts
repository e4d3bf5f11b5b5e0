/** Floods of long searches against real indexes: on one thread, in threads, through deaths, reloads and stops. */

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import type { Worker } from "node:worker_threads";
import { whyNoSharing } from "../../src/http/port.ts";
import { openOrrery } from "../../src/mod.ts";
import { BASE_PATH } from "../../src/model/model.ts";
import { type RunningServer, startServer } from "../../src/server/server.ts";
import { temporaryFolder, user, world, writeSnapshot } from "../support/folders.ts";
import { cleanUp, testOptions } from "../support/http-server.ts";
import { assertInTime, timeLeft } from "../support/patience.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { assertPassesOn, findNode } from "../support/runtimes.ts";
import { workersOf } from "../support/workers.ts";

const WORLDS = 6000;
/** What may wait in a server that is told nothing else, and of one key. */
const [MOST, MOST_OF_KEY] = [256, 128];
const SHARED =
  "https://cdn.worlds.example.com/files/launch/index.html?region=europe&platform=standalone&asset=";

const folder = temporaryFolder({ after });
const keysFile = writeKeys(
  join(folder, "keys.json"),
  ...["first", "second", "third"].map((name) => keyRecord(`svc_sk_${name}`, { id: name })),
);
const worlds = Array.from({ length: WORLDS }, (_, at) =>
  world(at + 1, { name: `world ${at}`, description: SHARED + at.toString(36).padStart(5, "0") }),
);

/** Writes a snapshot. Another user makes another generation. */
const nameOwner = (displayName: string): string =>
  writeSnapshot(join(folder, "snapshot"), {
    ...{ "users.ndjson": [user(1, { displayName })], "worlds.ndjson": worlds },
    ...{ "world-stats.ndjson": "", "instances.ndjson": "" },
  });
const snapshot = nameOwner("owner");

after(cleanUp);

let searches = 0;

/** A long search that was never asked before. */
function longSearch(): string {
  const number = searches++;
  const pieces = Array.from({ length: 10 }, (_, at) => {
    const from = (number * 7 + at * 9) % (SHARED.length - 14);
    return SHARED.slice(from, from + 5 + ((number >> at) % 7));
  });
  return `${BASE_PATH}/worlds/search?q=${encodeURIComponent(`${pieces.join(" ")} `)}&offset=${number}`;
}

interface Flood {
  readonly sockets: readonly Socket[];
  /** Answers by status; "lost" are connections. */
  readonly statuses: Map<string, number>;
  readonly answered: () => number;
}

/** Sends long searches at once, pipelined over connections. */
async function flood(server: RunningServer, key: string, count: number, connections: number): Promise<Flood> {
  const port = Number(new URL(server.url).port);
  const statuses = new Map<string, number>();
  const add = (what: string): void => void statuses.set(what, (statuses.get(what) ?? 0) + 1);
  const sockets = await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const socket = connect(port, "127.0.0.1", () => resolve(socket));
          socket.once("error", reject);
        }),
    ),
  );
  for (const [at, socket] of sockets.entries()) {
    let text = "";
    socket.on("error", () => add("lost"));
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      let end = 0;
      for (const match of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        add(match[1]!);
        end = match.index + match[0].length;
      }
      // A status line may come in two parts.
      text = text.slice(Math.max(end, text.length - 12));
    });
    const requests = Array.from({ length: Math.ceil((count - at) / connections) }, () =>
      [
        `GET ${longSearch()} HTTP/1.1`,
        "Host: orrery.test",
        `Authorization: Bearer svc_sk_${key}`,
        "",
        "",
      ].join("\r\n"),
    );
    socket.write(requests.join(""));
  }
  return { sockets, statuses, answered: () => [...statuses.values()].reduce((sum, one) => sum + one, 0) };
}

async function until(what: () => boolean, why: () => string): Promise<void> {
  const began = performance.now();
  while (!what()) {
    if (timeLeft(began, 90_000) <= 0) throw new Error(why());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const allOf = (one: Flood, count: number): Promise<void> =>
  until(
    () => one.answered() >= count,
    () => `answered: ${JSON.stringify([...one.statuses])}`,
  );

async function start(
  t: TestContext,
  servingThreads = 1,
): Promise<{ server: RunningServer; workers: Worker[] }> {
  const options = await testOptions(
    { snapshot, keys: keysFile, threads: true, servingThreads, searchCacheBytes: 0 },
    [],
  );
  let server: RunningServer | undefined;
  const workers = await workersOf(async () => {
    server = await startServer(options);
  });
  let stopped: Promise<void> | undefined;
  const { stop } = server!;
  const once = { ...server!, stop: (why: string) => (stopped ??= stop(why)) };
  t.after(() => once.stop("test"));
  return { server: once, workers };
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

function hangUp({ sockets }: Flood): void {
  for (const socket of sockets) socket.destroy();
}

/** Serving threads share a port, which takes a newer Node; the tests of two run on such a one. */
const sharing = whyNoSharing() === undefined;
const other = sharing ? undefined : findNode(24);

if (other !== undefined) {
  it("floods of servers with threads", { skip: "missing" in other && other.missing }, async () => {
    await assertPassesOn(other, "test/all/search-flood.test.ts", {
      pattern: "2 serving|serving thread",
      atLeast: 7,
    });
  });
}

for (const threads of sharing ? [1, 2] : [1]) {
  describe(`a flood of long searches, ${threads} serving`, () => {
    it("of one key gets its share of answers, and others theirs meanwhile", async (t) => {
      const { server } = await start(t, threads);
      const one = await flood(server, "first", 600, 30);
      await until(
        () => one.answered() > 0,
        () => "nothing is answered",
      );
      assert.equal(await askOnce(server, "second"), 200);
      assert.ok(one.answered() < 600, "the other key waited for all of them");
      await allOf(one, 600);
      assert.deepEqual([...one.statuses.keys()].toSorted(), ["200", "503"]);
      // Answers that were given while the others came made room for as many.
      assert.ok(one.statuses.get("200")! >= MOST_OF_KEY, `${one.statuses.get("200")} answered`);
      assert.ok(one.statuses.get("200")! < 300, `${one.statuses.get("200")} answered`);
      hangUp(one);
    });

    it("of three keys fills what may wait over all", async (t) => {
      const { server } = await start(t, threads);
      const floods = await Promise.all(
        ["first", "second", "third"].map((key) => flood(server, key, 300, 10)),
      );
      for (const one of floods) await allOf(one, 300);
      const answered = floods.map(({ statuses }) => statuses.get("200") ?? 0);
      const sum = answered.reduce((total, count) => total + count, 0);
      assert.ok(sum >= MOST && sum < 2 * MOST, `${answered} answered`);
      floods.forEach(hangUp);
    });

    it("costs nothing when it has hung up, and leaves room for the next", async (t) => {
      const { server } = await start(t, threads);
      for (let round = 0; round < 3; round++) {
        const one = await flood(server, "first", 400, 20);
        await until(
          () => one.answered() >= 200,
          () => "the 503s are missing",
        );
        hangUp(one);
        await new Promise((resolve) => setTimeout(resolve, 300));
        const cpu = await cpuWhileIdle();
        assert.ok(cpu < 200, `${cpu} ms of CPU for clients that are gone`);
        assert.equal(await askOnce(server, "first"), 200);
      }
    });

    it("loses nothing to a new generation, and nothing of it is left", async (t) => {
      const { server } = await start(t, threads);
      const one = await flood(server, "first", 100, 20);
      await until(
        () => one.answered() > 0,
        () => "nothing is answered",
      );
      nameOwner(`again ${threads}`);
      await server.reload();
      assert.equal(await askOnce(server, "second"), 200);
      await allOf(one, 100);
      assert.deepEqual([...one.statuses], [["200", 100]]);
      hangUp(one);
      const all = await flood(server, "first", MOST_OF_KEY, 20);
      await allOf(all, MOST_OF_KEY);
      assert.deepEqual([...all.statuses], [["200", MOST_OF_KEY]], "every place was given back");
      hangUp(all);
    });

    it("is answered when the thread that searches dies", async (t) => {
      const { server, workers } = await start(t, threads);
      const one = await flood(server, "first", 60, 20);
      await until(
        () => one.answered() > 0,
        () => "nothing is answered",
      );
      await workers[0]!.terminate();
      await allOf(one, 60);
      assert.deepEqual([...one.statuses], [["200", 60]]);
      hangUp(one);
    });

    it("is answered when the server stops, within its time", async (t) => {
      const { server } = await start(t, threads);
      const one = await flood(server, "first", 128, 16);
      const other = await flood(server, "second", 128, 16);
      await until(
        () => one.answered() + other.answered() > 0,
        () => "nothing is answered",
      );
      const began = performance.now();
      await server.stop("test");
      assertInTime(began, 10_000, "the stop");
      for (const { statuses } of [one, other]) {
        assert.deepEqual(
          [...statuses.keys()].filter((status) => status !== "200" && status !== "503"),
          [],
        );
      }
      assert.equal(one.answered() + other.answered(), 256);
    });
  });
}

if (sharing) {
  describe("a serving thread that dies", () => {
    it("gives back the places of its searches", async (t) => {
      const { server, workers } = await start(t, 2);
      const one = await flood(server, "first", 400, 40);
      await until(
        () => one.answered() >= 200,
        () => "the 503s are missing",
      );
      for (const worker of workers.slice(1)) await worker.terminate();
      await until(
        () => [...one.sockets].every(({ destroyed }) => destroyed),
        () => "connections stand",
      );
      for (let attempt = 0; attempt < 200; attempt++) {
        const answer = await askOnce(server, "first").catch(() => 0);
        if (answer === 200) break;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const all = await flood(server, "first", MOST_OF_KEY, 20);
      await allOf(all, MOST_OF_KEY);
      assert.deepEqual([...all.statuses], [["200", MOST_OF_KEY]]);
      hangUp(all);
    });
  });
}

it("a library without threads keeps the bound, and drops what is aborted", async () => {
  const orrery = await openOrrery({
    snapshot,
    keys: [
      { id: "a", kind: "cli", token: "svcx_a" },
      { id: "b", kind: "api", token: "svc_sk_b" },
    ],
    threads: false,
    maxPendingSearches: 2,
    searchCacheBytes: 0,
  });
  const ask = (token: string, signal?: AbortSignal) =>
    orrery.ask({ target: longSearch(), authorization: `Bearer ${token}`, signal });
  const replies = await Promise.all([ask("svcx_a"), ask("svcx_a"), ask("svc_sk_b"), ask("svc_sk_b")]);
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 503, 200, 503],
  );
  assert.equal(replies[1]!.headers["retry-after"], "1");
  assert.equal(replies[1]!.headers["x-ratelimit-limit"], undefined);
  assert.equal(replies[3]!.headers["x-ratelimit-limit"], "1000");
  const controller = new AbortController();
  const aborted = ask("svcx_a", controller.signal);
  controller.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
  assert.equal((await ask("svcx_a")).status, 200);
  orrery.close();
});
