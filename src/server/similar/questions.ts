/** Searches for similar names that one thread asks of another: the asking end and the answering end. */

import { Scheduler } from "../../search/schedule.ts";
import type { Work } from "../../search/work.ts";
import {
  BUSY,
  type Busy,
  type Caller,
  type Found,
  type PageOf,
  type SearchName,
  type SearchOf,
} from "../../store/generation.ts";
import { beginWork, yieldCpu, yieldingCpu } from "../../util/process/yield-cpu.ts";

interface SearchRequest {
  readonly number: number;
  /** Slot of the caller's key; see {@link Caller}. */
  readonly key: number;
  readonly name: SearchName;
  readonly term: string;
  readonly page: PageOf;
}

/** A search, or the number of an earlier one whose caller is gone; that one gets no answer. */
export type Question = SearchRequest | { readonly dropped: number };

export interface SearchAnswer {
  readonly number: number;
  /** Without it, and without a problem, the asking thread must search itself: there is no thread or index. */
  readonly found?: Found | undefined;
  readonly problem?: string;
}

/** Milliseconds between checks for gone callers: a listener for each would cost every request, also one that never waits. */
const CHECK_MS = 20;

/** Asks for a page of a search; resolves with undefined when the caller must search itself. */
export type AskPage = SearchOf<Promise<Found | Busy | undefined>>;

interface OpenQuestion {
  readonly caller: Caller;
  readonly resolve: (found: Found | Busy | undefined) => void;
  readonly reject: (error: Error) => void;
}

interface Asked {
  postMessage(question: Question): void;
}

/** The questions to one thread and its replacements. */
export class Questions {
  readonly #onDone: () => void;
  readonly #open = new Map<number, OpenQuestion>();
  /** Absent while there is none; no question is open then. */
  #thread: Asked | undefined;
  #isRetired = false;
  #timer: NodeJS.Timeout | undefined;
  #numbers = 0;

  /** @param onDone called when it is retired and no question is open */
  constructor(onDone: () => void) {
    this.#onDone = onDone;
  }

  get isDone(): boolean {
    return this.#isRetired && this.#open.size === 0;
  }

  /** Whether there is no thread: none yet, or none since {@link giveBack}. */
  get isDown(): boolean {
    return this.#thread === undefined;
  }

  sendTo(thread: Asked): void {
    this.#thread = thread;
    this.#checkDone();
  }

  /** Resolves with {@link BUSY} when the caller is gone, and with undefined when there is no thread. */
  readonly ask: AskPage = (name, term, page, caller) => {
    const thread = this.#thread;
    if (this.isDone || thread === undefined) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const { limit, offset } = page;
      const number = this.#numbers++;
      const request = { number, key: caller.key, name, term, page: { limit, offset } };
      this.#open.set(number, { caller, resolve, reject });
      thread.postMessage(request);
      this.#timer ??= setInterval(() => this.#dropGone(), CHECK_MS);
    });
  };

  settle({ number, found, problem }: SearchAnswer): void {
    const question = this.#close(number);
    if (problem === undefined) question?.resolve(found);
    else question?.reject(new Error(problem));
  }

  /** Resolves all questions, and later ones until the next thread, with undefined: the callers search instead. */
  giveBack(): void {
    this.#thread = undefined;
    for (const number of this.#open.keys()) this.settle({ number });
  }

  readonly retire = (): void => {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#checkDone();
  };

  #close(number: number): OpenQuestion | undefined {
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
    for (const [number, { caller, resolve }] of this.#open) {
      if (!caller.isGone()) continue;
      this.#thread?.postMessage({ dropped: number });
      this.#close(number);
      resolve(BUSY);
    }
  }
}

/**
 * Answers questions.
 * @param search does one search; undefined leaves it to the asking thread
 * @param isGone whether the asking thread is gone
 * @returns takes the questions
 */
export function answerQuestions(
  search: AskPage,
  send: (answer: SearchAnswer) => void,
  isGone = () => false,
): (question: Question) => void {
  /** Numbers of the running searches whose callers still wait. */
  const wanted = new Set<number>();

  async function answer({ number, key, name, term, page }: SearchRequest): Promise<void> {
    if (wanted.size === 0) beginWork();
    wanted.add(number);
    try {
      const caller = { key, isGone: () => isGone() || !wanted.has(number) };
      const found = await search(name, term, page, caller);
      // A copy, since the rows may be a view of the whole result, which stays here.
      if (found !== BUSY)
        send({ number, found: found && { total: found.total, rows: new Uint32Array(found.rows) } });
    } catch (error) {
      send({ number, problem: String(error) });
    }
    wanted.delete(number);
  }

  return (question) => {
    if ("dropped" in question) wanted.delete(question.dropped);
    else void answer(question);
  };
}

/** Answers in a thread that only searches: in time slices that are fair between keys, with sleeps between them. */
export function answerInSlices(
  search: (name: SearchName, term: string, page: PageOf) => Work<Found>,
  send: (answer: SearchAnswer) => void,
): (question: Question) => void {
  const scheduler = new Scheduler();
  return answerQuestions(
    async (name, term, page, caller) => scheduler.run(yieldingCpu(search(name, term, page)), caller),
    (answer) => {
      send(answer);
      yieldCpu();
    },
  );
}
