/** The command that writes synthetic snapshots. */

import type { CommandRows } from "../cli/command.ts";

export const GENERATE_COMMANDS: CommandRows<"generate"> = [
  {
    name: "generate",
    after: "build",
    usage: "--out DIR",
    summary: "Create a synthetic snapshot.",
    run: async (options, io) => (await import("./generate.ts")).generate(options, io),
  },
];
