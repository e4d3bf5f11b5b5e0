/** Peers that pipeline and read nothing: how much they can make a server hold, and that it is freed. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { user, world, writeSnapshot } from "../support/folders.ts";
import { need, unavailable } from "../support/need.ts";
import { PATIENCE_MS } from "../support/patience.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import {
  generationOf,
  get,
  keepAlive,
  type LogLine,
  residentBytes,
  type Served,
  serve,
  until,
} from "../support/process.ts";
import { dial } from "../support/raw.ts";

const CROWD_PROGRAM = fileURLToPath(new URL("../support/crowd.py", import.meta.url));
const BASE = "/api/public/v1";
const CLI = "svcx_slow_reader";
const SPENT = "svc_sk_spent";
const ROWS = 2000;

/** Most bytes of a connection: waiting answers and one more, one read, and 32 requests with their objects. */
const HELD = 262_144 + 32_768 + 65_536 + 32 * 4096;
/** Memory of a load and an old generation of so few rows, threads included. */
const TWO_GENERATIONS = 128e6;
/** Freed memory that engine and allocator keep for later use. */
const KEPT = 220e6;

const skip = need("python3") || (process.platform !== "linux" && unavailable("it needs /proc"));

function descriptors({ child }: Served): number {
  return readdirSync(`/proc/${child.pid}/fd`).length;
}

function head(target: string, token: string): string {
  return `GET ${BASE}${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

function times(count: number, make: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => make(at)).join("");
}

function writeRows(snapshot: string, generation: number): void {
  writeSnapshot(snapshot, {
    "users.ndjson": Array.from({ length: ROWS }, (_, at) =>
      user(at, { displayName: `user ${at} of ${generation}` }),
    ),
    "worlds.ndjson": Array.from({ length: ROWS }, (_, at) => world(at)),
  });
}

const page = (at: number): string => `/worlds?limit=50&offset=${(at % 30) * 60}`;
const search = (at: number): string => `/worlds/search?q=world%20${at % 30}&limit=50`;

it("a thousand clients that read nothing, across ten reloads are bounded, harm nobody, are ended by the timeout, and their memory comes back", {
  skip,
}, async (t) => {
  const { folder, snapshot, keys } = place(t);
  writeKeys(keys, keyRecord(CLI));
  writeRows(snapshot, 0);
  const server = await serve(snapshot, keys, ["--watch", "0", "--socket-timeout", "5"]);
  const agent = keepAlive(1);
  t.after(() => agent.destroy());
  const reload = async (generation: number): Promise<LogLine> => {
    writeRows(snapshot, generation);
    const loads = server.logs("snapshot-loaded").length;
    server.child.kill("SIGHUP");
    return server.logged("snapshot-loaded", loads + 1);
  };
  await reload(1);
  await reload(2);
  await get(`${server.url}/stats`, { token: CLI, agent });
  const start = residentBytes(server);
  const files = descriptors(server);

  const most = start + 1040 * HELD + TWO_GENERATIONS;
  let peak = 0;
  const looking = setInterval(() => {
    peak = Math.max(peak, residentBytes(server));
    // Without a bound it would take tens of gigabytes.
    if (peak <= most) return;
    clearInterval(looking);
    server.child.kill("SIGKILL");
  }, 50);
  t.after(() => clearInterval(looking));

  // More than one read of each, so that a connection ends with a reset, which is noticed without reading.
  const crowds: (readonly [number, (at: number) => string])[] = [
    [1000, (at) => head(page(at), CLI)],
    [20, (at) => head(page(at), `svcx_nobody_${at}`)],
    [20, (at) => head(search(at), CLI)],
  ];
  const words = crowds.flatMap(([count, make], kind) => {
    const file = join(folder, `crowd-${kind}`);
    writeFileSync(file, times(kind === 0 ? 1000 : 4000, make));
    return [`${count}`, file];
  });
  const crowd = spawn("python3", [CROWD_PROGRAM, `${server.port}`, ...words], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => crowd.kill("SIGKILL"));
  let said = "";
  crowd.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const state = (): { open: number; reset: number; other: number } =>
    JSON.parse(said.split("\n").at(-2) ?? '{"open":0,"reset":0,"other":0}');
  const isWhole = (): boolean => {
    assert.equal(server.child.exitCode ?? server.child.signalCode, null, `${peak} bytes of ${most}`);
    return state().open === 1040;
  };

  for (let generation = 3; generation < 13; generation++) {
    await until(isWhole, "all to hang");
    const { generation: loaded } = await reload(generation);
    for (let lookup = 0; lookup < 10; lookup++) {
      const reply = await get(`${server.url}/stats`, { token: CLI, agent });
      assert.equal(reply.status, 200);
      assert.equal(generationOf(reply), loaded);
    }
  }
  await until(isWhole, "all to hang still");
  await until(() => peak > start + 100e6, "the server to hold something of them");
  assert.equal(server.logs("snapshot-refused").length, 0);

  crowd.stdin.end("enough\n");
  // A peer that takes a few bytes now and then is ended later than one that takes none.
  await until(() => descriptors(server) <= files, "the timeout to end them", 2 * PATIENCE_MS);
  // The crowd says a moment later that some were reset; most are closed with answers that they never read.
  await until(
    () => state().reset > 0,
    () => `a reset, ${said.split("\n").at(-2)}`,
  );
  assert.equal(state().other, 0);
  // Without a reload, which would free memory by itself.
  await until(() => residentBytes(server) < start + KEPT, `the memory to come back to ${start + KEPT}`);
  t.diagnostic(`RSS in MB: ${[start, peak, residentBytes(server)].map((n) => Math.round(n / 1e6))}`);
  assert.ok(peak < most, `${peak} bytes, ${start} before`);
  clearInterval(looking);
  agent.destroy();
  await server.stop();
});

/** Bytes of a connection that its peer sent and the server has not read: in both queues of the system, and in this process. */
function unread(socket: Socket): number {
  const [peer, server] = [socket.localPort!, socket.remotePort!].map((port) =>
    port.toString(16).toUpperCase().padStart(4, "0"),
  );
  const rows = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const queues = (local: string, remote: string): number[] => {
    const row = rows.find((words) => words[1]?.endsWith(`:${local}`) && words[2]?.endsWith(`:${remote}`));
    return row![4]!.split(":").map((word) => Number.parseInt(word, 16));
  };
  return queues(server!, peer!)[1]! + queues(peer!, server!)[0]! + socket.writableLength;
}

describe("20,000 requests in one pipeline of a peer that reads nothing", { skip }, () => {
  const COUNT = 20_000;
  /** One connection may hold less than the noise: garbage that the engine has not collected yet. */
  const NOISE = 48e6;
  const { snapshot, keys } = place({ after });
  let server: Served;

  before(async () => {
    writeKeys(keys, keyRecord(CLI), keyRecord(TOKEN), keyRecord(SPENT, { limit: 1 }));
    writeRows(snapshot, 0);
    // Without the cache every search runs.
    server = await serve(snapshot, keys, [
      ...["--watch", "0", "--socket-timeout", "120", "--rate-window", "31536000"],
      ...["--search-cache-bytes", "0"],
    ]);
    await get(`${server.url}/stats`, { token: SPENT });
  });
  after(() => server.stop());

  const kinds: Readonly<Record<string, readonly [string, (at: number) => string, status: number]>> = {
    "pages of 50": [CLI, page, 200],
    "refusals without a known token": ["svcx_nobody", page, 401],
    "refusals beyond the limit": [SPENT, page, 429],
    searches: [CLI, search, 200],
  };
  for (const [kind, [token, target, status]] of Object.entries(kinds)) {
    it(`${kind}: reading stops, others are served, and the peer gets all once it reads`, async (t) => {
      const agent = keepAlive(1);
      const expected = await Promise.all(
        Array.from({ length: 30 }, (_, at) => get(server.url + target(at), { token })),
      );
      for (const reply of expected) assert.equal(reply.status, status);
      const start = residentBytes(server);
      const wire = await dial(server.port);
      const { socket } = wire;
      t.after(() => socket.destroy());
      socket.pause();
      const text = times(COUNT, (at) => head(target(at), token));
      socket.write(text);
      let last = -1;
      let same = 0;
      await until(async () => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        const reply = await get(`${server.url}/stats`, { token: CLI, agent });
        assert.equal(reply.status, 200);
        const now = unread(socket);
        same = now === last && now < text.length ? same + 1 : 0;
        last = now;
        return same === 10;
      }, "the server to stop reading");
      assert.ok(last > 0, "it has read all");
      const held = residentBytes(server) - start;
      t.diagnostic(`${Math.round((text.length - last) / 1024)} KiB read, ${Math.round(held / 1e6)} MB held`);
      assert.ok(held < NOISE, `${held} bytes more`);
      socket.resume();
      for (let at = 0; at < COUNT; at++) {
        const answer = await wire.response();
        const wanted = expected[at % 30]!;
        assert.ok(answer.status === wanted.status && answer.body === wanted.text, `answer ${at}`);
      }
      agent.destroy();
    });
  }
});
