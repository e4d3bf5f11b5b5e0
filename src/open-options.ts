/** The options of `openOrrery`, checked. Those that are settings of `serve`, too, have default and bounds from that table. */

import { fileURLToPath } from "node:url";
import type { KeyKind } from "./gate/keys.ts";
import { isObject } from "./json.ts";
import { SCOPES } from "./model.ts";
import { problemWithNames } from "./nearest.ts";
import type { Observe } from "./observe.ts";
import { defaultOf, problemWith, problemWithPrefixes, readBoolean, SETTINGS } from "./settings.ts";
import { isAddress, problemWithAddress } from "./source/address.ts";

/** A key given in code. */
export interface GivenKey {
  readonly id: string;
  readonly kind: KeyKind;
  /** The whole token, prefix included. */
  readonly token: string;
  /** All three read scopes when absent. */
  readonly scopes?: readonly string[];
  /** Requests per window; the default when absent. */
  readonly limit?: number;
}

/** How to open. What is a setting of `serve`, too, has its default and bounds. */
export interface OpenOptions {
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
] as const satisfies readonly (keyof OpenOptions)[];

/** Options that are settings of files, too, and have no default. */
export const PATH_OPTIONS = ["cache", "snapshotTokenFile"] as const satisfies readonly (keyof OpenOptions)[];

const OPTIONS: readonly string[] = [
  "snapshot",
  "keys",
  "threads",
  "observe",
  ...PATH_OPTIONS,
  ...SETTING_OPTIONS,
];
const KEY_FIELDS: readonly string[] = ["id", "kind", "token", "scopes", "limit"];

/** Options with a value each, and paths for URLs. */
export type CheckedOptions = Omit<OpenOptions, "snapshot" | "keys" | (typeof PATH_OPTIONS)[number]> &
  Required<Pick<OpenOptions, (typeof SETTING_OPTIONS)[number]>> & {
    readonly snapshot: string;
    readonly cache?: string;
    readonly snapshotTokenFile?: string;
    readonly keys: string | readonly GivenKey[];
  };

function fail(message: string): never {
  throw new TypeError(`openOrrery: ${message}`);
}

/** What a value is, for a message. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean"
    ? JSON.stringify(value)
    : `${type === "object" ? "an" : "a"} ${type}`;
}

function checkNames(given: object, known: readonly string[], what: string): void {
  const problem = problemWithNames(given, known, what);
  if (problem !== undefined) fail(problem);
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
  if (typeof address !== "string" || !isAddress(address)) return pathOf("snapshot", address);
  const problem = problemWithAddress(address);
  return problem === undefined ? address : fail(`option "snapshot": ${problem}`);
}

function checkPath(name: (typeof PATH_OPTIONS)[number], given: unknown): Record<string, unknown> {
  if (given === undefined) return {};
  const path = pathOf(name, given);
  if (typeof path !== "string" || path === "") fail(`option "${name}" must be a path, is ${kindOf(path)}`);
  return { [name]: path };
}

/** A setting's value as given, or its default. */
function settingValue(name: string, given: unknown): string | number | boolean {
  const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const setting = SETTINGS.find((row) => row.flag === flag);
  if (setting === undefined) throw new Error(`no setting ${flag}`);
  const isNumber = setting.kind === "integer" || setting.kind === "number";
  const type = isNumber ? "number" : setting.kind === "flag" ? "boolean" : "string";
  if (given === undefined) {
    const text = defaultOf(flag);
    return isNumber ? Number(text) : type === "boolean" ? readBoolean(text)! : text;
  }
  if (typeof given !== type) fail(`option "${name}" must be a ${type}, is ${kindOf(given)}`);
  const problem = problemWith(setting, String(given));
  if (problem !== undefined) fail(`option "${name}" ${problem}, is ${kindOf(given)}`);
  return given as string | number | boolean;
}

/** What is wrong with a key's own fields. Messages never quote a token. */
function problemWithKey({ kind, token, scopes, limit }: GivenKey, prefixes: Record<KeyKind, string>): string {
  if (kind !== "api" && kind !== "cli") return `kind must be "api" or "cli", is ${kindOf(kind)}`;
  // A token that its kind's prefix does not begin could never be used.
  if (typeof token !== "string" || !token.startsWith(prefixes[kind]) || token === prefixes[kind]) {
    return `token must be ${prefixes[kind]} followed by at least one character`;
  }
  if (kind === "cli" && (scopes !== undefined || limit !== undefined)) {
    return "a CLI token has neither scopes nor a limit";
  }
  if (scopes !== undefined && !Array.isArray(scopes)) return "scopes must be an array";
  const unknown = scopes?.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined) return `there is no scope ${kindOf(unknown)}, only ${SCOPES.join(", ")}`;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1)) {
    return `limit must be a whole number of at least 1, is ${kindOf(limit)}`;
  }
  return "";
}

function checkKeys(keys: readonly unknown[], prefixes: Record<KeyKind, string>): void {
  const seen = new Set<string>();
  for (const [at, key] of keys.entries()) {
    // It may be a token.
    if (!isObject(key)) fail(`keys[${at}] must be an object, is a ${typeof key}`);
    checkNames(key, KEY_FIELDS, `field of keys[${at}]`);
    const given = key as unknown as GivenKey;
    if (typeof given.id !== "string" || given.id === "")
      fail(`keys[${at}]: id must be a text that is not empty`);
    const problem = problemWithKey(given, prefixes);
    if (problem !== "") fail(`key ${JSON.stringify(given.id)}: ${problem}`);
    for (const own of [`id ${given.id}`, `token ${given.token}`]) {
      if (seen.has(own)) fail(`key ${JSON.stringify(given.id)}: its id or token was given before`);
      seen.add(own);
    }
  }
}

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {TypeError} naming the option that is missing, unknown or wrong
 */
export function checkOptions(given: unknown): CheckedOptions {
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
  const settings = Object.fromEntries(SETTING_OPTIONS.map((name) => [name, settingValue(name, given[name])]));
  const paths = Object.assign({}, ...PATH_OPTIONS.map((name) => checkPath(name, given[name]))) as object;
  const checked = { ...given, ...settings, ...paths, snapshot, keys } as unknown as CheckedOptions;
  const problem = problemWithPrefixes(
    { prefix: checked.apiKeyPrefix, name: 'option "apiKeyPrefix"' },
    { prefix: checked.cliTokenPrefix, name: 'option "cliTokenPrefix"' },
  );
  if (problem !== undefined) fail(problem);
  if (Array.isArray(keys)) checkKeys(keys, { api: checked.apiKeyPrefix, cli: checked.cliTokenPrefix });
  return checked;
}
