/** Several replicas behind a load balancer, and their clients, which record the replies. */

import assert from "node:assert/strict";
import { Agent } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { instance, user, world, worldStats, writeSnapshot } from "../../support/folders.ts";
import { freePort } from "../../support/ports.ts";
import {
  type GetOptions,
  get,
  type Response,
  type Served,
  served,
  start,
  until,
} from "../../support/process.ts";
import { turnLink } from "../../support/published.ts";

const BASE = "/api/public/v1";
/** Worlds of a snapshot: seven pages of 50. */
const WORLDS = 330;

/** Writes a snapshot with the number in its rows: every world has that many visits. */
export function writeNumbered(folder: string, number: number): string {
  const numbers = Array.from({ length: WORLDS }, (_, index) => index + 1);
  return writeSnapshot(folder, {
    "users.ndjson": [1, 2, 3].map((n) => user(n)),
    "worlds.ndjson": numbers.map((n) => world(n)),
    "world-stats.ndjson": numbers.map((n) => worldStats(n, { totalVisits: 2000 + number })),
    "instances.ndjson": [instance(1)],
  });
}

export type Replica = Awaited<ReturnType<typeof startReplica>>;

/** Starts a replica that can be ended and started again on the same ports. */
export async function startReplica(folder: string, name: string, snapshot: string, args: readonly string[]) {
  const link = join(folder, name);
  const [port, adminPort] = [await freePort(), await freePort()];
  /** All its processes; the present one is the last. */
  const servers: Served[] = [];
  const replica = {
    name,
    port,
    adminPort,
    server: (): Served => servers.at(-1)!,
    /** Log lines of an event, those of past processes included. */
    count: (event: string): number => servers.reduce((sum, server) => sum + server.logs(event).length, 0),
    publish: (next: string): void => turnLink(link, next),
    async start(): Promise<void> {
      const ports = ["--port", String(port), "--admin", String(adminPort)];
      servers.push(await served(start(["serve", "--snapshot", link, ...ports, ...args])));
    },
    async readiness(): Promise<{ status: string; generation: string }> {
      return JSON.parse((await get(`http://127.0.0.1:${adminPort}/readyz`)).text);
    },
    untilReady: () =>
      until(
        async () => (await replica.readiness().catch(() => undefined))?.status === "ready",
        `replica ${name} to be ready`,
      ),
  };
  replica.publish(snapshot);
  await replica.start();
  return replica;
}

/** Asks through a balancer. */
export function ask(
  port: number,
  path: string,
  token: string,
  options: Omit<GetOptions, "token"> = {},
): Promise<Response> {
  return get(`https://127.0.0.1:${port}${BASE}${path}`, { token, ...options });
}

/** Statuses of replies, and requests without one. */
export interface Seen {
  readonly statuses: Set<number>;
  readonly broken: string[];
}

const PATHS = ["/stats", "/worlds?limit=50", "/worlds/search?q=world&limit=5", "/instances"];

export type Callers = ReturnType<typeof startCallers>;

/** Starts clients with a key each, which send one request after another through a balancer. */
export function startCallers(port: number, tokens: readonly string[]) {
  let seen: Seen = { statuses: new Set(), broken: [] };
  let isEnding = false;
  // A replica is told by the limit of the key, which differs on every replica.
  const callers = tokens.map((token) => ({ token, replies: 0, by: "", times: 0, home: "" }));

  async function run(caller: (typeof callers)[number]): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let turn = 0; !isEnding; turn++) {
      const path = PATHS[turn % PATHS.length]!;
      try {
        const { status, headers, text } = await ask(port, path, caller.token, { agent });
        seen.statuses.add(status);
        if (status === 200) JSON.parse(text);
        const by = String(headers["x-ratelimit-limit"]);
        caller.times = by === caller.by ? caller.times + 1 : 1;
        caller.by = by;
      } catch (error) {
        seen.broken.push(`${path}: ${(error as Error).message}`);
      }
      caller.replies++;
      await sleep(3);
    }
    agent.destroy();
  }
  const running = Promise.all(callers.map(run));

  return {
    /** What they saw since the last call. */
    take(): Seen {
      const taken = seen;
      seen = { statuses: new Set(), broken: [] };
      return taken;
    },
    /** Waits until every client has had a few more replies or failures. */
    async some(): Promise<void> {
      const enough = callers.map(({ replies }) => replies + 5);
      await until(() => callers.every(({ replies }, at) => replies >= enough[at]!), "replies to all clients");
    },
    /** Waits until one replica alone answers each client, and records it as the client's home. */
    async settle(): Promise<void> {
      await until(() => callers.every(({ times }) => times >= 10), "each key to stay at one replica");
      for (const caller of callers) caller.home = caller.by;
    },
    /** Waits until its home answers each client. */
    async home(): Promise<void> {
      const strangers = (): string[] =>
        callers.flatMap(({ by, home }) => (by === home ? [] : [`${home}→${by}`]));
      await until(
        () => strangers().length === 0,
        () => `keys to come back to their replica; still elsewhere: ${strangers()}`,
      );
    },
    end() {
      isEnding = true;
      return running;
    },
  };
}

/** A way to a replica: direct, or through a balancer. */
export interface Way {
  readonly name: string;
  readonly ask: (token: string) => Promise<Response>;
  /** Whether requests may fail, because the test disturbs the replica that they reach. */
  readonly mayFail: boolean;
}

/** A client that sends more requests than its limit, by all ways at once. */
export function greedy(token: string, ways: readonly Way[]) {
  const seen = { asked: 0, passed: 0, problems: [] as string[] };

  /** @returns whether the request was refused */
  async function once({ name, ask: askBy, mayFail }: Way): Promise<boolean> {
    seen.asked++;
    try {
      const { status, text } = await askBy(token);
      if (status === 200) seen.passed++;
      else if (status !== 429) seen.problems.push(`${name}: ${status} ${text}`);
      return status === 429;
    } catch (error) {
      if (!mayFail) seen.problems.push(`${name}: ${(error as Error).message}`);
      return false;
    }
  }

  return {
    seen,
    /** Sends so many requests in all. @param pauseMs after each reply */
    async ask(times: number, pauseMs = 0): Promise<void> {
      const byWay = async (way: Way): Promise<void> => {
        for (let time = 0; time < times / ways.length; time++) {
          await once(way);
          await sleep(pauseMs);
        }
      };
      await Promise.all(ways.map(byWay));
    },
    /** Asks until every way refuses. */
    async exhaust(): Promise<void> {
      const byWay = async (way: Way): Promise<void> => {
        const began = performance.now();
        for (let refusals = 0; refusals < 3; ) {
          refusals = (await once(way)) ? refusals + 1 : 0;
          assert.ok(performance.now() - began < 120_000, `${way.name} never refuses; passed: ${seen.passed}`);
        }
      };
      await Promise.all(ways.map(byWay));
    },
  };
}

/** Reads all worlds, and starts again when the generation changes: a walk is of one generation. */
async function crawl(port: number, token: string): Promise<void> {
  for (let beginning = 1; beginning < 100; beginning++) {
    const ids = new Set<string>();
    let headers = {};
    for (let offset = 0; offset < WORLDS; offset += 50) {
      const reply = await ask(port, `/worlds?limit=50&offset=${offset}`, token, { headers });
      if (reply.status === 412) break;
      assert.equal(reply.status, 200, reply.text);
      headers = { "if-match": reply.headers.etag! };
      for (const { id } of (JSON.parse(reply.text) as { data: { id: string }[] }).data) ids.add(id);
      if (offset + 50 >= WORLDS) return assert.equal(ids.size, WORLDS, "worlds were missed");
    }
  }
  assert.fail("a crawler never came to an end");
}

export type Crawlers = ReturnType<typeof startCrawlers>;

export function startCrawlers(port: number, tokens: readonly string[]) {
  let isEnding = false;
  let walks = 0;
  let problem: unknown;
  const run = async (token: string): Promise<void> => {
    for (; !isEnding; walks++) await crawl(port, token);
  };
  const running = Promise.all(tokens.map(run));
  running.catch((error: unknown) => {
    problem = error;
  });
  return {
    /** Waits until each crawler has completed another walk. @throws the error of a walk */
    async another(): Promise<void> {
      const enough = walks + 2 * tokens.length;
      await until(() => {
        if (problem !== undefined) throw problem;
        return walks >= enough;
      }, "walks to come to their end");
    },
    end() {
      isEnding = true;
      return running;
    },
  };
}
