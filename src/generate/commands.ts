/** The command that makes snapshots up. */

import type { CommandRows } from "../cli/command.ts";

/** Every one. */
export const GENERATE_COMMANDS: CommandRows<"generate"> = [
  {
    name: "generate",
    after: "build",
    usage: "--out DIR",
    summary: "Create a synthetic snapshot.",
    run: async (options, world) => (await import("./generate.ts")).generate(options, world),
  },
];
