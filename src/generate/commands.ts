/** The command that makes snapshots up. */

import type { CommandRow, CommandRows } from "../cli/command.ts";

const ROWS: CommandRows<"generate"> = [
  {
    name: "generate",
    after: "build",
    usage: "--out DIR",
    positionals: [],
    summary: "Create a synthetic snapshot.",
    run: async (options, world) => (await import("./command.ts")).generate(options, world),
  },
];

/** Every one. */
export const GENERATE_COMMANDS: readonly CommandRow[] = ROWS;
