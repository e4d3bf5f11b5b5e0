/**
 * The link to one counter server: a connection that is reopened after a loss, with exponential backoff and jitter. A
 * server that does not answer in time, or answers that it cannot count, is away: nothing is sent to it until a new
 * connection has passed a check, so that no other request waits. Answers that are a little late are still passed on;
 * then the connection is closed. A command is sent once and never retried: without an answer it may have run or not.
 *
 * States:
 *
 *     connecting ─▶ up ─▶ overdue ─▶ pausing ─▶ connecting …
 *          └────────┴─────────────────▲
 *
 * - connecting: a connection is being opened and checked;
 * - up: commands are sent;
 * - overdue: an answer did not come in time; only late answers are awaited;
 * - pausing: no connection until the pause is over;
 * - closed: for good, from any state.
 */

import { GrowingPauses } from "../util/process/pauses.ts";
import { type CounterConnection, ReplyError } from "./connection.ts";
import { startRealTimer } from "./monotonic.ts";

/** Timeout of a command, in milliseconds: shorter than a request waits, so that all waiting requests learn at once of a loss. */
const ANSWER_MS = 40;

/** How long to await late answers before the connection is closed, in milliseconds. */
const LATE_MS = 250;

/** Backoff between attempts to connect, in milliseconds; each pause is a random part of it, at least half. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** If the server was up for this time, the backoff begins anew. */
const STEADY_MS = 10_000;

/** Interval between checks of a server, which may be without questions. */
const CHECK_MS = 5000;

export class AwayError extends Error {
  override name = "AwayError";
}

/** No answer came in time; it may still come. */
class LateError extends AwayError {}

export interface LinkOptions {
  /** Timeout of a command; {@link ANSWER_MS} when absent. */
  readonly answerMs: number | undefined;
  readonly open: (onLost: (problem: string) => void) => Promise<CounterConnection>;
  readonly check: (connection: CounterConnection) => Promise<void>;
  /** Called once at each loss; the first failure to connect is a loss. */
  readonly onAway: (problem: string) => void;
  /** Called when commands can be sent, after a loss or for the first time. */
  readonly onUp: () => void;
  readonly say: (error: unknown) => string;
}

/** Errors that concern the command, not the server. */
const OF_THE_COMMAND = /^(NOSCRIPT|MOVED|ASK) /;

/** A link to a server; connects at once. */
export class Link {
  readonly #options: LinkOptions;
  readonly #answerMs: number;
  #state: "connecting" | "up" | "overdue" | "pausing" | "closed" = "connecting";
  #connection: CounterConnection | undefined;
  #upSince = 0;
  #pending = 0;
  /** Ends the pause, or checks the server. */
  #timer: NodeJS.Timeout | undefined;
  #stopOverdue = (): void => {};
  readonly #pauses = new GrowingPauses(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  #toldAway = false;
  /** Resolves when the first attempt to connect has ended, either way. */
  readonly tried: Promise<void>;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.tried = this.#connect();
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  /**
   * @param read makes the result of an answer; throws if the answer shows that the server cannot count
   * @param onLate receives the result if it comes after this has thrown
   * @throws {AwayError} or an error of the server that leaves the link usable
   */
  async run<T>(
    command: readonly string[],
    read: (answer: unknown) => T,
    onLate?: (value: T) => void,
  ): Promise<T> {
    const connection = this.#connection;
    if (this.#state !== "up" || connection === undefined) throw new AwayError("away");
    const sent = this.#send(connection, command).then(read);
    try {
      return await this.#inTime(sent);
    } catch (error) {
      if (error instanceof ReplyError && OF_THE_COMMAND.test(error.message)) throw error;
      const problem = this.#options.say(error);
      if (error instanceof LateError) {
        this.#loseSoon(connection, problem);
        sent.then(onLate, () => {});
      } else this.#loseIf(connection, problem);
      throw error instanceof AwayError ? error : new AwayError(problem);
    }
  }

  close(): void {
    this.#state = "closed";
    this.#drop();
  }

  /** Waits until the timeout of an answer; bytes that have arrived by then are read first. */
  async #inTime<T>(promise: Promise<T>): Promise<T> {
    const ms = this.#answerMs;
    let stopTimer = (): void => {};
    const late = new Promise<never>((_, reject) => {
      stopTimer = startRealTimer(() => reject(new LateError(`no answer within ${ms} ms`)), ms);
    });
    return await Promise.race([promise, late]).finally(() => stopTimer());
  }

  /** Sends one command. The last overdue answer ends the wait for late answers. */
  #send(connection: CounterConnection, command: readonly string[]): Promise<unknown> {
    this.#pending++;
    const answer = connection.run(command);
    const settled = (): void => {
      if (connection !== this.#connection) return;
      this.#pending--;
      if (this.#state === "overdue" && this.#pending === 0) this.#lose("");
    };
    answer.then(settled, settled);
    return answer;
  }

  async #connect(): Promise<void> {
    const { open, check, say, onUp } = this.#options;
    this.#state = "connecting";
    let opened: CounterConnection | undefined;
    let lost: string | undefined;
    try {
      opened = await open((problem) => {
        lost = problem;
        if (opened !== undefined) this.#loseIf(opened, problem);
      });
      if (!this.#isClosed()) await this.#inTime(check(opened));
      // The loss may come with the answer, or after it.
      if (lost !== undefined) throw new AwayError(lost);
    } catch (error) {
      opened?.close();
      if (!this.#isClosed()) this.#lose(say(error));
      return;
    }
    if (this.#isClosed()) return opened.close();
    this.#state = "up";
    this.#connection = opened;
    this.#pending = 0;
    this.#upSince = performance.now();
    const connection = opened;
    this.#timer = setInterval(() => {
      if (this.#state !== "up") return;
      this.#inTime(check(connection)).catch((error) => {
        if (error instanceof LateError) this.#loseSoon(connection, say(error));
        else this.#loseIf(connection, say(error));
      });
    }, CHECK_MS);
    this.#toldAway = false;
    onUp();
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }

  /** An answer is overdue: the server is away. Late answers still count, so the connection is closed a little later. */
  #loseSoon(connection: CounterConnection, problem: string): void {
    if (connection !== this.#connection || this.#state === "overdue") return;
    this.#state = "overdue";
    this.#tellAway(problem);
    this.#stopOverdue = startRealTimer(() => this.#loseIf(connection, problem), LATE_MS);
  }

  #loseIf(connection: CounterConnection, problem: string): void {
    if (connection === this.#connection) this.#lose(problem);
  }

  /** Gives up the connection or the attempt; the next attempt follows after a pause. */
  #lose(problem: string): void {
    if (this.#connection !== undefined && performance.now() - this.#upSince > STEADY_MS) this.#pauses.reset();
    this.#state = "pausing";
    this.#drop();
    const pauseMs = this.#pauses.next() * (0.5 + Math.random() / 2);
    this.#timer = setTimeout(() => void this.#connect(), pauseMs);
    this.#tellAway(problem);
  }

  #drop(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    clearTimeout(this.#timer);
    this.#stopOverdue();
    connection?.close();
  }

  #tellAway(problem: string): void {
    if (this.#toldAway) return;
    this.#toldAway = true;
    this.#options.onAway(problem);
  }
}
