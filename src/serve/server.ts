/** The running server: the state, kept current, behind a listener. */

import type { AddressInfo } from "node:net";
import type { Admin, AdminSettings } from "../admin/admin.ts";
import type { State } from "../answer.ts";
import { mergeNotices } from "../gate/notices.ts";
import { createListener } from "../http/listener.ts";
import { type Sharing, tryPort } from "../http/port.ts";
import type { HttpOptions } from "../http/server.ts";
import { createRequestCells } from "../metrics/counters.ts";
import { BASE_PATH } from "../model.ts";
import { codeOf, systemErrorText } from "../system-error.ts";
import { collectGarbage } from "./process/collect.ts";
import { connectionLimit } from "./process/connection-limit.ts";
import type { OpenStateOptions } from "./state/keepers.ts";
import { type OpenState, openState } from "./state/open.ts";
import { MAX_PENDING_SEARCHES } from "./state/open-searching.ts";

/** Everything a server needs to know. */
export interface ServerOptions extends OpenStateOptions {
  readonly keys: string;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly http: HttpOptions;
  /** Threads that answer requests; 1, the calling one, when absent. */
  readonly servingThreads?: number;
  /** Whether other processes may listen on the same port, if they share it as well; false when absent. */
  readonly sharePort?: boolean;
  /** The listener for operators; none when absent. */
  readonly admin?: AdminSettings | undefined;
}

/** The listener for operators cannot listen. */
export class AdminListenError extends Error {
  override name = "AdminListenError";
}

/** A server that accepts requests. */
export interface RunningServer {
  /** Base URL of the API. */
  readonly url: string;
  /** Of the listener for operators, where there is one. */
  readonly adminUrl: string | undefined;
  /** Id of the generation being served. */
  readonly generation: () => string;
  /** Reads keys and snapshot again. */
  readonly reload: () => Promise<void>;
  /** Stops without losing a request. */
  readonly stop: (why: string) => Promise<void>;
}

/**
 * Loads, listens, and keeps everything current.
 *
 * @throws {KeysFileError} {@link SnapshotError}, {@link AdminListenError}, a `ServingThreadError` or an error of the
 *   system, when it cannot start
 */
export async function startServer(given: ServerOptions): Promise<RunningServer> {
  const { admin, options } = await withAdmin(given);
  try {
    return await startWith(options, admin);
  } catch (error) {
    await admin?.close();
    throw error;
  }
}

/** Starts the listener for operators, which tells of all that comes behind it. */
async function withAdmin(given: ServerOptions): Promise<{ admin?: Admin; options: ServerOptions }> {
  const { admin: settings, observe } = given;
  if (settings === undefined) return { options: given };
  const { servingThreads = 1, searchCacheBytes, rateWindow, sharedLimits, onProgress } = given;
  const requestCells = createRequestCells(servingThreads);
  // Imported when it is needed: most of it is for operators alone.
  const { startAdmin } = await import("../admin/admin.ts");
  const admin = await startAdmin({
    ...settings,
    servingThreads,
    searchCacheBytes,
    rateWindow,
    sharedLimits,
    requestCells,
    observe,
  }).catch((error: unknown) => {
    const { host, port } = settings.address;
    const why =
      codeOf(error) === "EADDRINUSE"
        ? "the port is in use; choose another with --admin"
        : (systemErrorText(error) ?? String(error));
    throw new AdminListenError(`cannot listen for --admin on ${host} port ${port}: ${why}`);
  });
  observe({ kind: "admin-listening", url: admin.url });
  const options: ServerOptions = {
    ...given,
    requestCells,
    snapshotEvents: admin.snapshotEvents,
    onProgress(share) {
      admin.onProgress(share);
      onProgress?.(share);
    },
    observe(observation) {
      admin.observe(observation);
      observe(observation);
    },
  };
  return { admin, options };
}

async function startWith(options: ServerOptions, admin: Admin | undefined): Promise<RunningServer> {
  const { observe } = options;
  const count = options.servingThreads ?? 1;
  // A load can take minutes, and all of them would be for nothing.
  await tryPort(options.host, options.port, options.sharePort ? "anybody" : "alone");
  // Of the memory for search results half goes to the threads that serve, if there are several.
  const searchCacheBytes = count > 1 ? Math.floor(options.searchCacheBytes / 2) : options.searchCacheBytes;
  const opened = await openState({
    ...options,
    searchCacheBytes,
    onReleased: collectGarbage,
    searchesHere: count === 1,
    startsHere: (options.startsHere ?? false) && count === 1,
    sharedCounters: count > 1,
  });
  const { state } = opened;
  admin?.takeState(opened);
  const listener = await (count > 1
    ? listenInThreads(count, options, opened, admin)
    : listenHere(options, state, admin?.maxConnections)
  ).catch((error: unknown) => {
    opened.stop();
    opened.close();
    throw error;
  });
  const { address } = listener;
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  const url = `http://${host}:${address.port}${BASE_PATH}`;
  const generation = (): string => state.generation.store.id;
  observe({ kind: "listening", url, generation: generation() });
  opened.beginSimilar();
  opened.beginSaving();
  return {
    url,
    adminUrl: admin?.url,
    generation,
    reload: opened.reload,
    async stop(why) {
      const began = performance.now();
      admin?.startDraining();
      observe({ kind: "stopping", signal: why });
      opened.stop();
      await listener.drain();
      await opened.saveCounts();
      opened.close();
      await admin?.close();
      observe({ kind: "stopped", ms: Math.round(performance.now() - began) });
    },
  };
}

interface Listening {
  readonly address: AddressInfo;
  readonly drain: () => Promise<void>;
}

async function listenHere(
  { host, port, http: limits, observe, sharePort }: ServerOptions,
  state: State,
  adminConnections: number | undefined,
): Promise<Listening> {
  const maxConnections = connectionLimit(1, adminConnections);
  const listener = await createListener(state, { maxConnections, ...limits }, { observe, collectGarbage });
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
  const {
    host,
    port,
    prefixes,
    rateLimit,
    cors,
    docs = false,
    accessLog,
    accessSampling,
    requestCells,
    observe,
    similar = false,
  } = options;
  const cacheBytes = Math.floor(options.searchCacheBytes / 2 / count);
  const sharing: Sharing = options.sharePort ? "anybody" : "threads";
  const { maxPendingSearches = MAX_PENDING_SEARCHES } = options;
  const settings = {
    host,
    port,
    sharing,
    http: { maxConnections: connectionLimit(count, admin?.maxConnections), ...options.http },
    prefixes,
    rateLimit,
    cors,
    docs,
    accessLog,
    accessSampling,
    requestCells,
    tellsFigures: requestCells !== undefined,
    similar,
    cacheBytes,
    maxPendingSearches,
  };
  // Imported when it is needed: most servers have one thread.
  const { startServingThreads } = await import("./threads/serving-threads.ts");
  const threads = await startServingThreads(count, settings, opened, mergeNotices(observe));
  admin?.takeThreads(threads.tell);
  return threads;
}
