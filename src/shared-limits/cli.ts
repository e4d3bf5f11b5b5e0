/** Shared limits on the command line. */

import { CommandError, type Options, UsageError } from "../cli/options.ts";
import { PasswordFileError, RedisUrlError, readSharedLimits } from "./redis-url.ts";

/**
 * Reads where and how limits are shared.
 *
 * @throws {UsageError} {@link CommandError} naming the setting, and the file, at fault, without the URL
 */
export async function sharedLimitsOf({ values, names }: Options<"serve">) {
  return await readSharedLimits(values).catch((error: unknown) => {
    if (error instanceof PasswordFileError)
      throw new CommandError(`${names.sharedLimitsPasswordFile}: ${error.message}`);
    if (error instanceof RedisUrlError) throw new UsageError(`${names.sharedLimits}: ${error.message}`);
    throw error;
  });
}
