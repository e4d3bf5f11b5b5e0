/** The gate: token, then limit, then scope. Plain functions over plain state. */

import { type FaultName, SCOPE_FAULTS } from "../fault.ts";
import type { Scope } from "../model.ts";
import type { KeyRing } from "./keys.ts";
import { type Counters, countRequest, type Quota } from "./limit.ts";
import { findKey, judgeKey, type Prefixes } from "./token.ts";

/** What the gate needs to know; only the counters change under way. */
export interface Gate {
  readonly prefixes: Prefixes;
  /** Requests per window for keys that name no limit of their own. */
  readonly defaultLimit: number;
  readonly counters: Counters;
  /** Replaced as a whole when the keys file changes. */
  keys: KeyRing;
  /** Set for good when what it leads to was closed: nobody is let in any more. */
  closed?: boolean;
}

/** The gate's verdict. */
export interface Admission {
  /** Why the request is turned away, or undefined when it is let in. */
  readonly fault: FaultName | undefined;
  /** The limit's state, for every request that an API key authenticated. */
  readonly quota: Quota | undefined;
  /** Id of the key, valid or not, or "" when none was found. */
  readonly keyId: string;
  /** Place of the key in the counters, or -1 when none was found that is valid. */
  readonly slot: number;
}

const CLOSED: Admission = { fault: "busy", quota: undefined, keyId: "", slot: -1 };

/**
 * Judges one request.
 *
 * @param scope what the operation requires, or null when any key will do
 * @param now milliseconds since the epoch
 */
export function admit(
  gate: Gate,
  authorization: string | undefined,
  scope: Scope | null,
  now: number,
): Admission {
  if (gate.closed) return CLOSED;
  const key = findKey(authorization, gate.prefixes, gate.keys);
  if (typeof key === "string") return { fault: key, quota: undefined, keyId: "", slot: -1 };
  const invalid = judgeKey(key, now);
  if (invalid !== undefined) return { fault: invalid, quota: undefined, keyId: key.id, slot: -1 };
  if (key.kind === "cli") return { fault: undefined, quota: undefined, keyId: key.id, slot: key.slot };
  const quota = countRequest(gate.counters, key.slot, key.limit ?? gate.defaultLimit, now);
  if (!quota.passed) return { fault: "rateLimited", quota, keyId: key.id, slot: key.slot };
  if (scope !== null && !key.scopes.has(scope))
    return { fault: SCOPE_FAULTS[scope], quota, keyId: key.id, slot: key.slot };
  return { fault: undefined, quota, keyId: key.id, slot: key.slot };
}
