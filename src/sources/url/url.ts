/**
 * A snapshot by URL: a folder served by any static host, and the copy of it that is loaded.
 *
 * The manifest is asked for, on the condition that it changed; files that it lists and that are not here are downloaded and
 * checked; all together become the copy. Whatever fails leaves the copy as it is.
 */

import { OccupiedError } from "../../files/publish.ts";
import { readToken } from "../../files/token-file.ts";
import type { Observe } from "../../observe/events.ts";
import type { Occasion, Source } from "../../server/load/source.ts";
import type { Patience } from "../../upstream/attempts.ts";
import { MismatchError, withoutToken } from "../../upstream/problem.ts";
import { pauseAfter, TIMING, type Timing, wait } from "../../upstream/timing.ts";
import { SourceError } from "../../util/source-error.ts";
import { systemErrorText } from "../../util/system-error.ts";
import { placeOf } from "../address.ts";
import { askManifest, readSent, type SentManifest } from "./ask-manifest.ts";
import { Copies, type Copy } from "./copies.ts";
import { download } from "./download.ts";

/** What to follow. */
export interface UrlSourceOptions {
  /** Checked by `problemWithAddress`. */
  readonly address: string;
  /** Folder of the copies of any number of sources. */
  readonly cache: string;
  readonly tokenFile?: string | undefined;
  /** What named that file, for messages: an option or a variable. */
  readonly tokenName?: string | undefined;
  /** Most bytes of all files together. */
  readonly maxBytes: number;
  /** Told what share was downloaded, from 0 to 1. */
  readonly onProgress?: ((share: number) => void) | undefined;
  readonly observe: Observe;
  /** Shorter in tests. */
  readonly timing?: Timing;
}

/** What names the file of the token where nothing else is said. */
const TOKEN_OPTION = "--snapshot-token-file";
/** How often a file or manifest is tried in one go; where there is a copy, nobody has to wait for long. */
const ATTEMPTS = 4;
const ATTEMPTS_WITH_COPY = 2;
/** How often files may not be what the manifest says, as while somebody publishes, before it is given up for now. */
const MOST_ROUNDS = 5;

/** Errors that are told in a line; all others are defects. */
function problemOf(error: unknown, place: string): string {
  if (error instanceof SourceError) return error.message;
  if (error instanceof OccupiedError) return `${place}/current: ${error.message}`;
  const words = systemErrorText(error);
  if (words === undefined) throw error;
  return `${(error as NodeJS.ErrnoException).path ?? place}: the copy cannot be written or read (see --cache): ${words}`;
}

/** Adds up what is downloaded. */
function progressOver(total: number, onProgress: UrlSourceOptions["onProgress"]): (bytes: number) => void {
  let done = 0;
  return (bytes) => {
    done += bytes;
    onProgress?.(total === 0 ? 1 : Math.min(1, done / total));
  };
}

/** Follows a URL. */
export function createUrlSource(options: UrlSourceOptions): Source {
  const { observe, timing = TIMING } = options;
  const base = new URL(options.address);
  const copies = new Copies(placeOf(options.cache, options.address), base.href);
  /** Since when the source has failed, how often in a row, with what, and when it is asked again. */
  let failing = { since: 0, times: 0, problem: "", askAgain: 0 };
  /** When the source last confirmed the copy, while it cannot be used; milliseconds since the epoch. */
  let confirmed: number | undefined;
  let isCleared = false;
  /** The token that was sent last: a message may name the host that a redirect leads to. */
  let lastToken = "";

  /** Brings what a manifest lists. */
  async function fetchFiles(
    sent: SentManifest,
    token: string | undefined,
    patience: Patience,
  ): Promise<void> {
    const began = performance.now();
    const manifest = readSent(base, sent, options.maxBytes);
    let total = 0;
    for (const { bytes } of manifest.files.values()) total += bytes;
    const onBytes = progressOver(total, options.onProgress);
    const brought = await copies.publish(sent, manifest, (name, { bytes, sha256 }, path) =>
      download({ url: new URL(name, base), token, bytes, sha256, onBytes }, path, patience),
    );
    const ms = Math.round(performance.now() - began);
    // Of a manifest that is new by the moment of its data alone there is nothing to tell.
    if (brought.files === 0) return;
    observe({ kind: "source-downloaded", generation: manifest.generation, ...brought, ms });
  }

  async function update(copy: Copy | undefined, patience: Patience): Promise<void> {
    const { tokenFile, tokenName = TOKEN_OPTION } = options;
    const token = tokenFile === undefined ? undefined : await readToken(tokenFile, tokenName);
    lastToken = token ?? "";
    const isPatient = copy === undefined ? {} : { attempts: ATTEMPTS_WITH_COPY };
    let sent = await askManifest(base, token, copy?.etag, { ...patience, ...isPatient });
    for (let round = 1; sent?.sha256 !== copy?.sha256 && sent !== undefined; round++) {
      try {
        await fetchFiles(sent, token, patience);
        return;
      } catch (error) {
        // Somebody may be publishing: then the manifest will change, or the files that fit it will come.
        if (!(error instanceof MismatchError) || round === MOST_ROUNDS) throw error;
      }
      await wait(pauseAfter(round, timing), patience.signal);
      sent = await askManifest(base, token, undefined, patience);
    }
    if (copy !== undefined) await copies.confirm(copy, sent === undefined ? copy.etag : sent.etag);
  }

  function succeeded(): void {
    if (failing.times > 0) {
      observe({ kind: "source-recovered", ms: Math.round(performance.now() - failing.since) });
    }
    failing = { since: 0, times: 0, problem: "", askAgain: 0 };
    confirmed = undefined;
  }

  /** Notes a failure; tells of it unless it is the same as before. */
  function failed(problem: string, error: unknown, copy: Copy | undefined, occasion: Occasion): void {
    const now = performance.now();
    const { times, since } = failing;
    const wanted = error instanceof SourceError ? (error.retryAfterMs ?? 0) : 0;
    const retryMs = Math.max(pauseAfter(times + 2, timing), Math.min(wanted, timing.mostRetryAfterMs));
    const isKnown = times > 0 && failing.problem === problem && occasion === "watch";
    failing = { since: times === 0 ? now : since, times: times + 1, problem, askAgain: now + retryMs };
    confirmed = copy?.confirmed;
    if (copy === undefined || isKnown) return;
    const ageSeconds = Math.max(0, Math.round((Date.now() - copy.confirmed) / 1000));
    const { generation } = copy.manifest;
    observe({ kind: "source-failed", problem, copy: generation, ageSeconds, retryMs: Math.round(retryMs) });
  }

  async function bring(occasion: Occasion, signal: AbortSignal): Promise<string> {
    let copy: Copy | undefined;
    try {
      if (!isCleared) {
        isCleared = true;
        // A cache that can be read only is of use as well.
        await copies.clear().catch(() => {});
      }
      copy = await copies.current();
      if (occasion !== "watch" || performance.now() >= failing.askAgain) {
        const waitMs = copy === undefined ? timing.mostPatienceMs : timing.firstPauseMs * 10;
        await update(copy, { attempts: ATTEMPTS, waitMs, timing, signal });
        const { folder } = await mustBeThere();
        succeeded();
        return folder;
      }
    } catch (error) {
      signal.throwIfAborted();
      failed(withoutToken(problemOf(error, copies.place), lastToken), error, copy, occasion);
    }
    if (copy !== undefined) return copy.folder;
    throw new SourceError(`${failing.problem} (no whole copy in ${copies.place})`);
  }

  async function mustBeThere(): Promise<Copy> {
    const copy = await copies.current();
    if (copy !== undefined) return copy;
    throw new SourceError(`${copies.place}: the copy was damaged as soon as it was made`);
  }

  /** One at a time; who comes later asks again, since what the one before was told may be out of date by then. */
  let last: Promise<unknown> = Promise.resolve();
  function refresh(occasion: Occasion, signal: AbortSignal): Promise<string> {
    const mine = last.then(() => bring(occasion, signal));
    last = mine.catch(() => {});
    return mine;
  }

  return {
    refresh,
    ageMs: () => (confirmed === undefined ? 0 : Math.max(0, Date.now() - confirmed)),
    async repair(folder, signal) {
      const copy = await copies.current().catch(() => undefined);
      // Another process has published, and this one has come too late.
      if (copy !== undefined && copy.folder !== folder) return copy.folder;
      if (copy !== undefined && (await copies.removeDamaged(copy).catch(() => 0)) === 0) return undefined;
      observe({ kind: "source-damaged", place: copies.place });
      return await refresh("reload", signal);
    },
  };
}
