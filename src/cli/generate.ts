/** `orrery generate`: a synthetic snapshot. */

import { OccupiedError } from "../generate/folder.ts";
import { generateSnapshot } from "../generate/generate.ts";
import { systemErrorText } from "../system-error.ts";
import type { World } from "./command.ts";
import { CommandError, type Options } from "./options.ts";

/** Runs the command. */
export async function generate(options: Options<"generate">, world: World): Promise<void> {
  const { out } = options.values;
  try {
    await generateSnapshot(options.values);
  } catch (error) {
    const why = error instanceof OccupiedError ? error.message : systemErrorText(error);
    if (why === undefined) throw error;
    throw new CommandError(`${out}: ${why}`);
  }
  world.complain(`orrery: wrote ${out}\n`);
}
