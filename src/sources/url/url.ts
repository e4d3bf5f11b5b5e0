/**
 * A snapshot by URL: a folder served by any static host, and the copy of it that is loaded.
 *
 * Requests the manifest if it changed, downloads and checks the listed files that are missing here, and publishes all of them as
 * the new copy. States:
 *
 *     usable ──► failing    any failure: the existing copy is used, and the next request to the source waits for a growing pause
 *        ◄──────            the source confirms the copy, or a new one is made
 */

import { OccupiedError } from "../../files/publish.ts";
import { readToken } from "../../files/token-file.ts";
import type { Observe } from "../../observe/events.ts";
import type { Occasion, Source } from "../../server/load/source.ts";
import { withoutToken } from "../../upstream/request.ts";
import { pauseAfter, type RetryPolicy, TIMING, type Timing, wait } from "../../upstream/retry.ts";
import { SourceError } from "../../util/source-error.ts";
import { systemErrorText } from "../../util/system-error.ts";
import { Copies, type Copy, copiesFolderOf } from "./copies.ts";
import { askManifest, download, MismatchError, readSent, type SentManifest, totalBytes } from "./download.ts";

export interface UrlSourceOptions {
  /** Checked by `problemWithAddress`. */
  readonly address: string;
  readonly cache: string;
  readonly tokenFile?: string | undefined;
  /** The option or variable that named the file. */
  readonly tokenName?: string | undefined;
  readonly maxBytes: number;
  /** Receives the downloaded share, from 0 to 1. */
  readonly onProgress?: ((share: number) => void) | undefined;
  readonly observe: Observe;
  /** Shorter in tests. */
  readonly timing?: Timing;
}

const TOKEN_OPTION = "--snapshot-token-file";
/** Attempts per file or manifest; fewer for the first manifest when a copy exists, to keep the wait short. */
const ATTEMPTS = 4;
const ATTEMPTS_WITH_COPY = 2;
/** Rounds in which files may differ from the manifest, as during a publication, before the refresh fails. */
const MOST_ROUNDS = 5;

/** The line that reports an error. Rethrows defects. */
function problemOf(error: unknown, place: string): string {
  if (error instanceof SourceError) return error.message;
  if (error instanceof OccupiedError) return `${place}/current: ${error.message}`;
  const words = systemErrorText(error);
  if (words === undefined) throw error;
  return `${(error as NodeJS.ErrnoException).path ?? place}: the copy cannot be written or read (see --cache): ${words}`;
}

/** Consecutive failures. */
interface Failing {
  /** Time of the first failure, and earliest time of the next request: milliseconds of `performance.now()`. */
  readonly since: number;
  readonly askAgain: number;
  readonly times: number;
  readonly problem: string;
  /** When the source last confirmed the copy, in milliseconds since the epoch. */
  readonly confirmed: number | undefined;
}

export class UrlSource implements Source {
  readonly #options: UrlSourceOptions;
  readonly #base: URL;
  readonly #copies: Copies;
  /** Undefined while the source can be used. */
  #failing: Failing | undefined;
  /** The last token sent, to hide it in messages: one may name the host that a redirect leads to. */
  #lastToken = "";
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: UrlSourceOptions) {
    this.#options = options;
    this.#base = new URL(options.address);
    this.#copies = new Copies(copiesFolderOf(options.cache, options.address), this.#base.href);
  }

  /** Runs one at a time. A later caller asks the source again: the earlier answer may be out of date by then. */
  refresh(occasion: Occasion, signal: AbortSignal): Promise<string> {
    const mine = this.#last.then(() => this.#bring(occasion, signal));
    this.#last = mine.catch(() => {});
    return mine;
  }

  ageMs(): number {
    const confirmed = this.#failing?.confirmed;
    return confirmed === undefined ? 0 : Math.max(0, Date.now() - confirmed);
  }

  problem(): string | undefined {
    return this.#failing?.problem;
  }

  async repair(folder: string, signal: AbortSignal): Promise<string | undefined> {
    const copies = this.#copies;
    const copy = await copies.current().catch(() => undefined);
    // Another process has already published another copy.
    if (copy !== undefined && copy.folder !== folder) return copy.folder;
    if (copy !== undefined && (await copies.removeDamaged(copy).catch(() => 0)) === 0) return undefined;
    this.#options.observe({ kind: "source-damaged", place: copies.place });
    return await this.refresh("reload", signal);
  }

  async #bring(occasion: Occasion, signal: AbortSignal): Promise<string> {
    const { place } = this.#copies;
    const { timing = TIMING } = this.#options;
    let copy: Copy | undefined;
    try {
      copy = await this.#copies.current();
      if (occasion !== "watch" || performance.now() >= (this.#failing?.askAgain ?? 0)) {
        const waitMs = copy === undefined ? timing.mostPatienceMs : timing.firstPauseMs * 10;
        await this.#update(copy, { attempts: ATTEMPTS, waitMs, timing, signal });
        const now = await this.#copies.current();
        if (now === undefined) throw new SourceError(`${place}: the copy was damaged as soon as it was made`);
        this.#succeed();
        return now.folder;
      }
    } catch (error) {
      signal.throwIfAborted();
      this.#fail(withoutToken(problemOf(error, place), this.#lastToken), error, copy, occasion);
    }
    if (copy !== undefined) return copy.folder;
    throw new SourceError(`${this.#failing!.problem} (there is no earlier copy)`);
  }

  async #update(copy: Copy | undefined, policy: RetryPolicy): Promise<void> {
    const { tokenFile, tokenName = TOKEN_OPTION } = this.#options;
    const token = tokenFile === undefined ? undefined : await readToken(tokenFile, tokenName);
    this.#lastToken = token ?? "";
    const attempts = copy === undefined ? ATTEMPTS : ATTEMPTS_WITH_COPY;
    let sent = await askManifest(this.#base, token, copy?.etag, { ...policy, attempts });
    for (let round = 1; sent?.sha256 !== copy?.sha256 && sent !== undefined; round++) {
      try {
        await this.#fetchFiles(sent, token, policy);
        return;
      } catch (error) {
        // During a publication at the source, the manifest is about to change, or its files are about to arrive.
        if (!(error instanceof MismatchError) || round === MOST_ROUNDS) throw error;
      }
      await wait(pauseAfter(round, policy.timing), policy.signal);
      sent = await askManifest(this.#base, token, undefined, policy);
    }
    if (copy !== undefined) await this.#copies.confirm(copy, sent === undefined ? copy.etag : sent.etag);
  }

  async #fetchFiles(sent: SentManifest, token: string | undefined, policy: RetryPolicy): Promise<void> {
    const { maxBytes, onProgress, observe } = this.#options;
    const began = performance.now();
    const manifest = readSent(this.#base, sent, maxBytes);
    const total = totalBytes(manifest);
    let done = 0;
    const onBytes = (bytes: number): void => {
      done += bytes;
      onProgress?.(total === 0 ? 1 : Math.min(1, done / total));
    };
    const brought = await this.#copies.publish(sent, manifest, (name, { bytes, sha256 }, path) =>
      download({ url: new URL(name, this.#base), token, bytes, sha256, onBytes }, path, policy),
    );
    const ms = Math.round(performance.now() - began);
    // Do not report a manifest that brought no new file, such as one with only a new `createdAt`.
    if (brought.files === 0) return;
    observe({ kind: "source-downloaded", generation: manifest.generation, ...brought, ms });
  }

  #succeed(): void {
    if (this.#failing === undefined) return;
    const ms = Math.round(performance.now() - this.#failing.since);
    this.#options.observe({ kind: "source-recovered", ms });
    this.#failing = undefined;
  }

  /** Records a failure. Reports it if there is a copy, unless a watch meets the same problem again. */
  #fail(problem: string, error: unknown, copy: Copy | undefined, occasion: Occasion): void {
    const now = performance.now();
    const { timing = TIMING } = this.#options;
    const { times = 0, since = now, problem: before } = this.#failing ?? {};
    const wanted = error instanceof SourceError ? (error.retryAfterMs ?? 0) : 0;
    const retryMs = Math.max(pauseAfter(times + 2, timing), Math.min(wanted, timing.mostRetryAfterMs));
    const askAgain = now + retryMs;
    this.#failing = { since, askAgain, times: times + 1, problem, confirmed: copy?.confirmed };
    if (copy === undefined || (before === problem && occasion === "watch")) return;
    const ageSeconds = Math.max(0, Math.round((Date.now() - copy.confirmed) / 1000));
    const { generation } = copy.manifest;
    const failed = { problem, copy: generation, ageSeconds, retryMs: Math.round(retryMs) };
    this.#options.observe({ kind: "source-failed", ...failed });
  }
}
