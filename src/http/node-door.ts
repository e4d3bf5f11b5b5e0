/** The node:http door: takes that module's requests and responses, through its public interface alone; `head.ts` judges their heads. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { splitHeaders } from "../api/headers.ts";
import { bodyBytes, bodyText, type Parts } from "../model/body.ts";
import type { FaultName } from "../model/fault.ts";
import type { Ask, ChosenCaller, Reply } from "../model/message.ts";
import type { ConnectionApp, ConnectionHost } from "./connection-host.ts";
import { faultOf, type Head, hasBody, headOf, staysOpen } from "./head.ts";

/**
 * Answers one request; fits `http.createServer` and hosts such as Express. If `next` is a function, it gets the requests
 * whose paths belong neither to the API nor to a page; a third argument of another kind is ignored.
 */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/** The names and values of a request in turn; undefined if it is none. Hosts of functions (Lambda) give the fields alone. */
function rawHeadersOf(request: Partial<IncomingMessage> | undefined): string[] | undefined {
  const { rawHeaders, headers } = request ?? {};
  if (Array.isArray(rawHeaders) && rawHeaders.length > 0) return rawHeaders;
  if (typeof headers !== "object" || headers === null) return undefined;
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name, String(one)]),
  );
  return pairs.flat();
}

const RUNNING = { isDraining: false, givesUpWork: false };

/**
 * @internal Creates a handler that passes requests to an app; it serves all targets if it does not say which.
 * @param caller decides in place of the `Authorization` header
 * @param stop the state of a stop, which changes; while it drains, each response ends its connection
 */
export function createNodeDoor(
  app: ConnectionApp & { readonly serves?: (target: string) => boolean },
  caller?: ChosenCaller,
  stop: Pick<ConnectionHost, "isDraining" | "givesUpWork"> = RUNNING,
): Handler {
  return (request, response, next) => {
    const rawHeaders = rawHeadersOf(request);
    if (rawHeaders === undefined || typeof response?.writeHead !== "function")
      throw new TypeError(
        "handle: takes a request and its response of node:http; for a Request there is fetch",
      );
    if (typeof next === "function" && app.serves?.(request.url!) === false) {
      next();
      return;
    }
    if (response.headersSent) throw new TypeError("handle: the response has begun already; answer it once");
    const read = headOf(request.method!, request.url!, request.httpVersion, rawHeaders);
    const fault = typeof read === "string" ? read : faultOf(read);
    const waits = typeof read !== "string" && fault === undefined && hasBody(read) && !request.complete;
    if (waits && read.fields.expect === undefined)
      dropBody(request, read.fields.isCoded, (fault) => take(request, response, read, fault));
    else take(request, response, read, fault);
  };

  function take(
    request: IncomingMessage,
    response: ServerResponse,
    read: Head | FaultName,
    fault: FaultName | undefined,
  ): void {
    const { socket } = request;
    const began = app.begin();
    const method = request.method!;
    const head = typeof read === "string" ? undefined : read;
    const fields = head?.fields;
    const ask: Ask = {
      method,
      target: head?.target ?? request.url!,
      authorization: fields?.authorization,
      caller,
      ifNoneMatch: fields?.ifNoneMatch,
      ifMatch: fields?.ifMatch,
      now: Date.now(),
      headers: fields,
      peer: socket,
      isGone: () => socket.destroyed || stop.givesUpWork,
    };
    const send = (reply: Reply): void => {
      // The host may have answered meanwhile, for example after its own timeout.
      if (response.destroyed || response.headersSent) {
        app.aborted(began, method, reply);
        return;
      }
      respond(response, reply, stop.isDraining || fault !== undefined || !staysOpen(head!));
      app.answered(began, method, reply);
    };
    const reply = fault === undefined ? app.answer(ask) : app.refuse(fault, socket, ask);
    if (reply instanceof Promise) void reply.then(send);
    else send(reply);
  }
}

/** Drops the bytes of a body, and calls back at its end. @param isCoded refuses the first byte */
function dropBody(
  request: IncomingMessage,
  isCoded: boolean,
  take: (fault: "bodyNotAllowed" | undefined) => void,
): void {
  let isOver = false;
  const end = (fault?: "bodyNotAllowed"): void => {
    if (isOver) return;
    isOver = true;
    take(fault);
  };
  request.on("data", () => isCoded && end("bodyNotAllowed"));
  request.once("end", () => end());
}

/** Smaller bodies are sent as text: node:http then sends head and body in one write of one part. */
const MOST_TEXT_BYTES = 8192;

/** Longer pages are copied, so that a peer which does not read them keeps no tables in memory. */
const MOST_VIEW_BYTES = 65_536;

/** Time in which a peer must read the page whose rows it keeps in memory. */
const VIEW_MS = 120_000;

function respond(response: ServerResponse, { status, headers: lines, body }: Reply, closes: boolean): void {
  // Set by name, so that the server can later read that this response is the last.
  if (closes) response.setHeader("Connection", "close");
  response.writeHead(status, splitHeaders(lines));
  if (typeof body === "string" || body.length < MOST_TEXT_BYTES) response.end(bodyText(body), "latin1");
  else if (body.isShared) response.end(body.slices.bytes);
  else if (body.slices.ranges.length === 2 && body.length <= MOST_VIEW_BYTES) sendView(response, body);
  else response.end(bodyBytes(body));
}

/** Sends rows that lie together without a copy: copies lie outside of the heap of V8, which collects garbage for them. */
function sendView(response: ServerResponse, { head, slices, end }: Parts): void {
  const { bytes, ranges, behind } = slices;
  response.write(head, "latin1");
  response.write(bytes.subarray(ranges[0], ranges[1]));
  response.end(behind + end, "latin1");
  // Mostly the system has taken all of it by now.
  if (response.writableLength === 0) return;
  const timer = setTimeout(() => response.destroy(), VIEW_MS).unref();
  response.once("close", () => clearTimeout(timer));
}
