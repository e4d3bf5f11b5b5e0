/** What the gate would say of a key, counting nothing. */

import { type FaultName, SCOPE_FAULTS } from "../fault.ts";
import type { Gate } from "../gate/admit.ts";
import { readCounts } from "../gate/limit.ts";
import { judgeKey } from "../gate/token.ts";
import type { Scope } from "../model.ts";
import type { KeyExplanation } from "./explanation.ts";

/**
 * Explains a key; undefined when there is none of this id.
 *
 * @param scope what the operation requires, or null when any key will do
 * @param now milliseconds since the epoch
 */
export function explainKey(
  gate: Gate,
  id: string,
  scope: Scope | null,
  now: number,
): KeyExplanation | undefined {
  const slot = gate.counters.slots.get(id);
  const key = slot === undefined ? undefined : gate.keys.bySlot[slot];
  if (key === undefined) return undefined;
  const { name, kind, scopes, expiresAt } = key;
  const { usedBy, reset } = readCounts(gate.counters, now);
  const used = usedBy(key.slot);
  const limit = key.limit ?? gate.defaultLimit;
  const isLimited = kind === "api";
  let fault: FaultName | null = judgeKey(key, now) ?? null;
  if (isLimited && fault === null) {
    if (used >= limit) fault = "rateLimited";
    else if (scope !== null && !scopes.has(scope)) fault = SCOPE_FAULTS[scope];
  }
  const remaining = Math.max(0, limit - used);
  return {
    id,
    name,
    kind,
    fault,
    scopes: [...scopes],
    expiresAt: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
    quota: isLimited ? { used, limit, remaining, resetEpochSeconds: reset } : null,
  };
}
