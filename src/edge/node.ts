/**
 * The node:http adapter: turns requests into asks and replies into responses, and
 * refuses what is not a request that this server can take.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { observeRefusal } from "../access.ts";
import { answer, type State } from "../answer.ts";
import { FAULTS, type FaultName } from "../fault.ts";
import { BARE_FAULT_HEADERS, FAULT_BODIES } from "../headers.ts";
import type { Ask, Reply } from "../message.ts";
import { countAborted, countAnswered, countBegun, countRefused } from "../metrics/counters.ts";
import {
  type Connection,
  type Connections,
  connectionOf,
  createConnections,
  drain,
  endBehind,
  endIfDrained,
  take,
} from "./connection.ts";
import { isCatchingUp, isFree, mustStepBack, queue, stepBack } from "./flow.ts";
import { inspect, readHead } from "./head.ts";
import { watchPeer, watchSocket } from "./peer.ts";
import { type Respond, respondByHead } from "./respond.ts";

/** The adapter, and what a shutdown needs of it. */
export interface NodeAdapter {
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

/**
 * Makes the adapter to a state.
 *
 * @param maxRequests requests taken from one connection before it is ended
 * @param respond how replies are written
 */
export function createNodeAdapter(
  state: State,
  maxRequests = Number.POSITIVE_INFINITY,
  respond: Respond = respondByHead,
): NodeAdapter {
  const connections = createConnections();
  const { requestCounters: counters } = state;
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

  /** @param began when the request came, where requests are counted */
  function send(connection: Connection, response: ServerResponse, reply: Reply, began: number): void {
    endIfDrained(connection, response);
    respond(response, reply, connection.last === response);
    connection.unsent += reply.body.length;
    connection.wasRefused = reply.status >= 400;
    if (counters === undefined) return;
    const { method } = response.req;
    if (connection.state === "gone") countAborted(counters, began, method!, reply.route);
    else countAnswered(counters, began, method!, reply.route, reply.status, reply.fault);
  }

  function handle(request: IncomingMessage, response: ServerResponse, refusal?: FaultName): void {
    const began = counters === undefined ? 0 : performance.now();
    const connection = connectionOf(connections, request.socket);
    // A response that is the last one says so, which cannot be known before what was read is parsed.
    const mustWait = !isFree(connection) || (connections.isDraining && isCatchingUp(connection));
    if (mustWait) queue(connection, () => answerOne(connection, request, response, refusal, began));
    else if (mustStepBack(connection))
      stepBack(connection, () => answerOne(connection, request, response, refusal, began));
    else answerOne(connection, request, response, refusal, began);
  }

  function answerOne(
    connection: Connection,
    request: IncomingMessage,
    response: ServerResponse,
    refusal: FaultName | undefined,
    began: number,
  ): void {
    if (!take(connection, response)) return;
    if (counters !== undefined) countBegun(counters);
    connection.isGone ??= watch(connection);
    const head = readHead(request.rawHeaders);
    const fault = inspect(request, head) ?? refusal;
    if (fault !== undefined) {
      endBehind(connection, response);
      const reply = bareReply(fault, request.method === "HEAD");
      const heard = { method: request.method!, target: request.url! };
      const more = observe(fault, reply, request.socket, heard);
      send(connection, response, { ...reply, headers: reply.headers + more }, began);
      return;
    }
    if (head.hasBody || !response.shouldKeepAlive || connection.requests >= maxRequests) {
      endBehind(connection, response);
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
    if (reply instanceof Promise) void reply.then((later) => send(connection, response, later, began));
    else send(connection, response, reply, began);
  }

  return {
    connections,
    handle,
    onRefusal(fault, socket) {
      if (counters !== undefined) countRefused(counters, "", FAULTS[fault].status, fault);
      return observe(fault, bareReply(fault, false), socket, undefined);
    },
    startDraining: () => drain(connections),
    giveUpWork() {
      givesUpWork = true;
    },
  };
}

/** A refusal that is none of the API's: no CORS headers. */
function bareReply(fault: FaultName, isHead: boolean): Reply {
  const body = FAULT_BODIES[fault];
  const { status } = FAULTS[fault];
  return {
    status,
    headers: BARE_FAULT_HEADERS[fault],
    body: isHead ? "" : body,
    route: "",
    keyId: "",
    fault,
  };
}
