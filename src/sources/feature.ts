/** Settings of snapshots from a URL, a database or another server, and events of snapshots from a URL. */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { type EventRow, event } from "../observe/events.ts";
import type { OpenSource, SourceQuestion } from "../server/load/source.ts";
import { ALLOW_SHRINK, KEEP, MAX_SNAPSHOT_BYTES, type Setting, SettingError } from "../settings/settings.ts";
import { OTHER_SERVER, problemWithUrl, REQUESTS_PER_HOUR, TOKEN_FILE } from "../upstream/settings.ts";

const PERIOD = { kind: "number", value: "SECONDS", min: 0.1, max: 31_536_000 } as const;

/** @internal */
export const SOURCES_SETTINGS = [
  {
    flag: "cache",
    isOption: true,
    after: "watch",
    kind: "text",
    path: "written",
    value: "DIR",
    meaning:
      "Directory for copies of snapshots by URL. Default: `orrery` in the user's cache directory; `check` keeps no copy.",
    commands: ["serve", "check"],
  },
  {
    flag: "snapshot-token-file",
    isOption: true,
    after: "watch",
    kind: "text",
    path: "read",
    value: "FILE",
    meaning: "File with a bearer token for a snapshot by URL.",
    commands: ["serve", "check"],
  },
  { ...MAX_SNAPSHOT_BYTES, commands: ["export", "mirror"] },
  { ...ALLOW_SHRINK, commands: ["export", "mirror"] },
  { ...KEEP, commands: ["export", "mirror"] },
  {
    flag: "postgres",
    kind: "text",
    value: "URL",
    required: true,
    meaning:
      "The database: `postgres://user@host:port/database?sslmode=require`. A password is better in `PGPASSWORD` or " +
      "`~/.pgpass`, where other users of the machine do not see it.",
    commands: ["export"],
  },
  {
    flag: "out",
    kind: "text",
    path: "written",
    value: "DIR",
    required: true,
    meaning:
      "Place of the symbolic link to the current snapshot. The snapshots themselves are in `DIR.versions`.",
    commands: ["export", "mirror"],
  },
  {
    flag: "queries",
    kind: "text",
    path: "read",
    value: "FILE",
    meaning:
      "JSON with a query by table: `users`, `worlds`, `world-stats`, `instances`. Default: those in docs/snapshots.md.",
    commands: ["export"],
  },
  {
    flag: "every",
    ...PERIOD,
    meaning: "Repeat every so many seconds. Default: once.",
    commands: ["export", "mirror"],
  },
  {
    flag: "live-every",
    ...PERIOD,
    notWith: { flag: "build", value: true, why: "not with --build, which makes one file of all rows" },
    meaning:
      "Between two rounds of `--every` export instances alone every so many seconds, and publish them with the other " +
      "files as they are. Default: never.",
    commands: ["export"],
  },
  { flag: "from", ...OTHER_SERVER, commands: ["mirror"] },
  { ...TOKEN_FILE, commands: ["mirror"] },
  { ...REQUESTS_PER_HOUR, commands: ["mirror"] },
  {
    flag: "users",
    kind: "list",
    value: "SEARCH",
    meaning:
      "Mirror the users that this search finds, too. For several, repeat the option or join them with commas. " +
      "Default: the owners of worlds.",
    commands: ["mirror"],
  },
  {
    flag: "build",
    kind: "flag",
    meaning: "Publish a prepared snapshot, as `orrery build` makes it, in place of the rows.",
    commands: ["export"],
  },
  { flag: "gzip", kind: "flag", meaning: "Compress the row files.", commands: ["export"] },
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
  "source-damaged": event<{ place: string }>({
    level: "warn",
    text: "the copy of the snapshot is damaged, downloading it again",
    meaning: "The copy differs from the download; damaged files are downloaded again.",
  }),
} as const satisfies Record<string, EventRow<never>>;

/** Options of the library for snapshots by URL. */
export interface SourcesOptions {
  /** Folder for copies of a snapshot by URL; `orrery` in the user's cache folder when absent. */
  readonly cache?: string | URL;
  /** File with a bearer token for a snapshot by URL. */
  readonly snapshotTokenFile?: string | URL;
}

/** @internal The problem with a snapshot's URL, or undefined; see {@link problemWithUrl}. */
export function problemWithAddress(text: string, tokenName: string): string | undefined {
  const problem = problemWithUrl(text, tokenName);
  if (problem !== undefined) return problem.startsWith("must") ? `a URL ${problem}` : problem;
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

/** @internal Checks the settings of a snapshot by URL. @throws {SettingError} */
export async function findUrlSource(question: SourceQuestion): Promise<OpenSource> {
  const { snapshot: address, settings, nameOf, cacheHome } = question;
  const tokenName = nameOf("snapshotTokenFile");
  const problem = problemWithAddress(address, tokenName);
  if (problem !== undefined) throw new SettingError("snapshot", `: ${problem}`, true);
  const cache = settings.cache ?? defaultCache(cacheHome());
  if (cache === undefined)
    throw new SettingError("cache", " is required: there is no home folder for copies", true);
  const { snapshotTokenFile: tokenFile, maxSnapshotBytes: maxBytes } = settings;
  // Imported only when needed.
  const { UrlSource } = await import("./url/url.ts");
  return ({ observe, onDownload }) =>
    new UrlSource({ address, cache, tokenFile, tokenName, maxBytes, onProgress: onDownload, observe });
}
