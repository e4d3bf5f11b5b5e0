/**
 * The request pipeline. A request passes these steps in order, and the first failure answers:
 *
 *   path → method → token → limit → scope → parameters → operation → conditions
 *
 * Synchronous, except that searches, and rarely admissions and pages, may answer later.
 */

import { type Admission, admit, type Gate, NO_KEY } from "../auth/admit.ts";
import { countBusy, countUse, type KeyUse } from "../auth/key-use.ts";
import type { Body } from "../model/body.ts";
import type { ClientOf } from "../model/client-address.ts";
import { FAULTS, type FaultName } from "../model/fault.ts";
import { type Ask, type Reply, splitTarget } from "../model/message.ts";
import { BASE_PATH } from "../model/model.ts";
import type { AccessLog } from "../observe/access-log.ts";
import type { Observe } from "../observe/events.ts";
import type { RequestCounters } from "../observe/metrics/counters.ts";
import type { Generation } from "../store/generation.ts";
import { judgeConditions } from "./conditions.ts";
import type { Call, Outcome, Route } from "./handlers/route.ts";
import {
  FAULT_BODIES,
  type FixedHeaders,
  notModifiedHeaders,
  okHeaders,
  quotaHeaders,
  untaggedHeaders,
} from "./headers.ts";
import type { PageServer } from "./pages/serve.ts";
import { readParameters } from "./parameters.ts";
import { createRouter, type RouteMatch } from "./router.ts";
import { ROUTES } from "./routes.ts";

/** The data for answering requests. Only the generation changes, and the keys and counters of the gate. */
export interface State {
  readonly gate: Gate;
  readonly headers: FixedHeaders;
  readonly observe: Observe;
  /** Finds the client address of a request, for the log. */
  readonly clientOf: ClientOf;
  /** Absent where requests are not logged. */
  readonly accessLog?: AccessLog | undefined;
  /** Answers requests for pages beside the API; absent where there are none. */
  readonly pages?: PageServer | undefined;
  /** Counters of this thread for the requests of each key; absent when not needed. */
  readonly keyUse?: KeyUse | undefined;
  /** Counters of requests, for adapters; absent without metrics. */
  readonly requestCounters?: RequestCounters | undefined;
  /** Replaced as a whole by a reload; a request reads it once. */
  generation: Generation;
}

export const findOperation = createRouter(ROUTES, BASE_PATH);

/** Whether a target lies below the API's base path, or belongs to the pages beside it; `answer` answers any other with "not found". */
export function isServed(target: string, { pages }: State): boolean {
  const { path } = splitTarget(target);
  const isOfApi =
    path.startsWith(BASE_PATH) && (path.length === BASE_PATH.length || path[BASE_PATH.length] === "/");
  return isOfApi || (pages?.mayHold(path) ?? false);
}

/** Answers one request. Never throws and never rejects. */
export function answer(ask: Ask, state: State): Reply | Promise<Reply> {
  const { accessLog } = state;
  if (accessLog === undefined) return flow(ask, state);
  const began = performance.now();
  const reply = flow(ask, state);
  return reply instanceof Promise
    ? recordLater(ask, reply, accessLog, began)
    : accessLog.record(ask, reply, began);
}

// Closures stay out of the functions that every request runs: their variables would be allocated for each.

function recordLater(ask: Ask, reply: Promise<Reply>, accessLog: AccessLog, began: number): Promise<Reply> {
  // A closed connection no longer has its address.
  const peer = { remoteAddress: ask.peer?.remoteAddress };
  return reply.then((later) => accessLog.record({ ...ask, peer }, later, began));
}

function flow(ask: Ask, state: State): Reply | Promise<Reply> {
  try {
    if (state.gate.closed) return refuse(ask, state, "closed", "", NOBODY);
    const { path, query } = splitTarget(ask.target);
    const match = findOperation(path);
    if (match === undefined) return answerPage(ask, state, path);
    const { route: operation } = match;
    if (ask.method === "OPTIONS")
      return { status: 204, headers: state.headers.options, body: "", route: operation.path, keyId: "" };
    if (ask.method !== "GET" && ask.method !== "HEAD") {
      return refuse(ask, state, "methodNotAllowed", operation.path, NOBODY);
    }

    const admission = admit(state.gate, ask, operation.scope);
    if (admission instanceof Promise) return runLater(ask, state, match, query, admission);
    return run(ask, state, match, query, admission);
  } catch (error) {
    return defect(ask, state, undefined, error);
  }
}

function runLater(
  ask: Ask,
  state: State,
  match: RouteMatch<Route>,
  query: string,
  admission: Promise<Admission>,
): Promise<Reply> {
  return admission
    .then((later) => run(ask, state, match, query, later))
    .catch((error: unknown) => defect(ask, state, match.route, error));
}

/** Answers a path outside the API: with a page, if there is one. */
function answerPage(ask: Ask, state: State, path: string): Reply | Promise<Reply> {
  const page = state.pages?.answer(ask, path, state.generation.store);
  if (page === undefined) return refuse(ask, state, "notFound", "", NOBODY);
  if (!(page instanceof Promise)) return page;
  return page.then(
    (reply) => reply ?? refuse(ask, state, "notFound", "", NOBODY),
    (error: unknown) => defect(ask, state, undefined, error),
  );
}

/** A request that the gate refused may be worth a notice. */
function notice(ask: Ask, { observe, clientOf }: State, { fault, quota, key }: Admission): void {
  if (quota !== undefined) {
    if (fault !== "rateLimited") return;
    const { limit, reset } = quota;
    observe({ kind: "key-limited", keyId: key.id, name: key.name, limit, reset });
  } else if (fault !== undefined && fault !== "noToken" && fault !== "busy") {
    const client = clientOf(ask);
    if (client !== undefined) observe({ kind: "bad-tokens", client, count: 1, fault });
  }
}

/** A call, and the other parts of its reply besides the outcome. */
interface Running extends Call {
  readonly route: Route;
  /** Tag of the generation that the call reads. */
  readonly etag: string;
  readonly admission: Admission;
}

/** The pipeline after admission. */
function run(
  ask: Ask,
  state: State,
  { route, id }: RouteMatch<Route>,
  query: string,
  admission: Admission,
): Reply | Promise<Reply> {
  if (state.keyUse) countUse(state.keyUse, admission.key.slot, admission.fault, ask.now);
  if (admission.fault) {
    notice(ask, state, admission);
    return refuse(ask, state, admission.fault, route.path, admission);
  }
  const { store, search, similar, etag } = state.generation;
  const call: Running = {
    store,
    search,
    similar,
    id,
    parameters: readParameters(query, route.parameters),
    key: admission.key.slot,
    isGone: ask.isGone ?? isNeverGone,
    route,
    etag,
    admission,
  };
  const outcome = route.run(call);
  return outcome instanceof Promise
    ? concludeLater(ask, state, call, outcome)
    : conclude(ask, state, call, outcome);
}

function concludeLater(ask: Ask, state: State, call: Running, outcome: Promise<Outcome>): Promise<Reply> {
  return outcome.then(
    (later) => conclude(ask, state, call, later),
    (error: unknown) => defect(ask, state, call.route, error),
  );
}

const NOBODY: Admission = { fault: undefined, quota: undefined, key: NO_KEY };

function isNeverGone(): boolean {
  return false;
}

/** Makes a reply of an operation's outcome: an error, or a 200, which the conditions may turn into a 304 or 412. */
function conclude(ask: Ask, state: State, { route, etag, admission }: Running, outcome: Outcome): Reply {
  const { path } = route;
  if ("fault" in outcome) {
    if (outcome.fault === "busy" && state.keyUse) countBusy(state.keyUse, admission.key.slot);
    return refuse(ask, state, outcome.fault, path, admission);
  }
  const status = judgeConditions(ask.ifMatch, ask.ifNoneMatch, etag);
  if (status === 412) {
    const reply = refuse(ask, state, "snapshotChanged", path, admission);
    return { ...reply, headers: `${reply.headers}ETag: ${etag}\r\n` };
  }
  const { quota } = admission;
  const keyId = admission.key.id;
  if (status === 304) {
    const headers = notModifiedHeaders(etag, state.headers) + quotaHeaders(quota);
    return { status, headers, body: "", route: path, keyId, etag };
  }
  if (outcome.isPassing) {
    const headers = untaggedHeaders(outcome.body.length, state.headers) + quotaHeaders(quota);
    return { status, headers, body: bodyFor(ask, outcome.body), route: path, keyId };
  }
  const headers = okHeaders(etag, outcome.body.length, state.headers) + quotaHeaders(quota);
  return { status, headers, body: bodyFor(ask, outcome.body), route: path, keyId, etag };
}

function refuse(ask: Ask, state: State, fault: FaultName, path: string, { quota, key }: Admission): Reply {
  let headers = state.headers.faults[fault] + quotaHeaders(quota);
  if (fault === "rateLimited" && quota) {
    headers += `Retry-After: ${Math.max(1, Math.ceil(quota.reset - ask.now / 1000))}\r\n`;
  }
  const { status } = FAULTS[fault];
  return { status, headers, body: bodyFor(ask, FAULT_BODIES[fault]), route: path, keyId: key.id, fault };
}

/** Handles every throw: the log gets the error, the client only a 500. */
function defect(ask: Ask, state: State, operation: Route | undefined, error: unknown): Reply {
  state.observe({ kind: "defect", where: operation?.path ?? "request", error });
  return refuse(ask, state, "internal", operation?.path ?? "", NOBODY);
}

function bodyFor(ask: Ask, body: Body): Body {
  return ask.method === "HEAD" ? "" : body;
}
