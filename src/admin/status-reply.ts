/** Builds the replies of `/status` and `/history`. */

import { packageJson } from "../install/package.ts";
import type { ThreadFigures } from "../server/threads/serving-messages.ts";
import { busiestKeys } from "./keys.ts";
import { limitsStatus } from "./problems.ts";
import type { Moment, Status, TimelineReply } from "./status.ts";
import type { AskedThread, WatchedServer } from "./watched.ts";

/** Maximum age, in milliseconds, at which a reply is sent again. */
const FRESH_MS = 200;

export const { version: VERSION } = JSON.parse(packageJson()) as { version: string };

function runtimeOf(): string {
  const { bun, deno, node } = process.versions as Record<string, string | undefined>;
  if (bun !== undefined) return `bun ${bun}`;
  return deno === undefined ? `node ${node}` : `deno ${deno}`;
}

function keysStatus(server: WatchedServer): Status["keys"] {
  const figures = server.keyFigures();
  return {
    total: figures?.keys.size ?? 0,
    loadedAt: server.history.keysLoadedAt,
    problem: server.opened?.keysProblem() ?? null,
    windowSeconds: server.given.settings.rateWindow,
    busiest: figures ? busiestKeys(figures, Date.now()) : [],
  };
}

/** A sum over all threads that answered. */
function sum(threads: readonly AskedThread[], of: (figures: ThreadFigures) => number): number {
  return threads.reduce((all, { figures }) => all + (figures ? of(figures) : 0), 0);
}

function searchCacheStatus(threads: readonly AskedThread[], maxBytes: number): Status["searchCache"] {
  // With several threads, the main thread searches only for the others, and they count these searches.
  const counting = threads.length === 1 ? threads : threads.filter(({ role }) => role !== "main");
  return {
    hits: sum(counting, ({ searches }) => searches.hits),
    joined: sum(counting, ({ searches }) => searches.joined),
    misses: sum(counting, ({ searches }) => searches.misses),
    entries: sum(threads, ({ searches }) => searches.entries),
    bytes: sum(threads, ({ searches }) => searches.bytes),
    maxBytes,
  };
}

function threadsStatus(
  threads: readonly AskedThread[],
  { given, history }: WatchedServer,
): Status["threads"] {
  const delays = threads.flatMap(({ figures }) => figures?.eventLoop?.delay?.p99Ms ?? []);
  return {
    serving: given.servingThreads,
    delayP99Ms: delays.length === 0 ? null : Math.max(...delays),
    all: threads.map(({ role, number, figures }) => ({
      role,
      number,
      isAnswering: figures !== undefined,
      heapUsedBytes: figures?.heapUsedBytes ?? null,
      eventLoop: figures?.eventLoop ?? null,
    })),
    restarts: { ...history.restarts },
  };
}

function memoryStatus(threads: readonly AskedThread[]): Status["memory"] {
  const { rss, external, arrayBuffers } = process.memoryUsage();
  return {
    rssBytes: rss,
    heapUsedBytes: sum(threads, ({ heapUsedBytes }) => heapUsedBytes),
    heapTotalBytes: sum(threads, ({ heapTotalBytes }) => heapTotalBytes),
    externalBytes: external,
    arrayBuffersBytes: arrayBuffers,
  };
}

/** Measures the figures of the charts; does not look at the keys, which may be many. */
export async function measureMoment(server: WatchedServer): Promise<Moment> {
  const threads = await server.askThreads();
  const { perSecondByStatus, routes } = server.rates.requests();
  const { rssBytes, heapUsedBytes, arrayBuffersBytes } = memoryStatus(threads);
  return {
    now: new Date().toISOString(),
    requests: {
      perSecondByStatus,
      routes: routes.flatMap(({ route, recent }) => (recent === null ? [] : { route, recent })),
    },
    memory: { rssBytes, heapUsedBytes, arrayBuffersBytes },
    threads: { delayP99Ms: threadsStatus(threads, server).delayP99Ms },
  };
}

/** Interval between moments. */
const EVERY_MS = 5000;
/** Number of moments kept: ten minutes, about 100 kB. */
const KEPT = 120;

/**
 * Measures and keeps moments, oldest first. The server keeps them, so that a dashboard opened during an incident shows
 * how it began.
 */
export class Timeline {
  readonly #moments: Moment[] = [];

  /** Starts the timer, which does not keep the process alive. */
  constructor(measure: () => Promise<Moment>) {
    const take = async (): Promise<void> => {
      this.#moments.push(await measure());
      if (this.#moments.length > KEPT) this.#moments.shift();
    };
    // A failed measurement leaves a gap in the charts.
    setInterval(() => void take().catch(() => undefined), EVERY_MS).unref();
  }

  reply(): TimelineReply {
    return { now: new Date().toISOString(), everySeconds: EVERY_MS / 1000, moments: this.#moments };
  }
}

/** Creates the function that returns the status. Requests within {@link FRESH_MS} share a reply. */
export function createStatus(server: WatchedServer): () => Promise<Status> {
  const runtime = runtimeOf();
  const { given, history } = server;

  async function make(): Promise<Status> {
    const threads = await server.askThreads();
    const ready = history.readiness();
    const { createdAt, ageSeconds } = ready;
    const ages = { createdAt, ageSeconds: ageSeconds ?? 0, dataAgeSeconds: history.dataAgeSeconds };
    return {
      version: VERSION,
      runtime,
      pid: process.pid,
      now: new Date().toISOString(),
      startedAt: new Date(performance.timeOrigin).toISOString(),
      uptimeSeconds: Math.round(performance.now() / 100) / 10,
      ready: {
        ...ready,
        reason: history.reason(),
        maxAgeSeconds: history.limits.maxAge,
        maxDataAgeSeconds: history.limits.maxDataAge,
      },
      problems: server.problems.list(),
      url: history.url,
      threads: threadsStatus(threads, server),
      generation: history.served && { ...history.served, ...ages },
      loading: history.loading,
      loads: history.loads,
      requests: server.rates.requests(),
      keys: keysStatus(server),
      limits: limitsStatus(given.sharedLimits, server.opened?.sharedLimits?.figures()),
      searchCache: searchCacheStatus(threads, given.settings.searchCacheBytes),
      memory: memoryStatus(threads),
    };
  }

  let latest: Promise<Status> | undefined;
  let madeAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (latest === undefined || performance.now() - madeAt > FRESH_MS) {
      madeAt = performance.now();
      latest = make();
    }
    return latest;
  };
}
