/**
 * Replies of every size to clients that pipeline, stall, abort and read little at a time, during reloads of two
 * snapshots: every byte of every reply is correct.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { cpus } from "node:os";
import { it } from "node:test";
import { createRandom, type Random } from "../../src/util/random.ts";
import { id, instance, user, world, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { type Served, serve } from "../support/process.ts";
import { requestHead } from "../support/raw.ts";

/** One reply, and the ranges equal in all replies, two numbers each: without the time and the rest of the limit. */
interface Expected {
  readonly bytes: Buffer;
  readonly fixed: readonly number[];
}

/** A request, and its reply by generation. */
interface Asked {
  readonly request: string;
  readonly replies: readonly Expected[];
}

const OWN = /\r\n(?:Date|X-RateLimit-Remaining|X-RateLimit-Reset): ([^\r]*)/g;

/** Makes the expectation from a recorded reply. Bytes that differ must have a fixed length. */
function expect(bytes: Buffer): Expected {
  const head = bytes.toString("latin1", 0, bytes.indexOf("\r\n\r\n"));
  const fixed = [0];
  for (const found of head.matchAll(OWN)) {
    const end = found.index + found[0].length;
    fixed.push(end - found[1]!.length, end);
  }
  return { bytes, fixed: [...fixed, bytes.length] };
}

/** Whether bytes agree with the start of a reply, over the shorter of both. */
function agree({ bytes, fixed }: Expected, got: Buffer): boolean {
  for (let at = 0; at < fixed.length; at += 2) {
    const from = fixed[at]!;
    const to = Math.min(fixed[at + 1]!, got.length);
    if (from >= to) return true;
    if (bytes.compare(got, from, to, from, to) !== 0) return false;
  }
  return true;
}

class Comparison {
  replies = 0;
  readonly #asked: Asked[] = [];
  #first = 0;
  #rest: Buffer = Buffer.alloc(0);
  #generation = 0;

  get open(): number {
    return this.#asked.length - this.#first;
  }

  ask(asked: Asked): void {
    this.#asked.push(asked);
  }

  /** Compares the bytes so far. @throws {AssertionError} at the first wrong byte */
  take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length > 0) {
      const asked = this.#asked[this.#first];
      assert.ok(
        asked !== undefined,
        `bytes that nobody asked for: ${this.#rest.toString("latin1").slice(0, 200)}`,
      );
      const whole = this.#find(asked);
      if (whole === undefined) return;
      this.#rest = this.#rest.subarray(whole.bytes.length);
      this.#first++;
      this.replies++;
    }
    this.#asked.splice(0, this.#first);
    this.#first = 0;
  }

  /** The reply at the start of the bytes; undefined while it is incomplete. Replies with the same start are both possible. */
  #find({ request, replies }: Asked): Expected | undefined {
    let isPossible = false;
    for (let turn = 0; turn < replies.length; turn++) {
      const generation = (this.#generation + turn) % replies.length;
      const expected = replies[generation]!;
      if (!agree(expected, this.#rest)) continue;
      isPossible = true;
      if (this.#rest.length < expected.bytes.length) continue;
      this.#generation = generation;
      return expected;
    }
    if (isPossible) return undefined;
    const got = this.#rest.toString("latin1").slice(0, 1000);
    const wanted = replies.map(({ bytes }) => bytes.toString("latin1").slice(0, 1000));
    assert.fail(
      `${JSON.stringify(request)}\nwas answered\n${JSON.stringify(got)}\nin place of\n${JSON.stringify(wanted)}`,
    );
  }
}

/** Opens a connection and compares its replies. @param bytesAtOnce most bytes of one read; the system's choice if absent */
function visit(port: number, bytesAtOnce?: number, arrived: () => void = () => {}) {
  const comparison = new Comparison();
  let problem: unknown;
  const read = (chunk: Buffer): void => {
    try {
      comparison.take(chunk);
    } catch (error) {
      problem ??= error;
      socket.destroy();
      return;
    }
    arrived();
  };
  const buffer = Buffer.alloc(bytesAtOnce ?? 0);
  const callback = (length: number): boolean => {
    // The memory is reused.
    read(Buffer.from(buffer.subarray(0, length)));
    return true;
  };
  const onread = bytesAtOnce === undefined ? {} : { onread: { buffer, callback } };
  const socket: Socket = connect({ host: "127.0.0.1", port, noDelay: true, ...onread });
  if (bytesAtOnce === undefined) socket.on("data", read);
  socket.on("error", (error) => {
    problem ??= error;
  });
  /** Resolves when the connection has closed, and rejects with the first problem. */
  const over = new Promise<void>((resolve, reject) => {
    socket.once("close", () => (problem === undefined ? resolve() : reject(problem)));
  });
  return { socket, comparison, over };
}

/** Target for the number of replies, and the minimum on a slow machine. */
const [MOST, LEAST] = [1_000_000, 100_000];
const MOST_MS = 60_000;
const RELOAD_MS = 500;
const LARGE_BYTES = 8192;

const BASE = "/api/public/v1";
const CLI = "svcx_crossed";
const ROWS = 600;

/** Texts differ in length between the two snapshots, and some are long. */
function writeRows(snapshot: string, generation: number): void {
  const text = (at: number): string =>
    `${"in the same ".repeat((at * 7) % 40)}${generation === 0 ? "" : "other "}world`;
  writeSnapshot(snapshot, {
    "users.ndjson": Array.from({ length: ROWS }, (_, at) =>
      user(at, { displayName: `user ${at} of ${generation * 1e6}` }),
    ),
    "worlds.ndjson": Array.from({ length: ROWS }, (_, at) => world(at, { description: text(at) })),
    "instances.ndjson": Array.from({ length: ROWS }, (_, at) => instance(at, { worldId: id("b", at % 7) })),
  });
}

/** All requests, as many for small replies as for large ones. */
function requests(): string[] {
  const [cli, api] = [CLI, TOKEN].map((token) => `Authorization: Bearer ${token}`) as [string, string];
  const of = (count: number, make: (at: number) => string): string[] =>
    Array.from({ length: count }, (_, at) => make(at));
  const get = (target: string, ...fields: string[]): string => requestHead(BASE + target, fields);
  const words = ["world", "same%20world", "other", "user%201", "in%20the", "1", "about", "%E3%82%AB"];
  return [
    ...of(80, (at) => get(`/worlds/${id("b", at * 7)}`, cli)),
    ...of(40, (at) => get(`/users/${id("a", at * 11)}`, at % 2 === 0 ? cli : api)),
    ...of(20, (at) => get(`/worlds/${id("b", ROWS + at)}`, cli)),
    ...of(50, (at) => get(`/worlds?limit=${at + 1}&offset=${at * 9}`, at % 3 === 0 ? api : cli)),
    ...of(20, (at) => get(`/users?limit=${at * 2 + 1}&offset=${at * 20}`, cli)),
    ...of(20, (at) => get(`/worlds/popular?limit=${at * 2 + 1}`, cli)),
    ...of(48, (at) =>
      get(`/${at % 2 ? "users" : "worlds"}/search?q=${words[at % 8]}&limit=${at + 1}&offset=${at}`, cli),
    ),
    ...of(20, (at) => get(`/worlds?limit=${at + 1}`, cli, "If-None-Match: *")),
    ...of(20, (at) =>
      get(`/instances?limit=${at + 1}`, at % 2 === 0 ? "X: a" : "Authorization: Bearer svc_sk_none"),
    ),
    ...of(10, (at) => get(`/nowhere/${at}`)),
    ...of(10, (at) =>
      requestHead(`${BASE}/worlds?limit=${at + 1}`, [cli], at % 2 === 0 ? "HEAD" : "OPTIONS"),
    ),
    ...of(4, () => requestHead(`${BASE}/stats`, [], "PUT")),
    ...["/", "/docs", "/docs", "/openapi.json"].map((target) =>
      requestHead(target, ["Accept-Encoding: gzip"]),
    ),
    ...["/openapi.json", "/docs"].map((target) => requestHead(target)),
    ...of(4, () => requestHead("/openapi.json", ["If-None-Match: *"])),
  ];
}

/** Sends the requests one by one, over an otherwise unused connection. */
async function record(port: number, all: readonly string[]): Promise<Expected[]> {
  const socket = connect(port, "127.0.0.1");
  const replies: Expected[] = [];
  for (const request of all) {
    socket.write(request);
    let bytes = Buffer.alloc(0);
    for (let length = Number.POSITIVE_INFINITY; bytes.length < length; ) {
      const [chunk] = (await once(socket, "data")) as [Buffer];
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) continue;
      const said = /\r\nContent-Length: (\d+)/.exec(bytes.toString("latin1", 0, end))?.[1] ?? "0";
      length = end + 4 + (request.startsWith("HEAD ") ? 0 : Number(said));
      assert.ok(bytes.length <= length, request);
    }
    replies.push(expect(bytes));
  }
  socket.destroy();
  return replies;
}

interface Crowd {
  readonly port: number;
  readonly all: readonly Asked[];
  readonly random: Random;
  readonly isOver: () => boolean;
  replies: number;
}

/** A client's behaviour: how many requests it sends at once, and its conduct while they are answered. */
interface Habit {
  readonly clients: number;
  readonly most: number;
  readonly bytesAtOnce?: number;
  /** Whether it asks only for large replies and stops reading for a while, so that more is pending than the system buffers. */
  readonly stalls?: true;
  readonly aborts?: true;
}

const HABITS: readonly Habit[] = [
  { clients: 24, most: 100 },
  { clients: 4, most: 1 },
  { clients: 8, most: 600, stalls: true },
  { clients: 8, most: 60, aborts: true },
  { clients: 3, most: 20, bytesAtOnce: 512 },
  { clients: 1, most: 600, bytesAtOnce: 512, stalls: true },
];

async function behave(crowd: Crowd, { most, bytesAtOnce, stalls, aborts }: Habit): Promise<void> {
  const { port, random, isOver } = crowd;
  const isLarge = ({ replies }: Asked): boolean => replies.every(({ bytes }) => bytes.length > LARGE_BYTES);
  const all = stalls ? crowd.all.filter(isLarge) : crowd.all;
  while (!isOver()) {
    let rounds = aborts ? random.below(5) : 50;
    let seen = 0;
    const { socket, comparison, over } = visit(port, bytesAtOnce, () => {
      crowd.replies += comparison.replies - seen;
      seen = comparison.replies;
      if (isOver() || (aborts && rounds === 0 && random.chance(0.2))) socket.destroy();
      else if (comparison.open === 0) send();
      else if (stalls && random.chance(0.02)) {
        socket.pause();
        setTimeout(() => socket.resume(), random.below(1000));
      }
    });
    const send = (): void => {
      if (rounds-- <= 0 || isOver()) {
        socket.destroy();
        return;
      }
      let text = "";
      for (let left = 1 + random.below(most); left > 0; left--) {
        const asked = all[random.below(all.length)]!;
        comparison.ask(asked);
        text += asked.request;
      }
      socket.write(text);
    };
    send();
    await over;
  }
}

/** Loads the two snapshots in turn until the end. */
async function reload(server: Served, snapshot: string, isOver: () => boolean): Promise<number> {
  let loads = 1;
  for (; !isOver(); loads++) {
    writeRows(snapshot, loads % 2);
    server.child.kill("SIGHUP");
    await server.logged("snapshot-loaded", loads + 1);
    await new Promise((resolve) => setTimeout(resolve, RELOAD_MS));
  }
  return loads;
}

it("a million replies, byte by byte", async (t) => {
  const { snapshot, keys } = place(t);
  writeKeys(keys, keyRecord(CLI), keyRecord(TOKEN, { limit: 999_999_999 }));
  const list = requests();
  const recorded: Expected[][] = [];
  const settings = ["--watch", "0", "--rate-window", "31536000", "--max-pending-searches", "65536"];
  for (const generation of [0, 1]) {
    writeRows(snapshot, generation);
    const server = await serve(snapshot, keys, settings);
    recorded.push(await record(server.port, list));
    await server.stop();
  }
  const all = list.map((request, at) => ({ request, replies: recorded.map((replies) => replies[at]!) }));

  writeRows(snapshot, 0);
  const server = await serve(snapshot, keys, settings);
  if (cpus().length > 1) {
    for (const [core, pid] of [server.child.pid, process.pid].entries())
      spawnSync("taskset", ["-a", "-p", "-c", String(core), String(pid)]);
  }
  const end = performance.now() + MOST_MS;
  let hasFailed = false;
  const isOver = (): boolean => hasFailed || crowd.replies >= MOST || performance.now() > end;
  const random = createRandom(1, "crossed bytes");
  const crowd: Crowd = { port: server.port, all, random, isOver, replies: 0 };
  const clients = HABITS.flatMap((habit) =>
    Array.from({ length: habit.clients }, () => behave(crowd, habit)),
  );
  const loads = reload(server, snapshot, isOver);
  await Promise.all(clients).finally(() => {
    hasFailed = true;
  });
  t.diagnostic(`${crowd.replies} replies across ${await loads} loads`);
  assert.ok(crowd.replies >= LEAST, `${crowd.replies} replies in ${MOST_MS} ms`);
  await server.stop();
});
