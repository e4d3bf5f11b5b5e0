/**
 * `orrery mirror`: a snapshot of the part of another server of this API that a token may see. The work folder `DIR.mirror`, beside
 * the snapshot's link `DIR`, holds the journal of replies: it lets a new process continue the work of a killed one, and a later
 * round learn by one request that nothing changed.
 */

import { dirname, join, resolve } from "node:path";
import type { CommandIo, Program } from "../../cli/command.ts";
import type { Options } from "../../cli/options.ts";
import { makeFolder } from "../../files/folders.ts";
import { hold, OWNER_ENDING } from "../../files/ownership.ts";
import { currentVersion, EARLIER_VERSIONS, publishVersion } from "../../files/publish.ts";
import { readToken } from "../../files/token-file.ts";
import { FIELDS, TABLES, type TableName } from "../../model/schema.ts";
import { type MirrorNote, RequestProgress, readServer } from "../../upstream/cli.ts";
import { TIMING, type Timing } from "../../upstream/retry.ts";
import { Upstream } from "../../upstream/upstream.ts";
import { type Round, runRound } from "../rounds.ts";
import {
  completeRows,
  generationOfRows,
  holdsGeneration,
  type RowFiles,
  renewIfSame,
  type WrittenFile,
  writeRowFile,
} from "../row-folder.ts";
import { type Collected, collect } from "./collect.ts";
import { Journal } from "./journal.ts";

type Settings = Options<"mirror">["values"];

/** Settings of the command, and its connections. */
export interface MirrorOptions
  extends Pick<Settings, "tokenFile" | "users" | "out" | "maxSnapshotBytes">,
    Partial<Pick<Settings, "requestsPerHour" | "allowShrink">> {
  /** Base URL of the server's operations; see `readServer`. */
  readonly from: string;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  /** Receives sentences about a restarted journal and about irregularities. */
  readonly tell: (sentence: string) => void;
  readonly progress?: RequestProgress;
}

type Mirror = Awaited<ReturnType<typeof openMirror>>;
export type Mirrored = Awaited<ReturnType<typeof renew>>;

/** When the last reply is older than this, a killed process's work continues only if the server's data are unchanged. */
const STALE_MS = 3_600_000;
const TOKEN_OPTION = "--token-file";
/** Key of the journal's entry for a completed round. */
const DONE = "done";
const STEP = 1000;

/** Result of the last completed round, kept in the journal. */
interface Done {
  readonly generation: string;
  readonly etag: string;
  readonly searches: readonly string[];
}

/** Asks whether the journal is still current; else clears it. @returns the published generation, if nothing changed */
async function askForNews(
  upstream: Upstream,
  journal: Journal,
  searches: readonly string[],
): Promise<string | undefined> {
  const { entries } = journal;
  const done = entries.get(DONE)?.value as Done | undefined;
  const isFresh = done === undefined && Date.now() - journal.lastAt < STALE_MS;
  if (entries.size === 0 || isFresh) return undefined;
  const etag = done?.etag ?? [...entries.values()].at(-1)?.etag;
  if (etag === undefined) {
    await journal.clear();
    return undefined;
  }
  const reply = await upstream.get("/stats", { ifNoneMatch: etag, statuses: [200, 304] });
  if (reply.status !== 304 && reply.etag !== etag) await journal.clear();
  else if (done?.searches.join("\n") === searches.join("\n")) return done.generation;
  else await journal.drop([DONE]);
  return undefined;
}

/** Time of the collected data: the last reply's if all are of a named generation, else the first reply's. */
function momentOf({ entries }: Journal, generation: string | undefined): number {
  const times = Array.from(entries.values(), ({ at }) => at);
  if (times.length === 0) return Date.now();
  return times.reduce((one, other) =>
    generation === undefined ? Math.min(one, other) : Math.max(one, other),
  );
}

/** Sentences about unexpected findings. */
function remarksOn({ gone, unknownOwners, worlds, platform }: Collected): string[] {
  const remarks: string[] = [];
  if (gone > 0) remarks.push(`worlds that went while they were read: ${gone}`);
  if (unknownOwners > 0) remarks.push(`owners that the server does not know: ${unknownOwners}`);
  if (gone === 0 && platform.totalPublicWorlds !== worlds.length) {
    remarks.push(`the server counts ${platform.totalPublicWorlds} worlds and lists ${worlds.length}`);
  }
  const hidden = worlds.filter(({ isPublic }) => !isPublic).length;
  if (hidden > 0) remarks.push(`worlds that the server lists as not public, which will be hidden: ${hidden}`);
  return remarks;
}

async function* linesOf(rows: readonly object[]): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < rows.length; at += STEP) {
    const lines = rows.slice(at, at + STEP).map((row) => `${JSON.stringify(row)}\n`);
    yield Buffer.from(lines.join(""));
  }
}

/** A row with the fields that no reply shows: a visible row has known values there. */
function withHidden(table: TableName, row: object): object {
  const shown = FIELDS[table].map(({ name, shows }) => [name, shows?.only]);
  return { ...Object.fromEntries(shown), ...row };
}

async function writeRows(folder: string, { users, worlds, stats, instances }: Collected): Promise<RowFiles> {
  const tables = { users, worlds, "world-stats": stats, instances };
  const files = new Map<string, WrittenFile>();
  for (const table of TABLES) {
    const name = `${table}.ndjson`;
    const rows = tables[table].map((row) => withHidden(table, row));
    files.set(name, await writeRowFile(join(folder, name), linesOf(rows), false));
  }
  return files;
}

/** Publishes collected data, unless the same are published already. @param createdAt time of the data */
async function publish(
  options: MirrorOptions,
  collected: Collected,
  createdAt: number,
): Promise<Pick<Round, "generation" | "isNew">> {
  const { out, from, users } = options;
  let generation = "";
  const note: MirrorNote = {
    from,
    searches: users,
    totalUsers: collected.platform.totalUsers,
    generation: collected.generation?.slice(1, -1) ?? null,
  };
  const published = await publishVersion(
    out,
    async (folder, current) => {
      const files = await writeRows(folder, collected);
      generation = generationOfRows("mirror", files);
      const fields = { generation, createdAt, mirror: note };
      if (await renewIfSame(current, fields)) return undefined;
      await completeRows(folder, files, fields, { ...options, current });
      return generation;
    },
    { keep: EARLIER_VERSIONS, isSame: (other) => holdsGeneration(other, generation) },
  );
  return { generation, isNew: published !== undefined };
}

/** Brings the snapshot up to date; nothing is collected when the server says that nothing has changed. @throws {SourceError}, `SnapshotError`, `PlaceError`; errors of the file system */
async function renew(options: MirrorOptions, upstream: Upstream, journal: Journal) {
  const { tokenFile, users: searches, out, tell, progress } = options;
  upstream.token = await readToken(tokenFile, TOKEN_OPTION);
  const began = Date.now();
  const before = upstream.requests;
  progress?.restart();
  const unchanged = await askForNews(upstream, journal, searches);
  const current = await currentVersion(out);
  if (unchanged && (await renewIfSame(current, { generation: unchanged, createdAt: began }))) {
    const requests = upstream.requests - before;
    return { generation: unchanged, isNew: false, requests, collected: undefined };
  }
  await journal.drop([DONE]);
  const collected = await collect({ upstream, journal, searches, progress });
  for (const remark of remarksOn(collected)) tell(remark);
  const { generation: etag } = collected;
  const published = await publish(options, collected, momentOf(journal, etag));
  const value: Done = { generation: published.generation, etag: etag ?? "", searches };
  // Without an ETag a later round cannot check whether the journal is still current.
  if (etag === undefined) await journal.clear();
  else await journal.put(DONE, { at: Date.now(), etag, value });
  return { ...published, requests: upstream.requests - before, collected };
}

/** Opens a mirror, and locks its place. @throws {HeldError} when another process owns it; `OccupiedError`; `SourceError` */
export async function openMirror(options: MirrorOptions) {
  const { from, out, tokenFile, requestsPerHour: perHour, timing, signal, tell, progress } = options;
  const token = await readToken(tokenFile, TOKEN_OPTION);
  // Fails before any request when the place cannot be published to.
  await currentVersion(out);
  const folder = `${resolve(out)}.mirror`;
  await makeFolder(dirname(folder));
  const { release } = await hold(folder + OWNER_ENDING);
  try {
    await makeFolder(folder, 0o700);
    const journal = await Journal.open(folder, from, tell);
    const agesOfSent = journal.sentAt.map((at) => Date.now() - at);
    const upstream = new Upstream({ base: from, token, perHour, timing, signal, progress, agesOfSent });
    return {
      renew: () => renew(options, upstream, journal),
      close: () => journal.close().finally(release),
    };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Rows and requests of a round, for its report. */
function detailsOf({ requests, collected }: Mirrored): string {
  const took = `${requests} ${requests === 1 ? "request" : "requests"}`;
  if (collected === undefined) return took;
  const { worlds, instances, users, platform } = collected;
  const rows = `${worlds.length} worlds, ${instances.length} instances, ${users.length} of ${platform.totalUsers} users`;
  return `${rows}; ${took}`;
}

export async function mirror(options: Options<"mirror">, io: CommandIo, program: Program): Promise<void> {
  const from = readServer(options.values.from, options.names.from);
  const users = [...new Set(options.values.users)];
  const progress = new RequestProgress(io, `mirroring ${new URL(from).host}`);
  const tell = (sentence: string): void => {
    progress.end();
    io.complain(`orrery: ${sentence}\n`);
  };
  await runRound(options, io, program, async (signal) => {
    let opened: Mirror | undefined;
    try {
      const more = { from, users, signal, timing: TIMING, tell, progress };
      opened = await openMirror({ ...options.values, ...more });
      const mirrored = await opened.renew();
      return { ...mirrored, details: detailsOf(mirrored) };
    } finally {
      progress.end();
      await opened?.close();
    }
  });
}
