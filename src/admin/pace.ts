/** Requests that cost milliseconds: one at a time, with pauses that leave the thread to others. */

import { setTimeout as sleep } from "node:timers/promises";
import { type AdminAsk, type AdminReply, type AdminRow, errorReply } from "./request.ts";

/** Requests that may wait. */
const MOST_WAITING = 32;
/** A pause is this many times as long as the request before it took, */
const PAUSE = 9;
/** but no longer than this, in milliseconds. */
const MOST_PAUSE_MS = 100;

/** Makes the answers of a row take turns. */
export function paced(row: AdminRow): AdminRow["answer"] {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  async function answer(ask: AdminAsk): Promise<AdminReply> {
    waiting--;
    return ask.isGone() ? errorReply(503, "Nobody waits") : await row.answer(ask);
  }

  return (ask) => {
    if (waiting >= MOST_WAITING) return Promise.resolve(errorReply(503, "Too many requests wait"));
    waiting++;
    let began = 0;
    const reply = last.then(() => {
      began = performance.now();
      return answer(ask);
    });
    const pause = (): Promise<void> =>
      sleep(Math.min((performance.now() - began) * PAUSE, MOST_PAUSE_MS), undefined, { ref: false });
    last = reply.then(pause, pause);
    return reply;
  };
}
