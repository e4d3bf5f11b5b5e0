/** The fewest requests that a mirror can take. */

import { PAGE_SIZE } from "./lists.ts";

/** The fewest requests that can bring what was collected, by what they are for. */
export interface Bound {
  readonly worlds: number;
  readonly instances: number;
  readonly statistics: number;
  readonly users: number;
  readonly platform: number;
}

function pagesOf(rows: number): number {
  return Math.ceil(rows / PAGE_SIZE);
}

/**
 * A reply holds at most 50 rows of one kind, and a reply that holds a world's counts is of that world alone. An empty list takes a
 * request too: that it is empty has to be learnt.
 */
export function boundOf(worlds: number, instances: number, users: number): Bound {
  return {
    worlds: Math.max(1, pagesOf(worlds)),
    instances: Math.max(1, pagesOf(instances)),
    statistics: worlds,
    users: pagesOf(users),
    platform: 1,
  };
}
