/** The command that compares a snapshot with another server. */

import type { CommandRow, CommandRows } from "../cli/command.ts";

const ROWS: CommandRows<"verify"> = [
  {
    name: "verify",
    after: "build",
    usage: "DIR --against URL --token-file FILE",
    positionals: ["DIR"],
    summary: "Compare what a snapshot would answer with what another server does.",
    run: async (options, world, program) => (await import("./command.ts")).verify(options, world, program),
  },
];

/** Every one. */
export const VERIFY_COMMANDS: readonly CommandRow[] = ROWS;
