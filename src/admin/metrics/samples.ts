/** Values of metrics as text, but for the names of the metrics. */

/** A value, and the text between its metric's name and it: a suffix, such as `_sum` of a histogram, and its labels in braces. */
export type Sample = readonly [after: string, value: number];

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

/** `a="1",b="2"` */
export function labelsOf(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (unit) => ESCAPES[unit]!)}"`)
    .join(",");
}

export function one(value: number): Sample[] {
  return [["", value]];
}

/** A sample for each entry of a record; a record without a label has one entry. */
export function by(label: string | undefined, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => {
    return [label === undefined ? "" : `{${labelsOf({ [label]: name })}}`, value];
  });
}

/** @param own its labels @param counts by bucket, the unbounded one last @param bounds upper ends of the others, in seconds */
export function histogram(
  own: string,
  counts: readonly number[],
  bounds: readonly number[],
  sum: number,
): Sample[] {
  let total = 0;
  const buckets = counts.map((count, at): Sample => {
    total += count;
    return [`_bucket{le="${bounds[at] ?? "+Inf"}",${own}}`, total];
  });
  return [...buckets, [`_sum{${own}}`, sum], [`_count{${own}}`, total]];
}
