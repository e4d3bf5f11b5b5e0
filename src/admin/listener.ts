/**
 * The admin listener: HTTP with narrow limits.
 *
 * It shares a thread with requests of the API, or with the work of handing
 * generations to the threads that serve them. Each connection is accepted, so
 * that a health probe always is: when there are many, the oldest that waits for
 * nothing ends.
 */

import type { AddressInfo } from "node:net";
import { type HttpLimits, HttpServer } from "../http/server.ts";
import { FAULTS, type FaultName } from "../model/fault.ts";
import type { Ask, Reply } from "../model/message.ts";
import type { Observe } from "../observe/events.ts";
import { codeOf } from "../util/system-error.ts";
import type { AdminAddress } from "./address.ts";
import { errorReply } from "./router.ts";

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

/** A running listener. */
export interface AdminListener {
  readonly address: AddressInfo;
  /** Stops; answers that are not ready have a moment. */
  readonly close: () => Promise<void>;
}

/** How a listener is made. */
export interface AdminListenerOptions {
  readonly answer: (ask: Ask) => Reply | Promise<Reply>;
  readonly maxConnections: number;
  readonly observe: Observe;
}

function faultReply(fault: FaultName): Reply {
  return errorReply(FAULTS[fault].status, FAULTS[fault].message);
}

function forMethod(reply: Reply, method: string | undefined): Reply {
  return method === "HEAD" ? { ...reply, body: "" } : reply;
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
    try {
      return forMethod(await answer(ask), ask.method);
    } catch (error) {
      observe({ kind: "defect", where: "admin", error });
      return forMethod(faultReply("internal"), ask.method);
    }
  }

  const server = new HttpServer(
    {
      answer: answerSafely,
      refuse: (fault, _socket, ask) => forMethod(faultReply(fault), ask?.method),
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
