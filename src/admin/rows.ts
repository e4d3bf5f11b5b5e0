/** The route table of the admin listener. */

import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { takesGzip } from "../api/pages/serve.ts";
import type { Ask, Reply } from "../model/message.ts";
import { parseTime } from "../model/time.ts";
import { readBoolean } from "../settings/settings.ts";
import { explain } from "./explain.ts";
import { NOTHING_LOADED } from "./history.ts";
import { answerKeys } from "./keys.ts";
import type { Measured } from "./metrics/exposition.ts";
import { pageAnswers } from "./page.ts";
import { type AdminRow, adminReply, errorReply, jsonReply, queryOf } from "./router.ts";
import type { LoadStatus, ReloadReply } from "./status.ts";
import { createStatus, measureMoment, Timeline, VERSION } from "./status-reply.ts";
import type { WatchedServer } from "./watched.ts";

const LIVE = adminReply(200, { "Content-Type": "text/plain; charset=utf-8" }, "ok");

/** The result of a load that reported none. */
function lostLoad({ history, readiness }: WatchedServer): LoadStatus {
  const problem = readiness.isDraining
    ? "the server is stopping: nothing is loaded any more"
    : "the load ended without a result; see the log";
  return {
    ...NOTHING_LOADED,
    ...{ result: "refused", problems: [problem] },
    at: new Date().toISOString(),
    generation: history.served?.id ?? null,
  };
}

/** Reads keys and snapshot again; `allowShrink` acts like `--allow-shrink` for this load alone. */
async function reload(server: WatchedServer, allowShrink: boolean): Promise<ReloadReply> {
  const { history } = server;
  const { reload: reloadAll, keysProblem, state } = server.opened!;
  const began = performance.now();
  const [before] = history.loads;
  const { keysLoads } = history;
  await reloadAll(allowShrink);
  const [newest] = history.loads;
  const problem = keysProblem();
  const isNew = history.keysLoads > keysLoads;
  return {
    keys: {
      result: problem !== undefined ? "refused" : isNew ? "loaded" : "unchanged",
      total: state.gate.keys.size,
      problem: problem ?? null,
    },
    snapshot: newest === undefined || newest === before ? lostLoad(server) : newest,
    durationMs: Math.round(performance.now() - began),
  };
}

/** `POST /reload`; with `?allow-shrink=1` this load accepts a snapshot with less than half of the users or worlds. */
function reloadAnswers(server: WatchedServer): (ask: Ask) => Promise<Reply> {
  let isReloading = false;
  return async (ask) => {
    const { readiness, opened } = server;
    if (readiness.isDraining) return errorReply(503, "The server is stopping");
    const allowShrink = readBoolean(new URLSearchParams(queryOf(ask)).get("allow-shrink") ?? "off");
    if (allowShrink === undefined) return errorReply(400, "allow-shrink must be on or off");
    if (opened === undefined || isReloading || readiness.loading !== null) {
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

/** `GET /metrics`; the first scrape loads its module. */
function metricsAnswer(server: WatchedServer): AdminRow["answer"] {
  let expose: ReturnType<typeof load> | undefined;
  const load = async () => (await import("./metrics/exposition.ts")).createExposition(measured(server));
  return async ({ headers: asked }) => {
    expose ??= load();
    const { contentType, text } = (await expose)(asked?.get("accept") ?? undefined);
    const headers = { "Content-Type": contentType, Vary: "Accept, Accept-Encoding" };
    if (!takesGzip(asked)) return adminReply(200, headers, text);
    const body = await compress(text, { level: constants.Z_BEST_SPEED });
    return adminReply(200, { ...headers, "Content-Encoding": "gzip" }, body);
  };
}

export function adminRows(server: WatchedServer): readonly AdminRow[] {
  const status = createStatus(server);
  const timeline = new Timeline(() => measureMoment(server));
  const ready = (): Reply => {
    const readiness = server.readiness.readiness();
    return jsonReply(readiness.status === "ready" ? 200 : 503, readiness);
  };
  const explained = async (ask: Ask): Promise<Reply> =>
    server.opened === undefined
      ? errorReply(503, "The first snapshot is being loaded")
      : await explain(ask, server.opened, server.askHolding);
  const keys = (ask: Ask): Reply => answerKeys(queryOf(ask), server.keyFigures());
  return [
    { method: "GET", path: "/livez", access: "open", answer: () => LIVE },
    { method: "GET", path: "/readyz", access: "open", answer: ready },
    { method: "GET", path: "/status", isCostly: true, answer: async () => jsonReply(200, await status()) },
    { method: "GET", path: "/keys", isCostly: true, answer: keys },
    { method: "GET", path: "/history", isCostly: true, answer: () => jsonReply(200, timeline.reply()) },
    { method: "GET", path: "/explain", isCostly: true, answer: explained },
    { method: "GET", path: "/metrics", isCostly: true, answer: metricsAnswer(server) },
    { method: "POST", path: "/reload", access: "action", answer: reloadAnswers(server) },
    { method: "GET", path: "/", ...pageAnswers() },
  ];
}
