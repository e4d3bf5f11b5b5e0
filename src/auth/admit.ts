/** The gate: token, then limit, then scope. Plain functions over plain state. */

import { type FaultName, SCOPE_FAULTS } from "../model/fault.ts";
import { type Ask, PROCESS } from "../model/message.ts";
import type { Scope } from "../model/model.ts";
import type { Key, KeyKind, KeyRing } from "./keys.ts";
import { type Counters, countRequest, type Quota } from "./limit.ts";
import type { SharedCount } from "./shared.ts";

export interface Prefixes {
  readonly api: string;
  readonly cli: string;
}

const BEARER = /^bearer +/i;
/** The usual spelling: fast path. */
const USUAL = "Bearer ";
const SPACE = 0x20;

function tokenOf(authorization: string): string | undefined {
  if (authorization.startsWith(USUAL) && authorization.charCodeAt(USUAL.length) !== SPACE) {
    return authorization.length > USUAL.length ? authorization.slice(USUAL.length) : undefined;
  }
  const scheme = BEARER.exec(authorization);
  return scheme === null ? undefined : authorization.slice(scheme[0].length);
}

function kindOf(token: string, prefixes: Prefixes): KeyKind | undefined {
  if (token.startsWith(prefixes.api) && token.length > prefixes.api.length) return "api";
  if (token.startsWith(prefixes.cli) && token.length > prefixes.cli.length) return "cli";
  return undefined;
}

/** Finds the key of a header's token, valid or not; the token's prefix must fit the kind of the key. */
export function findKey(
  authorization: string | undefined,
  prefixes: Prefixes,
  ring: KeyRing,
): Key | FaultName {
  if (authorization === undefined) return "noToken";
  const token = tokenOf(authorization);
  const kind = token === undefined ? undefined : kindOf(token, prefixes);
  if (token === undefined || kind === undefined) return "tokenFormat";
  const key = ring.find(token);
  if (key !== undefined && key.kind === kind) return key;
  return kind === "cli" ? "cliTokenUnknown" : "apiKeyUnknown";
}

/** Why a key is not valid now; undefined if it is. Do not cache the verdict. */
export function judgeKey({ kind, active, expiresAt }: Key, now: number): FaultName | undefined {
  // A deactivated CLI token gets the answer of an unknown one.
  if (!active) return kind === "cli" ? "cliTokenUnknown" : "apiKeyInactive";
  if (expiresAt > now) return undefined;
  return kind === "cli" ? "cliTokenExpired" : "apiKeyExpired";
}

export interface Gate {
  readonly prefixes: Prefixes;
  /** Requests per window for keys without their own limit. */
  readonly defaultLimit: number;
  readonly counters: Counters;
  /** Counts requests together with other replicas; absent if limits are not shared. */
  readonly shared?: Pick<SharedCount, "count"> | undefined;
  /** Replaced as a whole when the keys file changes. */
  keys: KeyRing;
  /** Set for good when its service was closed: no request is let in any more. */
  closed?: boolean;
}

export interface Admission {
  readonly fault: FaultName | undefined;
  /** The limit's state, for every request that an API key authenticated. */
  readonly quota: Quota | undefined;
  /** The key, valid or not; {@link NO_KEY} when none was found. */
  readonly key: Pick<Key, "id" | "name" | "slot">;
}

/** For requests without a known key; -1 is no place in the counters. */
export const NO_KEY = { id: "", name: "", slot: -1 };

/** The process itself. No key has its slot, which is its place in the fair queue of searches, and not negative. */
const ADMITTED_PROCESS: Admission = {
  fault: undefined,
  quota: undefined,
  key: { id: "", name: "", slot: 0xfffff },
};

/** The key of a caller that the host has chosen; an unknown id counts as an unknown API key. */
function chosenKey({ keys, counters }: Gate, id: string): Key | FaultName {
  return keys.bySlot[counters.slots.get(id) ?? -1] ?? "apiKeyUnknown";
}

/** Judges one request. @param scope null if any key will do @returns a promise if the shared limit must be asked for */
export function admit(
  gate: Gate,
  { authorization, caller, now }: Pick<Ask, "authorization" | "caller" | "now">,
  scope: Scope | null,
): Admission | Promise<Admission> {
  if (caller === PROCESS) return ADMITTED_PROCESS;
  const key =
    caller === undefined ? findKey(authorization, gate.prefixes, gate.keys) : chosenKey(gate, caller);
  if (typeof key === "string") return { fault: key, quota: undefined, key: NO_KEY };
  return admitKey(gate, key, scope, now);
}

export function admitKey(
  gate: Gate,
  key: Key,
  scope: Scope | null,
  now: number,
): Admission | Promise<Admission> {
  const invalid = judgeKey(key, now);
  if (invalid !== undefined || key.kind === "cli") return { fault: invalid, quota: undefined, key };
  const limit = key.limit ?? gate.defaultLimit;
  const quota =
    gate.shared === undefined
      ? countRequest(gate.counters, key.slot, limit, now)
      : gate.shared.count(key, limit, now);
  if (quota instanceof Promise) return quota.then((later) => judgeQuota(key, scope, later));
  return judgeQuota(key, scope, quota);
}

function judgeQuota(key: Key, scope: Scope | null, quota: Quota): Admission {
  if (!quota.passed) return { fault: "rateLimited", quota, key };
  if (scope !== null && !key.scopes.has(scope)) return { fault: SCOPE_FAULTS[scope], quota, key };
  return { fault: undefined, quota, key };
}
