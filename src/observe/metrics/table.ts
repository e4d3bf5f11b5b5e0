/** The table of the server's own metrics: source of `/metrics` and of the documents' table. */

import type { FeatureRows } from "../../model/feature-rows.ts";

/**
 * Figures of shared limits since the start: questions to the server, and those without a valid answer in time; requests
 * that were counted alone, and those that were then refused.
 */
export type SharedLimitsFigures = Readonly<Record<"asks" | "failures" | "alone" | "refused", number>>;

export interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Names of its labels. Their values come from tables of this program: none is ever a key, a token or a client's text. */
  readonly labels?: readonly string[];
  readonly help: string;
  /** For a metric that counts events: the values of its label; empty without a label. */
  readonly counted?: readonly string[];
  /** For a metric of shared limits that events do not count: its values by label. */
  readonly values?: (figures: SharedLimitsFigures) => Readonly<Record<string, number>>;
}

/** The metrics of the core; `src/features.ts` adds those of features. `process.ts` has the metrics of the process and of Node. */
export const CORE_METRICS = {
  duration: {
    name: "http_server_request_duration_seconds",
    type: "histogram",
    labels: ["http_request_method", "http_route", "http_response_status_code"],
    help: "Duration of API requests, from their head to the handover of the answer to the system.",
  },
  active: { name: "http_server_active_requests", type: "gauge", help: "API requests in progress." },
  rejected: {
    name: "orrery_requests_rejected_total",
    type: "counter",
    labels: ["reason"],
    help: "Requests that were refused before they ran, by error.",
  },
  searches: {
    name: "orrery_searches_total",
    type: "counter",
    labels: ["search", "outcome"],
    help: "Searches by outcome: cached, searched, busy (refused: 256 wait, or 128 of the key), dropped (the client left).",
  },
  build: {
    name: "orrery_build_info",
    type: "gauge",
    labels: ["version"],
    help: "The version of orrery; always 1.",
  },
  ready: { name: "orrery_ready", type: "gauge", help: "Whether /readyz answers 200." },
  problems: {
    name: "orrery_problems",
    type: "gauge",
    labels: ["kind"],
    help: "Present problems by kind, as in the list of GET /status, such as snapshot-refused and keys-refused.",
  },
  generation: {
    name: "orrery_generation_info",
    type: "gauge",
    labels: ["generation"],
    help: "The served generation; always 1.",
  },
  loaded: {
    name: "orrery_generation_loaded_timestamp_seconds",
    type: "gauge",
    help: "Time at which the served generation came into use.",
  },
  created: {
    name: "orrery_snapshot_created_timestamp_seconds",
    type: "gauge",
    help: "Time of the served data: createdAt in the manifest of the snapshot, if it has one.",
  },
  age: {
    name: "orrery_snapshot_age_seconds",
    type: "gauge",
    help: "Time since the last load or check that found the served snapshot current; the age of /readyz.",
  },
  rows: {
    name: "orrery_snapshot_rows",
    type: "gauge",
    labels: ["table"],
    help: "Visible rows of the served generation.",
  },
  loads: {
    name: "orrery_snapshot_loads_total",
    type: "counter",
    labels: ["result"],
    help: "Loads of the snapshot: loaded, unchanged, refused, or changing (its files changed during the load, and are read again).",
    counted: ["loaded", "unchanged", "refused", "changing"],
  },
  loadSeconds: {
    name: "orrery_snapshot_load_seconds",
    type: "gauge",
    labels: ["phase"],
    help: "Duration of the load of the served generation: read, pack and index are parts of total.",
    counted: ["read", "pack", "index", "total"],
  },
  keys: { name: "orrery_keys", type: "gauge", help: "Known API keys and CLI tokens." },
  keysLoads: {
    name: "orrery_keys_loads_total",
    type: "counter",
    labels: ["result"],
    help: "Loads of the keys file: loaded (it changed), unchanged or refused.",
    counted: ["loaded", "unchanged", "refused"],
  },
  restarts: {
    name: "orrery_thread_restarts_total",
    type: "counter",
    labels: ["role"],
    help: "Threads that died and were started again.",
    counted: ["serving", "similar"],
  },
  delay: {
    name: "orrery_event_loop_delay_seconds",
    type: "histogram",
    labels: ["thread"],
    help: "Delay of a timer, sampled fifty times a second; thread is main or serving (all of --threads).",
  },
  heap: {
    name: "orrery_heap_used_bytes",
    type: "gauge",
    labels: ["thread"],
    help: "JavaScript heap in use; thread is main or serving (the sum over --threads).",
  },
  collections: {
    name: "nodejs_gc_duration_seconds",
    type: "histogram",
    labels: ["kind"],
    help: "Garbage collections of the serving threads and the main thread: major, minor, incremental or weakcb.",
  },
  droppedLines: {
    name: "orrery_log_lines_dropped_total",
    type: "counter",
    help: "Log lines that were lost because the reader was too slow or gone, or the disk full.",
    counted: [],
  },
} as const satisfies Record<string, Metric>;

export type Metrics = typeof CORE_METRICS &
  (FeatureRows extends { readonly metrics: infer Rows } ? Rows : unknown);
