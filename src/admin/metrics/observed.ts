import { type CountedMetric, type Observe, rowOf, type Tables } from "../../observe/events.ts";
import type { Metric } from "../../observe/metrics/table.ts";

/** Counts events: loads, keys, threads. They are rare, and all arrive on the main thread. */
export function countEvents(tables: Tables) {
  const counts = Object.entries<Metric>(tables.metrics).flatMap(([name, { type, labels, counted }]) => {
    if (counted === undefined) return [];
    const shown = labels === undefined ? [""] : type === "counter" ? counted : [];
    return [[name, Object.fromEntries(shown.map((value) => [value, 0]))]];
  });
  /**
   * Values since the start by metric and by the label's value, which is "" for a metric without a label. A gauge with
   * labels has none at first.
   */
  const values: Readonly<Record<CountedMetric, Record<string, number>>> = Object.fromEntries(counts);
  const observe: Observe = (observation) => {
    for (const [name, given] of Object.entries(rowOf(tables.events, observation).counts ?? {})) {
      const change = typeof given === "function" ? given(observation) : given;
      const counted = values[name as CountedMetric];
      if (typeof change === "string") counted[change]!++;
      else if (typeof change === "number") counted[""]! += change;
      else Object.assign(counted, change);
    }
  };
  return { tables, values, observe };
}
