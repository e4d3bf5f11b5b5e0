/**
 * node:http's parser of one connection, where it has to be stopped.
 *
 * One read of 64 KiB can hold thousands of requests, and the parser makes
 * objects of all of them before anybody is asked. It has no public means of
 * stopping inside a read, so this uses fields of it that are not documented and
 * the same in Node 20 to 24. Deno and Bun parse in their own way, Deno behind
 * fields of the same names: there nothing is stopped.
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { IS_NODE } from "./respond.ts";

type OnExecute = (result: number | Error) => void;

interface Parser {
  /** Called with each request whose head is complete; says what the parser does with what follows. */
  onIncoming: ((request: IncomingMessage, keepAlive: boolean) => number) | null;
  /** Whether it reads from the system's socket itself, so that no `data` event shows the bytes. */
  _consumed: boolean;
  /** Parses bytes; gives how many of them it took. */
  execute(bytes: Buffer): number | Error;
  /** A copy of the read that is being parsed. */
  getCurrentBuffer(): Buffer;
  /** By the number of the event. */
  [event: number]: OnExecute | null;
}

/** What `onIncoming` returns. */
const GO_ON = 0;
/** What it says of a CONNECT: the request ends here, and the bytes behind it are no HTTP. */
const ENDS_HERE = 2;
/** No result that the parser knows: it fails, and fails again at each read without looking at the bytes. */
const FAIL = -1;

type Upgradable = IncomingMessage & { upgrade?: boolean };

function parserOf(socket: Socket): Parser | undefined {
  if (!IS_NODE) return undefined;
  const { parser } = socket as Socket & { parser?: Partial<Parser> | null };
  return typeof parser?.onIncoming === "function" ? (parser as Parser) : undefined;
}

/** Number of the event behind each read. */
function executeEvent(parser: Parser): number {
  return (parser.constructor as unknown as { kOnExecute: number }).kOnExecute;
}

/**
 * Makes the parser drop whatever follows the request that it is at; the body of
 * that one is still taken. What comes in is read, so that nothing of it turns
 * the end of the connection into a reset.
 */
export function stopParsing(socket: Socket): void {
  const parser = parserOf(socket);
  if (parser === undefined) return;
  // Where the failure would be told, requests go on being parsed, and nothing is made of them.
  const verdict = parser._consumed ? FAIL : GO_ON;
  parser.onIncoming = (request) => {
    // Else node:http would take the connection for one that it has handed over.
    (request as Upgradable).upgrade = false;
    return verdict;
  };
  // Nobody wants to hear of the failure.
  if (parser._consumed) parser[executeEvent(parser)] = null;
}

/** What a pause calls. */
export interface PauseEvents {
  /** Whether the parser is to pause behind the request that was just taken. */
  readonly mustPause: () => boolean;
  /**
   * Called with each request for an upgrade that is ignored: the parser stops
   * there by itself, and node:http forgets the rest of the read unless it is paused.
   */
  readonly onUpgrade: () => void;
  /** Called when the parser fails at a head and does not say so itself. @param isTooLarge whether that is why */
  readonly onFailure: (isTooLarge: boolean) => void;
}

/** Lets a parser be paused between two requests of one read. */
export interface ParserPause {
  /** Whether bytes wait that were read and not parsed. */
  readonly holds: () => boolean;
  /** Whether what was held back is being parsed. */
  readonly isGoingOn: () => boolean;
  /** Whether the request at hand came in one read behind another. */
  readonly isPipelined: () => boolean;
  /** Whether a head has begun of which the parser would not say that its end is missing. */
  readonly isInHead: () => boolean;
  /** Parses what was held back. Not to be called while the parser is at work. */
  readonly goOn: () => void;
}

const NEVER: ParserPause = {
  holds: () => false,
  isGoingOn: () => false,
  isPipelined: () => false,
  isInHead: () => false,
  goOn: () => {},
};

/**
 * Pauses the parser of a connection behind each request after which
 * `mustPause` says so; what else of the read it has is kept until it goes on.
 * Whoever pauses sees to it that nothing more is read meanwhile. The body of a
 * request that it pauses behind is taken for the next request, so a request
 * with one has to end its connection.
 *
 * It pauses as it does behind an upgrade, and from there to the end of the next
 * head the parser reports no failure: it just takes fewer bytes than it is given.
 *
 * @param maxHeadBytes largest head that the parser takes
 */
export function pauseParsing(
  socket: Socket,
  maxHeadBytes: number,
  { mustPause, onUpgrade, onFailure }: PauseEvents,
): ParserPause {
  const parser = parserOf(socket);
  if (parser === undefined) return NEVER;
  const event = executeEvent(parser);
  const incoming = parser.onIncoming!;
  const executed = parser[event];
  if (typeof executed !== "function") return NEVER;
  let paused = false;
  let goingOn = false;
  /** Requests of the read at hand. */
  let requests = 0;
  let held: Buffer | undefined;
  /** Whether the parser would not report a failure, and the bytes of the head that it is at. */
  let isSilent = false;
  let headBytes = 0;
  const judge = (result: number | Error, bytes: () => Buffer): void => {
    if (!isSilent || paused || typeof result !== "number") return;
    headBytes += result;
    if (result === bytes().length) return;
    isSilent = false;
    onFailure(headBytes > maxHeadBytes);
  };
  const takeRest = (result: number | Error, bytes: () => Buffer): void => {
    if (!paused) return;
    paused = false;
    if (typeof result !== "number") return;
    const rest = bytes().subarray(result);
    if (rest.length > 0) held = rest;
  };
  parser.onIncoming = (request, keepAlive) => {
    if (held !== undefined) {
      // Read out of turn, in front of what is held: never to be answered.
      socket.destroy();
      return FAIL;
    }
    isSilent = false;
    requests++;
    const { upgrade } = request as Upgradable;
    const result = incoming(request, keepAlive);
    if (upgrade === true && result === GO_ON) onUpgrade();
    if (result !== GO_ON || !parser._consumed || !mustPause()) return result;
    paused = true;
    isSilent = true;
    headBytes = 0;
    return ENDS_HERE;
  };
  const onRead: OnExecute = (result) => {
    requests = 0;
    executed(result);
    judge(result, () => parser.getCurrentBuffer());
    takeRest(result, () => parser.getCurrentBuffer());
  };
  parser[event] = onRead;
  return {
    holds: () => held !== undefined,
    isGoingOn: () => goingOn,
    isPipelined: () => requests > 1,
    isInHead: () => isSilent && headBytes > 0,
    goOn() {
      const bytes = held;
      held = undefined;
      // Stopped meanwhile, or the connection is gone and the parser another's.
      if (bytes === undefined || parserOf(socket) !== parser || parser[event] !== onRead) return;
      goingOn = true;
      const result = parser.execute(bytes);
      goingOn = false;
      requests = 0;
      // Stopped by a request among them: what node:http would make of the rest is no longer ours to hear.
      if (parserOf(socket) !== parser || parser[event] !== onRead) return;
      executed(result);
      judge(result, () => bytes);
      takeRest(result, () => bytes);
    },
  };
}
