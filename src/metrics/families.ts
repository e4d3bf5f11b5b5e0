/** The metrics as values: what a scrape tells, before it is text. */

import { BASE_PATH } from "../model.ts";
import { mainThread, type RequestCells } from "./counters.ts";
import { figuresOf, readTotals } from "./figures.ts";
import {
  BOUNDS_MS,
  BUCKETS,
  COLLECTION_BOUNDS,
  COLLECTION_KINDS,
  COLLECTIONS,
  DELAY_BOUNDS,
  DELAYS,
  DURATIONS,
  FIRST_SHOWN,
  HEAP_USED,
  histogramCells,
  NO_STATUS,
  REASONS,
  REQUESTS,
  SECONDS,
  SERIES,
  SLICE,
  seriesAt,
} from "./layout.ts";
import type { ObservedCounts } from "./observed.ts";
import { METRICS, type MetricName } from "./table.ts";

/** One value of a metric. */
export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
  /** More labels. The text of the same object is made once. */
  readonly sharedLabels?: Readonly<Record<string, string>>;
  /** Where it is not that of the metric: `…_bucket`, `…_sum`, `…_count` of a histogram. */
  readonly metricName?: string;
}

/** A metric with its values. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

/** What is told of besides counters. Times are seconds since the epoch. */
export interface Measured {
  readonly cells: RequestCells;
  readonly observed: ObservedCounts;
  readonly version: string;
  /** Whether the server should be sent requests. */
  readonly isReady: () => boolean;
  /** The generation that is served; undefined before the first. */
  readonly generation: () =>
    | {
        readonly id: string;
        readonly loadedAt: number;
        readonly confirmedAt: number;
        readonly rows: Readonly<Record<"users" | "worlds" | "instances", number>>;
      }
    | undefined;
  readonly keys: () => number;
}

function family(name: MetricName, values: readonly Sample[]): Family {
  const { name: full, help, type } = METRICS[name];
  return { name: full, help, type, values };
}

function one(value: number): Sample[] {
  return [{ value, labels: {} }];
}

/** A value for each name of a record. */
function by(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ value, labels: { [label]: name } }));
}

type Labels = Readonly<Record<string, string>>;

/** Labels of the upper ends of buckets, by their bounds: made once. */
const ENDS = new Map<readonly number[], readonly Labels[]>();

function endsOf(bounds: readonly number[]): readonly Labels[] {
  const known = ENDS.get(bounds);
  if (known !== undefined) return known;
  const ends = [...bounds.map(String), "+Inf"].map((le) => ({ le }));
  ENDS.set(bounds, ends);
  return ends;
}

const NO_LABELS = {};

/**
 * A histogram's samples.
 *
 * @param counts by bucket, the one without an end last
 * @param bounds upper ends of the buckets but the last, in seconds
 */
function histogram(
  name: string,
  sharedLabels: Labels,
  counts: readonly number[],
  bounds: readonly number[],
  sum: number,
): Sample[] {
  const samples: Sample[] = [];
  const metricName = `${name}_bucket`;
  let total = 0;
  for (const [at, labels] of endsOf(bounds).entries()) {
    total += counts[at]!;
    samples.push({ metricName, labels, sharedLabels, value: total });
  }
  samples.push({ metricName: `${name}_sum`, labels: NO_LABELS, sharedLabels, value: sum });
  samples.push({ metricName: `${name}_count`, labels: NO_LABELS, sharedLabels, value: total });
  return samples;
}

/** Upper ends of the buckets that are shown, in seconds. */
const SHOWN_BOUNDS = BOUNDS_MS.slice(FIRST_SHOWN).map((ms) => ms / 1000);

/** Of each series the sums over all slices: requests, seconds, and requests by bucket. */
function durations(cells: RequestCells): Sample[] {
  const { name } = METRICS.duration;
  const samples: Sample[] = [];
  for (let series = 0; series < SERIES; series++) {
    let count = 0;
    for (let slice = 0; slice < cells.length; slice += SLICE) count += cells[slice + REQUESTS + series]!;
    if (count === 0) continue;
    const shown = new Array<number>(SHOWN_BOUNDS.length + 1).fill(0);
    let seconds = 0;
    for (let slice = 0; slice < cells.length; slice += SLICE) {
      seconds += cells[slice + SECONDS + series]!;
      const from = slice + DURATIONS + series * BUCKETS;
      for (let bucket = 0; bucket < BUCKETS; bucket++) {
        shown[Math.max(0, bucket - FIRST_SHOWN)]! += cells[from + bucket]!;
      }
    }
    for (const sample of histogram(name, requestLabels(series), shown, SHOWN_BOUNDS, seconds))
      samples.push(sample);
  }
  return samples;
}

/** Labels by series, made once. */
const LABELS: Labels[] = [];

function requestLabels(series: number): Labels {
  const known = LABELS[series];
  if (known !== undefined) return known;
  const { method, route, status } = seriesAt(series);
  const labels = {
    http_request_method: method,
    ...(route === "" ? {} : { http_route: BASE_PATH + route }),
    ...(status === NO_STATUS ? {} : { http_response_status_code: String(status) }),
  };
  LABELS[series] = labels;
  return labels;
}

/** Sums of one part of some slices. */
function sums(cells: RequestCells, slices: readonly number[], from: number, length: number): number[] {
  return Array.from({ length }, (_, at) =>
    slices.reduce((total, slice) => total + cells[slice * SLICE + from + at]!, 0),
  );
}

/** A histogram that lies in slices with its sum behind it. */
function histogramAt(
  name: MetricName,
  labels: Labels,
  summed: readonly number[],
  bounds: readonly number[],
): Sample[] {
  return histogram(METRICS[name].name, labels, summed.slice(0, -1), bounds, summed.at(-1)!);
}

/** What threads count of themselves. */
function vitals(cells: RequestCells): Family[] {
  const main = mainThread(cells);
  const serving = Array.from({ length: main }, (_, number) => number);
  const isThreaded = sums(cells, serving, DELAYS, 1 + DELAY_BOUNDS.length).some((count) => count > 0);
  const groups = [
    { labels: { thread: "main" }, slices: [main] },
    ...(isThreaded ? [{ labels: { thread: "serving" }, slices: serving }] : []),
  ];
  const collectionCells = histogramCells(COLLECTION_BOUNDS);
  return [
    family(
      "delay",
      groups.flatMap(({ labels, slices }) =>
        histogramAt("delay", labels, sums(cells, slices, DELAYS, histogramCells(DELAY_BOUNDS)), DELAY_BOUNDS),
      ),
    ),
    family(
      "heap",
      groups.map(({ labels, slices }) => ({ labels, value: sums(cells, slices, HEAP_USED, 1)[0]! })),
    ),
    family(
      "collections",
      COLLECTION_KINDS.flatMap((kind, at) => {
        const summed = sums(cells, [...serving, main], COLLECTIONS + at * collectionCells, collectionCells);
        return histogramAt("collections", { kind }, summed, COLLECTION_BOUNDS);
      }),
    ),
  ];
}

/** Everything of our own. Where a figure is not known yet, its metric has no values. */
export function readFamilies({
  cells,
  observed,
  version,
  isReady,
  generation,
  keys,
}: Measured): readonly Family[] {
  const { active, rejected, searches } = figuresOf(readTotals(cells));
  const served = generation();
  return [
    family("duration", durations(cells)),
    family("active", one(active)),
    family("rejected", by("reason", Object.fromEntries(REASONS.map((name) => [name, rejected[name] ?? 0])))),
    family(
      "searches",
      searches.map(({ search, outcome, total }) => ({ labels: { search, outcome }, value: total })),
    ),
    family("build", by("version", { [version]: 1 })),
    family("ready", one(isReady() ? 1 : 0)),
    family("generation", served ? by("generation", { [served.id]: 1 }) : []),
    family("loaded", served ? one(served.loadedAt) : []),
    family("confirmed", served ? one(served.confirmedAt) : []),
    family("rows", served ? by("table", served.rows) : []),
    family("loads", by("result", observed.loads)),
    family("loadSeconds", observed.phases ? by("phase", observed.phases) : []),
    family("keys", one(keys())),
    family("keysLoads", by("result", observed.keysLoads)),
    family("restarts", by("role", observed.restarts)),
    ...vitals(cells),
    family("droppedLines", one(observed.droppedLines)),
  ];
}
