/** `orrery generate`: a synthetic snapshot. */

import type { CommandIo } from "../cli/command.ts";
import { CommandError, type Options } from "../cli/options.ts";
import { systemErrorText } from "../util/system-error.ts";
import { OccupiedError } from "./folder.ts";
import { generateSnapshot } from "./generate.ts";

/** Runs the command. */
export async function generate(options: Options<"generate">, io: CommandIo): Promise<void> {
  const { out } = options.values;
  try {
    await generateSnapshot(options.values);
  } catch (error) {
    const why = error instanceof OccupiedError ? error.message : systemErrorText(error);
    if (why === undefined) throw error;
    throw new CommandError(`${out}: ${why}`);
  }
  io.complain(`orrery: wrote ${out}\n`);
}
