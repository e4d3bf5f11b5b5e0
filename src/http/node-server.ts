/** A listener over node:http (`serve --http node`), with no limits beyond those of node:http. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { FaultName } from "../model/fault.ts";
import { LOCAL_PEER } from "../model/message.ts";
import { HEAD_TIMEOUT, MAX_REQUESTS } from "./connection-host.ts";
import { MAX_HEAD_BYTES } from "./head.ts";
import { createNodeDoor } from "./node-door.ts";
import {
  bind,
  CHECK_MS,
  DEADLINE_MS,
  emptyQueue,
  GIVE_UP_MS,
  GRACE_MS,
  type HttpApp,
  type HttpLimits,
  type Listener,
} from "./server.ts";
import { removeSocket } from "./unix.ts";
import { responseText } from "./write.ts";

const FAULT_OF_CODE: Readonly<Record<string, FaultName>> = {
  HPE_HEADER_OVERFLOW: "headTooLarge",
  HPE_INVALID_CHUNK_SIZE: "bodyNotAllowed",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "bodyNotAllowed",
  HPE_INVALID_EOF_STATE: "incomplete",
  ERR_HTTP_REQUEST_TIMEOUT: "timeout",
};

/** Seconds between two checks of the timeouts by node:http. */
const CHECK_SECONDS = 2;

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}

export function createNodeListener(app: HttpApp, limits: HttpLimits): Listener {
  const stop = { isDraining: false, givesUpWork: false };
  const handle = createNodeDoor(app, undefined, stop);
  const server = createServer({
    // A request is its head.
    headersTimeout: milliseconds(Math.min(limits.headersTimeout ?? HEAD_TIMEOUT, limits.requestTimeout)),
    requestTimeout: milliseconds(limits.requestTimeout),
    connectionsCheckingInterval: milliseconds(limits.timeoutCheckInterval ?? CHECK_SECONDS),
    keepAliveTimeout: milliseconds(limits.keepAliveTimeout),
    maxHeaderSize: limits.maxHeadBytes ?? MAX_HEAD_BYTES,
    // The door checks the Host header and refuses in the API's words.
    requireHostHeader: false,
    // Node 24: no stream for the body of a request that has none. The types of Node 20 do not know the option.
    ...{ optimizeEmptyRequests: true },
  });
  // A peer that half-closes sends no more requests, but still gets its answers. The types do not know the property.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.timeout = milliseconds(limits.socketTimeout);
  // Node silently drops fields beyond this count, Authorization too; the door counts them.
  server.maxHeadersCount = 0;
  server.maxRequestsPerSocket = limits.maxRequestsPerSocket ?? MAX_REQUESTS;
  if (limits.maxConnections !== undefined) server.maxConnections = limits.maxConnections;
  takeRequests(server, handle, (fault, socket) => responseText(app.refuse(fault, socket, undefined)));
  let stopBegan = 0;
  // From the beginning: a thread may be told to leave long after its last connection has ended.
  const ended = new Promise<true>((resolve) => server.once("close", () => resolve(true)));
  return {
    async listen(host, port, sharing) {
      const address = await bind(server, host, port, sharing);
      if (address.family === "unix") server.on("connection", nameLocalPeer);
      server.on("error", (error) => app.observe({ kind: "defect", where: "listener", error }));
      return address;
    },
    async stopListening() {
      stopBegan = performance.now();
      await emptyQueue(server);
      // http.Server.close() would destroy idle connections at once, a race with their clients.
      NetServer.prototype.close.call(server);
      await removeSocket(server);
    },
    async leave() {
      stop.isDraining = true;
      const check = (): Promise<boolean> => Promise.race([ended, sleep(CHECK_MS, false)]);
      for (let ms = 0; ms < DEADLINE_MS && !(await check()); ms = performance.now() - stopBegan) {
        if (ms > GRACE_MS) server.closeIdleConnections();
        stop.givesUpWork = ms > GIVE_UP_MS;
      }
      server.closeAllConnections();
      await ended;
    },
  };
}

/** A socket of a Unix listener has no address of its own. */
function nameLocalPeer(socket: Socket): void {
  Object.defineProperty(socket, "remoteAddress", { value: LOCAL_PEER });
}

/** Hands requests to a handler, and answers input that is no request: once, after the answers before it. */
function takeRequests(
  server: Server,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  refusalOf: (fault: FaultName, socket: Socket) => string,
): void {
  /** The newest response of a connection; "refused" after a refusal. */
  const newest = new WeakMap<Duplex, ServerResponse | "refused">();
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    newest.set(request.socket, response);
    handle(request, response);
  };
  const refuse = (socket: Socket, fault: FaultName): void => {
    const before = newest.get(socket);
    if (before === "refused") return;
    // A bad body after an answered request gets no second answer.
    if (before?.getHeader("connection") === "close" || !socket.writable) {
      if (before === undefined || before.writableFinished) socket.destroy();
      return;
    }
    newest.set(socket, "refused");
    // A connection that never sent a byte ends without an answer.
    if (socket.bytesRead === 0) {
      socket.end();
      return;
    }
    const send = (): void => {
      if (socket.writable) socket.end(refusalOf(fault, socket), "latin1");
    };
    // A request whose body does not arrive gets no other answer.
    const isWaiting = before?.req.complete === false && !before.headersSent;
    if (before === undefined || before.writableFinished || isWaiting) send();
    else before.once("close", send);
  };
  server.on("request", take);
  // No automatic 100: a body is refused anyway.
  server.on("checkContinue", take);
  server.on("checkExpectation", take);
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    // node:http has released the socket; an error without a listener would end the process.
    socket.on("error", () => socket.destroy());
    refuse(socket as Socket, "methodNotAllowed");
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === "ECONNRESET") socket.destroy();
    else refuse(socket as Socket, FAULT_OF_CODE[error.code ?? ""] ?? "badRequest");
  });
}
