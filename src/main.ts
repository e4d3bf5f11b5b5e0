/** The command line. The only reader of arguments and environment. */

import { existsSync } from "node:fs";
import { isatty } from "node:tty";
import type { CommandIo } from "./cli/command.ts";
import { helpFor, overview } from "./cli/help.ts";
import { CommandError, nameSetting, readOptions, UsageError } from "./cli/options.ts";
import { PROGRAM } from "./features.ts";
import { packageJson } from "./install/package.ts";
import { isJournal, withPriority } from "./observe/log/journal.ts";
import { leadsNowhere, openWithoutBlocking, writeWhole } from "./observe/log/sink.ts";
import { nearest } from "./util/distance.ts";
import { escaped } from "./util/escaped.ts";
import { deferSignals } from "./util/process/early-signals.ts";
import { codeOf, damaged, damageOf, problemText } from "./util/system-error.ts";
import { PlaceError, SnapshotError, UserError } from "./util/user-error.ts";

/** Shows `launch.mjs` that this file is not empty. */
export const isWhole = true;

/** Whether the command runs until a signal stops it, even when the readers of its output are gone. */
const isServer = ["serve", "demo"].includes(process.argv[2] ?? "");
if (isServer) deferSignals((status) => process.exit(status));

/** How long an ending server waits for a reader of its last output. */
const PATIENCE_MS = 500;

function print(text: string): void {
  try {
    writeWhole(1, text);
  } catch (error) {
    if (codeOf(error) === "EPIPE") return;
    throw new CommandError(`cannot write to standard output: ${problemText(error)}`);
  }
}

/** Far more than a token has. */
const MOST_INPUT = 16_384;

async function readInput(): Promise<string> {
  const isTyped = isatty(0);
  if (isTyped) complain("orrery: enter the token\n");
  let text = "";
  try {
    for await (const bytes of process.stdin as AsyncIterable<Buffer>) {
      text += bytes.toString("latin1");
      if (text.length > MOST_INPUT || (isTyped && text.includes("\n"))) break;
    }
  } catch (error) {
    throw new CommandError(`cannot read standard input: ${problemText(error)}`);
  }
  return text;
}

function complain(text: string): void {
  try {
    const lines = isJournal(process.env.JOURNAL_STREAM) ? withPriority("error", text) : text;
    if (isServer) writeWhole(openWithoutBlocking(2), lines, PATIENCE_MS);
    else writeWhole(2, text);
  } catch {
    // No output is left for a report.
  }
}

/** The first line of standard input; the rest is read and dropped, so that its end is noticed. */
function readFirstLine(): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    process.stdin.setEncoding("utf8").on("data", (part: string) => {
      const end = text.length < MOST_INPUT ? part.indexOf("\n") : 0;
      text += part;
      if (end >= 0) resolve(text.split("\n", 1)[0]!.trim());
    });
    process.stdin.once("end", () => resolve(text.trim()));
  });
}

const io: CommandIo = {
  environment: process.env,
  // In one executable file the program is the runtime.
  self: [
    process.execPath,
    ...(existsSync(process.argv[1] ?? "") && process.argv[1] !== process.execPath
      ? [...process.execArgv, process.argv[1]!]
      : []),
  ],
  readFirstLine,
  pid: process.pid,
  readInput,
  print,
  deliver: async (text) => {
    if (leadsNowhere(1)) throw new PlaceError("it is closed or the null device");
    writeWhole(1, text);
  },
  complain,
  isTerminal: isatty(2),
  // Only a terminal has a width, and making node's stream for anything else would change its mode.
  columns: isatty(2) ? process.stderr.columns : undefined,
  exit: (status) => process.exit(status),
};

function version(): string {
  try {
    return (JSON.parse(packageJson()) as { version: string }).version;
  } catch (error) {
    throw new CommandError(damaged((error as Error).message));
  }
}

const isHelp = (arg: string | undefined): boolean => arg === "--help" || arg === "-h";

/** The text for a request of no single command: help for all or for a family, or the version. @throws {UsageError} */
function textFor(args: readonly string[]): string {
  const { commands, settings } = PROGRAM;
  if (isHelp(args[0]) || args[0] === "help") return overview(commands);
  if (["--version", "-v", "version"].includes(args[0] ?? "")) return `${version()}\n`;
  const family = commands.filter(({ name }) => name.startsWith(`${args[0]} `));
  if (family.length === 0 || !isHelp(args[1])) throw noCommand(args);
  return family.map((row) => helpFor(row, settings)).join("\n");
}

function noCommand(args: readonly string[]): UsageError {
  const names = PROGRAM.commands.flatMap(({ name, isInternal }) => (isInternal ? [] : name));
  const verbs = names.filter((name) => name.startsWith(`${args[0]} `)).map((name) => name.split(" ")[1]!);
  const words = args.slice(0, verbs.length > 0 ? 2 : 1);
  if (words.length === 0) return new UsageError("a command is missing (see orrery --help)");
  const given = words.join(" ");
  if (verbs.length > 0 && words.length === 1) {
    return new UsageError(`${given}: one of ${verbs.join(", ")} must follow (see orrery ${given} --help)`);
  }
  const meant = nearest(
    given,
    names.flatMap((name) => [name, name.split(" ")[0]!]),
  );
  const help = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
  return new UsageError(`there is no command ${JSON.stringify(given)}${help} (see orrery --help)`);
}

async function run(args: readonly string[]): Promise<void> {
  // `help serve` is `serve --help`.
  if (args[0] === "help" && args.length > 1 && !isHelp(args[1]))
    return await run([...args.slice(1), "--help"]);
  const row = PROGRAM.commands.find(({ name }) => name.split(" ").every((word, at) => args[at] === word));
  const rest = args.slice(row?.name.split(" ").length);
  if (row === undefined || rest.some(isHelp)) {
    io.print(row === undefined ? textFor(args) : helpFor(row, PROGRAM.settings));
    return;
  }
  // Commands without `--snapshot` take the snapshot as their first argument.
  let names = { snapshot: "URL" };
  try {
    const options = readOptions(row, rest, io.environment, PROGRAM.settings);
    names = { ...names, ...options.names };
    await row.run(options, io, PROGRAM);
  } catch (error) {
    const named = nameSetting(error, names);
    if (named instanceof UsageError) named.message += ` (see orrery ${row.name} --help)`;
    throw named;
  }
}

/** A message without tokens of the usual prefixes: one that was given in the wrong place must not get into a log. */
function withoutTokens(message: string): string {
  const prefixes = PROGRAM.settings.flatMap(({ flag, default: usual }) =>
    flag === "api-key-prefix" || flag === "cli-token-prefix" ? (usual ?? []) : [],
  );
  return message.replace(new RegExp(`(${prefixes.join("|")})[\\w~.-]{8,}`, "g"), "$1***");
}

function crash(error: unknown): never {
  const damage = damageOf(error);
  const stack = error instanceof Error ? error.stack : undefined;
  io.complain(`orrery: ${damage ?? stack ?? String(error)}\n`);
  process.exit(1);
}

process.on("uncaughtException", crash);

// No await at the top: the one-file program is CommonJS.
run(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof UserError)) crash(error);
  const message = withoutTokens(error.message).split("\n").map(escaped).join("\n");
  io.complain(error instanceof SnapshotError ? `${message}\n` : `orrery: ${message}\n`);
  // Input that another program holds open, or the channel to a primary of node:cluster, would keep this process.
  process.exit(error instanceof UsageError ? 2 : 1);
});
