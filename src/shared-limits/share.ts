/** Whether and how limits are shared, by the settings. */

import type { SharedLimitsPlan } from "../auth/shared.ts";
import type { Settings } from "../settings/settings.ts";
import type { SharedLimitsSettings } from "./keep-shared.ts";
import { readSharedLimits } from "./redis-url.ts";

/** How limits are shared in a way that is known. */
export function planOf(settings: SharedLimitsSettings): SharedLimitsPlan {
  const { replicas, denies } = settings;
  return {
    replicas,
    denies,
    // Imported when it is needed.
    open: async (counters, observe) =>
      (await import("./open-shared.ts")).openShared(settings, counters, observe),
  };
}

/**
 * Reads how limits are shared.
 *
 * @returns undefined where they are not
 * @throws {SettingError} when the file of the password cannot be used
 */
export async function shareLimits(settings: Settings): Promise<SharedLimitsPlan | undefined> {
  const read = await readSharedLimits(settings);
  return read && planOf(read);
}
