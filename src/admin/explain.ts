/**
 * `GET /explain`: the pipeline of requests is run with a trace, for the process itself and with searches of its own, so
 * nothing is taken from a cache, kept in one, or counted. A key is judged apart, over counts that are only read.
 */

import { answer, type State } from "../api/answer.ts";
import type { Call, Route } from "../api/handlers/route.ts";
import { admitKey, type Gate, type Prefixes } from "../auth/admit.ts";
import { readCounts } from "../auth/limit.ts";
import type { LimitSharing } from "../auth/shared.ts";
import { FAULTS } from "../model/fault.ts";
import { type Ask, PROCESS, type Reply } from "../model/message.ts";
import type { Scope } from "../model/model.ts";
import { splitTarget } from "../model/target.ts";
import type { OpenState } from "../server/open.ts";
import { exactSearch, similarSearch } from "./explain-search.ts";
import type { Explanation, KeyExplanation, SearchExplanation } from "./explanation.ts";
import { adminReply, errorReply, JSON_TYPE, queryOf } from "./router.ts";
import type { WatchedServer } from "./watched.ts";

/** Longest target; a URL of the API up to this length always works. */
const MAX_TARGET = 8192;

const ORIGIN_OR_ABSOLUTE = /^(\/|https?:\/\/)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;
/** What a client would encode before it sends it. */
const TO_ENCODE = /[^\x21-\x7e]+/gu;

/** Decodes a name or value; undefined when it is no form encoding of UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** The two parameters, each at most once and nothing else; or what is wrong. */
function readQuery(query: string): Map<string, string> | string {
  const values = new Map<string, string>();
  for (const part of query.split("&")) {
    if (part === "") continue;
    const mark = part.indexOf("=");
    const name = mark < 0 ? part : part.slice(0, mark);
    if (name !== "target" && name !== "key") {
      return "Only target and key are parameters; & within the target is written as %26";
    }
    const value = mark < 0 ? "" : decode(part.slice(mark + 1));
    if (value === undefined) return `${name} is not percent-encoded UTF-8`;
    if (values.has(name)) return `${name} is given twice`;
    values.set(name, value);
  }
  return values;
}

/**
 * Reads the question: a request target, and perhaps the id of a key.
 *
 * @param query the text after the first `?`, as it was sent
 * @returns or what is wrong with it, in a sentence that quotes nothing
 */
export function readExplainQuestion(query: string): { target: string; key: string | undefined } | string {
  const values = readQuery(query);
  if (typeof values === "string") return values;
  const given = values.get("target") ?? "";
  const key = values.get("key");
  if (given === "") return "target is required: a path of the API with its query, percent-encoded";
  if (CONTROL.test(given)) return "target holds control characters";
  if (!ORIGIN_OR_ABSOLUTE.test(given)) return "target must begin with /, http:// or https://";
  // As a client does it that is given such a text.
  const target = given.replace(TO_ENCODE, encodeURIComponent);
  if (target.length > MAX_TARGET) return `target is longer than ${MAX_TARGET} characters`;
  if (key === "") return "key must be the id of a key";
  return { target, key };
}

/**
 * Explains a key; undefined when there is none of this id.
 *
 * @param shared undefined where limits are this replica's alone
 * @param scope of the operation, or null when any key will do
 * @param now milliseconds since the epoch
 */
export async function explainKey(
  gate: Gate,
  shared: Pick<LimitSharing, "readAnew"> | undefined,
  id: string,
  scope: Scope | null,
  now: number,
): Promise<KeyExplanation | undefined> {
  const key = gate.keys.bySlot[gate.counters.slots.get(id) ?? -1];
  if (key === undefined) return undefined;
  const { name, kind, scopes, expiresAt, slot } = key;
  const limit = key.limit ?? gate.defaultLimit;
  const counts = readCounts(gate.counters, now);
  const usedHere = counts.usedBy(slot);
  const here = { used: usedHere, remaining: Math.max(0, limit - usedHere), reset: counts.reset };
  const told = kind === "cli" ? undefined : await shared?.readAnew(slot, limit);
  const { counted, used, remaining, reset } = told ?? { counted: "here" as const, ...here };
  const count = () => ({ passed: remaining > 0, limit, remaining, reset });
  const { fault = null } = await admitKey({ ...gate, shared: { count } }, key, scope, now);
  return {
    ...{ id, name, kind, fault },
    scopes: [...scopes],
    expiresAt: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
    quota: kind === "cli" ? null : { counted, used, limit, remaining, resetEpochSeconds: reset },
  };
}

/** A letter as it is, or percent-encoded, also more than once. */
function written(letter: string): string {
  const hex = letter.charCodeAt(0).toString(16).padStart(2, "0");
  return `(?:${letter.replace(/[^\w]/g, "\\$&")}|%(?:25)*${hex})`;
}

/** Cuts texts that may be tokens after their prefixes, in any case, since searched texts are folded, and however they are encoded. */
function redacted(json: string, { api, cli }: Prefixes): string {
  const prefixes = [api, cli].map((prefix) => Array.from(prefix, written).join("")).join("|");
  return json.replace(new RegExp(`(${prefixes})(?:[\\w-]|%(?:25)*[0-9a-f]{2}){8,}`, "gi"), "$1***");
}

/** What the pipeline came to. */
interface Trace {
  operation?: Route;
  call?: Call;
  search?: SearchExplanation;
}

/** A state whose searches and operations are noted, and that counts and logs nothing. */
function tracedState(opened: OpenState, trace: Trace): State {
  const { gate, headers, observe, clientOf, pages, generation } = opened.state;
  const take = (found: SearchExplanation): void => {
    trace.search = found;
  };
  const search = exactSearch(opened, take);
  const similar = generation.similar && similarSearch(generation.similar, take);
  return {
    ...{ gate, headers, observe, clientOf, pages },
    generation: { ...generation, search, similar },
    trace(operation, call) {
      trace.operation = operation;
      trace.call = call;
    },
  };
}

function parametersOf({ operation, call }: Trace): Explanation["parameters"] {
  if (operation === undefined || call === undefined) return null;
  const own = Object.fromEntries(operation.parameters.map((name) => [name, call.parameters[name]]));
  return { ...(operation.path.includes(":id") ? { id: call.id } : {}), ...own };
}

function routeOf({ operation }: Trace): Explanation["route"] {
  if (operation === undefined) return null;
  const { name, path, scope, summary } = operation;
  return { name, path, scope, summary };
}

async function searchOf(
  { search, call }: Trace,
  askHolding: WatchedServer["askHolding"],
): Promise<SearchExplanation | null> {
  if (search?.match !== "exact") return search ?? null;
  const { table, term } = search;
  const { limit, offset } = call!.parameters;
  return { ...search, cache: await askHolding({ table, term, page: { limit, offset } }) };
}

/** @param key null where none was named; its fault comes before the reply of the operation */
function answerOf(key: KeyExplanation | null, { operation }: Trace, reply: Reply): Explanation["answer"] {
  const fault = (operation && key?.fault) ?? reply.fault;
  if (fault === undefined)
    return { status: reply.status, fault: null, error: null, bytes: reply.body.length };
  const { status, message: error } = FAULTS[fault];
  return { status, fault, error, bytes: JSON.stringify({ error }).length };
}

/** How long one may take, in milliseconds. */
const PATIENCE_MS = 5000;

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
  const reply = await answer(asked, tracedState(opened, trace));
  let key: KeyExplanation | null = null;
  if (keyId !== undefined) {
    const scope = trace.operation?.scope ?? null;
    const known = await explainKey(gate, opened.sharedLimits, keyId, scope, Date.now());
    if (known === undefined) return errorReply(404, "No key has this id");
    key = known;
  }
  const explanation: Omit<Explanation, "durationMs"> = {
    target,
    path: splitTarget(target).path,
    generation: generation.store.id,
    key,
    route: routeOf(trace),
    parameters: parametersOf(trace),
    search: await searchOf(trace, askHolding),
    answer: answerOf(key, trace, reply),
  };
  const durationMs = Math.round((performance.now() - began) * 1000) / 1000;
  const json = redacted(JSON.stringify({ ...explanation, durationMs }), gate.prefixes);
  return adminReply(200, JSON_TYPE, `${json}\n`);
}
