/**
 * `GET /explain`: the pipeline of requests is run with a trace, for the process itself and with searches of this file,
 * so nothing is taken from a cache, kept in one, or counted. A key is judged apart, over counts that are only read.
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
import { pageOf } from "../search/result-set.ts";
import { Scheduler } from "../search/schedule/scheduler.ts";
import { openSearch, type SearchIndex } from "../search/search.ts";
import type { CacheQuestion } from "../server/threads/serving-messages.ts";
import {
  BUSY,
  type Caller,
  type Found,
  type PageOf,
  type Search,
  type SimilarSearch,
} from "../store/generation.ts";
import { type CountedResults, type SearchedTable, searchAndCount, termsOf } from "./explain-search.ts";
import { readExplainQuestion } from "./explain-target.ts";
import type { Explanation, KeyExplanation, SearchExplanation } from "./explanation.ts";
import { adminReply, errorReply, JSON_TYPE, queryOf } from "./router.ts";

/** A server to explain. */
export interface Explained {
  readonly state: State;
  /** Undefined where limits are this replica's alone. */
  readonly sharedLimits: SharedForExplain | undefined;
  readonly searchIndex: () => SearchIndex;
}

/** The part of shared limits that explanations need. */
export type SharedForExplain = Pick<LimitSharing, "readAnew">;

/** Tells how many threads hold a page in their caches, and how many were asked. */
export type AskHolding = (question: CacheQuestion) => Promise<SearchExplanation["cache"]>;

/** How long one may take, in milliseconds. */
const PATIENCE_MS = 5000;
/** Stands for no key in the queues of searches. */
const NO_KEY = -1;

const scheduler = new Scheduler<CountedResults>();

/** A search that an operation did. */
interface SearchNote {
  readonly table: SearchedTable;
  readonly term: string;
  readonly match: SearchExplanation["match"];
  readonly total: number | null;
  readonly counted: CountedResults | undefined;
}

/** What the pipeline came to. */
interface Trace {
  operation?: Route;
  call?: Call;
  search?: SearchNote;
}

type Quota = NonNullable<KeyExplanation["quota"]>;

async function quotaOf(
  { counters }: Gate,
  shared: SharedForExplain | undefined,
  slot: number,
  limit: number,
  now: number,
): Promise<Quota> {
  if (shared !== undefined) {
    const { counted, used, remaining, reset } = await shared.readAnew(slot, limit);
    return { counted, used, limit, remaining, resetEpochSeconds: reset };
  }
  const { usedBy, reset } = readCounts(counters, now);
  const used = usedBy(slot);
  return { counted: "here", used, limit, remaining: Math.max(0, limit - used), resetEpochSeconds: reset };
}

/**
 * Explains a key; undefined when there is none of this id.
 *
 * @param scope of the operation, or null when any key will do
 * @param shared undefined where limits are not shared
 * @param now milliseconds since the epoch
 */
export async function explainKey(
  gate: Gate,
  shared: SharedForExplain | undefined,
  id: string,
  scope: Scope | null,
  now: number,
): Promise<KeyExplanation | undefined> {
  const key = gate.keys.bySlot[gate.counters.slots.get(id) ?? -1];
  if (key === undefined) return undefined;
  const { name, kind, scopes, expiresAt, slot } = key;
  const limit = key.limit ?? gate.defaultLimit;
  const quota = kind === "cli" ? null : await quotaOf(gate, shared, slot, limit, now);
  const { remaining = 0, resetEpochSeconds: reset = 0 } = quota ?? {};
  const count = () => ({ passed: remaining > 0, limit, remaining, reset });
  const { fault = null } = await admitKey({ ...gate, shared: { count } }, key, scope, now);
  return {
    ...{ id, name, kind, fault },
    scopes: [...scopes],
    expiresAt: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
    quota,
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

/** Both searches of a generation, without a cache. */
function exactSearch({ state, searchIndex }: Explained, trace: Trace): Search {
  const { store } = state.generation;
  const searches = openSearch(searchIndex());
  const exact =
    (table: SearchedTable) =>
    async (term: string, page: PageOf, { isGone }: Caller): Promise<Found | typeof BUSY> => {
      const caller = { key: NO_KEY, isGone };
      const done = await scheduler.run(() => searchAndCount(searches, store, table, term), caller);
      const counted = done === BUSY ? undefined : done;
      trace.search = { table, term, match: "exact", total: counted?.results.total ?? null, counted };
      return counted === undefined ? BUSY : pageOf(counted.results, page);
    };
  return { users: exact("users"), worlds: exact("worlds") };
}

/** Both searches for similar names, as requests do them. */
function similarSearch(similar: SimilarSearch, trace: Trace): SimilarSearch {
  const like =
    (table: SearchedTable) =>
    async (term: string, page: PageOf, { isGone }: Caller) => {
      const found = await similar[table](term, page, { key: NO_KEY, isGone });
      if (found !== undefined) {
        const total = found === BUSY ? null : found.total;
        trace.search = { table, term, match: "similar", total, counted: undefined };
      }
      return found;
    };
  return { users: like("users"), worlds: like("worlds") };
}

/** A state whose searches and operations are noted, and that counts and logs nothing. */
function tracedState(explained: Explained, trace: Trace): State {
  const { gate, headers, observe, clientOf, pages, generation } = explained.state;
  const search = exactSearch(explained, trace);
  const similar = generation.similar && similarSearch(generation.similar, trace);
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

async function searchOf({ search, call }: Trace, askHolding: AskHolding): Promise<SearchExplanation | null> {
  if (search === undefined) return null;
  const { table, term, match, total, counted } = search;
  const { limit, offset } = call!.parameters;
  return {
    ...{ table, match, term },
    terms: termsOf(table, term),
    total,
    classes: counted?.classes ?? null,
    cache:
      match === "exact"
        ? await askHolding({ table, term, page: { limit, offset } })
        : { holding: 0, asked: 0 },
    durationMs: counted === undefined ? null : Math.round(counted.ms * 1000) / 1000,
  };
}

/** @param key null where none was named; its fault comes before the reply of the operation */
function answerOf(key: KeyExplanation | null, { operation }: Trace, reply: Reply): Explanation["answer"] {
  const fault = (operation && key?.fault) ?? reply.fault;
  if (fault === undefined)
    return { status: reply.status, fault: null, error: null, bytes: reply.body.length };
  const { status, message: error } = FAULTS[fault];
  return { status, fault, error, bytes: JSON.stringify({ error }).length };
}

/** Answers a question. */
export async function explain(ask: Ask, explained: Explained, askHolding: AskHolding): Promise<Reply> {
  const question = readExplainQuestion(queryOf(ask));
  if (typeof question === "string") return errorReply(400, question);
  const { target, key: keyId } = question;
  const began = performance.now();
  const { state, sharedLimits } = explained;
  const { gate, generation } = state;
  const isGone = (): boolean => ask.isGone!() || performance.now() - began > PATIENCE_MS;
  const trace: Trace = {};
  const none = { authorization: undefined, ifNoneMatch: undefined, ifMatch: undefined };
  const asked: Ask = { method: "GET", target, caller: PROCESS, ...none, now: Date.now(), isGone };
  const reply = await answer(asked, tracedState(explained, trace));
  let key: KeyExplanation | null = null;
  if (keyId !== undefined) {
    const scope = trace.operation?.scope ?? null;
    const known = await explainKey(gate, sharedLimits, keyId, scope, Date.now());
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
