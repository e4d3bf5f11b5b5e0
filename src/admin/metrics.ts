/** `GET /metrics`. */

import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { takesGzip } from "../api/pages/accept-encoding.ts";
import { parseTime } from "../model/time.ts";
import type { Measured } from "../observe/metrics/families.ts";
import { type AdminRow, adminReply } from "./router.ts";
import { VERSION } from "./status-reply.ts";
import type { WatchedServer } from "./watched.ts";

const compress = promisify(gzip);

function measured(server: WatchedServer): Measured {
  const { given, observed, history, readiness, problems } = server;
  return {
    cells: given.requestCells,
    observed,
    version: VERSION,
    problems: () => problems.counts(),
    keys: () => server.opened?.state.gate.keys.size ?? 0,
    sharedLimits: () => server.opened?.sharedLimits?.figures(),
    isReady: () => readiness.readiness().status === "ready",
    ageSeconds: () => readiness.ageSeconds ?? undefined,
    createdAt: () => (readiness.createdAt === null ? undefined : parseTime(readiness.createdAt) / 1000),
    generation() {
      if (history.served === null) return undefined;
      const { id, loadedAt, rows } = history.served;
      const { users, worlds, instances } = rows;
      return { id, loadedAt: Date.parse(loadedAt) / 1000, rows: { users, worlds, instances } };
    },
  };
}

/** Makes the answers. What they need is loaded at the first scrape. */
export function metricsAnswer(server: WatchedServer): AdminRow["answer"] {
  let expose: ReturnType<typeof load> | undefined;
  const load = async () =>
    (await import("../observe/metrics/exposition.ts")).createExposition(measured(server));
  return async ({ headers: asked }) => {
    expose ??= load();
    const { contentType, text } = (await expose)(asked?.get("accept") ?? undefined);
    const headers = { "Content-Type": contentType, Vary: "Accept, Accept-Encoding" };
    if (!takesGzip(asked?.get("accept-encoding") ?? undefined)) return adminReply(200, headers, text);
    const body = await compress(text, { level: constants.Z_BEST_SPEED });
    return adminReply(200, { ...headers, "Content-Encoding": "gzip" }, body);
  };
}
