/** The metrics as values, and as the text of `/metrics`, in either format. */

import { weightsIn } from "../../api/pages/serve.ts";
import { BASE_PATH } from "../../model/model.ts";
import { parseTime } from "../../model/time.ts";
import type { CountedMetric } from "../../observe/events.ts";
import * as layout from "../../observe/metrics/counters.ts";
import type { CORE_METRICS, Metric } from "../../observe/metrics/table.ts";
import { VERSION } from "../status-reply.ts";
import type { WatchedServer } from "../watched.ts";
import { figuresOf, readTotals } from "./figures.ts";
import { processFamilies } from "./process.ts";
import { by, type Family, histogram, labelsOf, one, type Sample } from "./samples.ts";

const BOUNDS = layout.BOUNDS_MS.map((ms) => ms / 1000);

function durationSamples(threads: readonly layout.RequestCounters[]): Sample[] {
  return sums(threads, layout.REQUESTS, layout.SERIES).flatMap((count, series) => {
    if (count === 0) return [];
    const counts = sums(threads, layout.DURATIONS + series * layout.BUCKETS, layout.BUCKETS);
    const [seconds] = sums(threads, layout.SECONDS + series, 1);
    // Samples of buckets are cumulative, so the shorter buckets are in the first shown one.
    return histogram(requestLabels(series), counts, BOUNDS, seconds!).slice(layout.FIRST_SHOWN);
  });
}

function requestLabels(series: number): string {
  const { method, route, status } = layout.seriesAt(series);
  return labelsOf({
    http_request_method: method,
    ...(route === "" ? {} : { http_route: BASE_PATH + route }),
    ...(status === layout.NO_STATUS ? {} : { http_response_status_code: String(status) }),
  });
}

function sums(threads: readonly layout.RequestCounters[], from: number, length: number): number[] {
  return Array.from({ length }, (_, at) =>
    threads.reduce((total, counters) => total + counters[from + at]!, 0),
  );
}

/** @param threads the main thread last */
function vitals(threads: readonly layout.RequestCounters[]) {
  const serving = threads.slice(0, -1);
  const isThreaded = sums(serving, layout.DELAYS, 1 + layout.DELAY_BOUNDS.length).some((count) => count > 0);
  const groups = [
    { labels: labelsOf({ thread: "main" }), group: threads.slice(-1) },
    ...(isThreaded ? [{ labels: labelsOf({ thread: "serving" }), group: serving }] : []),
  ];
  const read = (labels: string, group: typeof threads, from: number, bounds: readonly number[]) => {
    const summed = sums(group, from, layout.histogramCells(bounds));
    return histogram(labels, summed.slice(0, -1), bounds, summed.at(-1)!);
  };
  return {
    delay: groups.flatMap(({ labels, group }) => read(labels, group, layout.DELAYS, layout.DELAY_BOUNDS)),
    heap: groups.map(({ labels, group }): Sample => [`{${labels}}`, sums(group, layout.HEAP_USED, 1)[0]!]),
    collections: layout.COLLECTION_KINDS.flatMap((kind, at) => {
      const from = layout.COLLECTIONS + at * layout.histogramCells(layout.COLLECTION_BOUNDS);
      return read(labelsOf({ kind }), threads, from, layout.COLLECTION_BOUNDS);
    }),
  };
}

/** The values of the core's metrics that events do not count; empty for a figure that is not known yet. */
function valuesOf(
  server: WatchedServer,
): Record<Exclude<keyof typeof CORE_METRICS, CountedMetric>, Sample[]> {
  const { given, health, opened } = server;
  const { requestCells: cells } = given;
  const numbers = [...Array(layout.mainThread(cells) + 1).keys()];
  const threads = numbers.map((number) => layout.countersOf(cells, number));
  const { active, rejected, searches } = figuresOf(readTotals(cells));
  const { status, ageSeconds, createdAt } = health.readiness();
  const { served } = health;
  return {
    duration: durationSamples(threads),
    active: one(active),
    rejected: by("reason", Object.fromEntries(layout.REASONS.map((name) => [name, rejected[name] ?? 0]))),
    searches: searches.map(({ search, outcome, total }) => [`{${labelsOf({ search, outcome })}}`, total]),
    build: by("version", { [VERSION]: 1 }),
    ready: one(status === "ready" ? 1 : 0),
    problems: by("kind", health.problemCounts()),
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

/** A metric as text. OpenMetrics describes a counter without the suffix `_total` of its values' names. */
function familyText({ name, help, type, values }: Family, isOpenMetrics: boolean): string {
  const described = isOpenMetrics && type === "counter" ? name.replace(/_total$/, "") : name;
  const lines = values.map(([after, value]) => `${name}${after} ${value}`);
  return [`# HELP ${described} ${help}`, `# TYPE ${described} ${type}`, ...lines].join("\n");
}

/** The reply of `GET /metrics`. @param accept names OpenMetrics, or the older format is the default and wins by weight */
export function exposeMetrics(server: WatchedServer, accept = "") {
  const weights = weightsIn(accept);
  const weight = weights.get("application/openmetrics-text") ?? 0;
  const isOpenMetrics = weight > 0 && weight >= (weights.get("text/plain") ?? 0);
  const texts = [...readFamilies(server), ...processFamilies()].map((one) => familyText(one, isOpenMetrics));
  if (!isOpenMetrics)
    return { contentType: "text/plain; version=0.0.4; charset=utf-8", text: `${texts.join("\n\n")}\n` };
  const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";
  return { contentType, text: `${texts.join("\n")}\n# EOF\n` };
}
