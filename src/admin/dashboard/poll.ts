/**
 * Asks for the status again and again: two seconds after each answer, more rarely while there is none, and not at all
 * while nobody looks. Asks for the server's memory first, where the page has none of the last seconds.
 */

import type { Status, TimelineReply } from "../status.ts";
import { AskError, ask, type Failure } from "./ask.ts";

const EVERY_MS = 2000;
const MOST_EVERY_MS = 10_000;
/** In which a status must have arrived. */
const LIMIT_MS = 10_000;
/** In which the server's memory must have arrived: the charts can do without. */
const PAST_LIMIT_MS = 3000;

/** Who is told of each answer, and of each that did not come. */
export interface Listener {
  /** Whether the server's memory is asked for before the status. */
  readonly wantsPast: () => boolean;
  readonly onPast: (past: TimelineReply) => void;
  readonly onStatus: (status: Status) => void;
  readonly onFailure: (failure: Failure) => void;
}

/** The running questions. */
export interface Polling {
  /** Asks at once. */
  readonly askNow: () => void;
  readonly setPaused: (isPaused: boolean) => void;
}

/** When to ask again behind some failures in a row. */
export function delayAfter(failures: number): number {
  return Math.min(MOST_EVERY_MS, EVERY_MS * 2 ** Math.max(0, failures - 1));
}

/** Begins. */
export function startPolling({ wantsPast, onPast, onStatus, onFailure }: Listener): Polling {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isUnderWay = false;
  let isPaused = false;
  /** Whether to ask at once when the question that is under way is over. */
  let isWanted = false;
  let failures = 0;

  async function askPast(): Promise<void> {
    const answer = await ask("GET", "history", [200], PAST_LIMIT_MS).catch(() => undefined);
    if (answer !== undefined) onPast(answer.value as TimelineReply);
  }

  async function round(): Promise<void> {
    clearTimeout(timer);
    if (isUnderWay || isPaused || document.hidden) return;
    isUnderWay = true;
    isWanted = false;
    let next: number | undefined = MOST_EVERY_MS;
    try {
      if (wantsPast()) await askPast();
      const { value } = await ask("GET", "status", [200], LIMIT_MS);
      failures = 0;
      onStatus(value as Status);
      next = delayAfter(0);
    } catch (error) {
      failures++;
      if (!(error instanceof AskError)) throw error;
      onFailure(error.failure);
      // Without another token the answer is the same.
      next = error.failure.kind === "token" ? undefined : delayAfter(failures);
    } finally {
      isUnderWay = false;
      if (isWanted) next = 0;
      if (next !== undefined) timer = setTimeout(round, next);
    }
  }

  document.addEventListener("visibilitychange", () => void round());
  addEventListener("online", () => void round());
  addEventListener("pageshow", () => void round());
  void round();
  return {
    askNow() {
      isWanted = true;
      void round();
    },
    setPaused(next) {
      isPaused = next;
      void round();
    },
  };
}
