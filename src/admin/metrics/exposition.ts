/** The metrics as values, and as the text of `/metrics`, in either format. */

import { weightsIn } from "../../api/pages/serve.ts";
import { BASE_PATH } from "../../model/model.ts";
import { parseTime } from "../../model/time.ts";
import type { CountedMetric } from "../../observe/events.ts";
import {
  BOUNDS_MS,
  BUCKETS,
  COLLECTION_BOUNDS,
  COLLECTION_KINDS,
  COLLECTIONS,
  countersOf,
  DELAY_BOUNDS,
  DELAYS,
  DURATIONS,
  FIRST_SHOWN,
  HEAP_USED,
  histogramCells,
  mainThread,
  NO_STATUS,
  REASONS,
  REQUESTS,
  type RequestCounters,
  SECONDS,
  SERIES,
  seriesAt,
} from "../../observe/metrics/counters.ts";
import type { CORE_METRICS, Metric } from "../../observe/metrics/table.ts";
import { VERSION } from "../status-reply.ts";
import type { WatchedServer } from "../watched.ts";
import { figuresOf, readTotals } from "./figures.ts";
import { processFamilies } from "./process.ts";
import { by, type Family, histogram, labelsOf, one, type Sample } from "./samples.ts";

const BOUNDS = BOUNDS_MS.map((ms) => ms / 1000);

function durationSamples(threads: readonly RequestCounters[]): Sample[] {
  return sums(threads, REQUESTS, SERIES).flatMap((count, series) => {
    if (count === 0) return [];
    const counts = sums(threads, DURATIONS + series * BUCKETS, BUCKETS);
    const [seconds] = sums(threads, SECONDS + series, 1);
    // Samples of buckets are cumulative, so the shorter buckets are in the first shown one.
    return histogram(requestLabels(series), counts, BOUNDS, seconds!).slice(FIRST_SHOWN);
  });
}

function requestLabels(series: number): string {
  const { method, route, status } = seriesAt(series);
  return labelsOf({
    http_request_method: method,
    ...(route === "" ? {} : { http_route: BASE_PATH + route }),
    ...(status === NO_STATUS ? {} : { http_response_status_code: String(status) }),
  });
}

function sums(threads: readonly RequestCounters[], from: number, length: number): number[] {
  return Array.from({ length }, (_, at) =>
    threads.reduce((total, counters) => total + counters[from + at]!, 0),
  );
}

/** @param threads the main thread last */
function vitals(threads: readonly RequestCounters[]): Record<"delay" | "heap" | "collections", Sample[]> {
  const serving = threads.slice(0, -1);
  const isThreaded = sums(serving, DELAYS, 1 + DELAY_BOUNDS.length).some((count) => count > 0);
  const groups = [
    { labels: labelsOf({ thread: "main" }), group: threads.slice(-1) },
    ...(isThreaded ? [{ labels: labelsOf({ thread: "serving" }), group: serving }] : []),
  ];
  const read = (labels: string, group: typeof threads, from: number, bounds: readonly number[]) => {
    const summed = sums(group, from, histogramCells(bounds));
    return histogram(labels, summed.slice(0, -1), bounds, summed.at(-1)!);
  };
  return {
    delay: groups.flatMap(({ labels, group }) => read(labels, group, DELAYS, DELAY_BOUNDS)),
    heap: groups.map(({ labels, group }) => [`{${labels}}`, sums(group, HEAP_USED, 1)[0]!]),
    collections: COLLECTION_KINDS.flatMap((kind, at) => {
      const from = COLLECTIONS + at * histogramCells(COLLECTION_BOUNDS);
      return read(labelsOf({ kind }), threads, from, COLLECTION_BOUNDS);
    }),
  };
}

/** The values of the core's metrics that events do not count; empty for a figure that is not known yet. */
function valuesOf(
  server: WatchedServer,
): Record<Exclude<keyof typeof CORE_METRICS, CountedMetric>, Sample[]> {
  const { given, history, problems, opened } = server;
  const { requestCells: cells } = given;
  const threads = Array.from({ length: mainThread(cells) + 1 }, (_, number) => countersOf(cells, number));
  const { active, rejected, searches } = figuresOf(readTotals(cells));
  const { status, ageSeconds, createdAt } = history.readiness();
  const { served } = history;
  return {
    duration: durationSamples(threads),
    active: one(active),
    rejected: by("reason", Object.fromEntries(REASONS.map((name) => [name, rejected[name] ?? 0]))),
    searches: searches.map(({ search, outcome, total }) => [`{${labelsOf({ search, outcome })}}`, total]),
    build: by("version", { [VERSION]: 1 }),
    ready: one(status === "ready" ? 1 : 0),
    problems: by("kind", problems.counts()),
    generation: served ? by("generation", { [served.id]: 1 }) : [],
    loaded: served ? one(Date.parse(served.loadedAt) / 1000) : [],
    created: createdAt === null ? [] : one(parseTime(createdAt) / 1000),
    age: ageSeconds === null ? [] : one(ageSeconds),
    rows: served ? by("table", served.rows) : [],
    keys: one(opened?.state.gate.keys.size ?? 0),
    ...vitals(threads),
  };
}

/** All own metrics, in the order of their table. */
function readFamilies(server: WatchedServer): readonly Family[] {
  const values: Partial<Record<string, Sample[]>> = valuesOf(server);
  const { tables, values: counted } = server.observed;
  const limits = server.given.sharedLimits?.figures();
  return Object.entries<Metric>(tables.metrics).map(
    ([metric, { name, help, type, labels, values: read }]) => {
      const counts =
        read === undefined ? counted[metric as CountedMetric] : limits === undefined ? {} : read(limits);
      return { name, help, type, values: values[metric] ?? by(labels?.[0], counts) };
    },
  );
}

/** Whether `Accept` names OpenMetrics, with at least the weight of the older format, which is the default. */
function wantsOpenMetrics(accept = ""): boolean {
  const weights = weightsIn(accept);
  const weight = weights.get("application/openmetrics-text") ?? 0;
  return weight > 0 && weight >= (weights.get("text/plain") ?? 0);
}

/** A metric as text. OpenMetrics describes a counter without the suffix `_total` of its values' names. */
function familyText({ name, help, type, values }: Family, isOpenMetrics: boolean): string {
  const described = isOpenMetrics && type === "counter" ? name.replace(/_total$/, "") : name;
  const lines = values.map(([after, value]) => `${name}${after} ${value}`);
  return [`# HELP ${described} ${help}`, `# TYPE ${described} ${type}`, ...lines].join("\n");
}

/** The reply of `GET /metrics`. @param accept decides the format */
export function exposeMetrics(server: WatchedServer, accept: string | undefined) {
  const isOpenMetrics = wantsOpenMetrics(accept);
  const texts = [...readFamilies(server), ...processFamilies()].map((one) => familyText(one, isOpenMetrics));
  return isOpenMetrics
    ? {
        contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
        text: `${texts.join("\n")}\n# EOF\n`,
      }
    : { contentType: "text/plain; version=0.0.4; charset=utf-8", text: `${texts.join("\n\n")}\n` };
}
