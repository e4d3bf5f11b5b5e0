/**
 * `orrery mirror`: a snapshot of what a token may see of another server of this API. Beside the place of the snapshot's link, `DIR`,
 * stands a work folder, `DIR.mirror`, with the journal of the replies: with it a killed process's work goes on, and a later round
 * finds out by one request that nothing changed.
 */

import { dirname, join, resolve } from "node:path";
import type { CommandIo } from "../../cli/command.ts";
import type { Options } from "../../cli/options.ts";
import { makeFolder } from "../../files/folders.ts";
import { hold, OWNER_ENDING } from "../../files/ownership.ts";
import { currentVersion, publishVersion } from "../../files/publish.ts";
import { readToken } from "../../files/token-file.ts";
import { FIELDS, TABLES, type TableName } from "../../model/schema.ts";
import { readManifestOf } from "../../snapshot/manifest.ts";
import { type MirrorNote, RequestProgress, readServer } from "../../upstream/cli.ts";
import { TIMING, type Timing } from "../../upstream/retry.ts";
import { Upstream } from "../../upstream/upstream.ts";
import { type Round, runRounds } from "../rounds.ts";
import { type WrittenFile, writeRowFile } from "../row-file.ts";
import { completeRows, generationOfRows, holdsSame, type RowFiles, renewManifest } from "../row-folder.ts";
import { type Collected, collect } from "./collect.ts";
import { Journal } from "./journal.ts";

/** What to mirror, and where to. */
export interface MirrorOptions {
  /** Where the server's operations are; see `readServer`. */
  readonly from: string;
  readonly tokenFile: string;
  /** Users that these find are mirrored, too. */
  readonly searches: readonly string[];
  /** Most requests in an hour. */
  readonly perHour?: number | undefined;
  readonly timing: Timing;
  /** The place of the link; see {@link publishVersion}. */
  readonly out: string;
  /** Most bytes of rows. */
  readonly maxBytes: number;
  /** How many earlier versions are kept, and whether what is published may lose most of its users or worlds. */
  readonly keep?: number;
  readonly allowShrink?: boolean;
  readonly signal: AbortSignal;
  /** Receives sentences on what had to be begun afresh or is not as it should be. */
  readonly tell: (sentence: string) => void;
  readonly progress?: RequestProgress;
}

/** What came of a round. */
export interface Mirrored extends Omit<Round, "details"> {
  /** Requests that this round took. */
  readonly requests: number;
  /** Undefined when the server said that nothing has changed. */
  readonly collected: Collected | undefined;
}

/** When the last reply is older than this, the work of a killed process is continued only if the server has not changed. */
const STALE_MS = 3_600_000;
const TOKEN_OPTION = "--token-file";
/** Journal of a round that ended well. */
const DONE = "done";
/** Rows that are written at once. */
const STEP = 1000;

/** What was done when the journal's last round ended: it stands in the journal, too. */
interface Done {
  readonly generation: string;
  /** The server's ETag then. */
  readonly etag: string;
  readonly searches: readonly string[];
}

/** Asks whether the server still serves what the journal holds; else clears it. @returns what is published, if nothing changed */
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

/** The moment of what was collected: of one generation when it was last seen, else when the first reply came. */
function momentOf({ entries }: Journal, generation: string | undefined): number {
  const times = Array.from(entries.values(), ({ at }) => at);
  if (times.length === 0) return Date.now();
  return times.reduce((one, other) =>
    generation === undefined ? Math.min(one, other) : Math.max(one, other),
  );
}

/** Sentences on what is not as somebody would expect. */
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

/** A row with the fields that no reply shows: those of a visible one are known. */
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

/** A mirror at work: one process alone has a place. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #journal: Journal;
  readonly #upstream: Upstream;
  readonly #release: () => Promise<void>;
  #token: string;

  private constructor(options: MirrorOptions, journal: Journal, token: string, release: () => Promise<void>) {
    const { from, perHour, timing, signal, progress } = options;
    this.#options = options;
    this.#journal = journal;
    this.#token = token;
    this.#release = release;
    this.#upstream = new Upstream({
      ...{ base: from, token: () => this.#token, perHour, timing, signal },
      agesOfSent: journal.sentAt.map((at) => Date.now() - at),
      onSent: () => progress?.count(this.#upstream),
      onWait: (ms) => progress?.tellWait(ms),
    });
  }

  /** Takes a place for a mirror. @throws {HeldError} when another process has it; `OccupiedError`; `SourceError` */
  static async open(options: MirrorOptions): Promise<Mirror> {
    const { from, out, tokenFile, tell } = options;
    const token = await readToken(tokenFile, TOKEN_OPTION);
    // What cannot be published in the end is not worth asking for.
    await currentVersion(out);
    const folder = `${resolve(out)}.mirror`;
    await makeFolder(dirname(folder));
    const { release } = await hold(folder + OWNER_ENDING);
    try {
      await makeFolder(folder, 0o700);
      return new Mirror(options, await Journal.open(folder, from, tell), token, release);
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Brings the snapshot up to date. @throws {SourceError}, `BadRowsError`, `ShrunkError`, `OccupiedError`; errors of the file system */
  async renew(): Promise<Mirrored> {
    const { tokenFile, searches, tell, progress } = this.#options;
    const journal = this.#journal;
    const upstream = this.#upstream;
    this.#token = await readToken(tokenFile, TOKEN_OPTION);
    const began = Date.now();
    const before = upstream.requests;
    progress?.restart();
    const unchanged = await askForNews(upstream, journal, searches);
    if (unchanged !== undefined && (await this.#renewPublished(unchanged, began))) {
      const requests = upstream.requests - before;
      return { generation: unchanged, isNew: false, requests, collected: undefined };
    }
    await journal.drop([DONE]);
    const collected = await collect({ upstream, journal, searches, progress });
    for (const remark of remarksOn(collected)) tell(remark);
    const { generation: etag } = collected;
    const published = await this.#publish(collected, momentOf(journal, etag));
    const value: Done = { generation: published.generation, etag: etag ?? "", searches };
    // Without an ETag nobody can find out later whether this is still current.
    if (etag === undefined) await journal.clear();
    else await journal.put(DONE, { at: Date.now(), etag, value });
    return { ...published, requests: upstream.requests - before, collected };
  }

  async close(): Promise<void> {
    await this.#journal.close();
    await this.#release();
  }

  /** Publishes what was collected, unless just that is published. @param createdAt the moment of the data */
  async #publish(collected: Collected, createdAt: number): Promise<Pick<Round, "generation" | "isNew">> {
    const { out, from, searches, maxBytes, keep, allowShrink, signal } = this.#options;
    let generation = "";
    const note: MirrorNote = {
      ...{ from, searches, totalUsers: collected.platform.totalUsers },
      generation: collected.generation?.slice(1, -1) ?? null,
    };
    const published = await publishVersion(
      out,
      async (folder, current) => {
        const files = await writeRows(folder, collected);
        generation = generationOfRows("mirror", files);
        if (current !== undefined && (await holdsSame(current, generation, files, false))) {
          await renewManifest(current, createdAt);
          return undefined;
        }
        const fields = { generation, createdAt, more: { mirror: note } };
        await completeRows(folder, files, fields, { current, allowShrink, maxBytes, signal });
        return generation;
      },
      { keep },
    );
    return { generation, isNew: published !== undefined };
  }

  /** Renews the moment of the data if a generation is what the link leads to. @returns whether it is */
  async #renewPublished(generation: string, createdAt: number): Promise<boolean> {
    const current = await currentVersion(this.#options.out);
    if (current === undefined || (await readManifestOf(current))?.generation !== generation) return false;
    await renewManifest(current, createdAt);
    return true;
  }
}

/** What a round took, up to the time. */
function detailsOf({ requests, collected }: Mirrored): string {
  const took = `${requests} ${requests === 1 ? "request" : "requests"}`;
  if (collected === undefined) return `${took},`;
  const { worlds, instances, users, platform, bound } = collected;
  const rows = `${worlds.length} worlds, ${instances.length} instances, ${users.length} of ${platform.totalUsers} users`;
  const parts = Object.entries(bound).map(([what, least]) => `${what} ${least}`);
  const sum = Object.values(bound).reduce((total, least) => total + least, 0);
  return `${rows}; ${took}, at least ${sum} are needed (${parts.join(", ")});`;
}

/** Runs the command. */
export async function mirror(options: Options<"mirror">, io: CommandIo): Promise<void> {
  const from = readServer(options.values.from, options.names.from);
  const { out, tokenFile, users, requestsPerHour: perHour } = options.values;
  const { maxSnapshotBytes: maxBytes, keep, allowShrink } = options.values;
  const progress = new RequestProgress(io, `mirroring ${new URL(from).host}`);
  const tell = (sentence: string): void => {
    progress.end();
    io.complain(`orrery: ${sentence}\n`);
  };
  let opened: Mirror | undefined;
  await runRounds(options, io, {
    close: async () => opened?.close(),
    async run(signal) {
      try {
        opened ??= await Mirror.open({
          ...{ from, out, tokenFile, perHour, maxBytes, keep, allowShrink },
          ...{ signal, timing: TIMING, searches: [...new Set(users)], tell, progress },
        });
        const mirrored = await opened.renew();
        return { ...mirrored, details: detailsOf(mirrored) };
      } finally {
        progress.end();
      }
    },
  });
}
