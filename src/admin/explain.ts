/**
 * `GET /explain`: the operation of a target is run as for a request, but its
 * searches are this file's: nothing is taken from a cache, kept in one, or counted.
 */

import type { State } from "../api/answer.ts";
import type { Outcome, Parameters, Route } from "../api/handlers/route.ts";
import { readParameters } from "../api/parameters.ts";
import { createRouter } from "../api/router.ts";
import { ROUTES } from "../api/routes.ts";
import type { Prefixes } from "../auth/admit.ts";
import { FAULTS, type FaultName } from "../model/fault.ts";
import { BASE_PATH } from "../model/model.ts";
import { splitTarget } from "../model/target.ts";
import { pageOf } from "../search/result-set.ts";
import { Scheduler } from "../search/schedule/scheduler.ts";
import { openSearch, type SearchIndex } from "../search/search.ts";
import type { CacheQuestion } from "../server/threads/serving-messages.ts";
import { BUSY, type Caller, type Found, type PageOf } from "../store/generation.ts";
import { explainKey, type SharedForExplain } from "./explain-key.ts";
import { type CountedResults, type SearchedTable, searchAndCount, termsOf } from "./explain-search.ts";
import { readExplainQuestion } from "./explain-target.ts";
import type { Explanation, KeyExplanation, ParametersExplanation, SearchExplanation } from "./explanation.ts";
import { type AdminAsk, type AdminReply, errorReply, jsonReply } from "./request.ts";

/** What is explained. */
export interface Explained {
  readonly state: State;
  /** Undefined where limits are this replica's alone. */
  readonly sharedLimits: SharedForExplain | undefined;
  readonly searchIndex: () => SearchIndex;
  /** Threads whose caches hold a page, and how many were asked. */
  readonly holding: (question: CacheQuestion) => Promise<SearchExplanation["cache"]>;
}

/** How long one may take, in milliseconds. */
const PATIENCE_MS = 5000;
/** Stands for no key in the queues of searches. */
const NO_KEY = -1;

const route = createRouter(ROUTES, BASE_PATH);

/** What became of the search of an operation. */
interface SearchNote {
  readonly table: SearchedTable;
  readonly term: string;
  match: SearchExplanation["match"];
  total: number | null;
  counted: CountedResults | undefined;
}

function parametersOf(
  { path, parameters: names }: Route,
  id: string,
  all: Readonly<Parameters>,
): ParametersExplanation {
  const own = Object.fromEntries(names.map((name) => [name, all[name]]));
  return { ...(path.includes(":id") ? { id } : {}), ...own };
}

/** A letter as it is, or percent-encoded, also more than once. */
function written(letter: string): string {
  const hex = letter.charCodeAt(0).toString(16).padStart(2, "0");
  return `(?:${letter.replace(/[^\w]/g, "\\$&")}|%(?:25)*${hex})`;
}

/** Texts that may be tokens are cut behind their prefixes, in any case, since searched texts are folded, and however they are encoded. */
function redacted(json: string, { api, cli }: Prefixes): string {
  const prefixes = [api, cli].map((prefix) => Array.from(prefix, written).join("")).join("|");
  return json.replace(new RegExp(`(${prefixes})(?:[\\w-]|%(?:25)*[0-9a-f]{2}){8,}`, "gi"), "$1***");
}

/** Makes the searches of a call. @param take receives a note of what a search found */
function searchesOf(
  { state, searchIndex }: Explained,
  scheduler: Scheduler<CountedResults>,
  caller: Caller,
  take: (note: SearchNote) => void,
) {
  const { store, similar } = state.generation;
  const searches = openSearch(searchIndex());
  const exact =
    (table: SearchedTable) =>
    async (term: string, page: PageOf): Promise<Found | typeof BUSY> => {
      const counted = await scheduler.run(() => searchAndCount(searches, store, table, term), caller);
      const isDone = counted !== BUSY;
      take({
        table,
        term,
        match: "exact",
        total: isDone ? counted.results.total : null,
        counted: isDone ? counted : undefined,
      });
      return isDone ? pageOf(counted.results, page) : BUSY;
    };
  const like = (table: SearchedTable) => async (term: string, page: PageOf) => {
    const found = await similar![table](term, page, caller);
    if (found !== undefined) {
      const total = found === BUSY ? null : found.total;
      take({ table, term, match: "similar", total, counted: undefined });
    }
    return found;
  };
  return {
    search: { users: exact("users"), worlds: exact("worlds") },
    similar: similar && { users: like("users"), worlds: like("worlds") },
  };
}

async function explainSearch(
  { table, term, match, total, counted }: SearchNote,
  page: PageOf,
  holding: Explained["holding"],
): Promise<SearchExplanation> {
  const question = { table, term, page: { limit: page.limit, offset: page.offset } };
  return {
    table,
    match,
    term,
    terms: termsOf(table, term),
    total,
    classes: counted?.classes ?? null,
    cache: match === "exact" ? await holding(question) : { holding: 0, asked: 0 },
    durationMs: counted === undefined ? null : Math.round(counted.ms * 1000) / 1000,
  };
}

/** Makes what explains. */
export function createExplainer(explained: Explained): (ask: AdminAsk) => Promise<AdminReply> {
  const { state, sharedLimits, holding } = explained;
  const scheduler = new Scheduler<CountedResults>();

  async function explain(
    target: string,
    keyId: string | undefined,
    isGone: () => boolean,
  ): Promise<AdminReply> {
    const began = performance.now();
    const { path, query } = splitTarget(target);
    const match = route(path);
    const { store } = state.generation;
    let key: KeyExplanation | undefined;
    if (keyId !== undefined) {
      key = await explainKey(state.gate, sharedLimits, keyId, match?.route.scope ?? null, Date.now());
      if (key === undefined) return errorReply(404, "No key has this id");
    }
    const common = { target, path, generation: store.id, key: key ?? null };
    const finish = (explanation: Omit<Explanation, "durationMs">): AdminReply => {
      const durationMs = Math.round((performance.now() - began) * 1000) / 1000;
      const reply = jsonReply(200, { ...explanation, durationMs });
      return { ...reply, body: redacted(String(reply.body), state.gate.prefixes) };
    };
    if (match === undefined) {
      const answer = (await answerOfPage(state, path)) ?? answerOf("notFound", undefined);
      return finish({ ...common, route: null, parameters: null, search: null, answer });
    }
    const { route: operation, id } = match;
    const parameters = readParameters(query, operation.parameters);
    const isLate = (): boolean => isGone() || performance.now() - began > PATIENCE_MS;
    const caller: Caller = { key: NO_KEY, isGone: isLate };
    let note: SearchNote | undefined;
    const searches = searchesOf(explained, scheduler, caller, (taken) => {
      note = taken;
    });
    const outcome = await operation.run({ ...caller, ...searches, store, id, parameters });
    return finish({
      ...common,
      route: {
        name: operation.name,
        path: operation.path,
        scope: operation.scope,
        summary: operation.summary,
      },
      parameters: parametersOf(operation, id, parameters),
      search: note === undefined ? null : await explainSearch(note, parameters, holding),
      answer: answerOf(key?.fault ?? undefined, outcome),
    });
  }

  return async ({ query, isGone }) => {
    const question = readExplainQuestion(query);
    if (typeof question === "string") return errorReply(400, question);
    return await explain(question.target, question.key, isGone);
  };
}

/** What a page beside the API is answered; undefined when there is none of this path. */
async function answerOfPage({ pages }: State, path: string): Promise<Explanation["answer"] | undefined> {
  const nothing = { ifMatch: undefined, ifNoneMatch: undefined, acceptEncoding: undefined };
  const page = await pages?.answer({ method: "GET", path, ...nothing });
  return page && { status: page.status, fault: null, error: null, bytes: page.body.length };
}

/** @param fault what comes before the operation */
function answerOf(fault: FaultName | undefined, outcome: Outcome | undefined): Explanation["answer"] {
  const name = fault ?? (outcome !== undefined && "fault" in outcome ? outcome.fault : undefined);
  if (name !== undefined) {
    const { status, message } = FAULTS[name];
    return { status, fault: name, error: message, bytes: JSON.stringify({ error: message }).length };
  }
  return {
    status: 200,
    fault: null,
    error: null,
    bytes: (outcome as { body: { length: number } }).body.length,
  };
}
