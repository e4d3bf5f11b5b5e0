/**
 * Searches that were asked of another thread and are not answered yet.
 *
 * Questions go out in batches, what one turn of the event loop brings together: a message a search takes two
 * threads as long as an average search. So do the numbers of questions whose callers are gone. A timer looks
 * for these: a listener for each would cost every request, also one that never waits.
 */

import { BUSY, type Busy, type Caller, type Found, type PageOf } from "../../store/generation.ts";

/** Which of the two searches. */
export type SearchName = "users" | "worlds";

/** One search. */
export interface SearchRequest {
  readonly number: number;
  /** Slot of the caller's key; see {@link Caller}. */
  readonly key: number;
  readonly name: SearchName;
  readonly term: string;
  readonly page: PageOf;
  /** Whether similar names are asked for. */
  readonly similar?: true;
}

/** Searches of about the same time. */
export interface SearchBatch {
  readonly asked: readonly SearchRequest[];
  /** Numbers of earlier ones whose callers are gone; they get no answer. */
  readonly dropped: readonly number[];
}

/** The outcome of a search. */
export type SearchAnswer =
  | { readonly number: number; readonly found: Found }
  | { readonly number: number; readonly problem: string }
  /** The asking thread must search itself. Only the main thread says so. */
  | { readonly number: number; readonly over: true };

/** How often it is looked whether callers are gone, in milliseconds. */
const LOOK_MS = 20;

/** A question, and who waits for its answer. */
export interface Question {
  readonly request: SearchRequest;
  readonly caller: Caller;
  /** Threads that died while they had it. */
  deaths: number;
  readonly resolve: (found: Found | Busy | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** The questions to one thread. */
export class Questions {
  readonly #send: (batch: SearchBatch) => boolean;
  readonly #open = new Map<number, Question>();
  /** What the thread was not told yet. */
  #asked: Question[] = [];
  #dropped: number[] = [];
  #isSending = false;
  #timer: NodeJS.Timeout | undefined;
  #numbers = 0;
  readonly #onSettled: () => void;

  /**
   * @param send gives a batch to the thread; false when there is none at the moment
   * @param onSettled called when a question is no longer open
   */
  constructor(send: (batch: SearchBatch) => boolean, onSettled: () => void = () => {}) {
    this.#send = send;
    this.#onSettled = onSettled;
  }

  /** How many are not answered. */
  get size(): number {
    return this.#open.size;
  }

  /** Resolves with {@link BUSY} when the caller is gone. */
  ask(
    name: SearchName,
    term: string,
    page: PageOf,
    caller: Caller,
    similar = false,
  ): Promise<Found | Busy | undefined> {
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
  }

  /** Gives an answer to its caller. */
  settle(answer: SearchAnswer): void {
    const question = this.#close(answer.number);
    if ("found" in answer) question?.resolve(answer.found);
    else if ("over" in answer) question?.resolve(undefined);
    else question?.reject(new Error(answer.problem));
  }

  /** Asks a new thread everything that is open. */
  askAgain(): void {
    this.#asked = [...this.#open.values()];
    this.#dropped = [];
    this.#sendNow();
  }

  /** Gives up all questions that this is true of. */
  fail(isOver: (question: Question) => boolean, message: string): void {
    for (const question of this.#open.values()) {
      if (!isOver(question)) continue;
      this.#close(question.request.number);
      question.reject(new Error(message));
    }
  }

  /** Gives all questions back unanswered: the callers search instead. */
  giveBack(): void {
    for (const { request, resolve } of this.#open.values()) {
      this.#close(request.number);
      resolve(undefined);
    }
  }

  #close(number: number): Question | undefined {
    const question = this.#open.get(number);
    if (question === undefined) return undefined;
    this.#open.delete(number);
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#onSettled();
    return question;
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
    if (batch.asked.length + batch.dropped.length > 0 && !this.#send(batch)) return;
    this.#asked = [];
    this.#dropped = [];
  }
}
