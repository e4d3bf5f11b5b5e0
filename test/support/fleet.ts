/** Several replicas behind a load balancer, and their clients, which record the replies. */

import assert from "node:assert/strict";
import { renameSync, symlinkSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { type Files, instance, user, world, worldStats, writeSnapshot } from "./folders.ts";
import { freePort } from "./ports.ts";
import { type GetOptions, get, type Response, type Served, served, start, until } from "./process.ts";

const BASE = "/api/public/v1";
/** Worlds of a snapshot: seven pages of 50. */
export const WORLDS = 330;

/** Writes a snapshot with the number in its rows: every world has that many visits. */
export function writeNumbered(folder: string, number: number): string {
  const numbers = Array.from({ length: WORLDS }, (_, index) => index + 1);
  const files: Files = {
    "users.ndjson": [1, 2, 3].map((n) => user(n)),
    "worlds.ndjson": numbers.map((n) => world(n)),
    "world-stats.ndjson": numbers.map((n) => worldStats(n, { totalVisits: 2000 + number })),
    "instances.ndjson": [instance(1)],
  };
  return writeSnapshot(folder, files);
}

/** A replica that can be ended and started again on the same ports. */
export class Replica {
  readonly name: string;
  /** All its processes, past ones too, and the last count that each reported of requests passed alone. */
  readonly #alone = new Map<Served, number>();
  readonly port: number;
  readonly adminPort: number;
  readonly #link: string;
  readonly #args: readonly string[];
  server!: Served;

  private constructor(name: string, ports: readonly [number, number], link: string, args: readonly string[]) {
    this.name = name;
    [this.port, this.adminPort] = ports;
    this.#link = link;
    this.#args = args;
  }

  static async make(
    name: string,
    folder: string,
    snapshot: string,
    args: readonly string[],
  ): Promise<Replica> {
    const replica = new Replica(name, [await freePort(), await freePort()], join(folder, name), args);
    replica.publish(snapshot);
    await replica.start();
    return replica;
  }

  /** Publishes another snapshot by one rename of a symbolic link, as publishers do. */
  publish(snapshot: string): void {
    symlinkSync(snapshot, `${this.#link}.next`);
    renameSync(`${this.#link}.next`, this.#link);
  }

  async start(): Promise<void> {
    const ports = ["--port", String(this.port), "--admin", String(this.adminPort)];
    this.server = await served(start(["serve", "--snapshot", this.#link, ...ports, ...this.#args]));
    this.#alone.set(this.server, 0);
  }

  count(event: string): number {
    return [...this.#alone.keys()].reduce((sum, server) => sum + server.logs(event).length, 0);
  }

  async stop(): Promise<void> {
    const stopped = this.server.stop();
    // It may pass more requests until it ends.
    while (await this.#readAlone());
    await stopped;
  }

  async kill(): Promise<void> {
    await this.#readAlone();
    this.server.child.kill("SIGKILL");
    await this.server.ended;
  }

  /** Requests that all its processes passed while they could not ask the counter server. */
  async alone(): Promise<number> {
    await this.#readAlone();
    return [...this.#alone.values()].reduce((sum, count) => sum + count, 0);
  }

  /** @returns whether the process answered */
  async #readAlone(): Promise<boolean> {
    const metrics = await get(`http://127.0.0.1:${this.adminPort}/metrics`).catch(() => undefined);
    if (metrics === undefined) return false;
    const count = /^orrery_shared_limits_requests_total\{outcome="alone"\} (\d+)$/m.exec(metrics.text)?.[1];
    assert.ok(count !== undefined, metrics.text);
    this.#alone.set(this.server, Number(count));
    return true;
  }

  async readiness(): Promise<{ httpStatus: number; status: string; generation: string }> {
    const { status, text } = await get(`http://127.0.0.1:${this.adminPort}/readyz`);
    return { httpStatus: status, ...(JSON.parse(text) as { status: string; generation: string }) };
  }

  async untilReady(): Promise<void> {
    await until(
      async () => (await this.readiness().catch(() => undefined))?.status === "ready",
      `replica ${this.name} to be ready`,
    );
  }
}

const nothing = () => ({ statuses: new Map<number, number>(), broken: [] as string[] });

export type Seen = ReturnType<typeof nothing>;

export function ask(
  port: number,
  path: string,
  token: string,
  options: Omit<GetOptions, "token"> = {},
): Promise<Response> {
  return get(`https://127.0.0.1:${port}${BASE}${path}`, { token, ...options });
}

/** The replica that answered a client, told by the limit of the key, which differs on every replica. */
interface Answered {
  by: string;
  times: number;
}

/** Clients with a key each, which send one request after another and record the replies. */
export class Clients {
  #seen = nothing();
  #isEnding = false;
  readonly #running: Promise<void>[];
  readonly #replies: number[];
  readonly #answered: Answered[];
  #homes: readonly string[] = [];

  constructor(port: number, tokens: readonly string[]) {
    this.#replies = tokens.map(() => 0);
    this.#answered = tokens.map(() => ({ by: "", times: 0 }));
    this.#running = tokens.map((token, client) => this.#run(port, token, client));
  }

  async #run(port: number, token: string, client: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const paths = ["/stats", "/worlds?limit=50", "/worlds/search?q=world&limit=5", "/instances"];
    for (let turn = 0; !this.#isEnding; turn++) {
      const path = paths[turn % paths.length]!;
      try {
        const { status, headers, text } = await ask(port, path, token, { agent });
        this.#seen.statuses.set(status, (this.#seen.statuses.get(status) ?? 0) + 1);
        if (status === 200) JSON.parse(text);
        const answered = this.#answered[client]!;
        const by = String(headers["x-ratelimit-limit"]);
        answered.times = by === answered.by ? answered.times + 1 : 1;
        answered.by = by;
      } catch (error) {
        this.#seen.broken.push(`${path}: ${(error as Error).message}`);
      }
      this.#replies[client]!++;
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    agent.destroy();
  }

  take(): Seen {
    const seen = this.#seen;
    this.#seen = nothing();
    return seen;
  }

  /** Waits until every client has had a few more replies or failures. */
  async some(): Promise<void> {
    const enough = this.#replies.map((count) => count + 5);
    await until(
      () => this.#replies.every((count, client) => count >= enough[client]!),
      () =>
        `replies to all clients; so many lack: ${this.#replies.map((count, client) => enough[client]! - count)}`,
    );
  }

  /** Waits until one replica alone answers each client, and records it as the client's home. */
  async settle(): Promise<void> {
    await until(() => this.#answered.every(({ times }) => times >= 10), "each key to stay at one replica");
    this.#homes = this.#answered.map(({ by }) => by);
  }

  /** Waits until its home answers each client. */
  async home(): Promise<void> {
    const strangers = (): string[] =>
      this.#answered.flatMap(({ by }, client) => (by === this.#homes[client] ? [] : [`${client} by ${by}`]));
    await until(
      () => strangers().length === 0,
      () => `keys to come back to their replica; still elsewhere: ${strangers().join(", ")}`,
    );
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#running);
  }
}

/** A way to a replica: direct, or through a balancer. */
export interface Way {
  readonly name: string;
  readonly ask: (token: string) => Promise<Response>;
  /** Whether requests may fail, because the test disturbs the replica that they reach. */
  readonly mayFail: boolean;
}

/** A client that sends more requests than its limit, by all ways at once. */
export class Greedy {
  readonly #token: string;
  readonly #ways: readonly Way[];
  asked = 0;
  passed = 0;
  readonly problems: string[] = [];

  constructor(token: string, ways: readonly Way[]) {
    this.#token = token;
    this.#ways = ways;
  }

  /** @returns whether the request was refused */
  async #once({ name, ask: askBy, mayFail }: Way): Promise<boolean> {
    this.asked++;
    try {
      const { status, text } = await askBy(this.#token);
      if (status === 200) this.passed++;
      else if (status !== 429) this.problems.push(`${name}: ${status} ${text}`);
      return status === 429;
    } catch (error) {
      if (!mayFail) this.problems.push(`${name}: ${(error as Error).message}`);
      return false;
    }
  }

  /** Sends so many requests in all. @param pauseMs after each reply */
  async ask(times: number, pauseMs = 0): Promise<void> {
    const share = Math.ceil(times / this.#ways.length);
    await Promise.all(
      this.#ways.map(async (way) => {
        for (let time = 0; time < share; time++) {
          await this.#once(way);
          if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
        }
      }),
    );
  }

  async exhaust(): Promise<void> {
    await Promise.all(
      this.#ways.map(async (way) => {
        const began = performance.now();
        for (let refusals = 0; refusals < 3; ) {
          refusals = (await this.#once(way)) ? refusals + 1 : 0;
          assert.ok(performance.now() - began < 120_000, `${way.name} never refuses; passed: ${this.passed}`);
        }
      }),
    );
  }
}

/** Reads all worlds of one generation, and starts again when the generation changes. */
export async function crawl(port: number, token: string): Promise<void> {
  for (let beginning = 1; ; beginning++) {
    assert.ok(beginning < 100, "a crawler never came to an end");
    const ids = new Set<string>();
    let etag: string | undefined;
    let changed = false;
    for (let offset = 0; offset < WORLDS && !changed; offset += 50) {
      const headers = etag === undefined ? {} : { "if-match": etag };
      const reply = await ask(port, `/worlds?limit=50&offset=${offset}`, token, { headers });
      if (reply.status === 412) changed = true;
      else {
        assert.equal(reply.status, 200, reply.text);
        etag ??= reply.headers.etag;
        assert.equal(reply.headers.etag, etag, "a page of another generation");
        for (const { id } of (JSON.parse(reply.text) as { data: { id: string }[] }).data) ids.add(id);
      }
    }
    if (changed) continue;
    assert.equal(ids.size, WORLDS, "worlds were missed");
    return;
  }
}

export class Crawlers {
  #isEnding = false;
  walks = 0;
  readonly #running: Promise<void>[];
  #problem: unknown;

  constructor(port: number, tokens: readonly string[]) {
    this.#running = tokens.map(async (token) => {
      while (!this.#isEnding) {
        await crawl(port, token);
        this.walks++;
      }
    });
    for (const running of this.#running)
      running.catch((error: unknown) => {
        this.#problem = error;
      });
  }

  /** Waits until each crawler has completed another walk. @throws the error of a walk */
  async another(): Promise<void> {
    const enough = this.walks + 2 * this.#running.length;
    await until(() => {
      if (this.#problem !== undefined) throw this.#problem;
      return this.walks >= enough;
    }, "walks to come to their end");
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#running);
  }
}
