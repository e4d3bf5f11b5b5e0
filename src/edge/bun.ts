/**
 * The Bun adapter: requests of `Bun.serve` in, responses out. On the wire it does
 * what the node:http adapter does, as far as Bun's server lets it; what that
 * decides by itself is in docs/runtimes.md.
 */

import { observeRefusal } from "../access.ts";
import { answer, type State } from "../answer.ts";
import { createRouter, splitTarget } from "../derive/router.ts";
import { FAULTS, type FaultName } from "../fault.ts";
import { BARE_FAULT_HEADERS, FAULT_BODIES } from "../headers.ts";
import type { Peer, Reply } from "../message.ts";
import { countAborted, countAnswered, countBegun, countRefused } from "../metrics/counters.ts";
import { BASE_PATH } from "../model.ts";
import type { Route } from "../routes/route.ts";
import { ROUTES } from "../routes.ts";
import { createBunResponder } from "./bun-response.ts";
import { MAX_HEADERS } from "./head.ts";
import { dateNow } from "./respond.ts";

/** What the adapter needs of Bun's server. */
export interface BunServer {
  readonly requestIP: (request: Request) => { readonly address: string } | null;
}

/** A handler of `Bun.serve`. */
export type BunHandler = (request: Request, server: BunServer) => Response | Promise<Response>;

/** The adapter, and what a shutdown needs of it. */
export interface BunAdapter {
  /** By path of an operation. */
  readonly routes: Readonly<Record<string, BunHandler>>;
  /** Of all other paths. */
  readonly fetch: BunHandler;
  /** From now on every response ends its connection. */
  readonly startDraining: () => void;
  /** From now on requests that take work are treated as if their peers were gone. */
  readonly giveUpWork: () => void;
}

/** `Headers` as Bun has them. */
type BunHeaders = Headers & { readonly count: number };

/** Makes what a request asked for out of its URL. */
type TargetOf = (url: string) => string;

/** The URL without scheme and authority; where a Host makes no URL, Bun gives the target as it came. */
function localPart(url: string): string {
  if (url.startsWith("/")) return url;
  const at = url.indexOf("/", "https://".length);
  return at < 0 ? url : url.slice(at);
}

/**
 * The target of a request whose path, as it was sent, is one of an operation.
 *
 * Bun finds the route by the path as it was sent, but the URL that it gives is
 * a normalised one: of `worlds/../stats` nothing is left but `stats`. A segment
 * that does not survive that is nobody's id.
 */
function targetOnRoute(route: Route): TargetOf {
  const match = createRouter([route], BASE_PATH);
  const nobodys = BASE_PATH + route.path.replace(":id", ".");
  return (url) => {
    const target = localPart(url);
    const { path, query } = splitTarget(target);
    return match(path) !== undefined ? target : `${nobodys}?${query}`;
  };
}

/** The target of a request whose path, as it was sent, is none of an operation, even where its URL has such a path. */
function targetOffRoutes(): TargetOf {
  const match = createRouter(ROUTES, BASE_PATH);
  return (url) => {
    const target = localPart(url);
    return match(splitTarget(target).path) === undefined ? target : `/.${target}`;
  };
}

/** Values of a header that was sent twice are joined by this. */
const JOINT = ", ";

/** Where a second Authorization header begins in what Bun joined: with a scheme and what belongs to it. */
const SECOND_CREDENTIALS = /, [A-Za-z][A-Za-z0-9-]* +[^ ]/;

/** Of two Authorization headers the first counts. No token of a known kind holds what a second one begins with. */
function firstAuthorization(headers: Headers): string | undefined {
  const value = headers.get("authorization");
  if (value === null) return undefined;
  if (!value.includes(JOINT)) return value;
  const second = value.search(SECOND_CREDENTIALS);
  return second < 0 ? value : value.slice(0, second);
}

/** Whether a client says that it ends the connection; Bun does so, but does not say it. */
function asksToClose(headers: Headers): boolean {
  const options = headers.get("connection");
  if (options === null || options === "keep-alive") return false;
  return options.split(",").some((option) => option.trim().toLowerCase() === "close");
}

function hasBody(headers: Headers): boolean {
  return (headers.get("content-length") ?? "0") !== "0" || headers.get("transfer-encoding") !== null;
}

/** Longest body that is likely there with its head, in bytes. */
const SHORT_BODY = 16_384;

/**
 * Whether much of a body is still to come. Bun closes a connection at once
 * behind an answer that ends it, and what comes then resets it; clients that
 * send first and read then would lose the answer. Otherwise Bun reads the rest
 * and drops it.
 */
function isLong(headers: Headers): boolean {
  return Number(headers.get("content-length") ?? 0) > SHORT_BODY;
}

/** What is wrong with the request itself, before anything of it is looked up. */
function inspect(method: string, headers: BunHeaders, withBody: boolean): FaultName | undefined {
  if (headers.count > MAX_HEADERS) return "headTooLarge";
  if (headers.get("host")?.includes(JOINT)) return "badRequest";
  if (withBody && (method === "GET" || method === "HEAD")) return "bodyNotAllowed";
  if (method === "CONNECT") return "methodNotAllowed";
  const expectation = headers.get("expect");
  if (expectation !== null && expectation.toLowerCase() !== "100-continue") return "expectation";
  return undefined;
}

function bareReply(fault: FaultName, more: string): Reply {
  const { status } = FAULTS[fault];
  const headers = BARE_FAULT_HEADERS[fault] + more;
  return { status, headers, body: FAULT_BODIES[fault], route: "", keyId: "" };
}

/** Makes the adapter to a state. */
export function createBunAdapter(state: State): BunAdapter {
  const respond = createBunResponder();
  const { requestCounters: counters } = state;
  let draining = false;
  let givesUpWork = false;

  function send(reply: Reply, isHead: boolean, closes: boolean): Response {
    const response = respond(reply, isHead);
    if (closes || draining) response.headers.set("Connection", "close");
    // Bun adds it to all others.
    if (isHead) response.headers.set("Date", dateNow());
    return response;
  }

  function peerOf(request: Request, server: BunServer): Peer | undefined {
    return state.accessLog ? { remoteAddress: server.requestIP(request)?.address } : undefined;
  }

  function refuse(fault: FaultName, request: Request, target: string, peer: Peer | undefined): Response {
    const { method } = request;
    if (counters !== undefined) countRefused(counters, method, FAULTS[fault].status, fault);
    const closes = !isLong(request.headers);
    const bare = bareReply(fault, "");
    if (!state.accessLog) return send(bare, method === "HEAD", closes);
    const log = { observe: state.observe, prefixes: state.gate.prefixes };
    const more = observeRefusal(fault, bare, peer, { method, target }, log);
    return send(bareReply(fault, more), method === "HEAD", closes);
  }

  function count(request: Request, { route, status, fault }: Reply, began: number): void {
    if (counters === undefined) return;
    // The signal is made when it is first asked for: only what was waited for can have been left.
    if (status === FAULTS.busy.status && request.signal.aborted) {
      countAborted(counters, began, request.method, route);
    } else countAnswered(counters, began, request.method, route, status, fault);
  }

  function handler(targetOf: TargetOf): BunHandler {
    return (request, server) => {
      const began = counters === undefined ? 0 : performance.now();
      const { method } = request;
      const headers = request.headers as BunHeaders;
      const target = targetOf(request.url);
      const withBody = hasBody(headers);
      const fault = inspect(method, headers, withBody);
      const peer = peerOf(request, server);
      if (fault !== undefined) return refuse(fault, request, target, peer);
      const isHead = method === "HEAD";
      const closes = (withBody && !isLong(headers)) || asksToClose(headers);
      if (counters !== undefined) countBegun(counters);
      const reply = answer(
        {
          method,
          target,
          authorization: firstAuthorization(headers),
          ifNoneMatch: headers.get("if-none-match") ?? undefined,
          ifMatch: headers.get("if-match") ?? undefined,
          now: Date.now(),
          peer,
          isGone: () => givesUpWork || request.signal.aborted,
        },
        state,
      );
      const sendCounted = (whole: Reply): Response => {
        const response = send(whole, isHead, closes);
        count(request, whole, began);
        return response;
      };
      return reply instanceof Promise ? reply.then(sendCounted) : sendCounted(reply);
    };
  }

  return {
    routes: Object.fromEntries(
      ROUTES.map((route) => [BASE_PATH + route.path, handler(targetOnRoute(route))]),
    ),
    fetch: handler(targetOffRoutes()),
    startDraining() {
      draining = true;
    },
    giveUpWork() {
      givesUpWork = true;
    },
  };
}
