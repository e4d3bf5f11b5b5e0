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

import type { GivenKey } from "./auth/given-keys.ts";
import { hashToken, type KeyRecord } from "./auth/keys.ts";
import { type OpenOptions, PROGRAM } from "./features.ts";
import { createDirectAdapter, type DirectDoor } from "./http/direct.ts";
import { createFetchHandler, type FetchHandler } from "./http/fetch.ts";
import { createNodeDoor, type Handler } from "./http/node-door.ts";
// Throws where the library does not run.
import { IS_SUPPORTED } from "./install/supported.mjs";
import { SCOPES } from "./model/model.ts";
import { type Observe, observeNothing } from "./observe/events.ts";
import type { CacheCounts } from "./search/cache.ts";
import { findSource } from "./server/load/source.ts";
import { openState } from "./server/open.ts";
import { checkOptions } from "./server/open-options.ts";
import { SettingError } from "./settings/setting-error.ts";

// An import without a name would stand in the declarations, too.
void IS_SUPPORTED;

export type { GivenKey } from "./auth/given-keys.ts";
export { KeysFileError } from "./auth/keys.ts";
export type { OpenOptions } from "./features.ts";
export type { DirectAsk, DirectDoor, DirectReply } from "./http/direct.ts";
export type { FetchHandler } from "./http/fetch.ts";
export type { Handler } from "./http/node-door.ts";
export type { Instance, PlatformStats, Scope, User, World, WorldStats } from "./model/model.ts";
export type { Observation, Observe } from "./observe/events.ts";
export type { CacheCounts } from "./search/cache.ts";
export { SnapshotError } from "./server/load/snapshots.ts";

/** An open replica. */
export interface Orrery {
  /** Direct calls, without HTTP. */
  readonly ask: DirectDoor;
  /** A web-standard handler. */
  readonly fetch: FetchHandler;
  /**
   * A handler for `http.createServer` (make the server with `requireHostHeader: false`) and for hosts such as
   * Express: `app.use(orrery.handle)` leaves all but the API and its pages to the host.
   */
  readonly handle: Handler;
  /** Id of the generation being served. */
  readonly generation: () => string;
  /** How the searches of that generation were answered: from the cache or not. */
  readonly searchCache: () => CacheCounts;
  /** Loads snapshot and keys again. A bad snapshot changes nothing and is observed. */
  readonly reload: () => Promise<void>;
  /**
   * Stops all watching and ends the threads. From then on `ask` rejects, and `fetch` and `handle` answer every
   * operation with a 503; `reload` does nothing.
   */
  readonly close: () => void;
}

function recordOf({ id, kind, token, scopes = SCOPES, limit }: GivenKey): KeyRecord {
  return {
    id,
    kind,
    name: id,
    sha256: hashToken(token),
    scopes: [...scopes],
    limit: limit ?? null,
    active: true,
    expiresAt: null,
    createdAt: new Date().toISOString(),
  };
}

/** Keeps an observer's errors out of what it observes: they end up where uncaught errors of the program do. */
function guarded(observe: Observe): Observe {
  return (observation) => {
    try {
      observe(observation);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };
}

/** Names the option that cannot be used; passes on any other error. @throws {Error} */
function nameOption(error: unknown): never {
  if (!(error instanceof SettingError)) throw error;
  const message = `option "${error.setting}"${error.detail}`;
  throw error.isMisuse ? new TypeError(`openOrrery: ${message}`) : new Error(message);
}

/**
 * Opens a snapshot for reading from the same program.
 *
 * @throws {SnapshotError} when the snapshot cannot be loaded
 * @throws {KeysFileError} when the keys file cannot be used
 * @throws {Error} when limits are to be shared and the file of the password cannot be read, or the package for it is missing
 * @throws {TypeError} naming the option that is missing, unknown or wrong
 */
export async function openOrrery(options: OpenOptions): Promise<Orrery> {
  const { settings, keys, threads, observe } = checkOptions(options, PROGRAM.settings);
  const { features } = PROGRAM;
  const source = await findSource(features.findSource, {
    ...{ snapshot: settings.snapshot, settings, tokenName: 'option "snapshotTokenFile"' },
    cacheHome: () => process.env.XDG_CACHE_HOME,
  }).catch(nameOption);
  const opening = openState({
    ...{ features, settings, source },
    records: keys?.map(recordOf),
    sharedLimits: await features.shareLimits?.(settings).catch(nameOption),
    threads: threads ?? true,
    observe: observe === undefined ? observeNothing : guarded(observe),
  });
  const { state, reload, beginSimilar, stop, searchCounts, close } = await opening.catch(nameOption);
  beginSimilar();
  return {
    ask: createDirectAdapter(state),
    fetch: createFetchHandler(state),
    handle: createNodeDoor(state),
    generation: () => state.generation.store.id,
    searchCache: searchCounts,
    reload,
    close() {
      state.gate.closed = true;
      stop();
      close();
    },
  };
}
