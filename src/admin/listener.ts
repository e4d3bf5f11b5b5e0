/**
 * The admin listener: HTTP with narrow limits.
 *
 * It shares a thread with requests of the API, or with the work of handing
 * generations to the threads that serve these. Each connection is accepted, so
 * that a health probe always is: when there are many, the oldest that waits for
 * nothing ends.
 */

import type { AddressInfo } from "node:net";
import { type HttpLimits, HttpServer } from "../http/server.ts";
import { sliceAll } from "../model/body.ts";
import { FAULTS, type FaultName } from "../model/fault.ts";
import type { Ask, Reply } from "../model/message.ts";
import { splitTarget } from "../model/target.ts";
import type { Observe } from "../observe/events.ts";
import { codeOf } from "../util/system-error.ts";
import type { AdminAddress } from "./address.ts";
import { type AdminReply, errorReply } from "./request.ts";
import type { AdminCall } from "./router.ts";

const LIMITS: HttpLimits = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  checkInterval: 1000,
  keepAliveTimeout: 75_000,
  socketTimeout: 10_000,
  maxHeadBytes: 16_384,
  maxRequestsPerSocket: Number.POSITIVE_INFINITY,
  makesRoom: true,
};

/** How long answers that are not ready may put off the end. */
const CLOSE_MS = 500;

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
  /** Stops; answers that are not ready have a moment. */
  readonly close: () => Promise<void>;
}

/** Makes a reply of HTTP. */
function toReply({ status, headers, body }: AdminReply, isHead: boolean): Reply {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const length: Record<string, string> = status === 304 ? {} : { "Content-Length": String(bytes.length) };
  const lines = Object.entries({ ...HEADERS, ...headers, ...length });
  const hasBody = !isHead && bytes.length > 0;
  return {
    status,
    headers: lines.map(([name, value]) => `${name}: ${value}\r\n`).join(""),
    body: hasBody ? { length: bytes.length, head: "", slices: sliceAll(bytes), end: "", isShared: true } : "",
    route: "",
    keyId: "",
  };
}

function faultReply(fault: FaultName): AdminReply {
  return errorReply(FAULTS[fault].status, FAULTS[fault].message);
}

function callOf({ method, target, authorization, ifNoneMatch, headers, isGone }: Ask): AdminCall {
  const header = (name: string): string | undefined => headers?.get(name) ?? undefined;
  return {
    method,
    target,
    query: splitTarget(target).query,
    host: header("host"),
    authorization,
    accept: header("accept"),
    acceptEncoding: header("accept-encoding"),
    ifNoneMatch,
    action: header("x-orrery-admin"),
    isGone: isGone!,
  };
}

/** How a listener is made. */
export interface AdminListenerOptions {
  readonly answer: (call: AdminCall) => AdminReply | Promise<AdminReply>;
  readonly maxConnections: number;
  readonly observe: Observe;
}

/**
 * Starts listening.
 *
 * @throws the error of the system, such as EADDRINUSE
 */
export async function listenForAdmin(
  { host, port, orAnyPort }: AdminAddress,
  { answer, maxConnections, observe }: AdminListenerOptions,
): Promise<AdminListener> {
  async function answerSafely(ask: Ask): Promise<Reply> {
    let reply: AdminReply;
    try {
      reply = await answer(callOf(ask));
    } catch (error) {
      observe({ kind: "defect", where: "admin", error });
      reply = faultReply("internal");
    }
    return toReply(reply, ask.method === "HEAD");
  }

  const server = new HttpServer(
    {
      answer: answerSafely,
      refuse: (fault, _socket, ask) => toReply(faultReply(fault), ask?.method === "HEAD"),
      begin: () => 0,
      answered() {},
      aborted() {},
      observe,
      where: "admin listener",
      collectGarbage() {},
    },
    { ...LIMITS, maxConnections },
  );
  const address = await server.listen(host, port).catch((error: unknown) => {
    if (orAnyPort && codeOf(error) === "EADDRINUSE") return server.listen(host, 0);
    throw error;
  });
  return { address, close: () => server.close(CLOSE_MS) };
}
