/** Values of metrics, as they go to prom-client. */

import { METRICS, type MetricName } from "./table.ts";

/** Labels by their names. */
export type Labels = Readonly<Record<string, string>>;

/** One value of a metric. */
export interface Sample {
  readonly value: number;
  readonly labels: Labels;
  /** More labels. The text of the same object is made once. */
  readonly sharedLabels?: Labels;
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

/** One of ours. */
export function family(name: MetricName, values: readonly Sample[]): Family {
  const { name: full, help, type } = METRICS[name];
  return { name: full, help, type, values };
}

/** A value without labels. */
export function one(value: number): Sample[] {
  return [{ value, labels: {} }];
}

/** A value for each name of a record; without a label there is one. */
export function by(label: string | undefined, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({
    value,
    labels: label === undefined ? {} : { [label]: name },
  }));
}

/**
 * The labels of a histogram's buckets, by its own labels. prom-client makes the text of an object of shared labels once,
 * and that is most of the work of a scrape: so those of each bucket are an object that stays.
 */
const BUCKET_LABELS = new WeakMap<Labels, readonly Labels[]>();

function bucketLabels(own: Labels, bounds: readonly number[]): readonly Labels[] {
  const known = BUCKET_LABELS.get(own);
  if (known !== undefined) return known;
  const labels = [...bounds.map(String), "+Inf"].map((le) => ({ le, ...own }));
  BUCKET_LABELS.set(own, labels);
  return labels;
}

const NO_LABELS = {};

/**
 * A histogram's samples.
 *
 * @param own its labels; the same object belongs to one histogram, and keeps the texts of its buckets
 * @param counts by bucket, the one without an end last
 * @param bounds upper ends of the buckets but the last, in seconds
 */
export function histogram(
  name: string,
  own: Labels,
  counts: readonly number[],
  bounds: readonly number[],
  sum: number,
): Sample[] {
  const samples: Sample[] = [];
  const metricName = `${name}_bucket`;
  let total = 0;
  for (const [at, sharedLabels] of bucketLabels(own, bounds).entries()) {
    total += counts[at]!;
    samples.push({ metricName, labels: NO_LABELS, sharedLabels, value: total });
  }
  samples.push({ metricName: `${name}_sum`, labels: NO_LABELS, sharedLabels: own, value: sum });
  samples.push({ metricName: `${name}_count`, labels: NO_LABELS, sharedLabels: own, value: total });
  return samples;
}
