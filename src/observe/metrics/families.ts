/** The metrics as values: what a scrape tells, before it is text. */

import { BASE_PATH } from "../../model/model.ts";
import type { CountedMetric } from "../event.ts";
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
import { by, type Family, family, histogram, type Labels, labelsOf, one, type Sample } from "./samples.ts";
import { METRICS } from "./table.ts";

/** Figures of shared limits since the start. */
export interface SharedLimitsFigures {
  /** Questions to the server, and how many it did not answer. */
  readonly asks: number;
  readonly failures: number;
  /** Requests that waited for it; that were let through while it was away; that were refused then. */
  readonly waited: number;
  readonly alone: number;
  readonly refused: number;
}

/** What is told of besides counters. Times are seconds since the epoch. */
export interface Measured {
  readonly cells: RequestCells;
  readonly observed: ObservedCounts;
  readonly version: string;
  /** Whether the server should be sent requests. */
  readonly isReady: () => boolean;
  /** How many problems there are now, by kind. */
  readonly problems: () => Readonly<Record<string, number>>;
  /** Seconds since the snapshot was last found to be what is served; undefined before the first load. */
  readonly ageSeconds: () => number | undefined;
  /** The moment of the data that are served; undefined where it is not told. */
  readonly createdAt: () => number | undefined;
  /** The generation that is served; undefined before the first. */
  readonly generation: () =>
    | {
        readonly id: string;
        readonly loadedAt: number;
        readonly rows: Readonly<Record<"users" | "worlds" | "instances", number>>;
      }
    | undefined;
  readonly keys: () => number;
  /** Undefined without shared limits, and before the first load. */
  readonly sharedLimits: () => SharedLimitsFigures | undefined;
}

/** Upper ends of the buckets that are shown, in seconds. */
const SHOWN_BOUNDS = BOUNDS_MS.slice(FIRST_SHOWN).map((ms) => ms / 1000);

/** Durations of requests by series, summed over all threads. */
function durationSamples(cells: RequestCells): Sample[] {
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
    samples.push(...histogram(requestLabels(series), shown, SHOWN_BOUNDS, seconds));
  }
  return samples;
}

function requestLabels(series: number): Labels {
  const { method, route, status } = seriesAt(series);
  return labelsOf({
    http_request_method: method,
    ...(route === "" ? {} : { http_route: BASE_PATH + route }),
    ...(status === NO_STATUS ? {} : { http_response_status_code: String(status) }),
  });
}

/** Sums of one part of some slices. */
function sums(cells: RequestCells, slices: readonly number[], from: number, length: number): number[] {
  return Array.from({ length }, (_, at) =>
    slices.reduce((total, slice) => total + cells[slice * SLICE + from + at]!, 0),
  );
}

/** A histogram that lies in slices with its sum after it. */
function histogramAt(labels: Labels, summed: readonly number[], bounds: readonly number[]): Sample[] {
  return histogram(labels, summed.slice(0, -1), bounds, summed.at(-1)!);
}

/** What threads count of themselves. */
function vitals(cells: RequestCells): Family[] {
  const main = mainThread(cells);
  const serving = Array.from({ length: main }, (_, number) => number);
  const isThreaded = sums(cells, serving, DELAYS, 1 + DELAY_BOUNDS.length).some((count) => count > 0);
  const groups = [
    { labels: labelsOf({ thread: "main" }), slices: [main] },
    ...(isThreaded ? [{ labels: labelsOf({ thread: "serving" }), slices: serving }] : []),
  ];
  const collectionCells = histogramCells(COLLECTION_BOUNDS);
  return [
    family(
      "delay",
      groups.flatMap(({ labels, slices }) =>
        histogramAt(labels, sums(cells, slices, DELAYS, histogramCells(DELAY_BOUNDS)), DELAY_BOUNDS),
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
        return histogramAt(labelsOf({ kind }), summed, COLLECTION_BOUNDS);
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
  problems,
  ageSeconds,
  createdAt,
  generation,
  keys,
  sharedLimits,
}: Measured): readonly Family[] {
  const { active, rejected, searches } = figuresOf(readTotals(cells));
  const served = generation();
  const age = ageSeconds();
  const created = createdAt();
  const limits = sharedLimits();
  const counted = (name: CountedMetric): Family => family(name, by(METRICS[name].labels[0], observed[name]));
  return [
    family("duration", durationSamples(cells)),
    family("active", one(active)),
    family("rejected", by("reason", Object.fromEntries(REASONS.map((name) => [name, rejected[name] ?? 0])))),
    family(
      "searches",
      searches.map(({ search, outcome, total }) => ({ labels: labelsOf({ search, outcome }), value: total })),
    ),
    family("build", by("version", { [version]: 1 })),
    family("ready", one(isReady() ? 1 : 0)),
    family("problems", by("kind", problems())),
    family("generation", served ? by("generation", { [served.id]: 1 }) : []),
    family("loaded", served ? one(served.loadedAt) : []),
    family("created", created === undefined ? [] : one(created)),
    family("age", age === undefined ? [] : one(age)),
    family("rows", served ? by("table", served.rows) : []),
    counted("loads"),
    counted("loadSeconds"),
    family("keys", one(keys())),
    counted("keysLoads"),
    counted("restarts"),
    ...vitals(cells),
    counted("droppedLines"),
    counted("limitsAway"),
    counted("limitsLosses"),
    family(
      "limitsAsks",
      limits ? by("result", { answered: limits.asks - limits.failures, failed: limits.failures }) : [],
    ),
    family(
      "limitsRequests",
      limits ? by("outcome", { waited: limits.waited, alone: limits.alone, refused: limits.refused }) : [],
    ),
  ];
}
