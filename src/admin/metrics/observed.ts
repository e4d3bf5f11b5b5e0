import { type CountedMetric, type Observation, rowOf, type Tables } from "../../observe/events.ts";
import type { Metric } from "../../observe/metrics/table.ts";

/** Counts events: loads, keys, threads. They are rare, and all arrive on the main thread. */
export class ObservedCounts {
  readonly tables: Tables;
  /**
   * Values since the start by metric and by the label's value, which is "" for a metric without a label. A gauge with
   * labels has none at first.
   */
  readonly values: Readonly<Record<CountedMetric, Record<string, number>>>;

  constructor(tables: Tables) {
    this.tables = tables;
    const counts = Object.entries<Metric>(tables.metrics).flatMap(([name, { type, labels, counted }]) => {
      if (counted === undefined) return [];
      const values = labels === undefined ? [""] : type === "counter" ? counted : [];
      return [[name, Object.fromEntries(values.map((value) => [value, 0]))]];
    });
    this.values = Object.fromEntries(counts);
  }

  observe(observation: Observation): void {
    for (const [name, given] of Object.entries(rowOf(this.tables.events, observation).counts ?? {})) {
      const change = typeof given === "function" ? given(observation) : given;
      const values = this.values[name as CountedMetric];
      if (typeof change === "string") values[change]!++;
      else if (typeof change === "number") values[""]! += change;
      else Object.assign(values, change);
    }
  }
}
