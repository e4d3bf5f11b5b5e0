/** Arguments and environment to checked settings. */

import { parseArgs } from "node:util";
import { nearest } from "../nearest.ts";
import {
  type Command,
  problemWith,
  problemWithPrefixes,
  readBoolean,
  readsVariable,
  type Setting,
  settingsOf,
  variableOf,
} from "../settings.ts";

/** The command was called wrongly: exit status 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** The command failed for a reason its user can understand: exit status 1. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** A snapshot cannot be loaded: exit status 1, and its problems as they are, one a line. */
export class ProblemsError extends CommandError {
  override name = "ProblemsError";

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of one call, checked. Asking for one that the command does not have is a defect. */
export interface Options {
  readonly positionals: readonly string[];
  /** A text or choice. */
  text(flag: string): string;
  /** A text, integer or choice without default. */
  optional(flag: string): string | undefined;
  integer(flag: string): number;
  number(flag: string): number;
  flag(flag: string): boolean;
  list(flag: string): readonly string[];
  /** What the value came from, for messages: the variable if that gave it, else the flag. */
  nameOf(flag: string): string;
  /** Whether its value is no default. */
  isGiven(flag: string): boolean;
}

type Given = string | string[] | undefined;

/**
 * Puts values behind their flags where parseArgs needs that: of every boolean, which it cannot leave out (`--cors off`,
 * `--cors` and `--no-cors`), and numbers below zero, which it would take for flags.
 *
 * @param takesWords whether the command takes words beside its settings; then only a boolean's words are its value
 */
function attachValues(args: readonly string[], settings: readonly Setting[], takesWords: boolean): string[] {
  const isBoolean = (flag: string): boolean =>
    settings.some((setting) => setting.flag === flag && setting.kind === "flag");
  const given: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === "--") return [...given, ...args.slice(at)];
    const flag = arg.startsWith("--") ? arg.slice(2) : "";
    if (isBoolean(flag)) {
      const next = args[at + 1] ?? "-";
      const isValue = !next.startsWith("-") && (!takesWords || readBoolean(next) !== undefined);
      if (isValue) at++;
      given.push(`--${flag}=${isValue ? next : "on"}`);
    } else if (flag.startsWith("no-") && isBoolean(flag.slice(3))) {
      given.push(`--${flag.slice(3)}=off`);
    } else if (flag !== "" && !flag.includes("=") && /^-\d/.test(args[at + 1] ?? "")) {
      given.push(`${arg}=${args[++at]}`);
    } else {
      given.push(arg);
    }
  }
  return given;
}

/** What is wrong with the arguments, in a sentence. */
function problemOf(error: Error, settings: readonly Setting[]): string {
  // The first sentence says what is wrong; the rest explains how to pass such an argument by position.
  const problem = error.message.split(/\. (?=To )|\n/)[0]!;
  const [, flag] = /^Unknown option '--([^']+)'/.exec(problem) ?? [];
  const meant = nearest(
    flag ?? "",
    settings.map((setting) => setting.flag),
  );
  return meant === undefined ? problem : `${problem}; did you mean --${meant}?`;
}

/** The values of one setting: from the flag, else the variable if there may be one, else the default. */
function valuesOf(setting: Setting, given: Given, variable: string | undefined): readonly string[] {
  const isGiven = given !== undefined || (variable !== undefined && variable !== "");
  const values = isGiven ? [given ?? variable!].flat() : [setting.default ?? []].flat();
  if (setting.kind !== "list") return values;
  return values.flatMap((value) => value.split(",").map((part) => part.trim()));
}

/** A value as it may be shown: a URL that stands in the wrong place may hold a password. */
function shown(value: string): string {
  return JSON.stringify(value.replace(/:\S*@/g, ":***@"));
}

function check(command: Command, setting: Setting, values: readonly string[], name: string): void {
  const { flag } = setting;
  if (values.length === 0 && setting.required) {
    throw new UsageError(
      `--${flag}${readsVariable(command, flag) ? ` (or ${variableOf(flag)})` : ""} is required`,
    );
  }
  for (const value of values) {
    const problem = problemWith(setting, value);
    if (problem === undefined) continue;
    const is = setting.kind === "text" || setting.kind === "list" ? "" : `, is ${shown(value)}`;
    throw new UsageError(`${name}: ${problem}${is}`);
  }
}

/**
 * Reads the settings of a command.
 *
 * @param positionals what the words are that the command takes beside its settings
 * @throws {UsageError} naming what is wrong
 */
export function readOptions(
  command: Command,
  args: readonly string[],
  environment: Environment,
  positionals: readonly string[],
): Options {
  const settings = settingsOf(command);
  const options = Object.fromEntries(
    settings.map(({ flag, kind }) => [flag, { type: "string" as const, multiple: kind === "list" }]),
  );
  let parsed: { values: Record<string, Given>; positionals: string[] };
  try {
    const withValues = attachValues(args, settings, positionals.length > 0);
    parsed = parseArgs({ args: withValues, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(problemOf(error as Error, settings));
  }
  if (parsed.positionals.length > positionals.length) {
    throw new UsageError(`unexpected argument ${shown(parsed.positionals[positionals.length]!)}`);
  }
  if (parsed.positionals.length < positionals.length) {
    throw new UsageError(`${positionals[parsed.positionals.length]} is missing`);
  }

  const read = new Map<string, readonly string[]>();
  const names = new Map<string, string>();
  const isGiven = new Set<string>();
  for (const setting of settings) {
    const given = parsed.values[setting.flag];
    const variable = readsVariable(command, setting.flag) ? environment[variableOf(setting.flag)] : undefined;
    const values = valuesOf(setting, given, variable);
    const name = given === undefined && variable ? variableOf(setting.flag) : `--${setting.flag}`;
    check(command, setting, values, name);
    if (given !== undefined || variable) isGiven.add(setting.flag);
    read.set(setting.flag, values);
    names.set(setting.flag, name);
  }
  const valuesFor = (flag: string): readonly string[] => {
    const values = read.get(flag);
    if (values === undefined) throw new TypeError(`${command} has no setting ${flag}`);
    return values;
  };
  return {
    positionals: parsed.positionals,
    text: (flag) => valuesFor(flag)[0]!,
    optional: (flag) => valuesFor(flag)[0],
    integer: (flag) => Number(valuesFor(flag)[0]),
    number: (flag) => Number(valuesFor(flag)[0]),
    flag: (flag) => readBoolean(valuesFor(flag)[0] ?? "") === true,
    list: valuesFor,
    nameOf: (flag) => names.get(flag) ?? `--${flag}`,
    isGiven: (flag) => isGiven.has(flag),
  };
}

/**
 * What tokens begin with, by their kind.
 *
 * @throws {UsageError} naming the settings at fault
 */
export function readPrefixes(options: Options): { readonly api: string; readonly cli: string } {
  const read = (flag: string) => ({ prefix: options.text(flag), name: options.nameOf(flag) });
  const api = read("api-key-prefix");
  const cli = read("cli-token-prefix");
  const problem = problemWithPrefixes(api, cli);
  if (problem !== undefined) throw new UsageError(problem);
  return { api: api.prefix, cli: cli.prefix };
}
