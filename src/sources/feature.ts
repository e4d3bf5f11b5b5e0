/** Settings, events and metrics of snapshots from a URL or a database, and how their source is found. */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { addressForMessages } from "../files/folders.ts";
import { type EventRow, event } from "../observe/events.ts";
import type { Metric } from "../observe/metrics/table.ts";
import type { OpenSource, SourceQuestion } from "../server/load/source.ts";
import { ALLOW_SHRINK, type Setting, SettingError } from "../settings/settings.ts";
import { SourceError } from "../util/source-error.ts";

/** Seconds between two rounds of a server. */
const ROUND_SECONDS = 60;

const BY_DATABASE = {
  flag: "snapshot",
  form: /^postgres(ql)?:\/\//i,
  why: "without a snapshot by postgres://",
};
const BY_URL = { flag: "snapshot", form: /^https?:\/\//i, why: "without a snapshot by http:// or https://" };

/** @internal */
export const SOURCES_SETTINGS = [
  {
    flag: "cache",
    isOption: true,
    after: "watch",
    kind: "text",
    value: "DIR",
    meaning: "Directory for copies of snapshots by URL. Default: `orrery` in the user's cache directory.",
    commands: ["serve"],
  },
  {
    flag: "snapshot-token-file",
    isOption: true,
    after: "watch",
    kind: "text",
    value: "FILE",
    needs: BY_URL,
    meaning: "File with a bearer token for a snapshot by URL.",
    commands: ["serve"],
  },
  { ...ALLOW_SHRINK, commands: ["export"] },
  {
    flag: "postgres",
    kind: "text",
    value: "URL",
    required: true,
    meaning:
      "The database: `postgres://user@host:port/database?sslmode=require`. A password is better in `PGPASSWORD` or " +
      "`~/.pgpass`, where other users of the machine do not see it; `-` reads the URL from the first line of standard input.",
    commands: ["export"],
  },
  {
    flag: "out",
    kind: "text",
    value: "DIR",
    required: true,
    meaning:
      "Place of the symbolic link to the current snapshot. The snapshots themselves are in `DIR.versions`.",
    commands: ["export"],
  },
  {
    flag: "queries",
    kind: "text",
    value: "FILE",
    after: "watch",
    needs: BY_DATABASE,
    meaning:
      "JSON with a query by table: `users`, `worlds`, `world-stats`, `instances`. Default: those in docs/snapshots.md.",
    commands: ["export", "serve"],
  },
  {
    flag: "every",
    kind: "number",
    value: "SECONDS",
    min: 0.1,
    max: 31_536_000,
    default: String(ROUND_SECONDS),
    after: "watch",
    needs: BY_DATABASE,
    meaning: "Export every so many seconds (`--snapshot postgres://…`).",
    commands: ["serve"],
  },
  { flag: "gzip", kind: "flag", meaning: "Compress the row files.", commands: ["export"] },
  {
    flag: "skip-broken",
    after: "watch",
    needs: BY_DATABASE,
    kind: "integer",
    value: "N",
    default: "0",
    min: 0,
    meaning: "Leave out up to so many broken rows of a round, and name them; more refuse the round.",
    commands: ["export", "serve"],
  },
  {
    flag: "log-format",
    kind: "choice",
    choices: ["auto", "json", "pretty"],
    default: "auto",
    meaning:
      "Form of the line about a round: `json`, as the server logs it, or for people (`pretty` and `auto`).",
    commands: ["export"],
  },
  {
    flag: "dry-run",
    kind: "flag",
    meaning:
      "Publish nothing: print how many rows are visible, and three rows of each table as they would be served.",
    commands: ["export"],
  },
  {
    flag: "visible-only",
    kind: "flag",
    meaning:
      "Leave hidden rows out of the files, and everything of hidden worlds: for files that others can download. Users are always visible.",
    commands: ["export"],
  },
] as const satisfies readonly Setting[];

export const SOURCES_EVENTS = {
  "source-downloaded": event<{
    generation: string;
    /** Downloaded files, their bytes, and files that were already here. */
    files: number;
    bytes: number;
    reused: number;
    ms: number;
  }>({
    level: "info",
    text: "snapshot downloaded",
    meaning:
      "A new snapshot was downloaded from its URL: files, their bytes, files that were already here (`reused`), milliseconds.",
  }),
  "source-failed": event<{
    problem: string;
    /** Generation of the copy, and how long ago the source last confirmed it. */
    copy: string;
    ageSeconds: number;
    /** Delay until the source is asked again. */
    retryMs: number;
  }>({
    level: "warn",
    text: "the snapshot's source cannot be used, going on with the copy",
    problem: ({ problem, copy }) =>
      `The source of the snapshot cannot be used, and the copy of generation ${copy} is served: ${problem}`,
    meaning:
      "The URL cannot be used, and why. The server goes on with its copy, generation `copy`, which was current `ageSeconds` ago. The next attempt is after `retryMs`; the same problem is logged once.",
  }),
  "source-recovered": event<{ ms: number }>({
    level: "info",
    text: "the snapshot's source can be used again",
    ends: "source-failed",
    meaning: "The URL can be used again.",
  }),
  "round-done": event<{
    generation: string;
    /** Whether its rows differ from those before. */
    isNew: boolean;
    /** Rows, bytes, what is visible, and rows that were left out. */
    details: string;
    seconds: number;
  }>({
    level: "info",
    counts: {
      sourceRounds: ({ isNew }) => (isNew ? "published" : "unchanged"),
      sourceSuccess: () => ({ rounds: Math.round(Date.now() / 1000) }),
      sourceSeconds: ({ seconds }) => ({ rounds: seconds }),
    },
    text: ({ isNew }) => (isNew ? "snapshot exported" : "the source has not changed"),
    ends: "round-failed",
    round: ({ seconds, details }) => ({
      lastSuccessAt: new Date().toISOString(),
      lastSeconds: seconds,
      lastDetails: details,
    }),
    meaning:
      "A round of the export that this server runs (`--snapshot postgres://…`) is done; `details` has rows and what is visible.",
  }),
  "round-failed": event<{
    problem: string;
    /** Time of the data that are served instead; absent if there are none. */
    createdAt?: string;
  }>({
    level: "warn",
    counts: { sourceRounds: "failed" },
    text: ({ createdAt }) =>
      `the snapshot cannot be exported, ${createdAt === undefined ? "and there is none yet" : "going on with the last one"}`,
    round: ({ problem }) => ({ lastFailureAt: new Date().toISOString(), lastFailure: problem }),
    problem: ({ problem, createdAt }) =>
      `The source of the snapshot cannot be read, and ${createdAt === undefined ? "no data are served yet" : `the data of ${createdAt} are served`}: ${problem}`,
    meaning:
      "A round of the export that this server runs has failed, and why. It is tried again with the next round; the same problem is logged once.",
  }),
} as const satisfies Record<string, EventRow<never>>;

export const SOURCES_METRICS = {
  sourceRounds: {
    name: "orrery_source_rounds_total",
    type: "counter",
    labels: ["result"],
    help: "Rounds of the export that this server runs: published (a new snapshot), unchanged, or failed (the same problem in a row counts once).",
    counted: ["published", "unchanged", "failed"],
  },
  sourceSuccess: {
    name: "orrery_source_last_success_timestamp_seconds",
    type: "gauge",
    labels: ["source"],
    help: "End of the last round that succeeded.",
    counted: ["rounds"],
  },
  sourceSeconds: {
    name: "orrery_source_round_seconds",
    type: "gauge",
    labels: ["source"],
    help: "Duration of the last round that succeeded.",
    counted: ["rounds"],
  },
} as const satisfies Record<string, Metric>;

/** Options of the library for snapshots by URL. */
export interface SourcesOptions {
  /** Folder for copies of a snapshot by URL; `orrery` in the user's cache folder when absent. */
  readonly cache?: string | URL;
  /** File with a bearer token for a snapshot by URL. */
  readonly snapshotTokenFile?: string | URL;
}

/**
 * @internal The problem with a snapshot's URL, or undefined. Does not quote the URL, which may hold a password.
 * @param tokenName the setting of the token
 */
export function problemWithAddress(text: string, tokenName: string): string | undefined {
  if (!/^https?:\/\//i.test(text)) return "a URL must begin with http:// or https://";
  if (!URL.canParse(text)) return "is not a valid URL";
  const { username, password } = new URL(text);
  if (username !== "" || password !== "")
    return `a URL must hold no user name or password; ${tokenName} takes a token`;
  if (/[?#]/.test(text)) return "a URL must have neither a query nor a fragment";
  return text.endsWith("/") ? undefined : "a URL must end with a slash: it stands for a folder";
}

/** @internal The default folder for copies; undefined without a home folder. @param xdgCacheHome value of `XDG_CACHE_HOME` */
export function defaultCache(xdgCacheHome: string | undefined): string | undefined {
  // By the variable's specification, a relative path is ignored.
  if (xdgCacheHome?.startsWith("/")) return join(xdgCacheHome, "orrery");
  try {
    const home = homedir();
    return isAbsolute(home) ? join(home, ".cache", "orrery") : undefined;
  } catch {
    // A user id without a name has none.
    return undefined;
  }
}

/** The folder for copies of snapshots. @throws {SettingError} */
function cacheFolder({ settings, cacheHome }: SourceQuestion): string {
  const cache = settings.cache ?? defaultCache(cacheHome());
  if (cache !== undefined) return cache;
  throw new SettingError("cache", " is required: there is no home folder for copies", true);
}

/** Finds the source that runs its rounds itself. @throws {SettingError} */
async function findRoundsSource(question: SourceQuestion): Promise<OpenSource> {
  const { snapshot: postgres, settings, command } = question;
  if (command === undefined)
    throw new SettingError(
      "snapshot",
      ": only orrery serve reads a database (orrery export --dry-run shows what it would serve)",
      true,
    );
  if (settings.watch === 0)
    throw new SettingError("watch", ": 0 would leave what the rounds publish unserved", true);
  const cache = cacheFolder(question);
  const [{ RoundsSource }, { copiesFolderOf }, { readPostgresUrl }] = await Promise.all([
    import("./rounds-source.ts"),
    import("./url/copies.ts"),
    import("./postgres/postgres-url.ts"),
  ]);
  try {
    // The process of a round checks the environment.
    readPostgresUrl(postgres, {});
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw new SettingError("snapshot", `: ${error.message}`, true);
  }
  // The folder is that of the place, whatever the password.
  const out = join(copiesFolderOf(cache, addressForMessages(postgres)), "current");
  const { queries, every = ROUND_SECONDS, skipBroken = 0, allowShrink = false } = settings;
  const round = { postgres, queries, skipBroken, allowShrink, out };
  return ({ observe }) => new RoundsSource({ command, settings: round, every, observe });
}

/** Finds the source that downloads from a URL. @throws {SettingError} */
async function findUrlSource(question: SourceQuestion): Promise<OpenSource> {
  const { snapshot: address, settings, nameOf } = question;
  const tokenName = nameOf("snapshotTokenFile");
  const problem = problemWithAddress(address, tokenName);
  if (problem !== undefined) throw new SettingError("snapshot", `: ${problem}`, true);
  const cache = cacheFolder(question);
  const { snapshotTokenFile: tokenFile } = settings;
  const { UrlSource } = await import("./url/url.ts");
  return ({ observe, onDownload }) =>
    new UrlSource({ address, cache, tokenFile, tokenName, onProgress: onDownload, observe });
}

/** @internal Finds the source of a snapshot that is no folder: a database or a URL. @throws {SettingError} when its settings are wrong */
export async function findSourceByAddress(question: SourceQuestion): Promise<OpenSource> {
  const isDatabase = /^postgres(?:ql)?:\/\//i.test(question.snapshot);
  return await (isDatabase ? findRoundsSource(question) : findUrlSource(question));
}
