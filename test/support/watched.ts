/** A server as its metrics read it. */

import type { countEvents } from "../../src/admin/metrics/observed.ts";
import type { WatchedServer } from "../../src/admin/watched.ts";
import type { RequestCells } from "../../src/observe/metrics/counters.ts";

/** @param isLoaded whether a snapshot was loaded */
export function watchedServer(
  requestCells: RequestCells,
  observed: ReturnType<typeof countEvents>,
  isLoaded: boolean,
): WatchedServer {
  const rows = { users: 1, worlds: 2, instances: 3 };
  const figures = { asks: 9, failures: 2, waited: 5, alone: 3, refused: 1 };
  const ready = { status: "ready", ageSeconds: 1.5, createdAt: "2023-11-14T22:13:20.000Z" };
  const server = {
    given: { requestCells, sharedLimits: isLoaded ? { figures: () => figures } : undefined },
    observed,
    health: {
      served: isLoaded ? { id: "g-1", loadedAt: "1970-01-01T00:00:01.500Z", rows } : null,
      readiness: () => (isLoaded ? ready : { status: "loading", ageSeconds: null, createdAt: null }),
      problemCounts: () => ({ "keys-refused": 1, "data-stale": 0 }),
    },
    opened: {
      state: { gate: { keys: { size: 4 } } },
    },
  };
  return server as unknown as WatchedServer;
}
