/**
 * A snapshot that this server exports itself: the rounds of `orrery export` run in a process of their own, which publishes into a
 * folder, and the server follows the folder.
 *
 *     server ── secret URL, standard input ──▶ child ── publishes ──▶ folder/current ◀── followed ── server
 *            ◀── lines, standard error ──────
 *
 * The child ends when its input ends, so also when the server is killed. One that dies is started again after a growing pause.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "../files/folders.ts";
import type { Observe } from "../observe/events.ts";
import type { Occasion, Source } from "../server/load/source.ts";
import { readManifestOf } from "../snapshot/manifest.ts";
import { isObject, parsedJson } from "../util/json.ts";
import { GrowingPauses } from "../util/process/pauses.ts";
import { SourceError } from "../util/source-error.ts";

export interface RoundsOptions {
  /** How this program is started: the runtime, its options, and the entry. */
  readonly command: readonly string[];
  /** The command of the child and its arguments; the place to publish at is added. */
  readonly args: readonly string[];
  /** The first line of its input, which no list of processes shows. */
  readonly input: string;
  /** Folder for the published snapshots. */
  readonly place: string;
  readonly observe: Observe;
}

const LOOK_MS = 200;
const RESTART_MS = 1000;
/** The child leaves the processor to requests. */
const NICE = 10;

export class RoundsSource implements Source {
  readonly #options: RoundsOptions;
  /** The link to the newest published snapshot. */
  readonly #current: string;
  readonly #pauses = new GrowingPauses(RESTART_MS);
  #child: ChildProcess | undefined;
  #problem: string | undefined;
  #wellAt = Date.now();
  #isEnding = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#current = join(options.place, "current");
  }

  async refresh(occasion: Occasion, signal: AbortSignal): Promise<string> {
    if (this.#child === undefined && !this.#isEnding) await this.#begin(signal);
    while (!(await this.#isThere())) {
      signal.throwIfAborted();
      if (occasion === "watch") throw new SourceError(this.#problem ?? "no snapshot is published yet");
      await sleep(LOOK_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
    return this.#current;
  }

  ageMs(): number {
    return this.#problem === undefined ? 0 : Date.now() - this.#wellAt;
  }

  problem(): string | undefined {
    return this.#problem;
  }

  async #isThere(): Promise<boolean> {
    return await stat(this.#current).then(
      (found) => found.isDirectory(),
      () => false,
    );
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const { place } = this.#options;
    try {
      await makeFolder(place, 0o700);
    } catch (error) {
      throw new SourceError(`${place}: cannot be written (see --cache): ${(error as Error).message}`);
    }
    signal.addEventListener("abort", () => this.#end());
    this.#start();
  }

  #start(): void {
    const { command, args, input } = this.#options;
    const [file, ...first] = command;
    const all = [...first, ...args, "--out", this.#current, "--until-input-ends"];
    const child = spawn(file!, all, { stdio: ["pipe", "ignore", "pipe"] });
    this.#child = child;
    // The child may be gone before it has read.
    child.stdin!.on("error", () => {});
    child.stdin!.write(`${input}\n`);
    let last = "";
    createInterface({ input: child.stderr! }).on("line", (line) => {
      if (/^(orrery|FATAL ERROR): /.test(line)) last = line;
      this.#take(line);
    });
    child.on("spawn", () => {
      try {
        setPriority(child.pid!, NICE);
      } catch {
        // It has ended, or the system forbids it.
      }
    });
    const ended = (why: string, isKilled = false): void => {
      if (this.#child !== child) return;
      this.#child = undefined;
      if (this.#isEnding) return;
      // Of one that was killed, the last words say nothing, unless they are those of a runtime out of memory.
      const words = isKilled && !last.startsWith("FATAL") ? "" : last.replace(/^orrery: /, "");
      this.#fail(words || why);
      setTimeout(
        () => this.#isEnding || this.#child !== undefined || this.#start(),
        this.#pauses.next(),
      ).unref();
    };
    child.on("error", (error) => ended(error.message));
    child.on("close", (status, killer) =>
      ended(`its process ended with ${killer ?? status}`, killer !== null),
    );
  }

  /** Takes a line of the child's log; any other line is words for people. */
  #take(line: string): void {
    const entry = parsedJson(line);
    if (!isObject(entry)) return;
    if (entry.event === "round-failed") this.#fail(String(entry.problem));
    if (entry.event !== "round-done") return;
    this.#problem = undefined;
    this.#wellAt = Date.now();
    this.#pauses.reset();
    this.#options.observe({
      kind: "round-done",
      generation: String(entry.generation),
      isNew: entry.isNew === true,
      details: String(entry.details),
      seconds: Number(entry.seconds),
    });
  }

  #fail(problem: string): void {
    const isTold = this.#problem === problem;
    this.#problem = problem;
    if (isTold) return;
    void readManifestOf(this.#current)
      .catch(() => undefined)
      .then((manifest) => {
        const createdAt = typeof manifest?.createdAt === "string" ? { createdAt: manifest.createdAt } : {};
        this.#options.observe({ kind: "round-failed", problem, ...createdAt });
      });
  }

  #end(): void {
    this.#isEnding = true;
    this.#child?.stdin?.end();
    this.#child?.kill("SIGTERM");
  }
}
