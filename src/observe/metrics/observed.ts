/** What is counted of observations: loads, keys, threads. They are rare, and all arrive on the main thread. */

import type { Observation, ThreadRole } from "../events.ts";

/** Counts since the start. */
export interface ObservedCounts {
  readonly loads: Record<"loaded" | "unchanged" | "refused" | "changing", number>;
  /** Of the newest load that brought a generation, in seconds; undefined before the first. */
  phases: Readonly<Record<"read" | "pack" | "index" | "total", number>> | undefined;
  readonly keysLoads: Record<"loaded" | "unchanged" | "refused", number>;
  readonly restarts: Record<ThreadRole, number>;
  droppedLines: number;
  /** Counter servers of shared limits: how many are away, and how often one went. */
  limitsAway: number;
  limitsLosses: number;
}

/** Counts of nothing yet. */
export function createObservedCounts(): ObservedCounts {
  return {
    loads: { loaded: 0, unchanged: 0, refused: 0, changing: 0 },
    phases: undefined,
    keysLoads: { loaded: 0, unchanged: 0, refused: 0 },
    restarts: { search: 0, serving: 0, similar: 0 },
    droppedLines: 0,
    limitsAway: 0,
    limitsLosses: 0,
  };
}

/** Counts what was observed. */
export function countObservation(counts: ObservedCounts, observation: Observation): void {
  switch (observation.kind) {
    case "snapshot-loaded": {
      const { ms, readMs, packMs, indexMs } = observation;
      counts.loads.loaded++;
      counts.phases = {
        read: readMs / 1000,
        pack: packMs / 1000,
        index: indexMs / 1000,
        total: ms / 1000,
      };
      break;
    }
    case "snapshot-unchanged":
      counts.loads.unchanged++;
      break;
    case "snapshot-refused":
      counts.loads[observation.changing ? "changing" : "refused"]++;
      break;
    case "keys-loaded":
      counts.keysLoads.loaded++;
      break;
    case "keys-unchanged":
      counts.keysLoads.unchanged++;
      break;
    case "keys-refused":
      counts.keysLoads.refused++;
      break;
    case "thread-died":
      // Whether or not another can be started.
      counts.restarts[observation.role]++;
      break;
    case "limits-away":
      counts.limitsAway++;
      counts.limitsLosses++;
      break;
    case "limits-back":
      counts.limitsAway--;
      break;
    case "log-lines-dropped":
      counts.droppedLines += observation.count;
      break;
  }
}
