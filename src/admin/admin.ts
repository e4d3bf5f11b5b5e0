/** The admin listener of one server, put together: it listens before anything is loaded, and until the last request is answered. */

import type { Observe } from "../observe/events.ts";
import { countersOf, mainThread } from "../observe/metrics/counters.ts";
import { countObservation, createObservedCounts } from "../observe/metrics/observed.ts";
import { watchVitals } from "../observe/metrics/vitals.ts";
import type { Admin, AdminGiven } from "../server/admin.ts";
import type { SnapshotEvents } from "../server/load/loader.ts";
import type { OpenState } from "../server/open.ts";
import { type CacheQuestion, figuresOfThread } from "../server/threads/serving-messages.ts";
import type { ServingThreads } from "../server/threads/serving-threads.ts";
import { adminConnectionLimit } from "../util/process/connection-limit.ts";
import { watchEventLoop } from "../util/process/event-loop.ts";
import type { AdminAddress } from "./address.ts";
import { createExplainer } from "./explain.ts";
import type { SearchExplanation } from "./explanation.ts";
import { History } from "./history.ts";
import { answerKeys } from "./keys-reply.ts";
import { LimitsHistory } from "./limits.ts";
import { listenForAdmin } from "./listener.ts";
import { metricsRow } from "./metrics.ts";
import { Problems } from "./problems.ts";
import { Rates } from "./rates.ts";
import { ReadinessKeeper } from "./readiness.ts";
import { type AdminAsk, type AdminReply, errorReply } from "./request.ts";
import { createAdminRouter } from "./router.ts";
import { adminRows } from "./rows.ts";
import type { LoadStatus, ReloadReply } from "./status.ts";
import { type AskedThread, createStatus, measureMoment, type StatusSources } from "./status-reply.ts";
import { Timeline } from "./timeline.ts";
import { createTokenCheck } from "./token.ts";

/** Where the listener is, and who may ask it. */
export interface AdminSettings {
  readonly address: AdminAddress;
  /** Asked for where it is given; visible ASCII. */
  readonly token?: string | undefined;
}

/** What it is made with. */
export type AdminOptions = AdminSettings & AdminGiven;

const LOST_LOAD: Omit<LoadStatus, "at" | "generation"> = {
  result: "refused",
  durationMs: null,
  phases: null,
  rows: null,
  read: [],
  kept: [],
  problems: ["the load ended without a result; see the log"],
  retryMs: null,
};

/** Reads keys and snapshot again, once with `--allow-shrink` if asked to; undefined when a load is under way. */
function createReload(
  opened: () => OpenState | undefined,
  history: History,
  readiness: ReadinessKeeper,
): (allowShrink: boolean) => Promise<ReloadReply> | undefined {
  let isReloading = false;
  async function reload(
    { reload: reloadAll, keysProblem, state }: OpenState,
    allowShrink: boolean,
  ): Promise<ReloadReply> {
    const began = performance.now();
    const [before] = history.loads;
    const { keysLoads } = history;
    try {
      await reloadAll(allowShrink);
    } finally {
      isReloading = false;
    }
    const [newest] = history.loads;
    const generation = history.served?.id ?? null;
    const isStopping = readiness.readiness().status === "draining";
    const why = isStopping ? { problems: ["the server is stopping: nothing is loaded any more"] } : {};
    const lost = { ...LOST_LOAD, ...why, at: new Date().toISOString(), generation };
    const problem = keysProblem();
    const isNew = history.keysLoads > keysLoads;
    return {
      keys: {
        result: problem !== undefined ? "refused" : isNew ? "loaded" : "unchanged",
        total: state.gate.keys.size,
        problem: problem ?? null,
      },
      snapshot: newest === undefined || newest === before ? lost : newest,
      durationMs: Math.round(performance.now() - began),
    };
  }
  return (allowShrink) => {
    const now = opened();
    if (now === undefined || isReloading || readiness.loading !== null) return undefined;
    isReloading = true;
    return reload(now, allowShrink);
  };
}

/** What is learnt of a server by being told of it. */
function createFollowing({ settings, sharedLimits, requestCells }: AdminOptions) {
  const history = new History();
  const readiness = new ReadinessKeeper(history, settings);
  const limits = new LimitsHistory(sharedLimits);
  const problems = new Problems(readiness, limits);
  const observed = createObservedCounts();
  const observe: Observe = (observation) => {
    history.observe(observation);
    limits.observe(observation);
    problems.observe(observation);
    countObservation(observed, observation);
  };
  const snapshotEvents: SnapshotEvents = {
    began: readiness.began,
    ended: readiness.ended,
    confirmed(...at) {
      readiness.confirmed(...at);
      problems.confirmed();
    },
  };
  return {
    history,
    readiness,
    limits,
    problems,
    observed,
    rates: new Rates(requestCells),
    observe,
    snapshotEvents,
  };
}

/**
 * Starts the admin listener.
 *
 * @throws the error of the system, such as EADDRINUSE
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { address, token, observe, servingThreads, keyUse, requestCells: cells } = options;
  const following = createFollowing(options);
  const { history, readiness, problems, observed } = following;
  const eventLoop = watchEventLoop(watchVitals(countersOf(cells, mainThread(cells))));
  let opened: OpenState | undefined;
  let tell: ServingThreads["tell"] = async () => [];
  let explain = async (_ask: AdminAsk): Promise<AdminReply> =>
    errorReply(503, "The first snapshot is being loaded");

  async function askThreads(asked?: CacheQuestion): Promise<readonly AskedThread[]> {
    const holds = asked !== undefined && (opened?.searchHolds(asked.table, asked.term, asked.page) ?? false);
    const searches = opened?.searchCounts() ?? { hits: 0, joined: 0, misses: 0, entries: 0, bytes: 0 };
    const main: AskedThread = {
      role: "main",
      number: 0,
      figures: figuresOfThread(eventLoop(), searches, holds),
    };
    const told = await tell(asked);
    return [
      main,
      ...told.map(({ number, figures }): AskedThread => ({ role: "serving", number: number + 1, figures })),
    ];
  }

  async function holding(question: CacheQuestion): Promise<SearchExplanation["cache"]> {
    const threads = await askThreads(question);
    const serving = threads.filter(({ role }) => servingThreads === 1 || role === "serving");
    return { holding: serving.filter(({ figures }) => figures?.holds).length, asked: serving.length };
  }

  const sources: StatusSources = {
    ...following,
    opened: () => opened,
    servingThreads,
    keyUse,
    searchCacheBytes: options.settings.searchCacheBytes,
    windowSeconds: options.settings.rateWindow,
    askThreads: () => askThreads(),
  };
  const timeline = new Timeline(() => measureMoment(sources));
  const rows = adminRows({
    readiness: () => readiness.readiness(),
    status: createStatus(sources),
    keys: (ask) => answerKeys(ask, sources),
    timeline: () => timeline.reply(),
    explain: (ask) => explain(ask),
    reload: createReload(() => opened, history, readiness),
  });
  const checkToken = token === undefined ? undefined : createTokenCheck(token);
  const keys = (): number => opened?.state.gate.keys.size ?? 0;
  const sharedLimits = () => opened?.sharedLimits?.figures();
  const metrics = metricsRow({
    ...{ cells, observed, history, readiness, keys, sharedLimits },
    problems: () => problems.counts(),
  });
  const answer = createAdminRouter([...rows, metrics], { boundHost: address.host, checkToken });
  const maxConnections = adminConnectionLimit();
  const listener = await listenForAdmin(address, { answer, maxConnections, observe });
  const { family, address: host, port } = listener.address;
  return {
    url: `http://${family === "IPv6" ? `[${host}]` : host}:${port}/`,
    maxConnections,
    observe: following.observe,
    snapshotEvents: following.snapshotEvents,
    onProgress: (share) => readiness.progress(share),
    takeState(state) {
      opened = state;
      explain = createExplainer({ ...state, holding });
    },
    takeThreads(tellFigures) {
      tell = tellFigures;
    },
    startDraining: () => readiness.drain(),
    close: listener.close,
  };
}
