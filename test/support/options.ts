/** Command lines as the program reads them. */

import type { CommandRow } from "../../src/cli/command.ts";
import { type Environment, type Options, readOptions } from "../../src/cli/options.ts";
import { PROGRAM } from "../../src/features.ts";
import { type Command, type Defaults, defaultsOf } from "../../src/settings/settings.ts";

/** Reads the arguments after the words of a command. @throws {UsageError} */
export function optionsOf<C extends Command>(
  command: C,
  args: readonly string[],
  environment: Environment = {},
): Options<C> {
  const row = PROGRAM.commands.find(({ name }) => name === command) as CommandRow<C>;
  return readOptions(row, args, environment, PROGRAM.settings);
}

export const DEFAULTS: Defaults = defaultsOf(PROGRAM.settings);
