/**
 * The way to one counter server: a connection that is opened again when it is
 * lost, after growing, random pauses. A server that does not answer in time, or
 * answers that it cannot count, is away: nothing is sent to it until a new
 * connection has passed a check, so that no other request waits. Answers that come
 * a little late are still handed on; then the connection is closed. A command is
 * sent once; whether one without an answer has run is not known, and it is not
 * sent again.
 */

import { type Connection, ReplyError } from "./connection.ts";
import { startRealTimer } from "./monotonic.ts";

/** How long a command may take, in milliseconds: less than a request waits, so that all learn at once that nobody answers. */
const ANSWER_MS = 40;

/** For how long late answers are awaited before the connection is closed, in milliseconds. */
const LATE_MS = 250;

/** Pauses between attempts to connect, in milliseconds; each is between half of it and all of it. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** A server that was up for so long is tried again after a short pause. */
const STEADY_MS = 10_000;

/** A server that was not asked for so long is asked whether it is there. */
const IDLE_MS = 5000;

/** The server cannot be asked now. */
export class AwayError extends Error {
  override name = "AwayError";
}

/** Nothing came in time; it may still come. */
class LateError extends AwayError {
  override name = "LateError";
}

/** What a link is made of. */
export interface LinkOptions {
  /** How long a command may take; {@link ANSWER_MS} when absent. */
  readonly answerMs: number | undefined;
  readonly open: (onLost: (problem: string) => void) => Promise<Connection>;
  /** Finds out whether the server can count. */
  readonly check: (connection: Connection) => Promise<void>;
  /** Told once at each loss and at each return; the first failure to connect is a loss. */
  readonly onAway: (problem: string) => void;
  readonly onBack: () => void;
  /** Told when the server can be asked: at each connection. */
  readonly onUp?: () => void;
  /** An error as a line that may be shown. */
  readonly say: (error: unknown) => string;
}

/** The way to a server. */
export interface Link {
  readonly isUp: () => boolean;
  /**
   * Runs one command.
   *
   * @param read makes of the answer what is wanted; throws when it is none, which no server that can count gives
   * @param onLate receives what comes after this has thrown since nothing came in time
   * @throws {AwayError} or an error of the server's after which the link is good
   */
  readonly run: <T>(
    command: readonly string[],
    read: (answer: unknown) => T,
    onLate?: (value: T) => void,
  ) => Promise<T>;
  /** Resolves when the first attempt to connect has ended, either way. */
  readonly tried: Promise<void>;
  readonly close: () => void;
}

/** Errors that say something of the command, not of the server. */
const OF_THE_COMMAND = /^(NOSCRIPT|MOVED|ASK) /;

/** Waits as long as a promise may take; what has arrived by then is looked at first. */
function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopTimer = startRealTimer(() => reject(new LateError(`no answer within ${ms} ms`)), ms);
    promise.then(
      (value) => {
        stopTimer();
        resolve(value);
      },
      (error: unknown) => {
        stopTimer();
        reject(error as Error);
      },
    );
  });
}

/** Makes a link, which begins to connect. */
export function createLink({
  answerMs = ANSWER_MS,
  open,
  check,
  onAway,
  onBack,
  onUp,
  say,
}: LinkOptions): Link {
  const inTime = <T>(promise: Promise<T>): Promise<T> => within(answerMs, promise);
  let connection: Connection | undefined;
  let isClosed = false;
  /** Undefined before the first attempt has ended. */
  let isAway: boolean | undefined;
  let attempts = 0;
  let upSince = 0;
  let lastAnswer = 0;
  let timer: NodeJS.Timeout | undefined;
  /** Commands without an answer so far. */
  let pending = 0;
  /** While answers are overdue: stops what closes the connection. */
  let stopOverdue: (() => void) | undefined;
  let wasTried = (): void => {};
  const tried = new Promise<void>((resolve) => {
    wasTried = resolve;
  });

  function lose(lost: Connection | undefined, problem: string): void {
    if (isClosed || (lost !== undefined && lost !== connection)) return;
    if (connection !== undefined && performance.now() - upSince > STEADY_MS) attempts = 0;
    connection?.close();
    connection = undefined;
    clearTimeout(timer);
    endWait();
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempts) * (1 + Math.random()) * 0.5;
    attempts++;
    timer = setTimeout(() => void connect(), pause);
    tellAway(problem);
  }

  function tellAway(problem: string): void {
    if (isAway === true) return;
    isAway = true;
    onAway(problem);
  }

  function endWait(): void {
    stopOverdue?.();
    stopOverdue = undefined;
  }

  /** An answer is overdue: the server is away. Answers that are on their way still count, so it is closed a little later. */
  function loseSoon(asked: Connection, problem: string): void {
    if (asked !== connection || stopOverdue !== undefined) return;
    tellAway(problem);
    stopOverdue = startRealTimer(() => lose(asked, problem), LATE_MS);
  }

  /** Sends one command. The last of the overdue answers ends the wait for them. */
  function send(asked: Connection, command: readonly string[]): Promise<unknown> {
    pending++;
    const answer = asked.run(command);
    const settled = (): void => {
      if (asked !== connection) return;
      pending--;
      if (stopOverdue !== undefined && pending === 0) lose(asked, "");
    };
    answer.then(settled, settled);
    return answer;
  }

  async function connect(): Promise<void> {
    let opened: Connection | undefined;
    let lost: string | undefined;
    try {
      opened = await open((problem) => {
        lost = problem;
        if (connection !== undefined && connection === opened) lose(opened, problem);
      });
      if (isClosed) return opened.close();
      await inTime(check(opened));
      // Together with the answer, or behind it.
      if (lost !== undefined) throw new AwayError(lost);
    } catch (error) {
      opened?.close();
      lose(undefined, say(error));
      wasTried();
      return;
    }
    if (isClosed) return opened.close();
    connection = opened;
    pending = 0;
    upSince = performance.now();
    lastAnswer = upSince;
    timer = setTimeout(() => void beat(), IDLE_MS);
    if (isAway === true) onBack();
    isAway = false;
    wasTried();
    onUp?.();
  }

  /** So that a server that has gone is noticed before a request waits for it. */
  async function beat(): Promise<void> {
    const asked = connection;
    if (asked === undefined) return;
    if (performance.now() - lastAnswer >= IDLE_MS) {
      try {
        await inTime(check(asked));
        lastAnswer = performance.now();
      } catch (error) {
        return lose(asked, say(error));
      }
    }
    if (asked === connection) timer = setTimeout(() => void beat(), IDLE_MS);
  }

  void connect();
  return {
    isUp: () => connection !== undefined && stopOverdue === undefined,
    async run(command, read, onLate) {
      const asked = connection;
      if (asked === undefined || stopOverdue !== undefined) throw new AwayError("away");
      const sent = send(asked, command).then(read);
      try {
        const answer = await inTime(sent);
        lastAnswer = performance.now();
        return answer;
      } catch (error) {
        if (error instanceof ReplyError && OF_THE_COMMAND.test(error.message)) throw error;
        if (error instanceof LateError) {
          loseSoon(asked, say(error));
          sent.then(onLate, () => {});
        } else lose(asked, say(error));
        throw error instanceof AwayError ? error : new AwayError(say(error));
      }
    },
    tried,
    close() {
      isClosed = true;
      clearTimeout(timer);
      endWait();
      connection?.close();
      connection = undefined;
      wasTried();
    },
  };
}
