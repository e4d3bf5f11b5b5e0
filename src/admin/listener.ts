/**
 * The admin listener: node:http with narrow limits.
 *
 * It shares a thread with requests of the API, or with what hands generations
 * to the threads that serve these. So connections are bounded, of which an older
 * one makes room for a new one; what one read holds is bounded; a turn of the
 * event loop answers a few requests; and nobody who reads or writes slowly is
 * waited for. A probe that is alone on its connection is answered at once.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { splitTarget } from "../derive/router.ts";
import { inspect, readHead } from "../edge/head.ts";
import { stopParsing } from "../edge/parser.ts";
import { FAULTS, type FaultName } from "../fault.ts";
import type { Observe } from "../observe.ts";
import { codeOf } from "../system-error.ts";
import type { AdminAddress } from "./address.ts";
import { Connections } from "./connections.ts";
import { type AdminReply, errorReply } from "./request.ts";
import type { AdminCall } from "./router.ts";

/** Most bytes of a body; none is looked at. */
const MAX_BODY_BYTES = 65_536;

const HEAD_MS = 5000;
const REQUEST_MS = 10_000;
const CHECK_MS = 1000;
const IDLE_MS = 75_000;
/** How long a peer may take nothing of a reply. */
const WRITE_MS = 10_000;
/** How long replies that are under way may put off the end. */
const CLOSE_MS = 500;
const LOOK_MS = 10;

/** In every reply, unless it says otherwise. */
const HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** A running listener. */
export interface AdminListener {
  readonly address: AddressInfo;
  /** Stops; replies that are under way have a moment. */
  readonly close: () => Promise<void>;
}

function faultReply(fault: FaultName): AdminReply {
  return errorReply(FAULTS[fault].status, FAULTS[fault].message);
}

function send(request: IncomingMessage, response: ServerResponse, reply: AdminReply, closes: boolean): void {
  const { status, headers, body } = reply;
  response.writeHead(status, {
    ...HEADERS,
    ...headers,
    ...(status === 304 ? {} : { "Content-Length": Buffer.byteLength(body) }),
    ...(closes ? { Connection: "close" } : {}),
  });
  request.socket.setTimeout(WRITE_MS);
  response.end(request.method === "HEAD" ? undefined : body);
}

/** Whether a body is more than anybody has to send. */
function isLargeBody(request: IncomingMessage): boolean {
  return (
    request.headers["transfer-encoding"] !== undefined ||
    Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES
  );
}

/** What is wrong with a request itself; it ends its connection. */
function refusalOf(request: IncomingMessage): AdminReply | undefined {
  const fault = inspect(request, readHead(request.rawHeaders));
  if (fault !== undefined) return faultReply(fault);
  return isLargeBody(request) ? errorReply(413, "Request body too large") : undefined;
}

/** Answers input that is not HTTP, once. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET" || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const isTooLarge = error.code === "HPE_HEADER_OVERFLOW";
  const isLate = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
  const { status, message } = FAULTS[isTooLarge ? "headTooLarge" : isLate ? "timeout" : "badRequest"];
  const body = `${JSON.stringify({ error: message })}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${message}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\nDate: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n${body}`,
  );
  // What a client goes on sending is not read.
  setTimeout(() => socket.destroy(), CLOSE_MS).unref();
}

function callOf(request: IncomingMessage, response: ServerResponse): AdminCall {
  const { authorization, ifNoneMatch } = readHead(request.rawHeaders);
  const { host, accept, "accept-encoding": acceptEncoding, "x-orrery-admin": action } = request.headers;
  const target = request.url!;
  return {
    method: request.method!,
    target,
    query: splitTarget(target).query,
    host,
    authorization,
    accept,
    acceptEncoding: acceptEncoding?.toString(),
    ifNoneMatch,
    action: action?.toString(),
    isGone: () => response.destroyed || request.socket.destroyed,
  };
}

/** What a listener is made with. */
export interface AdminListenerOptions {
  readonly answer: (call: AdminCall) => AdminReply | Promise<AdminReply>;
  /** Whether a path is that of a probe, which costs next to nothing and must not wait. */
  readonly isProbe: (path: string) => boolean;
  readonly maxConnections: number;
  readonly observe: Observe;
}

function createAdminServer({ answer, isProbe, maxConnections, observe }: AdminListenerOptions): {
  server: Server;
  connections: Connections;
  startClosing: () => void;
} {
  const connections = new Connections(maxConnections);
  let isClosing = false;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const isTooMany = connections.begin(socket, response);
    const refusal = isTooMany ? errorReply(429, "Too many requests at once") : refusalOf(request);
    if (refusal !== undefined) {
      stopParsing(socket);
      send(request, response, refusal, true);
      return;
    }
    // A reload takes its time.
    socket.setTimeout(0);
    const isHurried = connections.isAlone(socket) && isProbe(splitTarget(request.url!).path);
    if (!isHurried) await connections.room();
    let reply: AdminReply;
    try {
      reply = await answer(callOf(request, response));
    } catch (error) {
      observe({ kind: "defect", where: "admin", error });
      reply = faultReply("internal");
    }
    if (!response.destroyed) send(request, response, reply, isClosing);
  }

  const server = createServer({
    headersTimeout: HEAD_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: IDLE_MS,
    maxHeaderSize: 16_384,
    requireHostHeader: false,
  });
  server.maxHeadersCount = 0;
  server.timeout = WRITE_MS;
  server.on("connection", (socket) => connections.add(socket));
  server.on("request", (request, response) => void handle(request, response));
  // No client is told to continue with a body.
  server.on("checkContinue", (request, response) => void handle(request, response));
  server.on("clientError", answerClientError);
  return {
    server,
    connections,
    startClosing() {
      isClosing = true;
    },
  };
}

/**
 * Starts listening.
 *
 * @throws the error of the system, such as EADDRINUSE
 */
export async function listenForAdmin(
  { host, port, orAnyPort }: AdminAddress,
  options: AdminListenerOptions,
): Promise<AdminListener> {
  const { observe } = options;
  const { server, connections, startClosing } = createAdminServer(options);
  const listen = (on: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port: on }, () => {
        server.off("error", reject);
        resolve();
      });
    });
  await listen(port).catch((error: unknown) => {
    if (orAnyPort && codeOf(error) === "EADDRINUSE") return listen(0);
    throw error;
  });
  server.on("error", (error) => observe({ kind: "defect", where: "admin listener", error }));
  return {
    address: server.address() as AddressInfo,
    async close() {
      startClosing();
      const closed = new Promise((resolve) => server.close(resolve));
      const began = performance.now();
      while (!connections.isIdle && performance.now() - began < CLOSE_MS) await sleep(LOOK_MS);
      server.closeAllConnections();
      await closed;
    },
  };
}
