/** The commands that bring snapshots from elsewhere. */

import type { CommandRows } from "../cli/command.ts";

export const SOURCES_COMMANDS: CommandRows<"export" | "round"> = [
  {
    name: "export",
    after: "build",
    usage: "--postgres URL --out DIR",
    summary: "Write and publish a snapshot from a PostgreSQL database.",
    run: async (options, io, program) =>
      (await import("./postgres/command.ts")).exportRows(options, io, program),
  },
  {
    name: "round",
    isInternal: true,
    usage: "",
    summary: "Export once for the server that starts this process.",
    run: async (_options, io) => (await import("./postgres/command.ts")).exportForServer(io),
  },
];
