/** Builds the replies of `/status` and `/history`. */

import type { SharedLimits } from "../auth/shared.ts";
import { packageJson } from "../install/package.ts";
import type { ThreadFigures } from "../observe/metrics/vitals.ts";
import { busiestKeys } from "./keys.ts";
import type { HistoryReply, Moment, Status, ThreadStatus } from "./status.ts";
import { keepSamples, type WatchedServer } from "./watched.ts";

/** Maximum age, in milliseconds, at which a reply is sent again. */
const FRESH_MS = 200;

export const { version: VERSION } = JSON.parse(packageJson()) as { version: string };

function runtimeOf(): string {
  const { versions } = process as { versions: Readonly<Record<string, string>> };
  const name = ["bun", "deno", "node"].find((one) => versions[one] !== undefined)!;
  return `${name} ${versions[name]}`;
}

/** The figures of all threads, and their sums. */
function threadsStatus(server: WatchedServer): Pick<Status, "threads" | "searchCache" | "memory"> {
  const { given, observed } = server;
  const all = server.threads();
  const answers = all.flatMap(({ role, figures }) => (figures ? { role, ...figures } : []));
  // With several threads, the main thread searches only for the others, and they count these searches.
  const counting = all.length === 1 ? answers : answers.filter(({ role }) => role !== "main");
  const delays = answers.flatMap(({ p99Ms }) => p99Ms ?? []);
  const { rss, external, arrayBuffers } = process.memoryUsage();
  return {
    threads: {
      serving: given.servingThreads,
      delayP99Ms: delays.length === 0 ? null : Math.max(...delays),
      all: all.map(({ role, number, figures }) => ({
        role,
        number,
        isAnswering: figures !== undefined,
        heapUsedBytes: figures?.heapUsedBytes ?? null,
        eventLoop: figures ? eventLoopOf(figures) : null,
      })),
      restarts: { ...observed.values.restarts },
    },
    searchCache: {
      hits: sum(counting, "hits"),
      misses: sum(counting, "misses"),
      entries: sum(answers, "entries"),
      bytes: sum(answers, "bytes"),
      maxBytes: given.settings.searchCacheBytes,
    },
    memory: {
      rssBytes: rss,
      heapUsedBytes: sum(answers, "heapUsedBytes"),
      heapTotalBytes: sum(answers, "heapTotalBytes"),
      externalBytes: external,
      arrayBuffersBytes: arrayBuffers,
    },
  };
}

function eventLoopOf({ utilization, p50Ms, p99Ms, maxMs }: ThreadFigures): ThreadStatus["eventLoop"] {
  const isKnown = p50Ms !== null && p99Ms !== null && maxMs !== null;
  return { utilization, delay: isKnown ? { p50Ms, p99Ms, maxMs } : null };
}

function sum(threads: readonly ThreadFigures[], figure: keyof ThreadFigures): number {
  return threads.reduce((total, figures) => total + (figures[figure] ?? 0), 0);
}

export function limitsStatus(limits: SharedLimits | undefined): Status["limits"] {
  const { problem = null, since = null, losses = 0, replicas = null } = limits ?? {};
  const shared = limits !== undefined;
  const server = problem === null ? "reachable" : "away";
  const { alone = 0, refused = 0 } = limits?.figures() ?? {};
  const requests = shared ? { alone, refused } : null;
  return { shared, server: shared ? server : null, since, losses, problem, replicas, requests };
}

/** Measures the figures of the charts; does not look at the keys, which may be many. */
export function measureMoment(server: WatchedServer): Moment {
  const { threads, memory } = threadsStatus(server);
  const { perSecondByStatus, routes } = server.requests();
  const { rssBytes, heapUsedBytes, arrayBuffersBytes } = memory;
  return {
    now: new Date().toISOString(),
    requests: {
      perSecondByStatus,
      routes: routes.flatMap(({ route, recent }) => (recent === null ? [] : { route, recent })),
    },
    memory: { rssBytes, heapUsedBytes, arrayBuffersBytes },
    threads: { delayP99Ms: threads.delayP99Ms },
  };
}

const EVERY_MS = 5000;
/** Moments of ten minutes, about 100 kB. */
const MOST_MOMENTS = 120;

/** Keeps moments. The server keeps them, so that a dashboard opened during an incident shows how it began. */
export function keepMoments(measure: () => Moment): () => HistoryReply {
  const moments = keepSamples<Moment>([], MOST_MOMENTS, EVERY_MS, measure);
  return () => ({ now: new Date().toISOString(), everySeconds: EVERY_MS / 1000, moments });
}

/** Creates the function that returns the status. Requests within {@link FRESH_MS} share a reply. */
export function createStatus(server: WatchedServer): () => Status {
  const runtime = runtimeOf();
  const { given, health } = server;

  function make(): Status {
    const { threads, searchCache, memory } = threadsStatus(server);
    const { opened } = server;
    const ready = health.readiness();
    const { createdAt, ageSeconds } = ready;
    const ages = { createdAt, ageSeconds, dataAgeSeconds: health.dataAgeSeconds };
    const keys = server.keyFigures();
    return {
      version: VERSION,
      runtime,
      pid: process.pid,
      now: new Date().toISOString(),
      startedAt: new Date(performance.timeOrigin).toISOString(),
      uptimeSeconds: Math.round(performance.now() / 100) / 10,
      ready: { ...ready, reason: health.reason(), maxDataAgeSeconds: health.maxDataAge },
      problems: health.problems(),
      rounds: health.rounds,
      url: health.url,
      threads,
      generation: health.served && { ...health.served, ...ages },
      loading: health.loading,
      loads: health.loads,
      requests: server.requests(),
      keys: {
        total: keys?.keys.size ?? 0,
        loadedAt: health.keysLoadedAt,
        problem: opened?.keysProblem() ?? null,
        windowSeconds: given.settings.rateWindow,
        busiest: keys ? busiestKeys(keys, Date.now()) : [],
      },
      limits: limitsStatus(given.sharedLimits),
      searchCache,
      memory,
    };
  }

  let latest: { readonly at: number; readonly status: Status } | undefined;
  return () => {
    const at = performance.now();
    if (latest === undefined || at - latest.at > FRESH_MS) latest = { at, status: make() };
    return latest.status;
  };
}
