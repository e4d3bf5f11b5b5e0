/** Checks the options of `openOrrery`. Options that are also settings of `serve` take default and bounds from that table. */

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { checkKeys, type GivenKey, kindOf } from "../auth/given-keys.ts";
import { isAddress } from "../files/folders.ts";
import type { Observe } from "../observe/events.ts";
import {
  defaultsOf,
  isPath,
  nameOf,
  problemWith,
  problemWithPrefixes,
  type Setting,
  type Settings,
  settingsOf,
} from "../settings/settings.ts";
import type { GivenRows } from "../snapshot/given-rows.ts";
import { ROWS_OF } from "../snapshot/reuse.ts";
import { problemWithNames } from "../util/distance.ts";
import { isObject } from "../util/json.ts";

/** The core's options; features add theirs. An option that is also a setting of `serve` has its default and bounds. */
export interface CoreOptions {
  /**
   * Folder of the snapshot: its path or a `file:` URL; or an `http:` or `https:` URL that ends with a slash. Either this or
   * {@link rows}.
   */
  readonly snapshot?: string | URL;
  /** The rows themselves, hidden ones included, as objects; an absent table is empty. They are read once. */
  readonly rows?: GivenRows;
  /** A keys file, which is kept current, by its path or a `file:` URL; or the keys themselves. */
  readonly keys: string | URL | readonly GivenKey[];
  /** Requests of an API key per window; 1000 when absent. */
  readonly rateLimit?: number;
  /** Seconds per window; 3600 when absent. */
  readonly rateWindow?: number;
  /** Whether web pages of every origin may read the replies; true when absent. */
  readonly cors?: boolean;
  /** Seconds between checks of the snapshot, 0 for none; 2 when absent. */
  readonly watch?: number;
  /** Bytes for recent search results; 64 MiB when absent. */
  readonly searchCacheBytes?: number;
  /** Accept a new snapshot with less than half of the users or worlds; false when absent. */
  readonly allowShrink?: boolean;
  /** `svc_sk_` when absent. */
  readonly apiKeyPrefix?: string;
  /** `svcx_` when absent. */
  readonly cliTokenPrefix?: string;
  /**
   * Load snapshots, and index names for similar search, in threads of their own, so that neither stalls the calls;
   * false for hosts without worker threads. True when absent.
   */
  readonly threads?: boolean;
  /** Observe every request; false when absent. */
  readonly accessLog?: boolean;
  readonly observe?: Observe;
}

/** @internal Checks that given rows are tables that can be read. @throws {TypeError} */
export function checkRows(rows: unknown, who: string): asserts rows is GivenRows {
  if (!isObject(rows)) throw new TypeError(`${who} must be an object with tables, is ${kindOf(rows)}`);
  if (rows instanceof Promise)
    throw new TypeError(`${who} must be an object with tables, is a promise: await it`);
  if (Symbol.iterator in rows) throw new TypeError(`${who} must be an object with tables, is an iterable`);
  const unknown = problemWithNames(rows, Object.values(ROWS_OF), "table");
  if (unknown !== undefined) throw new TypeError(`${who}: ${unknown}`);
  for (const [name, table] of Object.entries(rows)) {
    const isList =
      typeof table === "object" &&
      table !== null &&
      (Symbol.iterator in table || Symbol.asyncIterator in table);
    if (table !== undefined && !isList)
      throw new TypeError(`${who}: ${name} must be an iterable of rows, is ${kindOf(table)}`);
  }
}

/** @internal The rows of the options that are also settings: `rateLimit` is `--rate-limit`. */
export function optionRows(table: readonly Setting[]): Setting[] {
  return settingsOf(table, "serve").filter(({ isOption }) => isOption);
}

function fail(message: string): never {
  throw new TypeError(`openOrrery: ${message}`);
}

/** Texts that are no paths, where a later error would be missing or not name the option. */
const NO_PATHS: readonly (readonly [RegExp, string])[] = [
  [/^[a-z][a-z0-9+.-]*:\/\//i, "is a URL as text; it takes a path or a file: URL object"],
  [/^~(\/|$)/, "begins with ~, which only shells replace; os.homedir() gives the home folder"],
  [/\0/, "must not hold a null character"],
];

/** The absolute path that an option gives, as text or as a `file:` URL. @param what the words for it */
function pathOf(name: string, given: unknown, what = "a path"): string {
  if (given instanceof URL) return pathOfUrl(name, given);
  if (typeof given !== "string" || given === "")
    return fail(`option "${name}" must be ${what}, is ${kindOf(given)}`);
  const problem = NO_PATHS.find(([pattern]) => pattern.test(given));
  // Absolute: the program may change its folder, as the standalone server of Next does, and messages then show where it looked.
  return problem ? fail(`option "${name}" ${problem[1]}`) : resolve(given);
}

function pathOfUrl(name: string, url: URL): string {
  if (url.protocol !== "file:") fail(`option "${name}" can be a file: URL only, is a ${url.protocol} URL`);
  try {
    return fileURLToPath(url);
  } catch (error) {
    return fail(`option "${name}": ${(error as Error).message}`);
  }
}

/** The snapshot's folder, or its URL as text. */
function snapshotOf(given: unknown): string {
  if (given === undefined) fail('option "snapshot" is missing: the folder of the snapshot; or give "rows"');
  const address = given instanceof URL && given.protocol !== "file:" ? given.href : given;
  const isUrl = typeof address === "string" && isAddress(address) && !/^file:/i.test(address);
  return isUrl ? address : pathOf("snapshot", address, "the path of a folder");
}

function keysOf(given: unknown): string | unknown[] {
  if (given === undefined) fail('option "keys" is missing: a keys file or an array of keys');
  return Array.isArray(given) ? given : pathOf("keys", given, "the path of a file or an array of keys");
}

function typeOf({ kind }: Setting): "boolean" | "number" | "string" {
  if (kind === "flag") return "boolean";
  return kind === "integer" || kind === "number" ? "number" : "string";
}

function checkOption(setting: Setting, name: string, given: unknown): unknown {
  if (isPath(setting)) return pathOf(name, given);
  const type = typeOf(setting);
  // A value that may hold a secret is not quoted.
  const { isSecret, choices = [] } = setting;
  const what = `a ${isSecret ? `${setting.value} as text` : type}`;
  const wanted =
    setting.kind === "choice"
      ? `one of ${choices.join(", ")}`
      : [...choices.map((word) => `"${word}"`), what].join(" or ");
  const is = isSecret && typeof given === "string" ? "" : `, is ${kindOf(given)}`;
  const isWord = choices.some((word) => word === given);
  if (typeof given !== type && !isWord) fail(`option "${name}" must be ${wanted}${is}`);
  const problem = problemWith(setting, String(given));
  if (problem !== undefined) fail(`option "${name}" ${problem}${is}`);
  return given;
}

/**
 * @internal Checks the options and makes settings of them; the other settings of a server have their defaults. `file:` URLs
 * become paths. Given keys are returned beside the settings, whose `keys` is empty then.
 * @param table the settings of all commands
 * @throws {TypeError} naming the option that is missing, unknown or wrong
 */
export function checkOptions(given: unknown, table: readonly Setting[]) {
  if (given === undefined) fail("needs options: { snapshot: FOLDER, keys: FILE or [KEY, …] }");
  if (!isObject(given)) fail(`options must be an object, are ${kindOf(given)}`);
  const options = optionRows(table).map((row) => ({ row, name: nameOf(row.flag) }));
  const names = ["snapshot", "rows", "keys", "threads", "observe", ...options.map(({ name }) => name)];
  const unknown = problemWithNames(given, names, "option");
  if (unknown !== undefined) fail(unknown);
  const { rows, threads, observe } = given;
  if (rows !== undefined && given.snapshot !== undefined)
    fail('takes the option "snapshot" or "rows", not both');
  if (rows !== undefined) checkRows(rows, 'openOrrery: option "rows"');
  const snapshot = rows === undefined ? snapshotOf(given.snapshot) : "";
  const keys = keysOf(given.keys);
  if (threads !== undefined && typeof threads !== "boolean") {
    fail(`option "threads" must be a boolean, is ${kindOf(threads)}`);
  }
  if (observe !== undefined && typeof observe !== "function") {
    fail(`option "observe" must be a function, is ${kindOf(observe)}`);
  }
  const present = options.filter(({ name }) => given[name] !== undefined);
  const checked = present.map(({ row, name }) => [name, checkOption(row, name, given[name])]);
  const settings: Settings = {
    ...defaultsOf(table),
    ...Object.fromEntries(checked),
    snapshot,
    keys: typeof keys === "string" ? keys : "",
  };
  const problem = problemWithPrefixes(settings, {
    apiKeyPrefix: 'option "apiKeyPrefix"',
    cliTokenPrefix: 'option "cliTokenPrefix"',
  });
  if (problem !== undefined) fail(problem);
  if (typeof keys !== "string") checkKeys(keys, { api: settings.apiKeyPrefix, cli: settings.cliTokenPrefix });
  const givenKeys = typeof keys === "string" ? undefined : (keys as GivenKey[]);
  return { settings, keys: givenKeys, rows, threads, observe: observe as Observe | undefined };
}
