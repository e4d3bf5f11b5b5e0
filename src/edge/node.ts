/**
 * The node:http door: turns requests into asks and replies into responses, and
 * refuses what is not a request that this server can take.
 *
 * Long: which answer ends a connection and when is one chain of handlers that share its state.
 */

import {
  maxHeaderSize as defaultMaxHeaderSize,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { observeRefusal } from "../access.ts";
import { answer, type State } from "../answer.ts";
import { FAULTS, type FaultName } from "../fault.ts";
import { BARE_FAULT_HEADERS, FAULT_BODIES } from "../headers.ts";
import type { Ask, Reply } from "../message.ts";
import {
  type Connection,
  type Connections,
  close,
  connectionOf,
  isBusy,
  isCatchingUp,
  isDrained,
  isFree,
  linger,
  mustStepBack,
  pauseWhenFull,
  queue,
  stepBack,
} from "./connections.ts";
import { watchPeer, watchSocket } from "./peer.ts";
import { CLOSE, headText, type Respond, respondByHead } from "./respond.ts";

/** Most headers of a request. */
export const MAX_HEADERS = 64;

/** The door, and what a shutdown needs of it. */
export interface NodeDoor {
  readonly connections: Connections;
  /** Handles one request; fits `http.createServer`. With `refusal` nothing but a worse fault is looked for. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, refusal?: FaultName) => void;
  /** To be told of what was refused before it was a request; gives header lines to send with the refusal. */
  readonly onRefusal: (fault: FaultName, socket: Socket) => string;
  /** From now on every response ends its connection. */
  readonly startDraining: () => void;
  /** From now on requests that take work are treated as if their peers were gone. */
  readonly giveUpWork: () => void;
}

/** What one pass over the raw headers finds. Of two headers the first counts, of conditions all do. */
interface Head {
  authorization: string | undefined;
  ifNoneMatch: string | undefined;
  ifMatch: string | undefined;
  hosts: number;
  hasBody: boolean;
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

/** Reads the few headers that matter; `request.headers` would build an object of them all. */
function readHead(raw: readonly string[]): Head {
  const head: Head = {
    authorization: undefined,
    ifNoneMatch: undefined,
    ifMatch: undefined,
    hosts: 0,
    hasBody: false,
  };
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!;
    const value = raw[at + 1]!;
    // Lengths first: most headers are none of ours, and lower-casing them would cost.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "host") head.hosts++;
        break;
      case 8:
        if (name.toLowerCase() === "if-match") head.ifMatch = join(head.ifMatch, value);
        break;
      case 13: {
        const lower = name.toLowerCase();
        if (lower === "authorization") head.authorization ??= value;
        else if (lower === "if-none-match") head.ifNoneMatch = join(head.ifNoneMatch, value);
        break;
      }
      case 14:
        if (name.toLowerCase() === "content-length" && value !== "0") head.hasBody = true;
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") head.hasBody = true;
        break;
    }
  }
  return head;
}

/** What is wrong with the request itself, before anything of it is looked up. */
function inspect(request: IncomingMessage, head: Head): FaultName | undefined {
  if (request.rawHeaders.length > MAX_HEADERS * 2) return "headTooLarge";
  if (request.httpVersion !== "1.1" && request.httpVersion !== "1.0") return "badRequest";
  if (head.hosts > 1 || (head.hosts === 0 && request.httpVersion === "1.1")) return "badRequest";
  if (request.url === "*" && request.method !== "OPTIONS") return "badRequest";
  if (head.hasBody && (request.method === "GET" || request.method === "HEAD")) return "bodyNotAllowed";
  return undefined;
}

/**
 * Makes the door to a state.
 *
 * @param maxRequests requests taken from one connection before it is ended
 * @param respond how replies are written
 */
export function createNodeDoor(
  state: State,
  maxRequests = Number.POSITIVE_INFINITY,
  respond: Respond = respondByHead,
): NodeDoor {
  const connections: Connections = new Map();
  let draining = false;
  let givesUpWork = false;

  function watch(connection: Connection): () => boolean {
    const { socket } = connection;
    const isGone =
      respond === respondByHead
        ? watchSocket(socket)
        : watchPeer(socket, () => connection.newest?.req.httpVersion === "1.1");
    return () => givesUpWork || isGone();
  }

  function observe(
    fault: FaultName,
    reply: Reply,
    socket: Socket,
    heard: Pick<Ask, "method" | "target"> | undefined,
  ): string {
    if (!state.accessLog) return "";
    return observeRefusal(fault, reply, socket, heard, {
      observe: state.observe,
      prefixes: state.gate.prefixes,
    });
  }

  function send(connection: Connection, response: ServerResponse, reply: Reply): void {
    // Only the newest response may end the connection: those before it have others behind them.
    const isNewest = connection.newest === response && isDrained(connection);
    if (draining && isNewest && !connection.closing) endWith(connection, response);
    respond(response, reply, connection.last === response);
    connection.unsent += reply.body.length;
    connection.wasRefused = reply.status >= 400;
  }

  function handle(request: IncomingMessage, response: ServerResponse, refusal?: FaultName): void {
    const connection = connectionOf(connections, request.socket);
    // A response that is the last one says so, which cannot be known before what was read is parsed.
    const mustWait = !isFree(connection) || (draining && isCatchingUp(connection));
    if (mustWait) queue(connection, () => take(connection, request, response, refusal));
    else if (mustStepBack(connection))
      stepBack(connection, () => take(connection, request, response, refusal));
    else take(connection, request, response, refusal);
  }

  function take(
    connection: Connection,
    request: IncomingMessage,
    response: ServerResponse,
    refusal: FaultName | undefined,
  ): void {
    // Bytes behind the last answer of a connection are no request any more.
    if (connection.closing) return;
    connection.newest = response;
    connection.isGone ??= watch(connection);
    connection.requests++;
    connection.begun++;
    const head = readHead(request.rawHeaders);
    const fault = inspect(request, head) ?? refusal;
    if (fault !== undefined) {
      endWith(connection, response);
      const reply = bareReply(fault, request.method === "HEAD");
      const heard = { method: request.method!, target: request.url! };
      const more = observe(fault, reply, request.socket, heard);
      send(connection, response, { ...reply, headers: reply.headers + more });
      return;
    }
    if (head.hasBody || !response.shouldKeepAlive || connection.requests >= maxRequests) {
      endWith(connection, response);
    }
    const ask: Ask = {
      method: request.method!,
      target: request.url!,
      authorization: head.authorization,
      ifNoneMatch: head.ifNoneMatch,
      ifMatch: head.ifMatch,
      now: Date.now(),
      peer: request.socket,
      isGone: connection.isGone,
    };
    const reply = answer(ask, state);
    if (reply instanceof Promise) void reply.then((later) => send(connection, response, later));
    else send(connection, response, reply);
  }

  return {
    connections,
    handle,
    onRefusal: (fault, socket) => observe(fault, bareReply(fault, false), socket, undefined),
    startDraining() {
      draining = true;
    },
    giveUpWork() {
      givesUpWork = true;
    },
  };
}

function endWith(connection: Connection, response: ServerResponse): void {
  connection.last = response;
  close(connection);
}

/** A refusal that is none of the API's: no CORS headers. */
function bareReply(fault: FaultName, isHead: boolean): Reply {
  const body = FAULT_BODIES[fault];
  const { status } = FAULTS[fault];
  return { status, headers: BARE_FAULT_HEADERS[fault], body: isHead ? "" : body, route: "", keyId: "" };
}

/** A whole response for a socket that has no ServerResponse. */
function rawResponse(fault: FaultName, more: string): string {
  return headText(FAULTS[fault].status, BARE_FAULT_HEADERS[fault] + more, CLOSE) + FAULT_BODIES[fault];
}

const FAULT_OF_CODE: Readonly<Record<string, FaultName>> = {
  HPE_HEADER_OVERFLOW: "headTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "timeout",
};

const GONE = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED"]);

/**
 * Wires the door to a server: requests, and everything that never becomes one.
 *
 * The parser can fail behind a request that was or will be answered, so a bad
 * head is answered once and in its turn, and a bad body not at all.
 */
export function attachNodeDoor(server: Server, door: NodeDoor): void {
  const { connections, handle } = door;
  // A peer that half-closes has said all it wants to ask; what it asked is still answered.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;

  function refuse(connection: Connection, fault: FaultName): void {
    if (connection.closing) return;
    close(connection);
    const { socket } = connection;
    const sendRefusal = (): void => {
      if (socket.writable) {
        socket.write(rawResponse(fault, door.onRefusal(fault, socket)));
      }
      linger(socket);
    };
    if (isBusy(connection)) connection.newest!.once("close", sendRefusal);
    else sendRefusal();
  }

  function refuseSocket(socket: Socket, fault: FaultName): void {
    const connection = connectionOf(connections, socket);
    if (isFree(connection)) refuse(connection, fault);
    else queue(connection, () => refuse(connection, fault));
  }

  const { maxHeaderSize } = server as Server & { maxHeaderSize?: number };
  server.on("connection", (socket: Socket) => {
    const connection = connectionOf(connections, socket);
    pauseWhenFull(connection, maxHeaderSize ?? defaultMaxHeaderSize, (isTooLarge) =>
      refuseSocket(socket, isTooLarge ? "headTooLarge" : "badRequest"),
    );
    // Before node:http, which would end what it takes for an idle connection.
    socket.prependListener("end", () => {
      if (connection.pause?.isInHead()) refuseSocket(socket, "badRequest");
    });
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => handle(request, response));
  // No automatic 100: a body is refused anyway. A client may send its body although no 100 came, so the connection ends.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    response.shouldKeepAlive = false;
    handle(request, response);
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) =>
    handle(request, response, "expectation"),
  );
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    // node:http has let go of the socket; an error that nobody listens to would end the process.
    socket.on("error", () => socket.destroy());
    socket.on("timeout", () => socket.destroy());
    // What still comes is no HTTP and is dropped, a read at a turn: the system could bring it faster than others get theirs.
    socket.on("data", () => {
      socket.pause();
      setImmediate(() => socket.resume());
    });
    refuseSocket(socket as Socket, "methodNotAllowed");
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // The parser fails again at every read behind its first failure: to destroy a socket for that would reset it.
    if (!(socket instanceof Socket) || GONE.has(error.code ?? "")) socket.destroy();
    else refuseSocket(socket, FAULT_OF_CODE[error.code ?? ""] ?? "badRequest");
  });
}
