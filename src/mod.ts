/**
 * The library: a read replica inside your own program.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { openOrrery } from "orrery";
 *
 * const orrery = await openOrrery({
 *   snapshot: "data/sample",
 *   keys: [{ id: "me", kind: "cli", token: "svcx_secret" }],
 * });
 * const reply = await orrery.ask({
 *   target: "/api/public/v1/stats",
 *   authorization: "Bearer svcx_secret",
 * });
 * assert.equal(reply.status, 200);
 * assert.ok(JSON.parse(reply.body).data.totalUsers > 0);
 * orrery.close();
 * ```
 */

import { checkKeys, type GivenKey, recordOf } from "./auth/given-keys.ts";
import { ApiError, type Client, createClient } from "./client/mod.ts";
import { FEATURES, type OpenOptions, TABLE } from "./features.ts";
import { createApiApp } from "./http/api.ts";
import { createDirectAdapter, createLocalFetch, type DirectDoor, LOCAL_ORIGIN } from "./http/direct.ts";
import { createFetchHandler, type FetchHandler } from "./http/fetch.ts";
import { createNodeDoor, type Handler } from "./http/node-door.ts";
// Throws where the library does not run.
import { IS_SUPPORTED } from "./install/supported.mjs";
import { type ChosenCaller, PROCESS } from "./model/message.ts";
import type { Reloaded } from "./model/reload.ts";
import { type CacheCounts, type Observe, observeNothing } from "./observe/events.ts";
import type { RowsHolder } from "./server/load/given-rows.ts";
import { findSource } from "./server/load/source.ts";
import { openState } from "./server/open.ts";
import { checkOptions, checkRows } from "./server/open-options.ts";
import { SettingError } from "./settings/settings.ts";
import type { GivenRows } from "./snapshot/given-rows.ts";
import { throwUncaught } from "./util/process/uncaught.ts";

// An import without a name would appear in the declarations, too.
void IS_SUPPORTED;

export type { GivenKey } from "./auth/given-keys.ts";
export { KeysFileError } from "./auth/keys.ts";
export type { Client } from "./client/mod.ts";
export type { OpenOptions } from "./features.ts";
export type { DirectAsk, DirectDoor, DirectReply } from "./http/direct.ts";
export type { FetchHandler, RequestLike } from "./http/fetch.ts";
export type { Handler } from "./http/node-door.ts";
export type { Instance, PlatformStats, Scope, User, World, WorldStats } from "./model/model.ts";
export type { Reloaded } from "./model/reload.ts";
export type { CacheCounts, Observation, Observe } from "./observe/events.ts";
export type {
  GivenInstance,
  GivenRows,
  GivenTable,
  GivenUser,
  GivenWorld,
  GivenWorldStats,
} from "./snapshot/given-rows.ts";
export { SnapshotError } from "./util/user-error.ts";

/** The doors to a replica. */
export interface Doors {
  /** Direct calls, without HTTP. */
  readonly ask: DirectDoor;
  /** A web-standard handler. */
  readonly fetch: FetchHandler;
  /**
   * A handler for `http.createServer` (make the server with `requireHostHeader: false`) and for hosts such as
   * Express: `app.use(orrery.handle)` leaves all but the API and its pages to the host.
   */
  readonly handle: Handler;
}

/** An open replica. */
export interface Orrery extends Doors {
  /**
   * The doors under the key with this id, which ignore `Authorization`: for programs with a login of their own. An
   * unknown id is answered like an unknown API key.
   */
  readonly as: (keyId: string) => Doors;
  /**
   * The client of `orrery/client` over this process, without a network. Without a token it reads as the process itself:
   * every scope, nothing counted.
   * @throws {TypeError} for a malformed token
   */
  readonly client: (token?: string) => Client;
  /**
   * Replaces the keys that were given to `openOrrery`, at once; the counts continue by id.
   * @throws {TypeError} naming the faulty key; then nothing changes
   */
  readonly setKeys: (keys: readonly GivenKey[]) => void;
  /**
   * Replaces the rows that were given to `openOrrery`, as a reload does: resolves with its outcome, and rows with a problem
   * change nothing.
   * @throws {TypeError} when the rows are no tables, or the snapshot is a folder
   */
  readonly setRows: (rows: GivenRows) => Promise<Reloaded>;
  /** Id of the generation being served. */
  readonly generation: () => string;
  /** Counts of the searches of that generation, by their use of the cache, and the size of the cache. */
  readonly searchCache: () => CacheCounts;
  /** Loads snapshot and keys again; resolves with the outcome of both. A bad snapshot changes nothing. */
  readonly reload: () => Promise<Reloaded>;
  /**
   * Stops all watching and ends the threads. Afterwards every request is answered with 503 `Server is closed`, and
   * `reload` refuses.
   */
  readonly close: () => void;
  /** The same as {@link close}, for `using`. */
  readonly [Symbol.dispose]: () => void;
}

/** Keeps an observer's errors out of the observed code: they become uncaught errors of the program. */
function guarded(observe: Observe): Observe {
  return (observation) => {
    try {
      observe(observation);
    } catch (error) {
      throwUncaught(error);
    }
  };
}

/** Names the option that cannot be used; passes on any other error. @throws {Error} */
function nameOption(error: unknown): never {
  if (!(error instanceof SettingError)) throw error;
  const message = `option "${error.setting}"${error.detail}`;
  throw error.isMisuse ? new TypeError(`openOrrery: ${message}`) : new Error(message);
}

/** @param holder undefined if the rows are those of a snapshot */
function createSetRows(holder: RowsHolder | undefined, reload: () => Promise<Reloaded>): Orrery["setRows"] {
  /** The newest load: each is done before the next. */
  let newest: Promise<unknown> = Promise.resolve();
  return async (rows) => {
    if (holder === undefined)
      throw new TypeError("setRows: the rows are those of a snapshot, which is kept current");
    checkRows(rows, "setRows: rows");
    const loaded = newest.then(() => {
      holder.give(rows);
      return reload();
    });
    newest = loaded;
    return await loaded;
  };
}

/**
 * Opens a snapshot for reading from the same program.
 * @throws {SnapshotError} when the snapshot cannot be loaded
 * @throws {KeysFileError} when the keys file cannot be used
 * @throws {Error} when limits are to be shared and the file of the password cannot be read, or the package for it is missing
 * @throws {TypeError} naming the option that is missing, unknown or wrong
 */
export async function openOrrery(options: OpenOptions): Promise<Orrery> {
  const { settings, keys, rows, threads = true, observe } = checkOptions(options, TABLE);
  // Imported only when needed.
  const holder = rows && (await import("./server/load/given-rows.ts")).createRowsHolder(rows, threads);
  const source = await findSource(FEATURES.findSource, {
    snapshot: settings.snapshot,
    settings,
    nameOf: (name) => `option "${name}"`,
    cacheHome: () => process.env.XDG_CACHE_HOME,
  }).catch(nameOption);
  const opened = await openState({
    features: FEATURES,
    settings: holder === undefined ? settings : { ...settings, watch: 0 },
    source: holder === undefined ? source : () => holder.source,
    load: holder?.load,
    records: keys?.map(recordOf),
    sharedLimits: await FEATURES.shareLimits?.(settings).catch(nameOption),
    threads,
    observe: observe === undefined ? observeNothing : guarded(observe),
  }).catch(nameOption);
  const { state, reload, takeRecords } = opened;
  opened.begin();
  const doors = (caller?: ChosenCaller): Doors => ({
    ask: createDirectAdapter(state, caller),
    fetch: createFetchHandler(state, caller),
    handle: createNodeDoor(createApiApp(state), caller),
  });
  const close = (): void => {
    state.gate.closed = true;
    opened.close();
  };
  return {
    ...doors(),
    as(keyId) {
      if (typeof keyId !== "string") throw new TypeError("as: the id of a key must be a string");
      return doors(keyId);
    },
    client: (token) =>
      createClient({
        baseUrl: LOCAL_ORIGIN,
        token: token === undefined ? "process" : token,
        fetch: createLocalFetch(state, token === undefined ? PROCESS : undefined),
        // Ends the client's retries, which would be in vain.
        onResponse({ status }) {
          if (status === 503 && state.gate.closed) throw new ApiError(status, "Server is closed");
        },
      }),
    setKeys(given) {
      if (keys === undefined)
        throw new TypeError("setKeys: the keys are those of a file, which is kept current");
      if (!Array.isArray(given)) throw new TypeError("setKeys: keys must be an array");
      checkKeys(given, state.gate.prefixes, "setKeys");
      takeRecords(given.map(recordOf));
    },
    setRows: createSetRows(holder, reload),
    generation: () => state.generation.store.id,
    searchCache: () => opened.served.search.counts(),
    reload: () => reload(),
    close,
    [Symbol.dispose]: close,
  };
}
