/** The command that compares a snapshot with another server. */

import type { CommandRows } from "../cli/command.ts";

export const VERIFY_COMMANDS: CommandRows<"verify"> = [
  {
    name: "verify",
    after: "build",
    usage: "DIR --against URL --token-file FILE",
    summary: "Compare what a snapshot would answer with what another server does.",
    run: async (options, io, program) => (await import("./command.ts")).verify(options, io, program),
  },
];
