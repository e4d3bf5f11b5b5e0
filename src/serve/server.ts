/** The running server: the state, kept current, behind a listener. */

import type { AddressInfo } from "node:net";
import type { State } from "../answer.ts";
import { BASE_PATH } from "../model.ts";
import { createListener } from "./listen/create-listener.ts";
import type { HttpLimits } from "./listen/http.ts";
import { type Sharing, tryPort } from "./listen/port.ts";
import { collectGarbage } from "./process/collect.ts";
import { connectionLimit } from "./process/connection-limit.ts";
import { MAX_PENDING_SEARCHES, type OpenState, type OpenStateOptions, openState } from "./state/open.ts";

/** Everything a server needs to know. */
export interface ServerOptions extends OpenStateOptions {
  readonly keys: string;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly http: HttpLimits;
  /** Threads that answer requests; 1, the calling one, when absent. */
  readonly servingThreads?: number;
  /** Whether other processes may listen on the same port, if they share it as well; false when absent. */
  readonly sharePort?: boolean;
}

/** A server that accepts requests. */
export interface RunningServer {
  /** Base URL of the API. */
  readonly url: string;
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
 * @throws {KeysFileError} {@link SnapshotError}, a `ServingThreadError` or an error of the system, when it cannot start
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
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
  const listener = await (count > 1
    ? listenInThreads(count, options, opened)
    : listenHere(options, state)
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
  return {
    url,
    generation,
    reload: opened.reload,
    async stop(why) {
      const began = performance.now();
      observe({ kind: "stopping", signal: why });
      opened.stop();
      await listener.drain();
      opened.close();
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
): Promise<Listening> {
  const listener = await createListener(state, { maxConnections: connectionLimit(1), ...limits }, observe);
  const address = await listener.listen(host, port, sharePort ? "anybody" : "alone");
  return {
    address,
    async drain() {
      await listener.stopListening();
      await listener.leave();
    },
  };
}

async function listenInThreads(count: number, options: ServerOptions, opened: OpenState): Promise<Listening> {
  const {
    host,
    port,
    prefixes,
    rateLimit,
    cors,
    accessLog,
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
    http: { maxConnections: connectionLimit(count), ...options.http },
    prefixes,
    rateLimit,
    cors,
    accessLog,
    requestCells,
    tellsFigures: requestCells !== undefined,
    similar,
    cacheBytes,
    maxPendingSearches,
  };
  // Imported when it is needed: most servers have one thread.
  const { startServingThreads } = await import("./threads/serving-threads.ts");
  return await startServingThreads(count, settings, opened, observe);
}
