/**
 * The commands of the core: one row each, from which dispatch and help are made; features add theirs. A command's
 * file is imported when it runs, so that none waits for what another needs.
 */

import type { CoreCommand } from "../settings/settings.ts";
import type { CommandRows } from "./command.ts";

/** Every command of the core. */
export const CORE_COMMANDS: CommandRows<CoreCommand> = [
  {
    name: "serve",
    usage: "--snapshot DIR|URL --keys FILE",
    positionals: [],
    summary: "Serve a snapshot over HTTP.",
    run: async (options, world, program) => (await import("./serve.ts")).serve(options, world, program),
  },
  {
    name: "demo",
    usage: "",
    positionals: [],
    summary: "Serve the sample snapshot with a temporary key.",
    run: async (options, world, program) => (await import("./demo.ts")).demo(options, world, program),
  },
  {
    name: "keys create",
    usage: "--keys FILE --name NAME",
    positionals: [],
    summary: "Create a key and print its token, once.",
    run: async (options, world) => (await import("./keys.ts")).createKey(options, world),
  },
  {
    name: "keys list",
    usage: "--keys FILE",
    positionals: [],
    summary: "List the keys of a file.",
    run: async (options, world) => (await import("./keys-shown.ts")).listKeys(options, world),
  },
  {
    name: "keys show",
    usage: "ID --keys FILE",
    positionals: ["ID"],
    summary: "Show one key.",
    run: async (options, world) => (await import("./keys-shown.ts")).showKey(options, world),
  },
  {
    name: "keys update",
    usage: "ID --keys FILE",
    positionals: ["ID"],
    summary: "Change a key's name, scopes, limit or end of validity.",
    run: async (options, world) => (await import("./keys.ts")).updateKey(options, world),
  },
  {
    name: "keys rotate",
    usage: "ID --keys FILE",
    positionals: ["ID"],
    summary: "Give a key a new token and print it, once.",
    run: async (options, world) => (await import("./keys.ts")).rotate(options, world),
  },
  {
    name: "keys disable",
    usage: "ID --keys FILE",
    positionals: ["ID"],
    summary: "Deactivate a key.",
    run: async (options, world) => (await import("./keys.ts")).disableKey(options, world),
  },
  {
    name: "keys enable",
    usage: "ID --keys FILE",
    positionals: ["ID"],
    summary: "Activate a key again.",
    run: async (options, world) => (await import("./keys.ts")).enableKey(options, world),
  },
  {
    name: "keys delete",
    usage: "ID --keys FILE",
    positionals: ["ID"],
    summary: "Delete a key.",
    run: async (options, world) => (await import("./keys.ts")).deleteKey(options, world),
  },
  {
    name: "check",
    usage: "DIR|URL",
    positionals: ["DIR|URL"],
    summary: "Validate a snapshot and report its contents.",
    run: async (options, world, program) => (await import("./check.ts")).check(options, world, program),
  },
  {
    name: "diff",
    usage: "FROM TO",
    positionals: ["FROM", "TO"],
    summary: "Show what a reload from one snapshot to another would change.",
    run: async (options, world) => (await import("./diff.ts")).diff(options, world),
  },
  {
    name: "build",
    usage: "DIR --out DIR",
    positionals: ["DIR"],
    summary: "Prepare a snapshot, search index included, for a fast start.",
    run: async (options, world) => (await import("./build.ts")).build(options, world),
  },
  {
    name: "rollback",
    usage: "DIR",
    positionals: ["DIR"],
    summary: "Publish an earlier version again of what export, mirror or build published.",
    run: async (options, world) => (await import("./rollback.ts")).rollback(options, world),
  },
  {
    name: "openapi",
    usage: "",
    positionals: [],
    summary: "Print the OpenAPI document of the API.",
    run: async (options, world) => (await import("./openapi.ts")).openapi(options, world),
  },
  {
    name: "completion",
    usage: "SHELL",
    positionals: ["SHELL"],
    summary: "Print completions for bash, zsh or fish.",
    run: async (options, world, { commands, settings }) =>
      (await import("./completion.ts")).completion(options, world, commands, settings),
  },
];
