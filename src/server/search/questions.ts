/**
 * Searches that one thread asks of another: the asking end and the answering end.
 *
 * All questions of one turn of the event loop go out as one batch: a message per search would cost both threads as
 * much time as an average search. The batch also lists questions whose callers are gone. A timer looks for gone
 * callers: a listener for each would cost every request, also one that never waits.
 */

import { setImmediate } from "node:timers";
import { Scheduler } from "../../search/schedule/scheduler.ts";
import type { Work } from "../../search/work.ts";
import { BUSY, type Busy, type Caller, type Found, type PageOf } from "../../store/generation.ts";
import { beginWork, yieldCpu, yieldingCpu } from "../../util/process/yield-cpu.ts";

export type SearchName = "users" | "worlds";

export interface SearchRequest {
  readonly number: number;
  /** Slot of the caller's key; see {@link Caller}. */
  readonly key: number;
  readonly name: SearchName;
  readonly term: string;
  readonly page: PageOf;
  readonly similar?: true;
}

export interface SearchBatch {
  readonly asked: readonly SearchRequest[];
  /** Numbers of earlier searches whose callers are gone; they get no answer. */
  readonly dropped: readonly number[];
}

export type SearchAnswer =
  | { readonly number: number; readonly found: Found }
  | { readonly number: number; readonly problem: string }
  /** The asking thread must search itself: there is no thread or index. */
  | { readonly number: number; readonly over: true };

/** Milliseconds between checks for gone callers. */
const LOOK_MS = 20;

/** Thread deaths after which a search is taken for their cause. */
const MOST_DEATHS = 2;

/** Asks for a page of a search; resolves with undefined when the caller must search itself. */
export type AskPage = (
  name: SearchName,
  term: string,
  page: PageOf,
  caller: Caller,
) => Promise<Found | Busy | undefined>;

interface Question {
  readonly request: SearchRequest;
  readonly caller: Caller;
  /** Threads that died while this question was open. */
  deaths: number;
  readonly resolve: (found: Found | Busy | undefined) => void;
  readonly reject: (error: Error) => void;
}

interface Asked {
  postMessage(batch: SearchBatch): void;
}

/** The questions to one thread and its replacements. */
export class Questions {
  readonly #onDone: () => void;
  readonly #open = new Map<number, Question>();
  #thread: Asked | undefined;
  #isRetired = false;
  #isDown = false;
  /** Questions that the thread was not sent yet. */
  #asked: Question[] = [];
  #dropped: number[] = [];
  #isSending = false;
  #timer: NodeJS.Timeout | undefined;
  #numbers = 0;

  /** @param onDone called when it is retired and no question is open */
  constructor(onDone: () => void) {
    this.#onDone = onDone;
  }

  /** Whether it is retired and no question is open. */
  get isDone(): boolean {
    return this.#isRetired && this.#open.size === 0;
  }

  /** Whether there will be no thread for some time; see {@link giveBack}. */
  get isDown(): boolean {
    return this.#isDown;
  }

  sendTo(thread: Asked): void {
    this.#thread = thread;
    this.#isDown = false;
    this.#asked = [...this.#open.values()];
    this.#dropped = [];
    this.#sendNow();
    this.#checkDone();
  }

  /** Resolves with {@link BUSY} when the caller is gone, and with undefined when there is no thread. */
  readonly ask = (
    ...[name, term, page, caller, similar = false]: [...Parameters<AskPage>, similar?: boolean]
  ): ReturnType<AskPage> => {
    // While questions are open, the thread lives or is being replaced.
    if (this.isDone || this.#isDown) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const { limit, offset } = page;
      const number = this.#numbers++;
      const asked: SearchRequest = { number, key: caller.key, name, term, page: { limit, offset } };
      const request = similar ? { ...asked, similar } : asked;
      const question: Question = { request, caller, deaths: 0, resolve, reject };
      this.#open.set(number, question);
      this.#asked.push(question);
      this.#sendSoon();
      this.#timer ??= setInterval(() => this.#dropGone(), LOOK_MS);
    });
  };

  settle(answers: readonly SearchAnswer[]): void {
    for (const answer of answers) {
      const question = this.#close(answer.number);
      if ("found" in answer) question?.resolve(answer.found);
      else if ("over" in answer) question?.resolve(undefined);
      else question?.reject(new Error(answer.problem));
    }
  }

  /** The open questions wait for the next thread, unless they are taken for the cause of the death. */
  threadDied(cause: string): void {
    this.#thread = undefined;
    for (const question of this.#open.values()) {
      if (++question.deaths < MOST_DEATHS) continue;
      this.#close(question.request.number);
      question.reject(new Error(`the search thread died: ${cause}`));
    }
  }

  /** Resolves all questions, and later ones until the next thread, with undefined: the callers search instead. */
  giveBack(): void {
    this.#isDown = true;
    for (const { request, resolve } of this.#open.values()) {
      this.#close(request.number);
      resolve(undefined);
    }
  }

  readonly retire = (): void => {
    this.#isRetired = true;
    this.#checkDone();
  };

  #close(number: number): Question | undefined {
    const question = this.#open.get(number);
    if (question === undefined) return undefined;
    this.#open.delete(number);
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#checkDone();
    return question;
  }

  #checkDone(): void {
    if (this.isDone) this.#onDone();
  }

  #dropGone(): void {
    for (const { request, caller, resolve } of this.#open.values()) {
      if (!caller.isGone()) continue;
      this.#dropped.push(request.number);
      this.#sendSoon();
      this.#close(request.number);
      resolve(BUSY);
    }
  }

  #sendSoon(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    setImmediate(() => this.#sendNow());
  }

  #sendNow(): void {
    this.#isSending = false;
    const asked = this.#asked.filter(({ request }) => this.#open.has(request.number));
    const batch = { asked: asked.map(({ request }) => request), dropped: this.#dropped };
    if (batch.asked.length + batch.dropped.length > 0) {
      if (this.#thread === undefined) return;
      this.#thread.postMessage(batch);
    }
    this.#asked = [];
    this.#dropped = [];
  }
}

export interface Answering {
  /** Does one search; undefined leaves it to the asking thread. @param sendAnswers to be called before the thread sleeps */
  readonly search: (
    request: SearchRequest,
    caller: Caller,
    sendAnswers: () => void,
  ) => Found | Busy | undefined | Promise<Found | Busy | undefined>;
  readonly send: (answers: readonly SearchAnswer[]) => void;
  /** Whether the asking thread is gone; never when absent. */
  readonly isGone?: () => boolean;
  /** Called when a batch arrives while no search runs. */
  readonly onBegin?: () => void;
  readonly onAnswer?: (sendAnswers: () => void) => void;
}

/** Answers questions. @returns takes a batch of them */
export function answerBatches({
  search,
  send,
  isGone = () => false,
  onBegin,
  onAnswer,
}: Answering): (batch: SearchBatch) => void {
  /** Whether the caller of a running search still waits, by number. */
  const isWanted = new Map<number, boolean>();
  /** Sent together: a message per search would cost both threads as much time as most searches. */
  let answers: SearchAnswer[] = [];

  function sendAnswers(): void {
    if (answers.length === 0) return;
    send(answers);
    answers = [];
  }

  function give(answer: SearchAnswer): void {
    isWanted.delete(answer.number);
    if (answers.push(answer) === 1) setImmediate(sendAnswers);
    onAnswer?.(sendAnswers);
  }

  async function answer(request: SearchRequest): Promise<void> {
    const { number, key } = request;
    isWanted.set(number, true);
    const caller: Caller = { key, isGone: () => isGone() || !isWanted.get(number) };
    try {
      const found = await search(request, caller, sendAnswers);
      if (found === undefined) give({ number, over: true });
      else if (found === BUSY) isWanted.delete(number);
      // A copy, since the rows may be a view of the whole result, which stays here.
      else give({ number, found: { total: found.total, rows: new Uint32Array(found.rows) } });
    } catch (error) {
      give({ number, problem: String(error) });
    }
  }

  return ({ asked, dropped }) => {
    for (const number of dropped) if (isWanted.has(number)) isWanted.set(number, false);
    if (answers.length === 0 && isWanted.size === 0) onBegin?.();
    for (const request of asked) void answer(request);
  };
}

/** Answers in a thread that only searches: in time slices that are fair between keys, with sleeps between them. */
export function answerInSlices(
  search: (request: SearchRequest) => Work<Found>,
  send: (answers: readonly SearchAnswer[]) => void,
): (batch: SearchBatch) => void {
  const scheduler = new Scheduler<Found>();
  return answerBatches({
    search: (request, caller, sendAnswers) =>
      scheduler.run(() => yieldingCpu(search(request), sendAnswers), caller),
    send,
    onBegin: beginWork,
    onAnswer: yieldCpu,
  });
}
