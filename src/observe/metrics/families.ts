/** The metrics as values: what a scrape tells, before it is text. */

import { mainThread, type RequestCells } from "./counters.ts";
import { durationSamples } from "./durations.ts";
import { figuresOf, readTotals } from "./figures.ts";
import {
  COLLECTION_BOUNDS,
  COLLECTION_KINDS,
  COLLECTIONS,
  DELAY_BOUNDS,
  DELAYS,
  HEAP_USED,
  histogramCells,
  REASONS,
  SLICE,
} from "./layout.ts";
import type { ObservedCounts } from "./observed.ts";
import { by, type Family, family, histogram, type Labels, one, type Sample } from "./samples.ts";
import { METRICS, type MetricName } from "./table.ts";

/** Figures of shared limits since the start. */
export interface SharedLimitsFigures {
  /** Questions to the server, and those that it did not answer. */
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
  problems,
  ageSeconds,
  generation,
  keys,
  sharedLimits,
}: Measured): readonly Family[] {
  const { active, rejected, searches } = figuresOf(readTotals(cells));
  const served = generation();
  const age = ageSeconds();
  const limits = sharedLimits();
  return [
    family("duration", durationSamples(cells)),
    family("active", one(active)),
    family("rejected", by("reason", Object.fromEntries(REASONS.map((name) => [name, rejected[name] ?? 0])))),
    family(
      "searches",
      searches.map(({ search, outcome, total }) => ({ labels: { search, outcome }, value: total })),
    ),
    family("build", by("version", { [version]: 1 })),
    family("ready", one(isReady() ? 1 : 0)),
    family("problems", by("kind", problems())),
    family("generation", served ? by("generation", { [served.id]: 1 }) : []),
    family("loaded", served ? one(served.loadedAt) : []),
    family("age", age === undefined ? [] : one(age)),
    family("rows", served ? by("table", served.rows) : []),
    family("loads", by("result", observed.loads)),
    family("loadSeconds", observed.phases ? by("phase", observed.phases) : []),
    family("keys", one(keys())),
    family("keysLoads", by("result", observed.keysLoads)),
    family("restarts", by("role", observed.restarts)),
    ...vitals(cells),
    family("droppedLines", one(observed.droppedLines)),
    family("limitsAway", one(observed.limitsAway)),
    family("limitsLosses", one(observed.limitsLosses)),
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
