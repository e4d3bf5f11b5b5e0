/** `orrery generate`, which writes synthetic snapshots: its row of the commands, and its settings. */

import type { CommandRows } from "../cli/command.ts";
import { OUT, type Setting } from "../settings/settings.ts";

export const GENERATE_COMMANDS: CommandRows<"generate"> = [
  {
    name: "generate",
    after: "build",
    usage: "--out DIR",
    summary: "Create a synthetic snapshot.",
    run: async (options, io) => (await import("./generate.ts")).generate(options, io),
  },
];

const COUNT = { kind: "integer", value: "N", max: 100_000_000, commands: ["generate"] } as const;

export const GENERATE_SETTINGS = [
  { ...OUT, commands: ["generate"] },
  { flag: "users", ...COUNT, default: "2000", meaning: "Number of users." },
  { flag: "worlds", ...COUNT, default: "600", meaning: "Number of worlds, including hidden ones." },
  { flag: "instances", ...COUNT, default: "300", meaning: "Number of instances, including hidden ones." },
  {
    flag: "seed",
    ...COUNT,
    default: "1",
    max: 4_294_967_295,
    meaning: "Seed; the same seed and sizes produce the same bytes.",
  },
  { flag: "gzip", kind: "flag", meaning: "Compress the row files.", commands: ["generate"] },
  {
    flag: "force",
    kind: "flag",
    meaning: "Replace an unchanged snapshot of this command, but never anything else.",
    commands: ["generate"],
  },
] as const satisfies readonly Setting[];
