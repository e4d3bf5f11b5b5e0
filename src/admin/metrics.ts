/** `GET /metrics`. */

import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { takesGzip } from "../api/pages/accept-encoding.ts";
import { packageJson } from "../install/package.ts";
import { parseTime } from "../model/time.ts";
import type { RequestCells } from "../observe/metrics/counters.ts";
import type { Measured } from "../observe/metrics/families.ts";
import type { ObservedCounts } from "../observe/metrics/observed.ts";
import type { History } from "./history.ts";
import type { ReadinessKeeper } from "./readiness.ts";
import type { AdminRow } from "./request.ts";

/** Where metrics come from. */
export interface MetricsSources {
  readonly cells: RequestCells;
  readonly observed: ObservedCounts;
  readonly history: History;
  readonly readiness: ReadinessKeeper;
  /** How many problems there are now, by kind. */
  readonly problems: Measured["problems"];
  /** How many keys there are. */
  readonly keys: () => number;
  readonly sharedLimits: Measured["sharedLimits"];
}

const compress = promisify(gzip);

function measured({ cells, observed, history, readiness, ...others }: MetricsSources): Measured {
  return {
    cells,
    observed,
    version: (JSON.parse(packageJson()) as { version: string }).version,
    isReady: () => readiness.readiness().status === "ready",
    ageSeconds: () => readiness.ageSeconds ?? undefined,
    createdAt: () => (readiness.createdAt === null ? undefined : parseTime(readiness.createdAt) / 1000),
    generation() {
      const { served } = history;
      if (served === null) return undefined;
      const { users, worlds, instances } = served.rows;
      return {
        id: served.id,
        loadedAt: Date.parse(served.loadedAt) / 1000,
        rows: { users, worlds, instances },
      };
    },
    ...others,
  };
}

/** The row of the listener's table. What it needs is loaded when somebody scrapes for the first time. */
export function metricsRow(sources: MetricsSources): AdminRow {
  let expose: ReturnType<typeof load> | undefined;
  const load = async () =>
    (await import("../observe/metrics/exposition.ts")).createExposition(measured(sources));
  return {
    method: "GET",
    path: "/metrics",
    isCostly: true,
    async answer({ accept, acceptEncoding }) {
      expose ??= load();
      const { contentType, text } = (await expose)(accept);
      const headers = { "Content-Type": contentType, Vary: "Accept, Accept-Encoding" };
      if (!takesGzip(acceptEncoding)) return { status: 200, headers, body: text };
      const body = await compress(text, { level: constants.Z_BEST_SPEED });
      return { status: 200, headers: { ...headers, "Content-Encoding": "gzip" }, body };
    },
  };
}
