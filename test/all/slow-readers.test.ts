/** Peers that pipeline and read nothing: the server stops reading, holds little, serves others, and loses no answer. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { user, world, writeSnapshot } from "../support/folders.ts";
import { unavailable } from "../support/need.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { get, keepAlive, residentBytes, type Served, serve, until } from "../support/process.ts";
import { dial } from "../support/raw.ts";

const BASE = "/api/public/v1";
const CLI = "svcx_slow_reader";
const SPENT = "svc_sk_spent";
const ROWS = 2000;

const skip = process.platform !== "linux" && unavailable("it needs /proc");

function head(target: string, token: string): string {
  return `GET ${BASE}${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

const page = (at: number): string => `/worlds?limit=50&offset=${(at % 30) * 60}`;
const search = (at: number): string => `/worlds/search?q=world%20${at % 30}&limit=50`;

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
    const numbers = Array.from({ length: ROWS }, (_, at) => at);
    writeSnapshot(snapshot, {
      "users.ndjson": numbers.map((at) => user(at)),
      "worlds.ndjson": numbers.map((at) => world(at)),
    });
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
      const text = Array.from({ length: COUNT }, (_, at) => head(target(at), token)).join("");
      socket.write(text);
      let last = -1;
      let same = 0;
      await until(async () => {
        await sleep(50);
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
