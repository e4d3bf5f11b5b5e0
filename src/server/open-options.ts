/** The options of `openOrrery`, checked. Those that are settings of `serve`, too, have default and bounds from that table. */

import { fileURLToPath } from "node:url";
import { checkKeys, checkNames, fail, type GivenKey, kindOf } from "../auth/given-keys.ts";
import { isAddress } from "../files/address.ts";
import type { Observe } from "../observe/events.ts";
import {
  type Defaults,
  defaultsOf,
  nameOf,
  problemWith,
  problemWithPrefixes,
  type Setting,
  type Settings,
  settingsOf,
} from "../settings/settings.ts";
import { RedisUrlError, readRedisUrl } from "../shared-limits/redis-url.ts";
import { isObject } from "../util/json.ts";

/** How to open. What is a setting of `serve`, too, has its default and bounds. */
export interface OpenOptions extends Partial<Pick<Settings, (typeof SETTING_OPTIONS)[number]>> {
  /** Folder of the snapshot: its path or a `file:` URL; or an `http:` or `https:` URL that ends with a slash. */
  readonly snapshot: string | URL;
  /** Folder for copies of a snapshot by URL; `orrery` in the user's cache folder when absent. */
  readonly cache?: string | URL;
  /** File with a bearer token for a snapshot by URL. */
  readonly snapshotTokenFile?: string | URL;
  /** A keys file, which is kept current, by its path or a `file:` URL; or keys. */
  readonly keys: string | URL | readonly GivenKey[];
  /** Requests of an API key per window; 1000 when absent. */
  readonly rateLimit?: number;
  /** Seconds per window; 3600 when absent. */
  readonly rateWindow?: number;
  /**
   * Share the limits of API keys with other replicas by a Valkey or Redis server: a `redis:`, `rediss:` or `unix:` URL.
   * Needs the package `@redis/client`. Not shared when absent.
   */
  readonly sharedLimits?: string;
  /** File with the password for it. */
  readonly sharedLimitsPasswordFile?: string | URL;
  /** Replicas that share the limits, which divide them while that server is away; 1 when absent. */
  readonly replicas?: number;
  /** What becomes of requests without a permit meanwhile: `"share"`, the default, or `"deny"`. */
  readonly limitsWhenAway?: "share" | "deny";
  /** Whether web pages of every origin may read the replies; true when absent. */
  readonly cors?: boolean;
  /** Whether an API reference is served at `/docs`, and the OpenAPI document at `/openapi.json`; true when absent. */
  readonly docs?: boolean;
  /** Seconds between checks of the snapshot, 0 for none; 2 when absent. */
  readonly watch?: number;
  /** Bytes for recent search results; 64 MiB when absent. */
  readonly searchCacheBytes?: number;
  /** Searches that may wait for their turn, at most half of them of one key; the others get a 503. 256 when absent. */
  readonly maxPendingSearches?: number;
  /**
   * Answer searches with `match=similar` by names that may be misspelt; they are indexed in the background after every
   * load. False when absent.
   */
  readonly similar?: boolean;
  /** Most bytes of uncompressed rows; 16 GiB when absent. */
  readonly maxSnapshotBytes?: number;
  /** Let in a new snapshot with less than half of the users or worlds; false when absent. */
  readonly allowShrink?: boolean;
  /** `svc_sk_` when absent. */
  readonly apiKeyPrefix?: string;
  /** `svcx_` when absent. */
  readonly cliTokenPrefix?: string;
  /**
   * Load and search in threads of their own, so that neither stalls the calls;
   * false for hosts without worker threads. True when absent.
   */
  readonly threads?: boolean;
  /** Observe every request; false when absent. */
  readonly accessLog?: boolean;
  readonly observe?: Observe;
}

/** Options that are settings: `rateLimit` is `--rate-limit`. */
export const SETTING_OPTIONS = [
  "rateLimit",
  "rateWindow",
  "replicas",
  "limitsWhenAway",
  "cors",
  "docs",
  "watch",
  "searchCacheBytes",
  "maxPendingSearches",
  "maxSnapshotBytes",
  "allowShrink",
  "apiKeyPrefix",
  "cliTokenPrefix",
  "similar",
  "accessLog",
] as const satisfies readonly (keyof Settings)[];

/** Options that are settings of files, too, and have no default. */
export const PATH_OPTIONS = [
  "cache",
  "snapshotTokenFile",
  "sharedLimitsPasswordFile",
] as const satisfies readonly (keyof OpenOptions & keyof Settings)[];

/** An option that is a setting, too, and has no default. */
export const URL_OPTION = "sharedLimits" satisfies keyof OpenOptions & keyof Settings;

const OPTIONS: readonly string[] = [
  "snapshot",
  "keys",
  "threads",
  "observe",
  URL_OPTION,
  ...PATH_OPTIONS,
  ...SETTING_OPTIONS,
];

/** Options as settings; those that a server has beside are at their defaults. */
export interface CheckedOptions extends Pick<OpenOptions, "threads" | "observe"> {
  /** Paths for URLs; the keys file is empty where keys are given. */
  readonly settings: Settings;
  /** Given in place of a file. */
  readonly keys: readonly GivenKey[] | undefined;
}

/** The path behind a `file:` URL; what is no URL stays as it is. */
function pathOf(name: "snapshot" | "keys" | (typeof PATH_OPTIONS)[number], given: unknown): unknown {
  if (!(given instanceof URL)) return given;
  if (given.protocol !== "file:")
    fail(`option "${name}" can be a file: URL only, is a ${given.protocol} URL`);
  try {
    return fileURLToPath(given);
  } catch (error) {
    return fail(`option "${name}": ${(error as Error).message}`);
  }
}

/** The snapshot's folder, or its URL as text. */
function snapshotOf(given: unknown): unknown {
  const address = given instanceof URL && given.protocol !== "file:" ? given.href : given;
  return typeof address === "string" && isAddress(address) ? address : pathOf("snapshot", address);
}

function checkPath(name: (typeof PATH_OPTIONS)[number], given: unknown): string {
  const path = pathOf(name, given);
  if (typeof path !== "string" || path === "") fail(`option "${name}" must be a path, is ${kindOf(path)}`);
  return path;
}

/** Where limits are shared. Messages never quote the URL, which may hold a password. */
function checkSharedLimits(given: unknown): string {
  if (typeof given !== "string") fail(`option "${URL_OPTION}" must be a URL as text, is a ${typeof given}`);
  try {
    readRedisUrl(given);
    return given;
  } catch (error) {
    if (!(error instanceof RedisUrlError)) throw error;
    return fail(`option "${URL_OPTION}" ${error.message}`);
  }
}

/** A setting's value as given. */
function checkSetting(
  name: (typeof SETTING_OPTIONS)[number],
  given: unknown,
  table: readonly Setting[],
  defaults: Defaults,
): unknown {
  const setting = settingsOf(table, "serve").find(({ flag }) => nameOf(flag) === name)!;
  const type = typeof defaults[name];
  if (typeof given !== type) fail(`option "${name}" must be a ${type}, is ${kindOf(given)}`);
  const problem = problemWith(setting, String(given));
  if (problem !== undefined) fail(`option "${name}" ${problem}, is ${kindOf(given)}`);
  return given;
}

/** The options of some names that are given, each as its check returns it. */
function checkEach<Name extends string>(
  given: Readonly<Record<string, unknown>>,
  names: readonly Name[],
  check: (name: Name, value: unknown) => unknown,
): Partial<Settings> {
  const those = names.filter((name) => given[name] !== undefined);
  return Object.fromEntries(those.map((name) => [name, check(name, given[name])]));
}

/**
 * Checks the options and makes settings of them.
 *
 * @param table the settings of all commands
 * @throws {TypeError} naming the option that is missing, unknown or wrong
 */
export function checkOptions(given: unknown, table: readonly Setting[]): CheckedOptions {
  if (given === undefined) fail("needs options: { snapshot: FOLDER, keys: FILE or [KEY, …] }");
  if (!isObject(given)) fail(`options must be an object, are ${kindOf(given)}`);
  checkNames(given, OPTIONS, "option");
  const { threads, observe } = given;
  const snapshot = snapshotOf(given.snapshot);
  const keys = pathOf("keys", given.keys);
  if (snapshot === undefined) fail('option "snapshot" is missing: the folder of the snapshot');
  if (keys === undefined) fail('option "keys" is missing: a keys file or an array of keys');
  if (typeof snapshot !== "string" || snapshot === "") {
    fail(`option "snapshot" must be the path of a folder, is ${kindOf(snapshot)}`);
  }
  if (!Array.isArray(keys) && (typeof keys !== "string" || keys === "")) {
    fail(`option "keys" must be the path of a file or an array of keys, is ${kindOf(keys)}`);
  }
  if (threads !== undefined && typeof threads !== "boolean") {
    fail(`option "threads" must be a boolean, is ${kindOf(threads)}`);
  }
  if (observe !== undefined && typeof observe !== "function") {
    fail(`option "observe" must be a function, is ${kindOf(observe)}`);
  }
  const defaults = defaultsOf(table);
  const settings: Settings = {
    ...defaults,
    ...checkEach(given, SETTING_OPTIONS, (name, value) => checkSetting(name, value, table, defaults)),
    ...checkEach(given, PATH_OPTIONS, checkPath),
    ...checkEach(given, [URL_OPTION], (_, url) => checkSharedLimits(url)),
    snapshot,
    keys: typeof keys === "string" ? keys : "",
  };
  const { apiKeyPrefix: api, cliTokenPrefix: cli } = settings;
  const problem = problemWithPrefixes(
    { prefix: api, name: 'option "apiKeyPrefix"' },
    { prefix: cli, name: 'option "cliTokenPrefix"' },
  );
  if (problem !== undefined) fail(problem);
  if (typeof keys !== "string") checkKeys(keys, { api, cli });
  return { settings, keys: typeof keys === "string" ? undefined : keys, threads, observe } as CheckedOptions;
}
