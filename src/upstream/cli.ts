/** Helpers of commands that use another server of the API, and the note of a mirror. */

import type { CommandIo } from "../cli/command.ts";
import { CommandError, UsageError } from "../cli/options.ts";
import { type ProgressBar, startProgress } from "../cli/terminal.ts";
import { BASE_PATH } from "../model/model.ts";
import { readManifestOf } from "../snapshot/manifest.ts";
import { isObject } from "../util/json.ts";
import { STOP_SIGNALS } from "../util/process/early-signals.ts";
import { problemWithUrl } from "./settings.ts";

/** The base URL of a server's operations, without a trailing slash. @throws {UsageError} naming the setting */
export function readServer(address: string, name: string): string {
  const problem = problemWithUrl(address, "--token-file");
  if (problem !== undefined) throw new UsageError(`${name}: ${problem}`);
  const { origin, pathname } = new URL(address);
  const path = pathname.replace(/\/+$/, "");
  return origin + (path.endsWith(BASE_PATH) ? path : path + BASE_PATH);
}

/** Aborts when a signal stops the process; the reason is a {@link CommandError}. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => stop.abort(new CommandError(`stopped by ${signal}`)));
  }
  return stop.signal;
}

function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.ceil((seconds % 3600) / 60)} min`;
}

/** Waits with ends closer together than this are reported once. */
const SAME_WAIT_MS = 5000;

/** Shows the progress of many requests: a bar on a terminal, and a line about each wait anywhere. */
export class RequestProgress {
  readonly #io: CommandIo;
  readonly #what: string;
  #bar: ProgressBar;
  #began = performance.now();
  #done = 0;
  /** The end of the last reported wait. */
  #told = 0;
  left = 0;

  constructor(io: CommandIo, what: string) {
    this.#io = io;
    this.#what = what;
    this.#bar = startProgress(io, what, "publishing");
  }

  restart(): void {
    this.#done = 0;
  }

  count(server: { timeFor(requests: number): number }): void {
    const { left } = this;
    const done = ++this.#done;
    if (done === 1) this.#began = performance.now();
    const paceMs = ((performance.now() - this.#began) / Math.max(1, done - 1)) * left;
    const words = `${left} requests left, ${durationText(Math.max(server.timeFor(left), paceMs))}`;
    if (left === 0) this.#bar.show(0, `${done} requests`);
    else this.#bar.show(Math.min(0.99, done / (done + left)), words);
  }

  tellWait(ms: number): void {
    const until = Date.now() + ms;
    if (Math.abs(until - this.#told) < SAME_WAIT_MS) return;
    this.#told = until;
    this.end();
    const more = this.left === 0 ? "" : `, ${this.left} requests left`;
    this.#io.complain(`orrery: the limit is used up; waiting ${durationText(ms)}${more}\n`);
    this.#bar = startProgress(this.#io, this.#what, "publishing");
  }

  end(): void {
    this.#bar.end();
  }
}

/** The manifest field that describes a mirror. */
export interface MirrorNote {
  readonly from: string;
  /** Its generation; null when it named none or changed meanwhile. */
  readonly generation: string | null;
  /** Searches whose results are all in the snapshot. */
  readonly searches: readonly string[];
  /** Number of users on the server; the snapshot may hold only some. */
  readonly totalUsers: number;
}

/** The note of a mirror in its snapshot's manifest; undefined without one. */
export async function readNote(folder: string): Promise<MirrorNote | undefined> {
  const note = (await readManifestOf(folder))?.mirror;
  if (!isObject(note) || !Array.isArray(note.searches) || typeof note.totalUsers !== "number")
    return undefined;
  return note as unknown as MirrorNote;
}
