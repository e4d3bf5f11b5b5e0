/**
 * The reply of `GET /status`: what an operator wants to know of a running server, as JSON.
 *
 * Figures are sums over all serving threads unless a field says otherwise. Times of day are ISO 8601 in UTC, durations
 * carry their unit in their name. What cannot be known is null, never absent: on a runtime that does not tell, or
 * before there is anything to tell. No token and no hash is in any of it.
 *
 * Long: it is one reply, which readers want to see as a whole.
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
  /** Id of the generation that is served; null while there is none. */
  readonly generation: string | null;
  /** When the generation began to be served. */
  readonly loadedAt: string | null;
  /** Seconds since the last load, or look, that found the snapshot to be the one that is served. */
  readonly ageSeconds: number | null;
  /** The moment of its data, as `createdAt` in the manifest of the snapshot; null where that does not tell it. */
  readonly createdAt: string | null;
}

/** What the generation holds: visible rows by table. */
export interface Rows {
  readonly users: number;
  readonly worlds: number;
  readonly instances: number;
}

/** The generation that is served. */
export interface GenerationStatus {
  readonly id: string;
  readonly loadedAt: string;
  /** As in {@link Readiness}. */
  readonly createdAt: string | null;
  readonly ageSeconds: number;
  /** Seconds since `createdAt`. */
  readonly dataAgeSeconds: number | null;
  readonly rows: Rows;
  /** Size on disk of the files that were read for it. */
  readonly bytes: number;
}

/** What became of one load. */
export interface LoadStatus {
  /** When it was over. */
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
  /** Parts of `durationMs` of a load with the result `loaded`: reading and validating, packing, indexing. */
  readonly phases: { readonly readMs: number; readonly packMs: number; readonly indexMs: number } | null;
  /** Visible rows of a load with the result `loaded`. */
  readonly rows: Rows | null;
  /** Tables whose rows were read: "users", "worlds", "world-stats", "instances". */
  readonly read: readonly string[];
  /** Tables that are those of the generation before. */
  readonly kept: readonly string[];
  /** Of a refused one a line a problem, at most 20 and a last line that counts the others. */
  readonly problems: readonly string[];
  /** Of a refused one, when it is tried again though the files are the same; else null. */
  readonly retryMs: number | null;
}

/** Durations of requests, from taking one to handing its answer to the system. Estimated from a histogram. */
export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Requests of one route. */
export interface RouteStatus {
  /** Path pattern below the API's base path, such as `/worlds/:id`; "" for requests that matched none. */
  readonly route: string;
  /** Since the start. */
  readonly total: number;
  /** Since the start, by status: `{"200": 12}`. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Over the recent interval of {@link RequestsStatus}. */
  readonly perSecond: number;
  /** Over the recent interval; null when it saw no request. */
  readonly recent: Latency | null;
  /** Since the start; null when there was no request. */
  readonly overall: Latency | null;
}

/** Requests of the API. */
export interface RequestsStatus {
  /** Since the start. */
  readonly total: number;
  /** Under way now. */
  readonly active: number;
  /** Length of the recent interval that rates are taken over; at most 10 s, less shortly after the start. */
  readonly intervalSeconds: number;
  /** Over the recent interval. */
  readonly perSecond: number;
  /** Over the recent interval, by status: `{"200": 120.5, "429": 3}`. Statuses that were never sent are absent. */
  readonly perSecondByStatus: Readonly<Record<string, number>>;
  /** Since the start, by status. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Refused since the start, by reason, such as `{"rate_limited": 5, "busy": 1}`. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Every route that had a request, in the order of the route table. */
  readonly routes: readonly RouteStatus[];
}

/** A key, what is left of its window, and what became of its requests in it. */
export interface KeyStatus {
  readonly id: string;
  readonly name: string;
  readonly kind: "api" | "cli";
  /**
   * Requests that were counted against the limit in the window that runs now, those of before a restart with `--state`
   * included; with shared limits those of this replica. Of a CLI token those that passed.
   */
  readonly used: number;
  /** Null of a CLI token, which has none. */
  readonly limit: number | null;
  /** With shared limits of all replicas, as the counter server last said; null of a CLI token. */
  readonly remaining: number | null;
  /** When the window ends, in seconds since the epoch. */
  readonly resetEpochSeconds: number;
  /** Requests of the window that were let in since the start, of this replica. */
  readonly passed: number;
  /** Those that were refused, by reason. A disabled or expired key is refused with 401, `scope` is 403, `busy` 503. */
  readonly refused: Readonly<Record<Refusal, number>>;
  /** When its last request came, refused or not, to the second; null when none came since the start. */
  readonly lastUsedAt: string | null;
}

/** The reply of `GET /keys`: what became of the requests of one key, or of a page of all. */
export interface KeysReply {
  /** Requests are counted since then, and no longer than for the window that runs. */
  readonly startedAt: string;
  /** Length of a window. */
  readonly windowSeconds: number;
  readonly keys: readonly KeyStatus[];
  /** To be asked for as `after` for more keys; null when these were the last. */
  readonly next: number | null;
}

/** The keys. */
export interface KeysStatus {
  /** API keys and CLI tokens in the keys file. */
  readonly total: number;
  /** When they were last read; null where they were handed in. */
  readonly loadedAt: string | null;
  /** Why the last reading changed nothing; null when it went well. */
  readonly problem: string | null;
  /** Length of a window. */
  readonly windowSeconds: number;
  /** API keys and CLI tokens with most requests in the window that runs now, refused ones included, most first; at most 20. */
  readonly busiest: readonly KeyStatus[];
}

/** The cache of search results of the generation that is served. */
export interface SearchCacheStatus {
  /** Searches that were answered from the cache. */
  readonly hits: number;
  /** Searches that waited for the same one, which was running. */
  readonly joined: number;
  /** Searches that were done. */
  readonly misses: number;
  /** Results that are kept. */
  readonly entries: number;
  /** Memory that they take. */
  readonly bytes: number;
  /** Memory that they may take. */
  readonly maxBytes: number;
}

/** Memory of the process. */
export interface MemoryStatus {
  readonly rssBytes: number;
  /** JavaScript heap of the main thread and of the serving threads. */
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  /** Memory outside of the heap: array buffers are a part of it. */
  readonly externalBytes: number;
  readonly arrayBuffersBytes: number;
}

/** How busy the event loop of a thread is. */
export interface EventLoopStatus {
  /** Share of the last 5 to 10 seconds in which it was busy, 0 to 1; null where the runtime does not tell. */
  readonly utilization: number | null;
  /** How late a timer was over about the last ten seconds; null in the first moments. */
  readonly delay: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number } | null;
}

/** A thread that runs an event loop of its own and takes part in serving. */
export interface ThreadStatus {
  /** With `--threads 1` the main thread serves, too, and is the only one. */
  readonly role: "main" | "serving";
  /** 0 is the main thread's; serving threads begin at 1. */
  readonly number: number;
  /** False when it did not answer in time: its figures are missing in the sums. */
  readonly isAnswering: boolean;
  readonly heapUsedBytes: number | null;
  readonly eventLoop: EventLoopStatus | null;
}

/** The threads. */
export interface ThreadsStatus {
  /** How many threads answer requests when all are well. */
  readonly serving: number;
  readonly all: readonly ThreadStatus[];
  /** How late the timers of the slowest thread were, as in {@link EventLoopStatus}; null in the first moments. */
  readonly delayP99Ms: number | null;
  /** Threads that died and were replaced since the start, by what they did. */
  readonly restarts: { readonly search: number; readonly serving: number; readonly similar: number };
}

/** Kinds of {@link Problem}; those that are logged have the name of their line in the log. */
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

/** Of what kind a problem is. */
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

/** Something that is wrong now and that an operator should look at. It is in the list for as long as it lasts. */
export interface Problem {
  readonly kind: ProblemKind;
  /** When it began. */
  readonly since: string;
  /** For people, one line of one or more sentences: the fault, its cause, and the consequence. */
  readonly message: string;
}

/** A server of shared limits that cannot be asked. */
export interface AwayServer {
  /** Its host and port, or its socket. */
  readonly server: string;
  readonly since: string;
  /** Why it counts as away. */
  readonly problem: string;
}

/** How the limits of API keys are shared with other replicas (`--shared-limits`). */
export interface LimitsStatus {
  /** Where it is false, all other fields but `losses` and `away` are null. */
  readonly shared: boolean;
  /** `away` while one or more of the counter servers are; several only with a cluster. */
  readonly server: "reachable" | "away" | null;
  /** Since when that is so: the start of the process while no server was ever away. */
  readonly since: string | null;
  /** How often a counter server was lost since the start. */
  readonly losses: number;
  /** Counter servers that are away now. */
  readonly away: readonly AwayServer[];
  /** What becomes of requests while it is away: counted alone within this replica's share, or refused (429). */
  readonly whenAway: "share" | "deny" | null;
  /** `--replicas`: the share of each is the limit divided by this. */
  readonly replicas: number | null;
  /** Requests since the start; null, too, until the first snapshot is loaded. */
  readonly requests: {
    /** Those that waited for an answer of the counter server. */
    readonly waited: number;
    /** While it was away: let through without a permit, or refused. */
    readonly alone: number;
    readonly refused: number;
  } | null;
}

/** The whole reply. */
export interface Status {
  /** Of orrery. */
  readonly version: string;
  /** Such as `node 22.12.0`. */
  readonly runtime: string;
  readonly pid: number;
  /** Time of the server. */
  readonly now: string;
  readonly startedAt: string;
  readonly uptimeSeconds: number;
  readonly ready: Readiness & {
    /** One sentence for people. */
    readonly reason: string;
    /** `--max-age` and `--max-data-age`; 0 for never. */
    readonly maxAgeSeconds: number;
    readonly maxDataAgeSeconds: number;
  };
  /** Everything that is wrong now, by kind in the order of {@link PROBLEM_KINDS}; empty when all is well. */
  readonly problems: readonly Problem[];
  /** Base URL of the API; null until it listens. */
  readonly url: string | null;
  readonly threads: ThreadsStatus;
  /** Null until the first snapshot is loaded. */
  readonly generation: GenerationStatus | null;
  /** A load that is under way; null when none is. */
  readonly loading: {
    readonly sinceMs: number;
    /** Share of the bytes that was read, 0 to 1. */
    readonly progress: number;
  } | null;
  /** Newest first, at most 20. */
  readonly loads: readonly LoadStatus[];
  readonly requests: RequestsStatus;
  readonly keys: KeysStatus;
  readonly limits: LimitsStatus;
  readonly searchCache: SearchCacheStatus;
  readonly memory: MemoryStatus;
}

/** What charts draw of one moment: a small part of the {@link Status} of then. */
export interface Moment {
  /** Time of the server. */
  readonly now: string;
  readonly requests: Pick<RequestsStatus, "perSecondByStatus"> & {
    /** Those that had a request in the recent interval. */
    readonly routes: readonly Pick<RouteStatus, "route" | "recent">[];
  };
  readonly memory: Pick<MemoryStatus, "rssBytes" | "heapUsedBytes" | "arrayBuffersBytes">;
  readonly threads: Pick<ThreadsStatus, "delayP99Ms">;
}

/** The last ten minutes. The reply of `GET /history`. */
export interface TimelineReply {
  /** Time of the server. */
  readonly now: string;
  /** Between two moments. */
  readonly everySeconds: number;
  /** Oldest first, at most 120. */
  readonly moments: readonly Moment[];
}

/** What became of `POST /reload`: the keys and the snapshot are judged apart. */
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

/** Every error of the admin listener. */
export interface AdminError {
  readonly error: string;
}
