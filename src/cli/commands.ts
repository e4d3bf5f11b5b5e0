/**
 * The commands: one row each, from which dispatch and help are made. A command's
 * file is imported when it runs, so that none waits for what another needs.
 */

import type { Command } from "../settings/settings.ts";
import type { CommandRow } from "./command.ts";

const ROWS: readonly { [C in Command]: CommandRow<C> }[Command][] = [
  {
    name: "serve",
    usage: "--snapshot DIR|URL --keys FILE",
    positionals: [],
    summary: "Serve a snapshot over HTTP.",
    run: async (options, world) => (await import("./serve.ts")).serve(options, world),
  },
  {
    name: "demo",
    usage: "",
    positionals: [],
    summary: "Serve the sample snapshot with a temporary key.",
    run: async (options, world) => (await import("./demo.ts")).demo(options, world),
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
    run: async (options, world) => (await import("./keys.ts")).listKeys(options, world),
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
    run: async (options, world) => (await import("./check.ts")).check(options, world),
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
    name: "generate",
    usage: "--out DIR",
    positionals: [],
    summary: "Create a synthetic snapshot.",
    run: async (options, world) => (await import("../generate/command.ts")).generate(options, world),
  },
  {
    name: "export",
    usage: "--postgres URL --out DIR",
    positionals: [],
    summary: "Write and publish a snapshot from a PostgreSQL database.",
    run: async (options, world) =>
      (await import("../sources/postgres/command.ts")).exportRows(options, world),
  },
  {
    name: "mirror",
    usage: "--from URL --token-file FILE --out DIR",
    positionals: [],
    summary: "Write and publish a snapshot of another server of this API.",
    run: async (options, world) => (await import("../sources/mirror/command.ts")).mirror(options, world),
  },
  {
    name: "verify",
    usage: "DIR --against URL --token-file FILE",
    positionals: ["DIR"],
    summary: "Compare what a snapshot would answer with what another server does.",
    run: async (options, world) => (await import("../verify/command.ts")).verify(options, world),
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
    run: async (options, world) => (await import("./completion.ts")).completion(options, world, COMMANDS),
  },
];

/** Every command. */
export const COMMANDS: readonly CommandRow[] = ROWS;
