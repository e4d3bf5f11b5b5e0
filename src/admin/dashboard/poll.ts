/**
 * Asks for the status again and again: two seconds after each answer, more rarely while there is none, and not at all
 * while nobody looks. Asks for the server's memory first, where the page has none of the last seconds.
 */

import type { Status, TimelineReply } from "../status.ts";
import { ask, type Failure, orTell } from "./ask.ts";

const EVERY_MS = 2000;
const MOST_EVERY_MS = 10_000;
/** In which a status must have arrived. */
const LIMIT_MS = 10_000;
/** In which the server's memory must have arrived: the charts can do without. */
const PAST_LIMIT_MS = 3000;

/** Who is told of each answer, and of each that did not come. */
export interface PollListener {
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

/** Begins. */
export function startPolling({ wantsPast, onPast, onStatus, onFailure }: PollListener): Polling {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsking = false;
  let isPaused = false;
  /** Whether to ask at once when the running question is over. */
  let isWanted = false;
  let failures = 0;
  /** Pause before the next question; undefined for none. */
  let next: number | undefined;

  async function askAll(): Promise<void> {
    if (wantsPast()) {
      await orTell(
        async () => onPast(await ask<TimelineReply>("GET", "history", PAST_LIMIT_MS)),
        () => undefined,
      );
    }
    const status = await ask<Status>("GET", "status", LIMIT_MS);
    failures = 0;
    onStatus(status);
    next = EVERY_MS;
  }

  function onNone(failure: Failure): void {
    failures++;
    onFailure(failure);
    // Without another token the answer is the same.
    next = failure.kind === "token" ? undefined : Math.min(MOST_EVERY_MS, EVERY_MS * 2 ** (failures - 1));
  }

  async function round(): Promise<void> {
    clearTimeout(timer);
    if (isAsking || isPaused || document.hidden) return;
    isAsking = true;
    isWanted = false;
    next = MOST_EVERY_MS;
    try {
      await orTell(askAll, onNone);
    } finally {
      isAsking = false;
      if (isWanted) next = 0;
      if (next !== undefined) timer = setTimeout(round, next);
    }
  }

  document.addEventListener("visibilitychange", round);
  addEventListener("online", round);
  addEventListener("pageshow", round);
  void round();
  return {
    askNow() {
      isWanted = true;
      void round();
    },
    setPaused(paused) {
      isPaused = paused;
      void round();
    },
  };
}
