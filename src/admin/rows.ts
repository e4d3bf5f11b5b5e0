/** The route table of the admin listener. */

import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { takesGzip } from "../api/pages/serve.ts";
import type { Ask, Reply } from "../model/message.ts";
import { readBoolean } from "../settings/settings.ts";
import { explain } from "./explain.ts";
import { answerKeys } from "./keys.ts";
import { exposeMetrics } from "./metrics/exposition.ts";
import { pageAnswers } from "./page.ts";
import { type AdminRow, adminReply, errorReply, jsonReply, queryOf } from "./router.ts";
import type { ReloadReply } from "./status.ts";
import { createStatus, keepMoments, measureMoment } from "./status-reply.ts";
import type { WatchedServer } from "./watched.ts";

const LIVE = adminReply(200, { "Content-Type": "text/plain; charset=utf-8" }, "ok");

/** Reads keys and snapshot again; `allowShrink` acts like `--allow-shrink` for this load alone. */
async function reload(server: WatchedServer, allowShrink: boolean): Promise<ReloadReply> {
  const { health, opened } = server;
  const began = performance.now();
  const [before] = health.loads;
  const { keys: result, snapshot, problems } = await opened!.reload(allowShrink);
  const [newest] = health.loads;
  // A load that a stop or a defect ended is not listed.
  const load = newest === undefined || newest === before ? health.makeLoad(snapshot, {}) : newest;
  const problem = opened!.keysProblem() ?? null;
  return {
    keys: { result, total: opened!.state.gate.keys.size, problem },
    snapshot: { ...load, result: snapshot, problems: problems.filter((one) => one !== problem) },
    durationMs: Math.round(performance.now() - began),
  };
}

/** `POST /reload`; with `?allow-shrink=1` this load accepts a snapshot with less than half of the users or worlds. */
function reloadAnswers(server: WatchedServer): (ask: Ask) => Promise<Reply> {
  let isReloading = false;
  return async (ask) => {
    const { health, opened } = server;
    if (health.isDraining) return errorReply(503, "The server is stopping");
    const allowShrink = readBoolean(new URLSearchParams(queryOf(ask)).get("allow-shrink") ?? "off");
    if (allowShrink === undefined) return errorReply(400, "allow-shrink must be on or off");
    if (opened === undefined || isReloading || health.loading !== null) {
      return errorReply(409, "A load is under way");
    }
    isReloading = true;
    try {
      return jsonReply(200, await reload(server, allowShrink));
    } finally {
      isReloading = false;
    }
  };
}

const compress = promisify(gzip);

async function answerMetrics(server: WatchedServer, { headers: asked }: Ask): Promise<Reply> {
  const { contentType, text } = exposeMetrics(server, asked?.get("accept") ?? "");
  const headers = { "Content-Type": contentType, Vary: "Accept, Accept-Encoding" };
  if (!takesGzip(asked)) return adminReply(200, headers, text);
  const body = await compress(text, { level: constants.Z_BEST_SPEED });
  return adminReply(200, { ...headers, "Content-Encoding": "gzip" }, body);
}

export function adminRows(server: WatchedServer): readonly AdminRow[] {
  const status = createStatus(server);
  const history = keepMoments(() => measureMoment(server));
  const ready = (): Reply => {
    const readiness = server.health.readiness();
    return jsonReply(readiness.status === "ready" ? 200 : 503, readiness);
  };
  const keys = (ask: Ask): Reply => answerKeys(queryOf(ask), server.keyFigures());
  return [
    { method: "GET", path: "/livez", access: "open", answer: () => LIVE },
    { method: "GET", path: "/readyz", access: "open", answer: ready },
    { method: "GET", path: "/status", isCostly: true, answer: () => jsonReply(200, status()) },
    { method: "GET", path: "/keys", isCostly: true, answer: keys },
    { method: "GET", path: "/history", isCostly: true, answer: () => jsonReply(200, history()) },
    { method: "GET", path: "/explain", isCostly: true, answer: (ask) => explain(ask, server.opened) },
    { method: "GET", path: "/metrics", isCostly: true, answer: (ask) => answerMetrics(server, ask) },
    { method: "POST", path: "/reload", access: "action", answer: reloadAnswers(server) },
    { method: "GET", path: "/", ...pageAnswers() },
  ];
}
