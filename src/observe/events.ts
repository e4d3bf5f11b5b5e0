/**
 * The table of events, one row per kind. No event contains a token, or a field of a data row that the model does not
 * declare. Durations are milliseconds.
 *
 * Long: a table.
 */

import { FAULTS, type FaultName } from "../model/fault.ts";
import type { FeatureRows } from "../model/feature-rows.ts";
import type { CORE_METRICS, Metric, Metrics } from "./metrics/table.ts";

export type CountedMetric = {
  [Name in keyof Metrics]: Metrics[Name] extends { readonly counted: readonly string[] } ? Name : never;
}[keyof Metrics];

/** Change of a metric: 1 more for a value of its label, new numbers for several values, or so much more without labels. */
type Change<Name extends CountedMetric> = [Metrics[Name]["counted"][number]] extends [never]
  ? number
  : Metrics[Name]["counted"][number] | Readonly<Record<Metrics[Name]["counted"][number], number>>;

/** Rounds of an export that a server runs. */
export interface RoundsStatus {
  readonly lastSuccessAt: string | null;
  /** Seconds that it took, and rows, bytes and what is visible. */
  readonly lastSeconds: number | null;
  readonly lastDetails: string | null;
  readonly lastFailureAt: string | null;
  readonly lastFailure: string | null;
}

/** One kind of event with its fields. */
export interface EventRow<Fields> {
  readonly level: "info" | "warn" | "error";
  /** Another level in some cases, which `meaning` describes. */
  readonly levelIf?: (fields: Fields) => EventRow<Fields>["level"] | undefined;
  /** The message of its log line. */
  readonly text: string | ((fields: Fields) => string);
  /** The fields of its log line; the event's own when absent. */
  readonly line?: (fields: Fields) => Readonly<Record<string, unknown>>;
  /** Logged at every log level. */
  readonly isAlwaysLogged?: true;
  /** The problem that it begins: one line about fault, cause and consequence; undefined where it is none. */
  readonly problem?: (fields: Fields) => string | undefined;
  /** The event whose problem it ends. */
  readonly ends?: string;
  /** The problem ends this many milliseconds after its last event, since no event ends it. */
  readonly problemMs?: number;
  readonly counts?: { readonly [Name in CountedMetric]?: Change<Name> | ((fields: Fields) => Change<Name>) };
  /** For an event about a round of the source: what it changes in the status of the rounds. */
  readonly round?: (fields: Fields) => Partial<RoundsStatus>;
  /** Meaning for operators, in the documents. */
  readonly meaning: string;
}

/** Fields that every line has, so that no event may use their names. */
type Reserved = "level" | "time" | "pid" | "event" | "msg" | "kind";

type RowOf<Fields> = Extract<keyof Fields, Reserved> extends never ? EventRow<Fields> : never;

/** Describes an event by its fields: `event<{ ms: number }>({ … })`, or `event<object>` without any. */
// @__NO_SIDE_EFFECTS__
export function event<Fields>(row: RowOf<Fields>): EventRow<Fields> {
  return row;
}

/** The job of a thread. */
export type ThreadRole = (typeof CORE_METRICS)["restarts"]["counted"][number];

/** Names of tables, such as "users" and "world-stats": the tables whose rows were read, and the unchanged ones. */
interface LoadedTables {
  read: readonly string[];
  kept: readonly string[];
}

/** Searches of a generation, by their use of the cache, and the contents of the cache. */
export type CacheCounts = Readonly<Record<"hits" | "misses" | "entries" | "bytes", number>>;

/** How long a fault is reported that is over at once. */
const REPORTED_MS = 600_000;

/** The events of the core; `src/features.ts` adds those of features. */
export const CORE_EVENTS = {
  listening: event<{ url: string; generation: string }>({
    level: "info",
    text: "listening",
    meaning: "Requests are accepted.",
  }),
  "admin-listening": event<{ url: string }>({
    level: "info",
    text: "admin listener listening",
    meaning: "The listener of `--admin` answers.",
  }),
  "snapshot-loaded": event<
    LoadedTables & {
      generation: string;
      counts: Readonly<Record<"users" | "worlds" | "instances", number>>;
      /** Rows of worlds that are not served. */
      hiddenWorlds: number;
      /** On disk. */
      bytes: number;
      ms: number;
      /** Parts of `ms`: reading and validating, sorting and packing, indexing for search. */
      readMs: number;
      packMs: number;
      indexMs: number;
    }
  >({
    level: "info",
    levelIf: ({ counts, hiddenWorlds }) => (counts.worlds === 0 && hiddenWorlds > 0 ? "warn" : undefined),
    text: ({ counts, hiddenWorlds }) =>
      `snapshot loaded${counts.worlds === 0 && hiddenWorlds > 0 ? ", but none of its worlds is visible" : ""}`,
    ends: "snapshot-refused",
    counts: {
      loads: "loaded",
      loadSeconds: ({ ms, readMs, packMs, indexMs }) => ({
        read: readMs / 1000,
        pack: packMs / 1000,
        index: indexMs / 1000,
        total: ms / 1000,
      }),
    },
    meaning:
      "A load has ended: rows, bytes, milliseconds, the tables that were read (`read`), and the tables whose rows were reused from the previous generation (`kept`). Warn if it has worlds and none is visible.",
  }),
  "snapshot-unchanged": event<LoadedTables & { generation: string; ms: number }>({
    level: "info",
    text: "snapshot unchanged",
    ends: "snapshot-refused",
    counts: { loads: "unchanged" },
    meaning: "A load, or a check after a refusal, found the served generation again.",
  }),
  "snapshot-refused": event<{
    problems: readonly string[];
    serving: string;
    /** Delay until the same files are tried again. */
    retryMs?: number;
    /** Its files changed while they were being read; they are read again once they no longer change. */
    changing?: true;
  }>({
    level: "error",
    // Changing files are no error yet.
    levelIf: ({ changing }) => changing && "warn",
    text: ({ changing }) =>
      changing
        ? "snapshot changed while it was being read and will be read again, still serving the previous generation"
        : "snapshot refused, still serving the previous generation",
    problem: ({ changing, problems, serving }) => {
      if (changing) return undefined;
      const more = problems.length > 1 ? ` (the first of ${problems.length} lines; all are in loads)` : "";
      return `A snapshot was refused, and generation ${serving} is still served: ${problems[0]}${more}`;
    },
    counts: { loads: ({ changing }) => (changing ? "changing" : "refused") },
    meaning:
      "A load failed, and why; the next attempt is after `retryMs`. Warn if the files were still changing.",
  }),
  "data-ahead": event<{ createdAt: string; seconds: number }>({
    level: "warn",
    text: "the time of the data is ahead of this machine's clock",
    meaning:
      "The manifest's `createdAt` is `seconds`, more than five minutes, ahead of this machine's clock, so `--max-data-age` will report old data too late. One of the two clocks is wrong.",
  }),
  "keys-loaded": event<{ keys: number; added: number; changed: number; removed: number }>({
    level: "info",
    // Every request will be refused.
    levelIf: ({ keys }) => (keys === 0 ? "warn" : undefined),
    text: ({ keys }) =>
      keys === 0
        ? "keys loaded, but the file has none: every request will be answered with 401"
        : "keys loaded",
    ends: "keys-refused",
    counts: { keysLoads: "loaded" },
    meaning:
      "Number of keys, and how many were `added`, `changed` and `removed` (a key is its id; at the start all are added); warn when there are none.",
  }),
  "keys-warned": event<{ problems: readonly string[] }>({
    level: "warn",
    text: "the keys file may not be what is meant",
    meaning:
      "The loaded keys have fields that are probably misspelt and have no effect, or active API keys that can read nothing (`problems`).",
  }),
  "keys-unchanged": event<{ keys: number }>({
    level: "info",
    text: "keys unchanged",
    ends: "keys-refused",
    counts: { keysLoads: "unchanged" },
    meaning: "The keys file was read again; it holds the keys in force.",
  }),
  "keys-refused": event<{ problem: string }>({
    level: "error",
    text: "keys file refused, the previous keys stay in force",
    problem: ({ problem }) => `The keys file was refused, and the keys before stay in force: ${problem}`,
    counts: { keysLoads: "refused" },
    meaning: "The keys file cannot be used, and why.",
  }),
  request: event<{
    /** Sent as `X-Request-Id`, too. */
    id: string;
    /** "" if it could not be read; the path likewise. */
    method: string;
    /** Without the query and possible tokens. */
    path: string;
    /** If configured and the target has one; tokens in it are masked. */
    query?: string;
    /** Path pattern of the operation, or "". */
    route: string;
    status: number;
    /** Length of the body. */
    bytes: number;
    ms: number;
    /** "" when no key was found. */
    keyId: string;
    /** Address of the client, if a trusted proxy names it, else of the peer; absent without a connection. */
    client?: string;
    /** Name of the error in the answer. */
    fault?: string;
    /** As sent, tokens masked. */
    userAgent?: string;
    /** Ids, in hex digits, of the request's trace and of the span that sent the request. */
    traceId?: string;
    parentId?: string;
  }>({
    level: "info",
    text: "request",
    // The access log has its own setting.
    isAlwaysLogged: true,
    meaning: "A line of the access log.",
  }),
  "key-limited": event<{ keyId: string; name: string; limit: number; reset: number }>({
    level: "info",
    text: ({ keyId, name }) => `key ${keyId} (${name}) has used up its window`,
    meaning:
      "The first request of a key (`keyId`, `name`) that was refused for its `limit` in this window, which ends at `reset`; at most a line a minute for a key.",
  }),
  "bad-tokens": event<{ client: string; count: number; fault: FaultName }>({
    level: "warn",
    text: ({ fault }) => `bad tokens from one address, the last one: ${FAULTS[fault].message}`,
    meaning:
      "An address (`client`; of IPv6 a network of 64 bits) sent ten or more unknown, malformed, disabled or expired tokens within a minute; `count` is their number since its last line (at most one a minute), `fault` the error of the last one. Without `--trusted-proxies` it is the address of a proxy in front.",
  }),
  "log-failed": event<{ problem: string }>({
    level: "error",
    text: "log lines cannot be written, trying again",
    problem: ({ problem }) => `The log cannot be written, and lines are dropped if this lasts: ${problem}`,
    meaning:
      "A write to the log failed, such as on a full disk, and why. Lines wait in memory, this one too, up to 4 MB.",
  }),
  "log-recovered": event<object>({
    level: "info",
    text: "log lines are written again",
    ends: "log-failed",
    meaning: "The log can be written again.",
  }),
  "log-lines-dropped": event<{ count: number }>({
    level: "warn",
    text: "log lines were dropped",
    // Gaps in the log are never silent.
    isAlwaysLogged: true,
    problem: () => "Log lines were dropped, since they could not be written fast enough or at all.",
    problemMs: REPORTED_MS,
    counts: { droppedLines: ({ count }) => count },
    meaning:
      "The reader of the log was too slow or gone, or the disk full for long; `count` lines are missing. The metric counts each line at once.",
  }),
  "thread-died": event<{ role: ThreadRole; cause: string }>({
    level: "error",
    text: ({ role }) => `${role} thread died, restarting it`,
    problem: ({ role, cause }) => `A ${role} thread died: ${cause}. Another one replaces it.`,
    problemMs: REPORTED_MS,
    // Counted even if no other thread can be started.
    counts: { restarts: ({ role }) => role },
    meaning: "A thread of similar searches (`similar`) or of requests (`serving`) has died.",
  }),
  "thread-replaced": event<{ role: ThreadRole; ms: number }>({
    level: "info",
    text: ({ role }) => `${role} thread restarted`,
    meaning: "Another thread replaced a thread that died.",
  }),
  "connections-refused": event<{ limit: number }>({
    level: "warn",
    text: "connections refused: there are as many as the limit of open files (ulimit -n) allows",
    meaning:
      "Clients were refused, since the limit of open files (`ulimit -n`) allows `limit` connections; at most a line in ten seconds.",
  }),
  "variable-unknown": event<{ variable: string; meant?: string }>({
    level: "warn",
    text: ({ variable, meant }) =>
      `${variable} is not a setting${meant === undefined ? "" : `; did you mean ${meant}?`}`,
    meaning: "An environment variable looks like a setting but is none; `meant` is the most similar setting.",
  }),
  "settings-without-effect": event<{ settings: readonly string[]; why: string }>({
    level: "warn",
    text: ({ settings, why }) => `${settings.join(", ")}: without effect ${why}`,
    meaning:
      "Some settings have no effect, and why: on this runtime, or without another setting or snapshot.",
  }),
  "signal-ignored": event<{ signal: string }>({
    level: "info",
    text: ({ signal }) => `${signal} ignored`,
    meaning: "SIGUSR1, SIGUSR2 or SIGQUIT.",
  }),
  stopping: event<{ signal: string }>({
    level: "info",
    text: ({ signal }) => `stopping on ${signal}`,
    meaning: "A signal to stop.",
  }),
  stopped: event<{ ms: number }>({ level: "info", text: "stopped", meaning: "The end." }),
  defect: event<{ where: string; error: unknown }>({
    level: "error",
    text: "defect",
    line: ({ where, error }) => ({ where, err: errorFields(error) }),
    meaning: "A fault of orrery itself; please report it.",
  }),
} as const satisfies Record<string, EventRow<never>>;

/** Name, message and stack only: an error's other properties could hold anything. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack } = error;
  return { name: String(name), message: String(message), stack: String(stack) };
}

type FieldsOf<Row> = Row extends EventRow<infer Fields> ? Fields : never;

/** Shows a type by its properties. */
type Flat<Type> = { [Name in keyof Type]: Type[Name] };

type Events = typeof CORE_EVENTS & (FeatureRows extends { readonly events: infer Rows } ? Rows : unknown);

/** Any event: the name of its row as `kind`, and the row's fields. */
export type Observation = {
  [Kind in keyof Events]: Flat<{ kind: Kind } & FieldsOf<Events[Kind]>>;
}[keyof Events];

/** The rows of the core and of all features. */
export interface Tables {
  readonly events: { readonly [Kind in keyof Events]: EventRow<never> };
  readonly metrics: { readonly [Name in keyof Metrics]: Metric };
}

/** Receives every observation; must not throw. */
export type Observe = (observation: Observation) => void;

export const observeNothing: Observe = () => {};

/** The row of an observation; its functions take the observation. */
export function rowOf<One extends Observation>(events: Tables["events"], { kind }: One): EventRow<One> {
  return events[kind] as EventRow<One>;
}
