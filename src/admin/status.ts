/**
 * The reply of `GET /status`, as JSON. Figures are sums over all serving threads unless a field says otherwise. Times of
 * day are ISO 8601 in UTC, durations carry their unit in their name. An unknown value is null, never absent: the runtime
 * does not report it, or nothing has happened yet. The reply contains no token and no hash.
 */

import type { Refusal } from "../auth/key-use.ts";
import type { ReloadResult } from "../model/reload.ts";
import type { CacheCounts, RoundsStatus } from "../observe/events.ts";
import type { SharedLimitsFigures } from "../observe/metrics/table.ts";

/** Whether the server is ready for requests, and if not, why. The reply of `GET /readyz`. */
export interface Readiness {
  /** `stale`: the data are older than `--max-data-age`; requests are answered. */
  readonly status: "loading" | "ready" | "stale" | "draining";
  /** Id of the served generation, and when the server began to serve it; null before the first one. */
  readonly generation: string | null;
  readonly loadedAt: string | null;
  /** Seconds since a load or a check last found the served snapshot to be current. */
  readonly ageSeconds: number | null;
  /** Time of its data, from the manifest of the snapshot. */
  readonly createdAt: string | null;
}

/** The served generation: its visible rows, and the size on disk of the files read for it. */
export interface ServedStatus {
  readonly id: string;
  readonly loadedAt: string;
  readonly rows: Readonly<Record<"users" | "worlds" | "instances", number>>;
  readonly bytes: number;
}

export interface LoadStatus {
  readonly at: string;
  /** `changing` if the files changed while they were read; they are read again. */
  readonly result: ReloadResult | "changing";
  /** Id of the generation served afterwards; null if the first load failed. */
  readonly generation: string | null;
  /** Null if refused or changing. */
  readonly durationMs: number | null;
  /** Only if loaded: the parts of its duration (reading and validating, packing, indexing), and its visible rows. */
  readonly phases: Readonly<Record<"readMs" | "packMs" | "indexMs", number>> | null;
  readonly rows: ServedStatus["rows"] | null;
  /** Tables whose rows were read, such as "world-stats", and tables reused from the generation before. */
  readonly read: readonly string[];
  readonly kept: readonly string[];
  /** One line per problem of a refused snapshot, at most 20 and a count of the others; and the delay until the same files are tried again. */
  readonly problems: readonly string[];
  readonly retryMs: number | null;
}

/** Durations of requests, estimated from a histogram. */
export type Latency = Readonly<Record<"p50Ms" | "p99Ms", number>>;

/** Requests of one route: since the start, and in the recent interval of {@link Status}. */
export interface RouteStatus {
  /** Path pattern below the API's base path, such as `/worlds/:id`; "" for requests that matched none. */
  readonly route: string;
  readonly total: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly perSecond: number;
  /** Null without requests, like `overall`. */
  readonly recent: Latency | null;
  readonly overall: Latency | null;
}

/** A key, the state of its limit in the current window, and its requests by outcome. A CLI token has no limit. */
export interface KeyStatus {
  readonly id: string;
  readonly name: string;
  readonly kind: "api" | "cli";
  /** Requests in the current window; with shared limits of all replicas, by the server's last reply. For a CLI token `passed`. */
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  /** When the window ends. */
  readonly resetEpochSeconds: number;
  /** Requests since this replica's start. A disabled or expired key is refused with 401, `scope` is 403, `busy` 503. */
  readonly passed: number;
  readonly refused: Readonly<Record<Refusal, number>>;
  /** Time of its last request since then, refused or not. */
  readonly lastUsedAt: string | null;
}

/** Kinds of {@link Problem} in their order, which docs/admin.md describes; an event with `problem` in its row is one of them. */
export const PROBLEM_KINDS = [
  "snapshot-refused",
  "source-failed",
  "round-failed",
  "keys-refused",
  "worlds-hidden",
  "data-stale",
  "data-ahead",
  "data-undated",
  "limits-away",
  "thread-died",
  "log-failed",
  "log-lines-dropped",
] as const;

export type ProblemKind = (typeof PROBLEM_KINDS)[number];

/** A current problem that an operator should look at. It is listed for as long as it lasts. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly since: string;
  readonly message: string;
}

/** A thread that takes part in serving. */
export interface ThreadStatus {
  /** With `--threads 1` the main thread serves, too, and is the only one. */
  readonly role: "main" | "serving";
  /** 0 for the main thread. */
  readonly number: number;
  /** False when it has written no figures for a second: they are missing in the sums. */
  readonly isAnswering: boolean;
  readonly heapUsedBytes: number | null;
  readonly eventLoop: {
    /** Share of the last 5 to 10 seconds that it was busy, 0 to 1; null if the runtime does not report it. */
    readonly utilization: number | null;
    /** Delay of a timer over about the last ten seconds; null in the first moments. */
    readonly delay: Readonly<Record<"p50Ms" | "p99Ms" | "maxMs", number>> | null;
  } | null;
}

/** The whole reply. */
export interface Status {
  readonly version: string;
  /** `node 22.12.0` */
  readonly runtime: string;
  readonly pid: number;
  readonly now: string;
  readonly startedAt: string;
  readonly uptimeSeconds: number;
  /** `maxDataAgeSeconds` is 0 for never. */
  readonly ready: Readiness & { readonly reason: string; readonly maxDataAgeSeconds: number };
  /** In the order of {@link PROBLEM_KINDS}; empty when all is well. */
  readonly problems: readonly Problem[];
  /** The export that this server runs itself; null without one. */
  readonly rounds: RoundsStatus | null;
  /** Base URL of the API; null until it listens. */
  readonly url: string | null;
  readonly threads: {
    readonly serving: number;
    /** The delay of the slowest thread. */
    readonly delayP99Ms: number | null;
    readonly all: readonly ThreadStatus[];
    /** Threads that died since the start, by role. */
    readonly restarts: Readonly<Record<string, number>>;
  };
  readonly generation:
    | (ServedStatus &
        Pick<Readiness, "createdAt" | "ageSeconds"> & { readonly dataAgeSeconds: number | null })
    | null;
  /** The running load: its duration, and the share of the bytes read, 0 to 1. */
  readonly loading: Readonly<Record<"sinceMs" | "progress", number>> | null;
  /** Newest first, at most 20. */
  readonly loads: readonly LoadStatus[];
  /** Requests of the API: since the start, and in a recent interval. */
  readonly requests: {
    readonly total: number;
    readonly active: number;
    /** Length of the recent interval, which rates are averaged over; at most 10 s, less shortly after the start. */
    readonly intervalSeconds: number;
    readonly perSecond: number;
    /** `{"200": 120.5, "429": 3}`. Statuses that were never sent are absent. */
    readonly perSecondByStatus: Readonly<Record<string, number>>;
    readonly byStatus: Readonly<Record<string, number>>;
    /** Refused requests by reason, such as `{"rate_limited": 5, "busy": 1}`. */
    readonly rejected: Readonly<Record<string, number>>;
    /** Every route that had a request, in the order of the route table. */
    readonly routes: readonly RouteStatus[];
  };
  readonly keys: {
    readonly total: number;
    /** When they were last read; null if they were given in code. */
    readonly loadedAt: string | null;
    /** Why the last read was refused; null if it succeeded. */
    readonly problem: string | null;
    readonly windowSeconds: number;
    /** Those with the most requests since the start, refused ones included, most first; at most 20. */
    readonly busiest: readonly KeyStatus[];
  };
  /** How the limits of API keys are shared with other replicas (`--shared-limits`). */
  readonly limits: {
    /** If false, all other fields but `losses` are null. */
    readonly shared: boolean;
    readonly server: "reachable" | "away" | null;
    /** Since when `server` is so: since the start of the process if no server was ever away. */
    readonly since: string | null;
    readonly losses: number;
    /** Why the server is away. */
    readonly problem: string | null;
    readonly replicas: number | null;
    /** Requests since the start that the server could not count in time. */
    readonly requests: Pick<SharedLimitsFigures, "alone" | "refused"> | null;
  };
  /** The search result cache of the served generation, and the limit of its memory. */
  readonly searchCache: CacheCounts & { readonly maxBytes: number };
  /** Memory of the process: heaps of the main and the serving threads; array buffers are a part of the external memory. */
  readonly memory: Readonly<
    Record<"rssBytes" | "heapUsedBytes" | "heapTotalBytes" | "externalBytes" | "arrayBuffersBytes", number>
  >;
}

/** The part of a moment's {@link Status} that charts draw. */
export interface Moment extends Pick<Status, "now"> {
  readonly requests: Pick<Status["requests"], "perSecondByStatus"> & {
    /** The routes that had a request in the recent interval. */
    readonly routes: readonly Pick<RouteStatus, "route" | "recent">[];
  };
  readonly memory: Pick<Status["memory"], "rssBytes" | "heapUsedBytes" | "arrayBuffersBytes">;
  readonly threads: Pick<Status["threads"], "delayP99Ms">;
}

/** The reply of `GET /history`: the last ten minutes, a moment every few seconds, oldest first. */
export interface HistoryReply {
  readonly now: string;
  readonly everySeconds: number;
  readonly moments: readonly Moment[];
}

/** The reply of `POST /reload`: keys and snapshot are judged separately. Keys that come from no file are `unchanged`. */
export interface ReloadReply {
  readonly keys: { readonly result: ReloadResult } & Pick<Status["keys"], "total" | "problem">;
  readonly snapshot: LoadStatus;
  readonly durationMs: number;
}
