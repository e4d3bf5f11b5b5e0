/** The command that compares a snapshot with another server. */

import type { CommandRows } from "../cli/command.ts";

/** Every one. */
export const VERIFY_COMMANDS: CommandRows<"verify"> = [
  {
    name: "verify",
    after: "build",
    usage: "DIR --against URL --token-file FILE",
    summary: "Compare what a snapshot would answer with what another server does.",
    run: async (options, world, program) => (await import("./command.ts")).verify(options, world, program),
  },
];
