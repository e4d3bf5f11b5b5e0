/**
 * `GET /explain`: runs the request pipeline with a trace, as the process itself and with its own searches, so it reads
 * and fills no cache and counts nothing. A key is judged separately, by counts that it only reads.
 */

import { answer, type State } from "../api/answer.ts";
import type { Call, Route } from "../api/handlers/route.ts";
import { admitKey, type Gate, type Prefixes } from "../auth/admit.ts";
import { readCounts } from "../auth/limit.ts";
import type { SharedCount } from "../auth/shared.ts";
import { FAULTS } from "../model/fault.ts";
import { type Ask, PROCESS, type Reply, splitTarget } from "../model/message.ts";
import type { Scope } from "../model/model.ts";
import { maskedTokens } from "../observe/mask.ts";
import type { OpenState } from "../server/open.ts";
import { explainedSearches, type SearchExplanation } from "./explain-search.ts";
import { adminReply, errorReply, JSON_TYPE, queryOf } from "./router.ts";
import type { WatchedServer } from "./watched.ts";

/** Longest target; a URL of the API up to this length always works. */
const MAX_TARGET = 8192;

const ORIGIN_OR_ABSOLUTE = /^(\/|https?:\/\/)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const CONTROL = /[\u0000-\u001f\u007f]/;
/** Characters that a client would encode. */
const TO_ENCODE = /[^\x21-\x7e]+/gu;

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads the question in a query. @returns it, or its problem in a sentence that quotes nothing */
export function readExplainQuestion(query: string): { target: string; key: string | undefined } | string {
  const asked = new URLSearchParams(query);
  for (const name of asked.keys()) {
    if (name !== "target" && name !== "key")
      return "Only target and key are parameters; & within the target is written as %26";
    if (asked.getAll(name).length > 1) return `${name} is given twice`;
  }
  const broken = query.split("&").find((part) => !isEncoded(part));
  if (broken !== undefined) return `${broken.split("=")[0]} is not percent-encoded UTF-8`;
  const given = asked.get("target") ?? "";
  const key = asked.get("key") ?? undefined;
  if (given === "") return "target is required: a path of the API with its query, percent-encoded";
  if (CONTROL.test(given)) return "target holds control characters";
  if (!ORIGIN_OR_ABSOLUTE.test(given)) return "target must begin with /, http:// or https://";
  // A client would encode the text, too.
  const target = given.replace(TO_ENCODE, encodeURIComponent);
  if (target.length > MAX_TARGET) return `target is longer than ${MAX_TARGET} characters`;
  if (key === "") return "key must be the id of a key";
  return { target, key };
}

/** The gate's verdict on a key, and its remaining requests; undefined if no key has the id. A CLI token has no quota. */
export async function explainKey(
  gate: Gate,
  shared: Pick<SharedCount, "read"> | undefined,
  id: string,
  scope: Scope | null,
  now: number,
) {
  const key = gate.keys.bySlot[gate.counters.slots.get(id) ?? -1];
  if (key === undefined) return undefined;
  const { name, kind, scopes, expiresAt, slot } = key;
  const limit = key.limit ?? gate.defaultLimit;
  const counts = readCounts(gate.counters, now);
  const usedHere = counts.usedBy(slot);
  const remainingHere = Math.max(0, limit - usedHere);
  const here = { counted: "here", used: usedHere, remaining: remainingHere, reset: counts.reset } as const;
  const told = kind === "cli" ? undefined : await shared?.read(key, limit, now);
  const { counted, used, remaining, reset } = told ?? here;
  const count = () => ({ passed: remaining > 0, limit, remaining, reset });
  const { fault = null } = await admitKey({ ...gate, shared: { count } }, key, scope, now);
  return {
    id,
    name,
    kind,
    fault,
    scopes: [...scopes],
    expiresAt: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
    quota: kind === "cli" ? null : { counted, used, limit, remaining, resetEpochSeconds: reset },
  };
}

/** A text of an explanation, perhaps a target, without tokens. */
function withoutTokens(text: string, prefixes: Prefixes): string {
  const [path, ...query] = text.split("?");
  const parts = [
    maskedTokens(path!, "/", prefixes),
    ...query.map((part) => maskedTokens(part, "&", prefixes)),
  ];
  return parts.join("?");
}

/** Steps that the pipeline reached. */
interface Trace {
  operation?: Route;
  call?: Call;
  search?: SearchExplanation;
}

/** A state that notes the search and the operation in the trace, and counts and logs nothing. */
function tracedState(opened: OpenState, askHolding: WatchedServer["askHolding"], trace: Trace): State {
  const { gate, headers, observe, clientOf, pages, generation } = opened.state;
  const searches = explainedSearches(opened, askHolding, (found) => {
    trace.search = found;
  });
  return {
    gate,
    headers,
    observe,
    clientOf,
    pages,
    generation: { ...generation, ...searches },
    trace(operation, call) {
      trace.operation = operation;
      trace.call = call;
    },
  };
}

/** The operation, named as in the OpenAPI document, and its own parameters as applied. */
function operationOf({ operation, call }: Trace) {
  if (operation === undefined || call === undefined) return { route: null, parameters: null };
  const { name, path, scope, summary } = operation;
  const own = Object.fromEntries(
    operation.parameters.map((parameter) => [parameter, call.parameters[parameter]]),
  );
  const parameters = path.includes(":id") ? { id: call.id, ...own } : own;
  return { route: { name, path, scope, summary }, parameters };
}

/** Timeout of an explanation, in milliseconds. */
const PATIENCE_MS = 5000;

/**
 * Answers `GET /explain`. Parts that a request does not have are null: no operation may have the path, which may belong to
 * a page beside the API, no key may be named, and the operation may be no search, or one without a query.
 */
export async function explain(
  ask: Ask,
  opened: OpenState,
  askHolding: WatchedServer["askHolding"],
): Promise<Reply> {
  const question = readExplainQuestion(queryOf(ask));
  if (typeof question === "string") return errorReply(400, question);
  const { target, key: keyId } = question;
  const began = performance.now();
  const { gate, generation } = opened.state;
  const isGone = (): boolean => ask.isGone!() || performance.now() - began > PATIENCE_MS;
  const trace: Trace = {};
  const none = { authorization: undefined, ifNoneMatch: undefined, ifMatch: undefined };
  const asked: Ask = { method: "GET", target, caller: PROCESS, ...none, now: Date.now(), isGone };
  const reply = await answer(asked, tracedState(opened, askHolding, trace));
  const { operation, search = null } = trace;
  const key =
    keyId === undefined
      ? null
      : await explainKey(gate, opened.sharedCount, keyId, operation?.scope ?? null, Date.now());
  if (key === undefined) return errorReply(404, "No key has this id");
  // What a key is refused for comes before the reply of the operation.
  const fault = (operation && key?.fault) ?? reply.fault ?? null;
  const error = fault && FAULTS[fault].message;
  const explanation = {
    target,
    path: splitTarget(target).path,
    generation: generation.store.id,
    key,
    ...operationOf(trace),
    search,
    answer: {
      status: fault ? FAULTS[fault].status : reply.status,
      fault,
      error,
      bytes: fault ? JSON.stringify({ error }).length : reply.body.length,
    },
  };
  const durationMs = Math.round((performance.now() - began) * 1000) / 1000;
  const json = JSON.stringify({ ...explanation, durationMs }, (_, value: unknown) =>
    typeof value === "string" ? withoutTokens(value, gate.prefixes) : value,
  );
  return adminReply(200, JSON_TYPE, `${json}\n`);
}
