/** Reading whether there is a listener for operators, without what it needs. */

import type { Options } from "../cli/options.ts";
import type { OpenAdmin } from "../server/admin.ts";

/**
 * Reads what starts it; undefined where it is off.
 *
 * @param always whether it is also there when nothing is said
 * @throws {UsageError} {@link CommandError} naming the setting
 */
export async function readAdmin(
  options: Options<"serve" | "demo">,
  always: boolean,
): Promise<OpenAdmin | undefined> {
  if (options.values.admin === undefined && !always) return undefined;
  // Imported when it is needed: most of it is for operators alone.
  return await (await import("./admin-settings.ts")).openerOf(options, always);
}
