/**
 * The reply of `GET /status`, as JSON. Figures are sums over all serving threads unless a field says otherwise. Times of day are ISO 8601 in UTC, durations
 * carry their unit in their name. What cannot be known is null, never absent: on a runtime that does not tell, or
 * before there is anything to tell. No token and no hash is in any of it.
 */

import type { Refusal } from "../auth/key-use.ts";

/** Whether the server should be sent requests, and if not, why. The reply of `GET /readyz`. */
export interface Readiness {
  /**
   * - `loading`: the first snapshot is being loaded, or threads are being started; nothing listens yet.
   * - `ready`: requests are answered.
   * - `stale`: the generation is older than `--max-age`, or its data than `--max-data-age`; requests are answered.
   * - `draining`: the server was told to stop; what still arrives is answered, new connections are not taken.
   */
  readonly status: "loading" | "ready" | "stale" | "draining";
  /** Id of the served generation, and when that began; null while there is none. */
  readonly generation: string | null;
  readonly loadedAt: string | null;
  /** Seconds since the last load, or look, that found the snapshot to be the one that is served. */
  readonly ageSeconds: number | null;
  /** The moment of its data, as `createdAt` in the manifest of the snapshot; null where that does not tell it. */
  readonly createdAt: string | null;
}

/** Visible rows by table. */
type RowCounts = Readonly<Record<"users" | "worlds" | "instances", number>>;

/** The generation that is served; times as in {@link Readiness}. */
export interface GenerationStatus {
  readonly id: string;
  readonly loadedAt: string;
  readonly createdAt: string | null;
  readonly ageSeconds: number;
  /** Seconds since `createdAt`. */
  readonly dataAgeSeconds: number | null;
  readonly rows: RowCounts;
  /** Size on disk of the files that were read for it. */
  readonly bytes: number;
}

/** The result of one load, and when it ended. */
export interface LoadStatus {
  readonly at: string;
  /**
   * - `loaded`: a new generation is served.
   * - `unchanged`: the files were read and hold what is served already.
   * - `refused`: the generation before is still served; `problems` says why.
   */
  readonly result: "loaded" | "unchanged" | "refused";
  /** Id of the generation that was served afterwards; null when the first load failed. */
  readonly generation: string | null;
  /** Null where it was refused. */
  readonly durationMs: number | null;
  /** Only if it was loaded: its duration's parts (reading and validating, packing, indexing), and its visible rows. */
  readonly phases: Readonly<Record<"readMs" | "packMs" | "indexMs", number>> | null;
  readonly rows: RowCounts | null;
  /** Tables whose rows were read, "users", "worlds", "world-stats", "instances", and tables of the generation before. */
  readonly read: readonly string[];
  readonly kept: readonly string[];
  /** Only if it was refused: a line a problem, at most 20 and a last line that counts the others; when it is tried again though the files are the same. */
  readonly problems: readonly string[];
  readonly retryMs: number | null;
}

/** Durations of requests, from taking one to handing its answer to the system. Estimated from a histogram. */
export type Latency = Readonly<Record<"p50Ms" | "p99Ms", number>>;

/** Requests of one route: since the start, and in the recent interval of {@link RequestsStatus}. */
export interface RouteStatus {
  /** Path pattern below the API's base path, such as `/worlds/:id`; "" for requests that matched none. */
  readonly route: string;
  readonly total: number;
  /** `{"200": 12}` */
  readonly byStatus: Readonly<Record<string, number>>;
  readonly perSecond: number;
  /** Null without requests, as the next one. */
  readonly recent: Latency | null;
  readonly overall: Latency | null;
}

/** Requests of the API: since the start, and in a recent interval. */
export interface RequestsStatus {
  readonly total: number;
  /** Being answered now. */
  readonly active: number;
  /** Length of the recent interval that rates are taken over; at most 10 s, less shortly after the start. */
  readonly intervalSeconds: number;
  readonly perSecond: number;
  /** `{"200": 120.5, "429": 3}`. Statuses that were never sent are absent. */
  readonly perSecondByStatus: Readonly<Record<string, number>>;
  readonly byStatus: Readonly<Record<string, number>>;
  /** Refused requests by reason, such as `{"rate_limited": 5, "busy": 1}`. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Every route that had a request, in the order of the route table. */
  readonly routes: readonly RouteStatus[];
}

/** A key, the rest of its window, and its requests in it by outcome. */
export interface KeyStatus {
  readonly id: string;
  readonly name: string;
  readonly kind: "api" | "cli";
  /**
   * Requests that were counted against the limit in the window that runs now, those of before a restart with `--state`
   * included; with shared limits at this replica alone. For a CLI token the requests that passed.
   */
  readonly used: number;
  /** Null for a CLI token, which has none. */
  readonly limit: number | null;
  /** With shared limits of all replicas, as the counter server last said; null for a CLI token. */
  readonly remaining: number | null;
  /** When the window ends, in seconds since the epoch. */
  readonly resetEpochSeconds: number;
  /** Requests of the window that were let in since the start, of this replica. */
  readonly passed: number;
  /** Refused requests, by reason. A disabled or expired key is refused with 401, `scope` is 403, `busy` 503. */
  readonly refused: Readonly<Record<Refusal, number>>;
  /** When its last request came, refused or not, to the second; null when none came since the start. */
  readonly lastUsedAt: string | null;
}

export interface KeysStatus {
  /** API keys and CLI tokens in the keys file. */
  readonly total: number;
  /** When they were last read; null where they were handed in. */
  readonly loadedAt: string | null;
  /** Why the last reading changed nothing; null when it went well. */
  readonly problem: string | null;
  readonly windowSeconds: number;
  /** API keys and CLI tokens with most requests in the window that runs now, refused ones included, most first; at most 20. */
  readonly busiest: readonly KeyStatus[];
}

/** The cache of search results of the generation that is served. */
export interface SearchCacheStatus {
  /** Searches that were answered from the cache, that waited for the same running one, and that had to be run. */
  readonly hits: number;
  readonly joined: number;
  readonly misses: number;
  /** Results that are kept, the memory that they take, and its bound. */
  readonly entries: number;
  readonly bytes: number;
  readonly maxBytes: number;
}

/** Memory of the process: heaps of the main and the serving threads; array buffers are a part of the external memory. */
export type MemoryStatus = Readonly<
  Record<"rssBytes" | "heapUsedBytes" | "heapTotalBytes" | "externalBytes" | "arrayBuffersBytes", number>
>;

/** A thread that runs an event loop of its own and takes part in serving. */
export interface ThreadStatus {
  /** With `--threads 1` the main thread serves, too, and is the only one. */
  readonly role: "main" | "serving";
  /** 0 is the main thread's; serving threads begin at 1. */
  readonly number: number;
  /** False when it did not answer in time: its figures are missing in the sums. */
  readonly isAnswering: boolean;
  readonly heapUsedBytes: number | null;
  readonly eventLoop: {
    /** Share of the last 5 to 10 seconds in which it was busy, 0 to 1; null where the runtime does not tell. */
    readonly utilization: number | null;
    /** How late a timer was over about the last ten seconds; null in the first moments. */
    readonly delay: Readonly<Record<"p50Ms" | "p99Ms" | "maxMs", number>> | null;
  } | null;
}

export interface ThreadsStatus {
  /** How many threads answer requests when all are well. */
  readonly serving: number;
  readonly all: readonly ThreadStatus[];
  /** The delay of the slowest thread. */
  readonly delayP99Ms: number | null;
  /** Threads that died and were replaced since the start, by what they did. */
  readonly restarts: Readonly<Record<"search" | "serving" | "similar", number>>;
}

/** Kinds of {@link Problem}; a kind that is logged has the name of its line in the log. */
export const PROBLEM_KINDS = [
  /** A snapshot was refused, or its folder cannot be read: the generation before is served. */
  "snapshot-refused",
  /** The source of the snapshot cannot be used: the newest copy is served. */
  "source-failed",
  /** The keys file was refused: the keys before stay in force. */
  "keys-refused",
  /** The generation is older than `--max-age`, or its data than `--max-data-age`: `/readyz` answers 503. */
  "data-stale",
  /** There is `--max-data-age`, and the snapshot does not say of when its data are. */
  "data-undated",
  /** A server of `--shared-limits` cannot be asked, or is too late. */
  "limits-away",
  /** A thread died in the last ten minutes, or is not replaced yet. */
  "thread-died",
] as const;

/** One of {@link PROBLEM_KINDS}. */
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

/** Something that is wrong now and that an operator should look at. It is in the list for as long as it lasts. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly since: string;
  /** One line: the fault, its cause, and the consequence. */
  readonly message: string;
}

/** A server of shared limits, by host and port or its socket, that cannot be asked, and why. */
export type AwayServer = Readonly<Record<"server" | "since" | "problem", string>>;

/** How the limits of API keys are shared with other replicas (`--shared-limits`). */
export interface LimitsStatus {
  /** Where it is false, all other fields but `losses` and `away` are null. */
  readonly shared: boolean;
  /** `away` while one or more of the counter servers are; several only with a cluster. */
  readonly server: "reachable" | "away" | null;
  /** Since when that is so: the start of the process while no server was ever away. */
  readonly since: string | null;
  readonly losses: number;
  readonly away: readonly AwayServer[];
  /** What becomes of requests while it is away: counted alone within this replica's share, or refused (429). */
  readonly whenAway: "share" | "deny" | null;
  /** `--replicas`: the share of each is the limit divided by this. */
  readonly replicas: number | null;
  /**
   * Requests since the start; null, too, until the first snapshot is loaded. They waited for an answer of the counter server, or, while it was away, passed without a permit or were refused.
   */
  readonly requests: Readonly<Record<"waited" | "alone" | "refused", number>> | null;
}

/** The whole reply. */
export interface Status {
  /** The version of orrery. */
  readonly version: string;
  /** `node 22.12.0` */
  readonly runtime: string;
  readonly pid: number;
  readonly now: string;
  readonly startedAt: string;
  readonly uptimeSeconds: number;
  readonly ready: Readiness & {
    readonly reason: string;
    /** 0 for never. */
    readonly maxAgeSeconds: number;
    readonly maxDataAgeSeconds: number;
  };
  /** In the order of {@link PROBLEM_KINDS}; empty when all is well. */
  readonly problems: readonly Problem[];
  /** Base URL of the API; null until it listens. */
  readonly url: string | null;
  readonly threads: ThreadsStatus;
  readonly generation: GenerationStatus | null;
  /** The running load, if there is one, and the share of the bytes that was read, 0 to 1. */
  readonly loading: Readonly<Record<"sinceMs" | "progress", number>> | null;
  /** Newest first, at most 20. */
  readonly loads: readonly LoadStatus[];
  readonly requests: RequestsStatus;
  readonly keys: KeysStatus;
  readonly limits: LimitsStatus;
  readonly searchCache: SearchCacheStatus;
  readonly memory: MemoryStatus;
}

/** The part of the {@link Status} of one moment that charts draw. */
export interface Moment {
  readonly now: string;
  readonly requests: Pick<RequestsStatus, "perSecondByStatus"> & {
    /** The routes that had a request in the recent interval. */
    readonly routes: readonly Pick<RouteStatus, "route" | "recent">[];
  };
  readonly memory: Pick<MemoryStatus, "rssBytes" | "heapUsedBytes" | "arrayBuffersBytes">;
  readonly threads: Pick<ThreadsStatus, "delayP99Ms">;
}

/** The reply of `GET /history`: the last ten minutes, oldest first. */
export interface TimelineReply {
  readonly now: string;
  /** Between two moments. */
  readonly everySeconds: number;
  readonly moments: readonly Moment[];
}

/** The reply of `POST /reload`: the keys and the snapshot are judged apart. */
export interface ReloadReply {
  readonly keys: {
    /** `unchanged` where the file holds what is in force already, and where keys were not read from a file. */
    readonly result: "loaded" | "refused" | "unchanged";
    /** How many there are now. */
    readonly total: number;
    readonly problem: string | null;
  };
  readonly snapshot: LoadStatus;
  readonly durationMs: number;
}
