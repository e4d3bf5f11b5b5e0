/**
 * The reply of `GET /status`: what an operator wants to know of a running server, as JSON.
 *
 * Figures are sums over all serving threads unless a field says otherwise. Times of day are ISO 8601 in UTC, durations
 * carry their unit in their name. What cannot be known is null, never absent: on a runtime that does not tell, or
 * before there is anything to tell. No token and no hash is in any of it.
 */

/** Whether the server should be sent requests, and if not, why. The reply of `GET /readyz`. */
export interface Readiness {
  /**
   * - `loading`: the first snapshot is being loaded, or threads are being started; nothing listens yet.
   * - `ready`: requests are answered.
   * - `stale`: the generation is older than `--max-age`; requests are answered.
   * - `draining`: the server was told to stop; what still arrives is answered, new connections are not taken.
   */
  readonly status: "loading" | "ready" | "stale" | "draining";
  /** Id of the generation that is served; null while there is none. */
  readonly generation: string | null;
  /** When the generation began to be served. */
  readonly loadedAt: string | null;
  /** Seconds since the last load, or look, that found the snapshot to be the one that is served. */
  readonly ageSeconds: number | null;
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
  readonly ageSeconds: number;
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

/** A key and what is left of its window. */
export interface KeyStatus {
  readonly id: string;
  readonly name: string;
  /** Requests that were counted in the window that runs now. */
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  /** When the window ends, in seconds since the epoch. */
  readonly resetEpochSeconds: number;
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
  /** API keys that counted most requests in the window that runs now, most first; at most 20. */
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
  /** Threads that died and were replaced since the start, by what they did. */
  readonly restarts: { readonly search: number; readonly serving: number; readonly similar: number };
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
    /** `--max-age`; 0 for never. */
    readonly maxAgeSeconds: number;
  };
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
  readonly searchCache: SearchCacheStatus;
  readonly memory: MemoryStatus;
}

/** What became of `POST /reload`: the keys and the snapshot are judged apart. */
export interface ReloadReply {
  readonly keys: {
    /** `unchanged` where keys were not read from a file. */
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
