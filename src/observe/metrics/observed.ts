/** Counts events: loads, keys, threads. They are rare, and all arrive on the main thread. */

import { type CountedMetric, type Observation, rowOf } from "../events.ts";
import { METRICS, type Metric } from "./table.ts";

/** Values since the start, by the label's value, which is "" for a metric without a label. */
export type ObservedCounts = Readonly<Record<CountedMetric, Record<string, number>>>;

/** Initial counts: zeros, but no values for a gauge with labels. */
export function createObservedCounts(): ObservedCounts {
  const counts = Object.entries<Metric>(METRICS).flatMap(([name, { type, labels, counted }]) => {
    if (counted === undefined) return [];
    const values = labels.length === 0 ? [""] : type === "counter" ? counted : [];
    return [[name, Object.fromEntries(values.map((value) => [value, 0]))]];
  });
  return Object.fromEntries(counts);
}

export function countObservation(counts: ObservedCounts, observation: Observation): void {
  for (const [name, given] of Object.entries(rowOf(observation).counts ?? {})) {
    const change = typeof given === "function" ? given(observation) : given;
    const values = counts[name as CountedMetric];
    if (typeof change === "string") values[change]!++;
    else if (typeof change === "number") values[""]! += change;
    else Object.assign(values, change);
  }
}
