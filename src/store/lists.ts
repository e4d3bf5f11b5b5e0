/** Rows grouped by another table's rows, such as the worlds of each user. */

import { sharedUint32 } from "./bytes.ts";

/** Group g holds `rows[starts[g]]` to `rows[starts[g + 1] - 1]`, ascending. */
export interface RowLists {
  readonly starts: Uint32Array;
  readonly rows: Uint32Array;
}

export const NO_GROUP = 0xffff_ffff;

/** @param groupOf the group of each row, or {@link NO_GROUP} */
export function groupRows(groupOf: Uint32Array, groups: number): RowLists {
  const starts = sharedUint32(groups + 1);
  for (const group of groupOf) if (group !== NO_GROUP) starts[group + 1]!++;
  for (let group = 0; group < groups; group++) starts[group + 1]! += starts[group]!;
  const next = starts.slice();
  const rows = sharedUint32(starts[groups]!);
  for (let row = 0; row < groupOf.length; row++) {
    const group = groupOf[row]!;
    if (group !== NO_GROUP) rows[next[group]!++] = row;
  }
  return { starts, rows };
}

/** The rows of one group; a view, not a copy. */
export function rowsOf(lists: RowLists, group: number): Uint32Array {
  return lists.rows.subarray(lists.starts[group]!, lists.starts[group + 1]!);
}
