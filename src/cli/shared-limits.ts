/** Shared limits on the command line. */

import type { SharedLimitsSettings } from "../serve/limits/keep-shared.ts";
import { RedisUrlError, readPassword, readRedisUrl } from "../serve/limits/redis-url.ts";
import { CommandError, type Options, UsageError } from "./options.ts";

/**
 * Reads the settings of shared limits.
 *
 * @returns undefined where limits are not shared
 * @throws {UsageError} {@link CommandError} naming the setting, and the file, at fault, without the URL
 */
export async function readSharedLimits(options: Options<"serve">): Promise<SharedLimitsSettings | undefined> {
  const text = options.values.sharedLimits;
  if (text === undefined) return undefined;
  let target: SharedLimitsSettings["target"];
  try {
    target = readRedisUrl(text);
  } catch (error) {
    if (!(error instanceof RedisUrlError)) throw error;
    throw new UsageError(`${options.names.sharedLimits}: ${error.message}`);
  }
  const file = options.values.sharedLimitsPasswordFile;
  try {
    if (file !== undefined) target = { ...target, password: await readPassword(file) };
  } catch (error) {
    if (!(error instanceof RedisUrlError)) throw error;
    throw new CommandError(`${options.names.sharedLimitsPasswordFile}: ${error.message}`);
  }
  const replicas = options.values.replicas;
  return { target, replicas, denies: options.values.limitsWhenAway === "deny" };
}
