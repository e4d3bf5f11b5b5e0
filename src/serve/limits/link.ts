/**
 * The way to one counter server: a connection that is opened again when it is
 * lost, behind growing, random pauses. While an answer is overdue nothing more is
 * sent, so that no other request waits. When it arrives soon after, all goes on;
 * a server that does not answer, is late again and again, or answers that it
 * cannot count is away: nothing is sent to it until a new connection has passed a
 * check. A command is sent once; whether one whose answer did not come has run is
 * not known, and it is not sent again.
 */

import { type Connection, ReplyError } from "./connection.ts";
import { startRealTimer } from "./monotonic.ts";

/** How long a command may take, in milliseconds: less than a request waits, so that all learn at once that nobody answers. */
const ANSWER_MS = 40;

/** How much later an answer may come before the connection is given up, in milliseconds. */
const LATE_MS = 250;

/** How often that may happen within {@link STEADY_MS}; one more, and the server is too slow. */
const MOST_LATE = 3;

/** Pauses between attempts to connect, in milliseconds; each is between half of it and all of it. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** Who was up for so long begins with short pauses again. */
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
  /** Told when the server can be asked: at each connection, and when a late answer has come. */
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
   * @throws {AwayError} or an error of the server's after which the link is good
   */
  readonly run: <T>(command: readonly string[], read: (answer: unknown) => T) => Promise<T>;
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
  /** While an answer is overdue: stops what gives up the connection. */
  let stopOverdue: (() => void) | undefined;
  /** When the latest answers were overdue. */
  let lates: number[] = [];
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
    if (isAway === true) return;
    isAway = true;
    onAway(problem);
  }

  function endWait(): void {
    stopOverdue?.();
    stopOverdue = undefined;
  }

  /** An answer is overdue: asks nothing more for now. */
  function waitLonger(asked: Connection, problem: string): void {
    if (asked !== connection || stopOverdue !== undefined) return;
    const now = performance.now();
    lates = [...lates.filter((at) => now - at < STEADY_MS), now];
    if (lates.length > MOST_LATE) lose(asked, problem);
    else stopOverdue = startRealTimer(() => lose(asked, problem), LATE_MS);
  }

  /** Sends one command, and looks out for its answer also when it is late. */
  function send(asked: Connection, command: readonly string[]): Promise<unknown> {
    const answer = asked.run(command);
    answer.then(
      () => {
        if (asked !== connection || stopOverdue === undefined) return;
        endWait();
        onUp?.();
      },
      // Whoever waits for it is told.
      () => {},
    );
    return inTime(answer);
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
    async run(command, read) {
      const asked = connection;
      if (asked === undefined || stopOverdue !== undefined) throw new AwayError("away");
      try {
        const answer = read(await send(asked, command));
        lastAnswer = performance.now();
        return answer;
      } catch (error) {
        if (error instanceof ReplyError && OF_THE_COMMAND.test(error.message)) throw error;
        if (error instanceof LateError) waitLonger(asked, say(error));
        else lose(asked, say(error));
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
