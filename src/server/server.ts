/** The running server: a listener, and the state that it answers from, kept current. */

import { availableParallelism } from "node:os";
import type { State } from "../api/answer.ts";
import { createKeyUse, type KeyUse } from "../auth/key-use.ts";
import { rationNotices } from "../auth/notices.ts";
import { createListener } from "../http/listener.ts";
import { tryPort } from "../http/port.ts";
import type { HttpLimits } from "../http/server.ts";
import { MAX_ALL_UNSENT_BYTES } from "../http/unsent.ts";
import { BASE_PATH } from "../model/model.ts";
import { originOf } from "../model/socket-place.ts";
import type { Tables } from "../observe/events.ts";
import type { LogSink } from "../observe/log/log.ts";
import { createRequestCells, type RequestCells } from "../observe/metrics/counters.ts";
import { MOST_THREADS, type Settings } from "../settings/settings.ts";
import { collectGarbage } from "../util/process/collect.ts";
import { connectionLimit } from "../util/process/connection-limit.ts";
import { type OpenState, type OpenStateOptions, openState } from "./open.ts";
import { ServingThreads } from "./threads/serving-threads.ts";

export interface AdminGiven extends Pick<OpenStateOptions, "settings" | "sharedLimits" | "observe"> {
  readonly servingThreads: number;
  readonly requestCells: RequestCells;
  readonly keyUse: readonly KeyUse[];
  readonly tables: Tables;
}

/** The admin listener's knowledge of its server, which keeps it current. */
export interface Watched
  extends Required<Pick<OpenStateOptions, "observe" | "snapshotEvents" | "onProgress">> {
  /** Undefined until the first snapshot is loaded. */
  opened: OpenState | undefined;
}

export interface Admin {
  /** Ends with a slash. */
  readonly url: string;
  /** Most connections; the server leaves descriptors for them. */
  readonly maxConnections: number;
  readonly watched: Watched;
  readonly close: () => Promise<void>;
}

/** Starts the admin listener. @throws {UserError} when it cannot listen */
export type OpenAdmin = (given: AdminGiven) => Promise<Admin>;

export interface ServerOptions extends OpenStateOptions {
  readonly tables: Tables;
  readonly admin?: OpenAdmin | undefined;
  /** Bounds of connections in place of their constants. */
  readonly limits?: Partial<HttpLimits> | undefined;
  /** Makes the log's sink report its own faults, too. */
  readonly watchLog?: LogSink["watch"];
}

export function threadsFrom(value: Settings["threads"]): number {
  return value === "auto" ? Math.min(availableParallelism(), MOST_THREADS) : value;
}

export type RunningServer = Awaited<ReturnType<typeof startWith>>;

/** Loads, listens, and keeps everything current. @throws {UserError} or an error of the system, when it cannot start */
export async function startServer(given: ServerOptions): Promise<RunningServer> {
  const { admin, options } = await withAdmin(given);
  try {
    return await startWith(options, admin);
  } catch (error) {
    await admin?.close();
    throw error;
  }
}

/** Starts the admin listener, which reports the rest of the start. */
async function withAdmin(given: ServerOptions): Promise<{ admin?: Admin; options: ServerOptions }> {
  const { admin: open, settings, sharedLimits, tables, observe, onProgress } = given;
  if (open === undefined) return { options: given };
  const servingThreads = threadsFrom(settings.threads);
  const requestCells = createRequestCells(servingThreads);
  const keyUse = createKeyUse(servingThreads);
  const admin = await open({ settings, servingThreads, sharedLimits, requestCells, keyUse, tables, observe });
  const { watched, url } = admin;
  given.watchLog?.(watched.observe);
  observe({ kind: "admin-listening", url });
  const options: ServerOptions = {
    ...given,
    requestCells,
    keyUse,
    snapshotEvents: watched.snapshotEvents,
    onProgress(share) {
      watched.onProgress(share);
      onProgress?.(share);
    },
    observe(observation) {
      watched.observe(observation);
      observe(observation);
    },
  };
  return { admin, options };
}

async function startWith(options: ServerOptions, admin: Admin | undefined) {
  const { settings, observe } = options;
  const { host, port, sharePort } = settings;
  const count = threadsFrom(settings.threads);
  // Checked first: a load can take minutes, in vain if the port is in use.
  await tryPort(host, port, sharePort ? "anybody" : "alone");
  const opened = await openState({ ...options, onReleased: collectGarbage, servesElsewhere: count > 1 });
  const { state } = opened;
  if (admin) admin.watched.opened = opened;
  const listener = await (count > 1
    ? listenInThreads(count, options, opened, admin)
    : listenHere(options, state, admin?.maxConnections)
  ).catch((error: unknown) => {
    opened.close();
    throw error;
  });
  const { address } = listener;
  const origin = originOf(address);
  const isLocal = address.family === "unix";
  const url = isLocal ? origin : origin + BASE_PATH;
  const generation = (): string => state.generation.store.id;
  observe({ kind: "listening", url, generation: generation() });
  opened.begin();
  return {
    url,
    /** Undefined without an admin listener; likewise `pagesUrl` without pages. */
    adminUrl: admin?.url,
    pagesUrl: isLocal ? undefined : state.pages && new URL(state.pages.home, url).href,
    generation,
    reload: (): Promise<unknown> => opened.reload(),
    /** Stops without losing a request. */
    async stop(why: string): Promise<void> {
      const began = performance.now();
      observe({ kind: "stopping", signal: why });
      opened.stop();
      await listener.drain();
      opened.close();
      await admin?.close();
      observe({ kind: "stopped", ms: Math.round(performance.now() - began) });
    },
  };
}

type Listening = Pick<ServingThreads, "address" | "drain">;

async function listenHere(
  { settings, limits, observe }: ServerOptions,
  state: State,
  adminConnections: number | undefined,
): Promise<Listening> {
  const { host, port, sharePort } = settings;
  const maxConnections = connectionLimit(1, adminConnections);
  const listener = await createListener(state, { ...settings, ...limits, maxConnections }, observe);
  const address = await listener.listen(host, port, sharePort ? "anybody" : "alone");
  return {
    address,
    async drain() {
      await listener.stopListening();
      await listener.leave();
    },
  };
}

async function listenInThreads(
  count: number,
  options: ServerOptions,
  opened: OpenState,
  admin: Admin | undefined,
): Promise<Listening> {
  const { settings, limits, requestCells, keyUse, observe } = options;
  const task = {
    settings,
    limits: {
      ...limits,
      maxConnections: connectionLimit(count, admin?.maxConnections),
      maxUnsentBytes: MAX_ALL_UNSENT_BYTES / count,
    },
    writesAccess: options.writeAccess !== undefined,
    requestCells,
    keyUse,
    cacheBytes: Math.floor(opened.searchCacheBytes / count),
  };
  const threads = new ServingThreads(task, { ...options, ...opened, observe: rationNotices(observe) });
  await threads.start(count);
  return threads;
}
