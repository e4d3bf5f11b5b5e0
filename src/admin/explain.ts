/**
 * `GET /explain`: what a request would be refused for, its operation, the parameters as applied, and the quota of a key. It
 * runs no operation and counts nothing.
 */

import { findOperation, type State } from "../api/answer.ts";
import type { Route } from "../api/handlers/route.ts";
import { readParameters } from "../api/parameters.ts";
import type { RouteMatch } from "../api/router.ts";
import { admitKey, type Gate, type Prefixes } from "../auth/admit.ts";
import { readCounts } from "../auth/limit.ts";
import type { SharedCount } from "../auth/shared.ts";
import { FAULTS, type FaultName } from "../model/fault.ts";
import { type Ask, type Reply, splitTarget } from "../model/message.ts";
import type { Scope } from "../model/model.ts";
import { maskedTokens } from "../observe/mask.ts";
import { readTerm } from "../search/fold.ts";
import { termsOf } from "../search/search.ts";
import type { OpenState } from "../server/open.ts";
import { adminReply, errorReply, JSON_TYPE, queryOf } from "./router.ts";

/** A URL of the API up to this length always works. */
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
  const sharedCount = kind === "cli" ? undefined : await shared?.read(key, limit, now);
  const { counted, used, remaining, reset } = sharedCount ?? here;
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
  const parts = text.split("?").map((part, at) => maskedTokens(part, at === 0 ? "/" : "&", prefixes));
  return parts.join("?");
}

/** What a request is refused for before its operation runs. A path without an operation may belong to a page beside the API. */
function refusalOf({ pages }: State, path: string, operation: Route | undefined, fault: FaultName | null) {
  const found = operation === undefined && !pages?.mayHold(path) ? "notFound" : fault;
  return found && { fault: found, status: FAULTS[found].status, error: FAULTS[found].message };
}

/** The operation, named as in the OpenAPI document, its own parameters as applied, and the folded query of a search. */
function operationOf({ route, id }: RouteMatch<Route>, query: string) {
  const { name, path, scope, summary } = route;
  const all = readParameters(query, route.parameters);
  const own = Object.fromEntries(route.parameters.map((parameter) => [parameter, all[parameter]]));
  const parameters = path.includes(":id") ? { id, ...own } : own;
  const term = route.parameters.includes("q") ? readTerm(all.q) : undefined;
  const terms = path === "/worlds/search" ? termsOf : (whole: string) => [whole];
  const search = term === undefined ? null : { term, terms: term === "" ? [] : terms(term) };
  return { route: { name, path, scope, summary }, parameters, search };
}

const NO_OPERATION = { route: null, parameters: null, search: null };

/** Answers `GET /explain`. Parts that a request does not have are null. @param opened undefined until the first snapshot is loaded */
export async function explain(ask: Ask, opened: OpenState | undefined): Promise<Reply> {
  if (opened === undefined) return errorReply(503, "The first snapshot is being loaded");
  const { state, sharedCount } = opened;
  const question = readExplainQuestion(queryOf(ask));
  if (typeof question === "string") return errorReply(400, question);
  const { target, key: keyId } = question;
  const { path, query } = splitTarget(target);
  const match = findOperation(path);
  const scope = match?.route.scope ?? null;
  const key =
    keyId === undefined ? null : await explainKey(state.gate, sharedCount, keyId, scope, Date.now());
  if (key === undefined) return errorReply(404, "No key has this id");
  const operation = match ? operationOf(match, query) : NO_OPERATION;
  // The key is judged before the parameters.
  const fault = match ? (key?.fault ?? (operation.search?.term === "" ? "noQuery" : null)) : null;
  const explanation = { target, refusal: refusalOf(state, path, match?.route, fault), ...operation, key };
  const json = JSON.stringify(explanation, (_, value: unknown) =>
    typeof value === "string" ? withoutTokens(value, state.gate.prefixes) : value,
  );
  return adminReply(200, JSON_TYPE, `${json}\n`);
}
