/**
 * A snapshot by URL: a folder served by any static host, and the copy of it that is loaded.
 *
 * Each check asks whether the manifest has changed, downloads and verifies the listed files that are missing here, and publishes
 * all of them as the new copy, or nothing. After a failure the existing copy is used, and the watch asks the host only after a
 * pause; then the download begins anew.
 */

import { readToken } from "../../files/given.ts";
import { OccupiedError } from "../../files/publish.ts";
import type { Observe } from "../../observe/events.ts";
import type { Occasion, Source } from "../../server/load/source.ts";
import { GrowingPauses } from "../../util/process/pauses.ts";
import { SourceError } from "../../util/source-error.ts";
import { systemErrorText } from "../../util/system-error.ts";
import { openClient } from "./client.ts";
import {
  type Copy,
  confirmCopy,
  copiesFolderOf,
  currentCopy,
  publishCopy,
  removeDamagedCopy,
} from "./copies.ts";
import { askManifest, download, totalBytes } from "./download.ts";

export interface UrlSourceOptions {
  /** Checked by `problemWithAddress`. */
  readonly address: string;
  readonly cache: string;
  readonly tokenFile?: string | undefined;
  /** The option or variable that named the file. */
  readonly tokenName: string;
  /** Receives the downloaded share, from 0 to 1. */
  readonly onProgress?: ((share: number) => void) | undefined;
  readonly observe: Observe;
  /** See `openClient`; shorter in tests, like the pause of the watch after the first failure. */
  readonly progressMs?: number;
  readonly firstPauseMs?: number;
}

const PROGRESS_MS = 30_000;
const FIRST_PAUSE_MS = 1000;
const MOST_PAUSE_MS = 60_000;

/** The line that reports an error. Rethrows defects. */
function downloadProblem(error: unknown, place: string): string {
  if (error instanceof SourceError) return error.message;
  if (error instanceof OccupiedError) return `${place}/current: ${error.message}`;
  const words = systemErrorText(error);
  if (words === undefined) throw error;
  return `${(error as NodeJS.ErrnoException).path ?? place}: the copy cannot be written or read (see --cache): ${words}`;
}

export class UrlSource implements Source {
  readonly #options: UrlSourceOptions;
  readonly #base: URL;
  readonly #place: string;
  readonly #pauses: GrowingPauses;
  /** The last failure, and the copy that is served meanwhile. Times are of `performance.now()`. */
  #failing: { since: number; askAgainAt: number; problem: string; copy: Copy | undefined } | undefined;
  /** The token last sent, to hide it in messages: one may name the host that a redirect leads to. */
  #lastToken: string | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: UrlSourceOptions) {
    this.#options = options;
    this.#base = new URL(options.address);
    this.#place = copiesFolderOf(options.cache, options.address);
    this.#pauses = new GrowingPauses(options.firstPauseMs ?? FIRST_PAUSE_MS, MOST_PAUSE_MS);
  }

  /** Runs one at a time. A later caller asks the host again: the earlier answer may be out of date by then. */
  refresh(occasion: Occasion, signal: AbortSignal): Promise<string> {
    const mine = this.#last.then(() => this.#check(occasion, signal));
    this.#last = mine.catch(() => {});
    return mine;
  }

  ageMs(): number {
    const { copy } = this.#failing ?? {};
    return copy === undefined ? 0 : Math.max(0, Date.now() - copy.confirmedMs);
  }

  problem(): string | undefined {
    return this.#failing?.problem;
  }

  removeDamagedCopy(folder: string): Promise<boolean> {
    return removeDamagedCopy(this.#place, folder).catch(() => false);
  }

  async #check(occasion: Occasion, signal: AbortSignal): Promise<string> {
    let copy: Copy | undefined;
    try {
      copy = await currentCopy(this.#place);
      if (occasion !== "watch" || performance.now() >= (this.#failing?.askAgainAt ?? 0)) {
        copy = await this.#update(copy, await this.#readToken(), signal);
        const since = this.#failing?.since;
        this.#failing = undefined;
        this.#pauses.reset();
        if (since !== undefined)
          this.#options.observe({ kind: "source-recovered", ms: Math.round(performance.now() - since) });
      }
    } catch (error) {
      signal.throwIfAborted();
      const problem = downloadProblem(error, this.#place);
      this.#fail(this.#lastToken ? problem.replaceAll(this.#lastToken, "…") : problem, copy, occasion);
    }
    if (copy !== undefined) return copy.folder;
    throw new SourceError(`${this.#failing!.problem} (there is no earlier copy)`);
  }

  async #readToken(): Promise<string | undefined> {
    const { tokenFile, tokenName } = this.#options;
    this.#lastToken = tokenFile === undefined ? undefined : await readToken(tokenFile, tokenName);
    return this.#lastToken;
  }

  /** Asks the host. @returns the copy that it confirms, or the new one @throws {SourceError}; errors of the file system */
  async #update(copy: Copy | undefined, token: string | undefined, signal: AbortSignal): Promise<Copy> {
    const { onProgress, observe, progressMs = PROGRESS_MS } = this.#options;
    const client = await openClient(this.#base, token, progressMs, signal);
    try {
      const sent = await askManifest(client, this.#base, copy?.etag);
      if (copy !== undefined && (sent === undefined || sent.sha256 === copy.sha256)) {
        await confirmCopy(copy, sent === undefined ? copy.etag : sent.etag);
        return copy;
      }
      const began = performance.now();
      const { manifest } = sent!;
      let received = 0;
      const onBytes = (bytes: number): void => {
        received += bytes;
        onProgress?.(received / totalBytes(manifest));
      };
      const brought = await publishCopy(this.#place, sent!, (name, listed, path) =>
        download(client, new URL(name, this.#base), listed, path, onBytes),
      );
      const ms = Math.round(performance.now() - began);
      // A manifest that brought no new file, such as one with only a new `createdAt`, is no event.
      if (brought.files > 0)
        observe({ kind: "source-downloaded", generation: manifest.generation, ...brought, ms });
    } finally {
      client.close();
    }
    const published = await currentCopy(this.#place);
    if (published !== undefined) return published;
    throw new SourceError(`${this.#place}: another process has removed the new copy`);
  }

  /** Records a failure. Reports it if there is a copy, unless a watch meets the same problem again. */
  #fail(problem: string, copy: Copy | undefined, occasion: Occasion): void {
    const now = performance.now();
    const { since = now, problem: before } = this.#failing ?? {};
    const retryMs = this.#pauses.next();
    this.#failing = { since, askAgainAt: now + retryMs, problem, copy };
    if (copy === undefined || (before === problem && occasion === "watch")) return;
    const ageSeconds = Math.round(this.ageMs() / 1000);
    this.#options.observe({
      kind: "source-failed",
      problem,
      copy: copy.manifest.generation,
      ageSeconds,
      retryMs,
    });
  }
}
