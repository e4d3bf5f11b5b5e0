/**
 * A round of a server in a process of its own, which exports once and ends. Both ends of it:
 *
 *     server ── settings, one message ─────────▶ process ── publishes ──▶ folder
 *            ◀── steps, then result or problem ──
 *
 * The process ends when its channel does, so also when the server is killed.
 */

import { spawn } from "node:child_process";
import { setPriority } from "node:os";
import type { CommandIo } from "../cli/command.ts";
import { failureAt, UsageError } from "../cli/options.ts";
import type { Observation } from "../observe/events.ts";
import { isObject } from "../util/json.ts";
import { leaveDeletedFolder } from "../util/process/working-folder.ts";
import { SourceError } from "../util/source-error.ts";
import { UserError } from "../util/user-error.ts";

/** Settings of a round. The URL may hold a password, which no list of processes shows. */
export interface RoundSettings {
  readonly postgres: string;
  readonly queries: string | undefined;
  /** The link to the published snapshot. */
  readonly out: string;
  readonly allowShrink: boolean;
  readonly skipBroken: number;
}

type RoundDone = Extract<Observation, { readonly kind: "round-done" }>;

export type Round = Pick<RoundDone, "generation" | "isNew" | "details">;

/** Runs a round, and reports how long it took. */
export async function timed(run: () => Promise<Round>): Promise<RoundDone> {
  const began = performance.now();
  const round = await run();
  const seconds = Number(((performance.now() - began) / 1000).toFixed(3));
  return { kind: "round-done", ...round, seconds };
}

/** A message of the process. */
type RoundMessage = { readonly step: string } | { readonly problem: string } | { readonly done: RoundDone };

/** The command of the process (see `commands.ts`); help does not list it. */
const ROUND_COMMAND = "round";
/** A process sends its step at most so often. */
const STEP_MS = 500;
/** How long a process that must end may take to remove its files. */
const LEAVE_MS = 3000;
/** The process leaves the processor to requests. */
const NICE = 10;
/** Most characters of the process's last words that a problem quotes. */
const MOST_WORDS = 1000;

function problemText(out: string, error: unknown): string {
  const failure = failureAt(out, error);
  if (failure === error && !(error instanceof UserError)) throw error;
  const [first, ...others] = (failure as Error).message.split("\n");
  return `${first}${others.length > 0 ? ` (and ${others.length} more)` : ""}`;
}

/** In the process: takes the settings, runs the round, and sends its steps and result. */
export async function serveRound(
  { exit }: CommandIo,
  run: (settings: RoundSettings, onProgress: (step: string) => void) => Promise<Round>,
): Promise<void> {
  if (process.send === undefined) throw new UsageError("only orrery serve starts this");
  // The server has ended.
  process.once("disconnect", () => exit(1));
  const send = (message: RoundMessage): Promise<void> =>
    new Promise((resolve) => void process.send?.(message, undefined, {}, () => resolve()));
  const settings = await new Promise<RoundSettings>((resolve) => process.once("message", resolve as never));
  let sentAt = 0;
  let sentStep = "";
  const onProgress = (step: string): void => {
    if (step === sentStep && performance.now() < sentAt + STEP_MS) return;
    [sentAt, sentStep] = [performance.now(), step];
    void send({ step });
  };
  try {
    await send({ done: await timed(() => run(settings, onProgress)) });
    exit(0);
  } catch (error) {
    await send({ problem: problemText(settings.out, error) });
    exit(1);
  }
}

export interface RoundOptions {
  /** How this program is started: the runtime, its options, and the entry. */
  readonly command: readonly string[];
  readonly settings: RoundSettings;
  /** A round without progress for so long fails. */
  readonly stallMs: number;
  /** Ends the process. */
  readonly signal: AbortSignal;
}

/** In the server: runs a round. @throws {SourceError} why it failed */
export async function runRoundProcess({
  command,
  settings,
  stallMs,
  signal,
}: RoundOptions): Promise<RoundDone> {
  const [file, ...args] = command;
  leaveDeletedFolder();
  const child = spawn(file!, [...args, ROUND_COMMAND], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // A signal for the server's group, such as Ctrl+C, is the server's alone.
    detached: true,
  });
  const kill = (): void => void child.kill("SIGKILL");
  const end = (): void => {
    child.kill("SIGTERM");
    setTimeout(kill, LEAVE_MS).unref();
  };
  let step = "starting";
  let outcome: Partial<{ problem: string; done: RoundDone }> = {};
  let words = "";
  const stall = setTimeout(() => {
    outcome = { problem: `no progress for ${stallMs / 1000} s (${step})` };
    end();
  }, stallMs);
  child.on("message", (message: RoundMessage) => {
    // tsx, which runs the sources of a checkout, sends messages of its own.
    if (!isObject(message) || outcome.problem !== undefined) return;
    if ("step" in message) {
      step = message.step;
      stall.refresh();
    } else if ("done" in message || "problem" in message) outcome = message;
  });
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    words = (words + text).slice(-MOST_WORDS);
  });
  child.on("spawn", () => {
    try {
      setPriority(child.pid!, NICE);
    } catch {
      // It has ended, or the system forbids it.
    }
  });
  // The process may be gone before it has read.
  child.send(settings, () => {});
  signal.addEventListener("abort", end);
  process.once("exit", kill);
  try {
    const ended = await new Promise<string>((resolve) => {
      child.on("error", (error) => resolve(error.message));
      child.on("close", (status, killer) => resolve(`its process ended with ${killer ?? status}`));
    });
    if (outcome.done !== undefined) return outcome.done;
    const last = words.split("\n").findLast((line) => /^(orrery|FATAL ERROR): /.test(line));
    throw new SourceError(outcome.problem ?? last?.replace(/^orrery: /, "") ?? ended);
  } finally {
    clearTimeout(stall);
    signal.removeEventListener("abort", end);
    process.off("exit", kill);
  }
}
