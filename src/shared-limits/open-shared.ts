/** Shared limits of a replica as the core uses them. */

import type { Counters } from "../auth/limit.ts";
import type { LimitSharing } from "../auth/shared.ts";
import type { Observe } from "../observe/events.ts";
import { SettingError } from "../settings/setting-error.ts";
import { MissingClientError } from "./connection.ts";
import { keepSharedLimits, type SharedLimitsKeeper, type SharedLimitsSettings } from "./keep-shared.ts";
import { monotonic } from "./monotonic.ts";
import { readShared } from "./reading.ts";
import type { PermitAnswer, PermitQuestion } from "./thread-count.ts";

function nameMissingClient(error: unknown): never {
  if (error instanceof MissingClientError) throw new SettingError("sharedLimits", ` ${error.message}`, false);
  throw error;
}

/** What the core sees of a keeper. */
export function sharedBy({
  leases,
  limits,
  ask,
  figures,
  close,
}: Pick<SharedLimitsKeeper, "leases" | "limits" | "ask" | "figures" | "close">): LimitSharing {
  const read: LimitSharing["read"] = (slot, limit) =>
    readShared(leases, slot, limit, monotonic(), Date.now());
  return {
    ...{ limits, figures, close, read, handed: leases },
    clockMs: () => leases.clock[0]!,
    connect(reply) {
      // One for all messages: of those that wait for one answer each is told once.
      const notify = (slot: number, sent: number | undefined): void =>
        reply({ slot, sent } satisfies PermitAnswer);
      return (message) => {
        const { slot, limit, want, since } = message as PermitQuestion;
        ask(slot, limit, want, notify, since);
      };
    },
    async readAnew(slot, limit) {
      // Asks for no permit, so that the answer is as fresh as one that a request would wait for.
      await new Promise<void>((resolve) => ask(slot, limit, 0, () => resolve(), monotonic()));
      return read(slot, limit);
    },
  };
}

/**
 * Connects, and begins to share limits.
 *
 * @param counters in shared memory
 * @throws {SettingError} when the client is not installed
 */
export async function openShared(
  settings: SharedLimitsSettings,
  counters: Counters,
  observe: Observe,
): Promise<LimitSharing> {
  return sharedBy(await keepSharedLimits(settings, counters, observe).catch(nameMissingClient));
}
