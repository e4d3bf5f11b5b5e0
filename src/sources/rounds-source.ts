/**
 * A snapshot from a database: a timer starts a round, a process that exports into a folder (`round-process.ts`), and the server
 * follows the folder. A reload starts a round at once.
 */

import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "../files/folders.ts";
import { parseTime } from "../model/time.ts";
import type { Observe } from "../observe/events.ts";
import type { Occasion, Source } from "../server/load/source.ts";
import { readManifestOf } from "../snapshot/manifest.ts";
import { Coalesced } from "../util/process/coalesced.ts";
import { SourceError } from "../util/source-error.ts";
import { type RoundOptions, runRoundProcess } from "./round-process.ts";

export interface RoundsOptions extends Pick<RoundOptions, "command" | "settings"> {
  /** Seconds from the start of a round to the start of the next. */
  readonly every: number;
  readonly observe: Observe;
}

/** Pause between two checks of the first load whether a round has published. */
const CHECK_MS = 200;
const STALL_MS = 30_000;

export class RoundsSource implements Source {
  readonly #options: RoundsOptions;
  readonly #rounds = new Coalesced(() => this.#run());
  /** Of the server; undefined before the first use. */
  #signal: AbortSignal | undefined;
  #problem: string | undefined;
  /** Whether the next round may publish less than half of the users or worlds, as somebody asked. */
  #allowsShrinkOnce = false;
  /** Time of the data that the last success confirmed. */
  #wellAt: number | undefined;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  async refresh(occasion: Occasion, signal: AbortSignal, allowShrink = false): Promise<string> {
    const { out } = this.#options.settings;
    if (this.#signal === undefined) await this.#begin(signal);
    this.#allowsShrinkOnce ||= allowShrink;
    if (occasion === "reload") await this.#rounds.ask();
    while (!(await isFolder(out))) {
      signal.throwIfAborted();
      if (occasion !== "start") throw new SourceError(this.#problem ?? "no snapshot is published yet");
      await sleep(CHECK_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
    return out;
  }

  ageMs(): number {
    return this.#wellAt === undefined ? 0 : Math.max(0, Date.now() - this.#wellAt);
  }

  problem(): string | undefined {
    return this.#problem;
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const place = dirname(this.#options.settings.out);
    this.#signal = signal;
    try {
      await makeFolder(place, 0o700);
    } catch (error) {
      throw new SourceError(`${place}: cannot be written (see --cache): ${(error as Error).message}`);
    }
    // Of an earlier run of the server.
    const at = parseTime((await this.#createdAt()) ?? "");
    if (!Number.isNaN(at)) this.#wellAt = at;
    void this.#repeat(signal);
  }

  async #createdAt(): Promise<string | undefined> {
    const manifest = await readManifestOf(this.#options.settings.out).catch(() => undefined);
    return typeof manifest?.createdAt === "string" ? manifest.createdAt : undefined;
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = performance.now() + this.#options.every * 1000;
      await this.#rounds.ask();
      const waitMs = Math.max(0, next - performance.now());
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  async #run(): Promise<void> {
    const { observe, settings } = this.#options;
    const signal = this.#signal!;
    if (signal.aborted) return;
    const began = Date.now();
    const round = { ...settings, allowShrink: settings.allowShrink || this.#allowsShrinkOnce };
    this.#allowsShrinkOnce = false;
    try {
      const done = await runRoundProcess({ ...this.#options, settings: round, stallMs: STALL_MS, signal });
      this.#problem = undefined;
      this.#wellAt = began;
      observe(done);
    } catch (error) {
      if (!signal.aborted) await this.#fail((error as Error).message);
    }
  }

  /** The same problem in a row is told once. */
  async #fail(problem: string): Promise<void> {
    const isTold = this.#problem === problem;
    this.#problem = problem;
    if (isTold) return;
    const createdAt = await this.#createdAt();
    this.#options.observe({
      kind: "round-failed",
      problem,
      ...(createdAt === undefined ? {} : { createdAt }),
    });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
