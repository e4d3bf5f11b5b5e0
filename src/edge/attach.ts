/**
 * Wires the adapter to a server of node:http: requests, and everything that never becomes one.
 *
 * The parser can fail behind a request that was or will be answered, so a bad
 * head is answered once and in its turn, and a bad body not at all.
 */

import {
  maxHeaderSize as defaultMaxHeaderSize,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { FAULTS, type FaultName } from "../fault.ts";
import { BARE_FAULT_HEADERS, FAULT_BODIES } from "../headers.ts";
import { type Connection, connectionOf, end, isBusy, linger } from "./connection.ts";
import { isFree, pauseWhenFull, queue } from "./flow.ts";
import type { NodeAdapter } from "./node.ts";
import { CLOSE, headText } from "./respond.ts";

/** A whole response for a socket that has no ServerResponse. */
function rawResponse(fault: FaultName, more: string): string {
  return headText(FAULTS[fault].status, BARE_FAULT_HEADERS[fault] + more, CLOSE) + FAULT_BODIES[fault];
}

const FAULT_OF_CODE: Readonly<Record<string, FaultName>> = {
  HPE_HEADER_OVERFLOW: "headTooLarge",
  ERR_HTTP_REQUEST_TIMEOUT: "timeout",
};

const GONE = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED"]);

/** Wires it. */
export function attachNodeAdapter(server: Server, adapter: NodeAdapter): void {
  const { connections, handle } = adapter;
  // A peer that half-closes has said all it wants to ask; what it asked is still answered.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;

  function refuse(connection: Connection, fault: FaultName): void {
    if (!end(connection)) return;
    const { socket } = connection;
    const sendRefusal = (): void => {
      if (socket.writable) {
        socket.write(rawResponse(fault, adapter.onRefusal(fault, socket)));
      }
      linger(connection);
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
