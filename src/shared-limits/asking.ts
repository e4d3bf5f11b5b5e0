/**
 * Asks a counter server for permits, and stores its answers in the leases.
 *
 * Requests that need permits of a key share the answer to a pending question about it. But that answer does not hold for
 * a request that came after the question was sent: if the request has no time for a second round trip, it sends its own
 * question at once. Each question gives the total number of wanted permits, so two questions get no more than one would.
 */

import { cellOf, countIn, countOf, mostIn, whole, windowIn } from "../auth/limit.ts";
import type { LeaseAnswer, LeaseAsk } from "./lease-script.ts";
import { type Clocks, type Leases, shareOf } from "./leases.ts";

/** Two clocks drift apart by less than this share of the elapsed time. */
const DRIFT = 2e-4;

/** Validity of an answer that nothing is left, in milliseconds. */
const RECHECK_MS = 1000;

/** More permits are requested when this share of the permits held after the last answer remains. */
const ASK_AT = 1 / 4;

export type ReceiveAnswer = (answer: LeaseAnswer) => void;

/** Called with the outcome of a question. @param sent when it was sent; undefined if it was not answered */
export type Notify = (slot: number, sent: number | undefined) => void;

/** Dependencies; simulations pass their own. */
export interface AskingHost {
  readonly now: () => Clocks;
  /**
   * @param settle called once, later; with undefined if no valid answer came in time
   * @param onLate receives an answer that comes after that
   */
  readonly lease: (
    slot: number,
    ask: LeaseAsk,
    settle: (answer: LeaseAnswer | undefined) => void,
    onLate: ReceiveAnswer,
  ) => void;
}

interface Question {
  readonly sent: number;
  readonly told: Set<Notify>;
}

/** Asks for a whole replica; used by one thread alone. */
export class Asking {
  readonly #leases: Leases;
  readonly #host: AskingHost;
  readonly #questions = new Map<number, Question>();
  /** Limits of all keys that were ever asked for, by slot. */
  readonly known = new Map<number, number>();
  asks = 0;
  failures = 0;

  constructor(leases: Leases, host: AskingHost) {
    this.#leases = leases;
    this.#host = host;
  }

  /**
   * Asks, or shares the answer to a pending question. @param since the pending question must have been sent after this,
   * by the monotonic clock
   */
  ask(slot: number, limit: number, want: number, notify: Notify, since = Number.NEGATIVE_INFINITY): void {
    const newest = this.#questions.get(slot);
    if (newest !== undefined && newest.sent > since) {
      newest.told.add(notify);
      return;
    }
    const { now, lease } = this.#host;
    const leases = this.#leases;
    const { mono: sent } = now();
    const question: Question = { sent, told: new Set([notify]) };
    this.#questions.set(slot, question);
    this.known.set(slot, limit);
    this.asks++;
    const take: ReceiveAnswer = (answer) => takeAnswer(leases, slot, limit, answer, { sent, ...now() });
    const settle = (answer: LeaseAnswer | undefined): void => {
      if (answer === undefined) this.failures++;
      else take(answer);
      Atomics.store(leases.away, slot, answer === undefined ? 1 : 0);
      if (this.#questions.get(slot) === question) this.#questions.delete(slot);
      for (const one of question.told) one(slot, answer === undefined ? undefined : sent);
    };
    // The key stays away: requests that passed without this answer must still be reported.
    const onLate: ReceiveAnswer = (answer) => take(withinShare(leases, slot, limit, answer));
    lease(slot, makeAsk(leases, slot, limit, want), settle, onLate);
  }
}

export function makeAsk(leases: Leases, slot: number, limit: number, want: number): LeaseAsk {
  const { split, cells, elsewhere: others } = leases.counters;
  whole[0] = Atomics.load(leases.permits, slot);
  const leased = windowIn(split);
  whole[0] = Atomics.load(cells, slot);
  const window = Math.max(windowIn(split), leased);
  // Another process reports them: the process before a restart, or one that shares the counts file.
  const elsewhere = countOf(others, slot, window, split);
  const have = Math.max(0, countOf(leases.permits, slot, window, split) - elsewhere);
  const used = Math.max(0, countOf(cells, slot, window, split) - elsewhere);
  return { limit, window, have, used, want };
}

/** Stores an answer in the leases. @param sent when the server was asked, by the monotonic clock */
function takeAnswer(
  leases: Leases,
  slot: number,
  limit: number,
  { window, total, rest, msLeft }: LeaseAnswer,
  { sent, mono, wall }: Clocks & { readonly sent: number },
): void {
  const { permits, counters } = leases;
  const { split, windowSeconds } = counters;
  whole[0] = Atomics.load(permits, slot);
  const before = windowIn(split);
  // The server's clock went back, or the server lost its data.
  if (before > window) return;
  const known = before === window ? countIn(split) : 0;
  const all = Math.min(
    Math.max(known, total + countOf(leases.counters.elsewhere, slot, window, split)),
    mostIn(split),
  );
  // Stored first: a reader that has mixed old permits with the values below rereads the permits, and sees the change.
  Atomics.store(permits, slot, cellOf(split, window, all));
  // The server's clock was read in whole milliseconds.
  const until = sent + (msLeft - 1) * (1 - DRIFT);
  leases.until[slot] = until;
  leases.wallUntil[slot] = wall + until - mono;
  leases.rest[slot] = rest;
  const asked = leases.limits[slot]!;
  // The server granted nothing new: held permits may exceed a limit that was lowered.
  const isSpent = before === window && rest === 0 && all === known && (asked < 0 || asked > limit);
  leases.limits[slot] = isSpent ? -limit : limit;
  leases.recheck[slot] = mono + RECHECK_MS;
  leases.clock[0] = (window + 1) * windowSeconds * 1000 - msLeft + (mono - sent) / 2 - wall;
  const used = countOf(counters.cells, slot, window, split);
  leases.askBelow[slot] = rest > 0 ? Math.floor((all - used) * ASK_AT) : 0;
}

/**
 * The usable part of an answer that came too late: its rest bounds the requests that pass alone, but its permits count
 * only up to the share. Requests were counted within the share instead, and other replicas, also cut off, may rely on
 * theirs. If no requests pass alone, the whole answer is usable.
 */
function withinShare(leases: Leases, slot: number, limit: number, answer: LeaseAnswer): LeaseAnswer {
  if (leases.denies) return answer;
  const { split } = leases.counters;
  const elsewhere = countOf(leases.counters.elsewhere, slot, answer.window, split);
  const most = Math.max(shareOf(leases, limit), countOf(leases.permits, slot, answer.window, split));
  const total = Math.min(answer.total, Math.max(0, most - elsewhere));
  return { ...answer, total, rest: answer.rest + answer.total - total };
}
