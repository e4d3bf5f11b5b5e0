/**
 * Replies of every size to clients that pipeline, stall and abort, during reloads of two snapshots: every reply is
 * correct, to the byte.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { it } from "node:test";
import { createRandom } from "../../src/util/random.ts";
import { id, instance, user, world, writeSnapshot } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { type Served, serve } from "../support/process.ts";
import { dial, type RawResponse, requestHead } from "../support/raw.ts";

/** Target for the number of replies, two hundred for each request and generation; and the minimum on a slow machine. */
const [MOST, LEAST] = [200_000, 50_000];
const MOST_MS = 60_000;
const RELOAD_MS = 500;
const LARGE_BYTES = 8192;

const BASE = "/api/public/v1";
const CLI = "svcx_crossed";
const ROWS = 600;

/** A request, and its reply by generation, as text without the time and the rest of the limit. */
interface Asked {
  readonly method: string;
  readonly head: string;
  readonly replies: readonly string[];
}

const OWN = /^(Date|X-RateLimit-Remaining|X-RateLimit-Reset)$/;

const textOf = ({ status, headers, body }: RawResponse): string =>
  `${status}\n${headers.map(([name, value]) => (OWN.test(name) ? name : `${name}: ${value}`)).join("\n")}\n${body}`;

/** Texts differ in length between the two snapshots, and some are long. */
function writeRows(snapshot: string, generation: number): void {
  const numbers = Array.from({ length: ROWS }, (_, at) => at);
  const text = (at: number): string =>
    `${"in the same ".repeat((at * 7) % 40)}${generation === 0 ? "" : "other "}world`;
  writeSnapshot(snapshot, {
    "users.ndjson": numbers.map((at) => user(at, { displayName: `user ${at} of ${generation * 1e6}` })),
    "worlds.ndjson": numbers.map((at) => world(at, { description: text(at) })),
    "instances.ndjson": numbers.map((at) => instance(at, { worldId: id("b", at % 7) })),
  });
}

/** All requests, as many for small replies as for large ones. */
function requests(): Omit<Asked, "replies">[] {
  const [cli, api] = [CLI, TOKEN].map((token) => `Authorization: Bearer ${token}`) as [string, string];
  const all: Omit<Asked, "replies">[] = [];
  const add = (target: string, fields: readonly string[] = [], method = "GET"): number =>
    all.push({ method, head: requestHead(target, fields, method) });
  const get = (target: string, ...fields: string[]): number => add(BASE + target, fields);
  const words = ["world", "same%20world", "other", "user%201", "in%20the", "1", "about", "%E3%82%AB"];
  for (let at = 0; at < 80; at++) get(`/worlds/${id("b", at * 7)}`, cli);
  for (let at = 0; at < 50; at++) {
    get(`/users/${id("a", at * 11)}`, at % 2 === 0 ? cli : api);
    get(`/worlds?limit=${at + 1}&offset=${at * 9}`, at % 3 === 0 ? api : cli);
    const search = `search?q=${words[at % 8]}&limit=${at + 1}&offset=${at}`;
    get(`/${at % 2 ? "users" : "worlds"}/${search}`, cli);
  }
  for (let at = 0; at < 20; at++) {
    get(`/worlds/${id("b", ROWS + at)}`, cli);
    get(`/users?limit=${at * 2 + 1}&offset=${at * 20}`, cli);
    get(`/worlds/popular?limit=${at * 2 + 1}`, cli);
    get(`/worlds?limit=${at + 1}`, cli, "If-None-Match: *");
    get(`/instances?limit=${at + 1}`, at % 2 === 0 ? "X: a" : "Authorization: Bearer svc_sk_none");
    add(`${BASE}/worlds?limit=${at + 1}`, [cli], at % 2 === 0 ? "HEAD" : "OPTIONS");
  }
  for (let at = 0; at < 4; at++) {
    get(`/nowhere/${at}`);
    add(`${BASE}/stats`, [], "PUT");
    add("/openapi.json", ["If-None-Match: *"]);
    for (const target of ["/", "/docs", "/openapi.json"])
      add(target, at % 2 === 0 ? ["Accept-Encoding: gzip"] : []);
  }
  return all;
}

/** A client's behaviour: how many requests it sends at once, and its conduct while they are answered. */
interface Habit {
  readonly clients: number;
  readonly most: number;
  /** Asks only for large replies and stops reading for a while, so that more is pending than the system buffers. */
  readonly stalls?: true;
  readonly aborts?: true;
}

const HABITS: readonly Habit[] = [
  { clients: 24, most: 100 },
  { clients: 4, most: 1 },
  { clients: 9, most: 600, stalls: true },
  { clients: 8, most: 60, aborts: true },
];

const random = createRandom(1, "crossed bytes");

/** Asks in the manner of a habit until the end. @param count is called for each reply */
async function behave(
  port: number,
  everything: readonly Asked[],
  { most, stalls, aborts }: Habit,
  count: () => boolean,
): Promise<void> {
  const isLarge = ({ replies }: Asked): boolean => replies.every((text) => text.length > LARGE_BYTES);
  const all = stalls ? everything.filter(isLarge) : everything;
  for (let isOver = false; !isOver; ) {
    const wire = await dial(port);
    for (let rounds = aborts ? random.below(5) : 50; rounds > 0 && !isOver; rounds--) {
      const asked = Array.from({ length: 1 + random.below(most) }, () => all[random.below(all.length)]!);
      void wire.send(asked.map(({ head }) => head).join(""));
      for (const { method, head, replies } of asked) {
        const text = textOf(await wire.response(method));
        if (!replies.includes(text))
          assert.fail(`${head}was answered\n${text}\nin place of\n${replies.join("\nor\n")}`);
        isOver = count();
        if (isOver || (aborts && rounds === 1 && random.chance(0.2))) break;
        if (stalls && random.chance(0.02)) {
          wire.socket.pause();
          setTimeout(() => wire.socket.resume(), random.below(1000));
        }
      }
    }
    wire.destroy();
  }
}

/** Loads the two snapshots in turn until the end. @returns how many loads there were */
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

it("two hundred thousand replies, to the byte", async (t) => {
  const { snapshot, keys } = place(t);
  writeKeys(keys, keyRecord(CLI), keyRecord(TOKEN, { limit: 999_999_999 }));
  const list = requests();
  const settings = ["--watch", "0", "--rate-window", "31536000"];
  const recorded: string[][] = [];
  for (const generation of [1, 0]) {
    writeRows(snapshot, generation);
    const server = await serve(snapshot, keys, settings);
    const wire = await dial(server.port);
    const replies: string[] = [];
    for (const { method, head } of list) {
      void wire.send(head);
      replies.push(textOf(await wire.response(method)));
    }
    recorded.push(replies);
    wire.destroy();
    await server.stop();
  }
  const all = list.map((one, at) => ({ ...one, replies: recorded.map((replies) => replies[at]!) }));

  const server = await serve(snapshot, keys, settings);
  if (cpus().length > 1) {
    for (const [core, pid] of [server.child.pid, process.pid].entries())
      spawnSync("taskset", ["-a", "-p", "-c", String(core), String(pid)]);
  }
  const end = performance.now() + MOST_MS;
  let replies = 0;
  let hasFailed = false;
  const isOver = (): boolean => hasFailed || replies >= MOST || performance.now() > end;
  const count = (): boolean => {
    replies++;
    return isOver();
  };
  const clients = HABITS.flatMap((habit) =>
    Array.from({ length: habit.clients }, () => behave(server.port, all, habit, count)),
  );
  const loads = reload(server, snapshot, isOver);
  await Promise.all(clients).finally(() => {
    hasFailed = true;
  });
  t.diagnostic(`${replies} replies across ${await loads} loads`);
  assert.ok(replies >= LEAST, `${replies} replies in ${MOST_MS} ms`);
  await server.stop();
});
