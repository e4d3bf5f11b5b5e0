/** The commands of the core. A command's file is imported when it runs, so that no command waits for the imports of another. */

import type { CoreCommand } from "../settings/settings.ts";
import type { CommandRows } from "./command.ts";

export const CORE_COMMANDS: CommandRows<CoreCommand> = [
  {
    name: "serve",
    usage: "--snapshot DIR|URL --keys FILE",
    summary: "Serve a snapshot over HTTP.",
    run: async (options, io, program) => (await import("./serve.ts")).serve(options, io, program),
  },
  {
    name: "demo",
    usage: "",
    summary: "Serve the sample snapshot with a temporary key.",
    run: async (options, io, program) => (await import("./serve.ts")).demo(options, io, program),
  },
  {
    name: "keys create",
    usage: "--keys FILE --name NAME",
    summary: "Create a key and print its token, once.",
    run: async (options, io) => (await import("./keys.ts")).createKey(options, io),
  },
  {
    name: "keys list",
    usage: "--keys FILE",
    summary: "List the keys of a file.",
    run: async (options, io) => (await import("./keys-shown.ts")).listKeys(options, io),
  },
  {
    name: "keys show",
    usage: "ID --keys FILE",
    summary: "Show one key.",
    run: async (options, io) => (await import("./keys-shown.ts")).showKey(options, io),
  },
  {
    name: "keys find",
    usage: "--keys FILE",
    summary: "Show the key of the token on standard input.",
    run: async (options, io) => (await import("./keys-shown.ts")).findByToken(options, io),
  },
  {
    name: "keys update",
    usage: "ID --keys FILE",
    summary: "Change a key's name, scopes, limit or end of validity.",
    run: async (options, io) => (await import("./keys.ts")).updateKey(options, io),
  },
  {
    name: "keys rotate",
    usage: "ID --keys FILE",
    summary: "Give a key a new token and print it, once.",
    run: async (options, io) => (await import("./keys.ts")).rotate(options, io),
  },
  {
    name: "keys disable",
    usage: "ID --keys FILE",
    summary: "Deactivate a key.",
    run: async (options, io) => (await import("./keys.ts")).disableKey(options, io),
  },
  {
    name: "keys enable",
    usage: "ID --keys FILE",
    summary: "Activate a key again.",
    run: async (options, io) => (await import("./keys.ts")).enableKey(options, io),
  },
  {
    name: "keys delete",
    usage: "ID --keys FILE",
    summary: "Delete a key.",
    run: async (options, io) => (await import("./keys.ts")).deleteKey(options, io),
  },
  {
    name: "check",
    usage: "DIR",
    summary: "Validate a snapshot and report its contents.",
    run: async (options, io) => (await import("./check.ts")).checkSnapshot(options, io),
  },
  {
    name: "build",
    usage: "DIR --out DIR",
    summary: "Prepare a snapshot, search index included, for a fast start.",
    run: async (options, io) => (await import("./build.ts")).build(options, io),
  },
];
