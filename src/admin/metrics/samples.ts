/** Values of metrics, before their formatting as text. */

/** Labels as text: `a="1",b="2"`, or "" for none. */
export type Labels = string;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** Suffix of the metric's name: `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

export function labelsOf(values: Readonly<Record<string, string>>): Labels {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (unit) => ESCAPES[unit]!)}"`)
    .join(",");
}

export function one(value: number): Sample[] {
  return [{ labels: "", value }];
}

/** A sample for each entry of a record; a record without a label has one entry. */
export function by(label: string | undefined, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({
    labels: label === undefined ? "" : labelsOf({ [label]: name }),
    value,
  }));
}

/**
 * @param own labels of the histogram
 * @param counts by bucket, the unbounded bucket last
 * @param bounds upper ends of all buckets but the last, in seconds
 */
export function histogram(
  own: Labels,
  counts: readonly number[],
  bounds: readonly number[],
  sum: number,
): Sample[] {
  let total = 0;
  const buckets = counts.map((count, at): Sample => {
    total += count;
    return { suffix: "_bucket", labels: `le="${bounds[at] ?? "+Inf"}",${own}`, value: total };
  });
  return [
    ...buckets,
    { suffix: "_sum", labels: own, value: sum },
    { suffix: "_count", labels: own, value: total },
  ];
}
