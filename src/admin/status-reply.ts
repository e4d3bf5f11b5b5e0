/** Makes the reply of `/status` from what the server knows. */

import type { KeyUse } from "../auth/key-use.ts";
import { packageJson } from "../install/package.ts";
import type { OpenState } from "../server/open.ts";
import type { ThreadFigures } from "../server/threads/serving-messages.ts";
import { busiestKeys, type KeyFigures } from "./busiest.ts";
import type { History } from "./history.ts";
import type { LimitsHistory } from "./limits.ts";
import type { Problems } from "./problems.ts";
import type { Rates } from "./rates.ts";
import type { ReadinessKeeper } from "./readiness.ts";
import type {
  KeysStatus,
  MemoryStatus,
  Moment,
  SearchCacheStatus,
  Status,
  ThreadStatus,
  ThreadsStatus,
} from "./status.ts";

/** One thread as it was asked. */
export interface AskedThread {
  readonly role: ThreadStatus["role"];
  readonly number: number;
  /** Undefined when it did not answer in time. */
  readonly figures: ThreadFigures | undefined;
}

/** Where a status comes from. */
export interface StatusSources {
  readonly history: History;
  readonly readiness: ReadinessKeeper;
  readonly rates: Rates;
  readonly problems: Problems;
  readonly limits: LimitsHistory;
  /** Undefined until the first snapshot is loaded. */
  readonly opened: () =>
    | Pick<OpenState, "state" | "keysProblem" | "searchCounts" | "sharedLimits">
    | undefined;
  /** Threads that answer requests when all are well. */
  readonly servingThreads: number;
  readonly searchCacheBytes: number;
  readonly windowSeconds: number;
  /** Where each thread that serves counts the requests of keys. */
  readonly keyUse: readonly KeyUse[];
  /** The main thread first. */
  readonly askThreads: () => Promise<readonly AskedThread[]>;
}

/** Replies younger than this, in milliseconds, are sent again. */
const FRESH_MS = 200;

function versionOf(): string {
  return (JSON.parse(packageJson()) as { version: string }).version;
}

function runtimeOf(): string {
  const { bun, deno, node } = process.versions as Record<string, string | undefined>;
  if (bun !== undefined) return `bun ${bun}`;
  return deno === undefined ? `node ${node}` : `deno ${deno}`;
}

/** What keys are reported from; undefined until the first snapshot is loaded. */
export function keyFigures({
  opened,
  keyUse: use,
}: Pick<StatusSources, "opened" | "keyUse">): KeyFigures | undefined {
  const now = opened();
  if (now === undefined) return undefined;
  const { keys, counters, defaultLimit } = now.state.gate;
  const shared = now.sharedLimits;
  const remainingOf = shared && ((slot: number, limit: number) => shared.read(slot, limit).remaining);
  return { keys, counters, defaultLimit, use, remainingOf };
}

function keysStatus(sources: StatusSources): KeysStatus {
  const { history, opened, windowSeconds } = sources;
  const now = opened();
  const figures = keyFigures(sources);
  return {
    total: figures?.keys.size ?? 0,
    loadedAt: history.keysLoadedAt,
    problem: now?.keysProblem() ?? null,
    windowSeconds,
    busiest: figures ? busiestKeys(figures, Date.now()) : [],
  };
}

/** Of several threads the main one searches for the others only: what it did is counted by those that asked. */
function searchCacheStatus(threads: readonly AskedThread[], maxBytes: number): SearchCacheStatus {
  const isAlone = threads.length === 1;
  const sum = { hits: 0, joined: 0, misses: 0, entries: 0, bytes: 0 };
  for (const { role, figures } of threads) {
    if (figures === undefined) continue;
    const { hits, joined, misses, entries, bytes } = figures.searches;
    sum.entries += entries;
    sum.bytes += bytes;
    if (role === "main" && !isAlone) continue;
    sum.hits += hits;
    sum.joined += joined;
    sum.misses += misses;
  }
  return { ...sum, maxBytes };
}

function threadsStatus(
  threads: readonly AskedThread[],
  { servingThreads, history }: Pick<StatusSources, "servingThreads" | "history">,
): ThreadsStatus {
  const delays = threads.flatMap(({ figures }) => figures?.eventLoop?.delay?.p99Ms ?? []);
  return {
    serving: servingThreads,
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

function memoryStatus(threads: readonly AskedThread[]): MemoryStatus {
  const { rss, external, arrayBuffers } = process.memoryUsage();
  const sum = (of: (figures: ThreadFigures) => number): number =>
    threads.reduce((all, { figures }) => all + (figures ? of(figures) : 0), 0);
  return {
    rssBytes: rss,
    heapUsedBytes: sum((figures) => figures.heapUsedBytes),
    heapTotalBytes: sum((figures) => figures.heapTotalBytes),
    externalBytes: external,
    arrayBuffersBytes: arrayBuffers,
  };
}

/** Measures what charts draw; it does not look at the keys, of which there may be many. */
export async function measureMoment(
  sources: Pick<StatusSources, "askThreads" | "rates" | "servingThreads" | "history">,
): Promise<Moment> {
  const threads = await sources.askThreads();
  const { perSecondByStatus, routes } = sources.rates.requests();
  const { rssBytes, heapUsedBytes, arrayBuffersBytes } = memoryStatus(threads);
  return {
    now: new Date().toISOString(),
    requests: {
      perSecondByStatus,
      routes: routes.flatMap(({ route, recent }) => (recent === null ? [] : { route, recent })),
    },
    memory: { rssBytes, heapUsedBytes, arrayBuffersBytes },
    threads: { delayP99Ms: threadsStatus(threads, sources).delayP99Ms },
  };
}

/** Makes the function that gives the status. Requests shortly after another get the same reply. */
export function createStatus(sources: StatusSources): () => Promise<Status> {
  const version = versionOf();
  const runtime = runtimeOf();
  const { history, readiness, rates } = sources;

  async function make(): Promise<Status> {
    const threads = await sources.askThreads();
    const ready = readiness.readiness();
    const { dataAgeSeconds } = readiness;
    const { createdAt, ageSeconds } = ready;
    return {
      version,
      runtime,
      pid: process.pid,
      now: new Date().toISOString(),
      startedAt: new Date(performance.timeOrigin).toISOString(),
      uptimeSeconds: Math.round(performance.now() / 100) / 10,
      ready: {
        ...ready,
        reason: readiness.reason(),
        maxAgeSeconds: readiness.limits.maxAge,
        maxDataAgeSeconds: readiness.limits.maxDataAge,
      },
      problems: sources.problems.list(),
      url: history.url,
      threads: threadsStatus(threads, sources),
      generation: history.served && {
        ...history.served,
        ...{ createdAt, ageSeconds: ageSeconds ?? 0, dataAgeSeconds },
      },
      loading: readiness.loading,
      loads: history.loads,
      requests: rates.requests(),
      keys: keysStatus(sources),
      limits: sources.limits.status(sources.opened()?.sharedLimits?.figures()),
      searchCache: searchCacheStatus(threads, sources.searchCacheBytes),
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
