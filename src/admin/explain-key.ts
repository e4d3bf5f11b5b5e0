/** What the gate would say of a key, counting nothing. */

import { type Gate, judgeKey } from "../auth/admit.ts";
import { readCounts } from "../auth/limit.ts";
import type { LimitSharing } from "../auth/shared.ts";
import { type FaultName, SCOPE_FAULTS } from "../model/fault.ts";
import type { Scope } from "../model/model.ts";
import type { KeyExplanation } from "./explanation.ts";

/** What explanations need of shared limits. */
export type SharedForExplain = Pick<LimitSharing, "readAnew">;

type Quota = NonNullable<KeyExplanation["quota"]>;

async function sharedQuota({ readAnew }: SharedForExplain, slot: number, limit: number): Promise<Quota> {
  const { counted, used, remaining, reset } = await readAnew(slot, limit);
  return { counted, used, limit, remaining, resetEpochSeconds: reset };
}

function ownQuota({ counters }: Gate, slot: number, limit: number, now: number): Quota {
  const { usedBy, reset } = readCounts(counters, now);
  const used = usedBy(slot);
  const remaining = Math.max(0, limit - used);
  return { counted: "here", used, limit, remaining, resetEpochSeconds: reset };
}

/**
 * Explains a key; undefined when there is none of this id.
 *
 * @param scope what the operation requires, or null when any key will do
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
  const slot = gate.counters.slots.get(id);
  const key = slot === undefined ? undefined : gate.keys.bySlot[slot];
  if (slot === undefined || key === undefined) return undefined;
  const { name, kind, scopes, expiresAt } = key;
  const limit = key.limit ?? gate.defaultLimit;
  let quota: Quota | null = null;
  if (kind === "api") {
    quota = shared ? await sharedQuota(shared, slot, limit) : ownQuota(gate, slot, limit, now);
  }
  let fault: FaultName | null = judgeKey(key, now) ?? null;
  if (quota !== null && fault === null) {
    if (quota.remaining === 0) fault = "rateLimited";
    else if (scope !== null && !scopes.has(scope)) fault = SCOPE_FAULTS[scope];
  }
  return {
    id,
    name,
    kind,
    fault,
    scopes: [...scopes],
    expiresAt: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
    quota,
  };
}
