/** Arguments and environment to checked settings. */

import { parseArgs } from "node:util";
import { type Command, problemWith, type Setting, settingsOf, variableOf } from "../settings.ts";

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
}

const ON = new Set(["1", "true", "on", "yes"]);
const OFF = new Set(["0", "false", "off", "no"]);

type Given = string | boolean | (string | boolean)[] | undefined;

/** The values of one setting, from the flag, else the variable, else the default. */
function valuesOf(setting: Setting, given: Given, environment: Environment): readonly string[] {
  if (given !== undefined) return Array.isArray(given) ? given.map(String) : [String(given)];
  const variable = environment[variableOf(setting.flag)];
  if (variable === undefined || variable === "")
    return setting.default === undefined ? [] : [setting.default];
  if (setting.kind === "list") {
    return variable
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
  }
  return [variable];
}

function check(setting: Setting, values: readonly string[], fromFlag: boolean): void {
  const name = fromFlag ? `--${setting.flag}` : variableOf(setting.flag);
  if (values.length === 0 && setting.required) {
    throw new UsageError(`--${setting.flag} (or ${variableOf(setting.flag)}) is required`);
  }
  for (const value of values) {
    const problem =
      setting.kind === "flag" && !ON.has(value.toLowerCase()) && !OFF.has(value.toLowerCase())
        ? "must be on or off"
        : problemWith(setting, value);
    if (problem !== undefined) throw new UsageError(`${name}: ${problem}`);
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
    settings.map(({ flag, kind }) => [
      flag,
      { type: kind === "flag" ? ("boolean" as const) : ("string" as const), multiple: kind === "list" },
    ]),
  );
  let parsed: { values: Record<string, Given>; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    // The first sentence says what is wrong; the rest explains how to pass such an argument by position.
    throw new UsageError((error as Error).message.split(/\. (?=To )|\n/)[0]!);
  }
  if (parsed.positionals.length > positionals.length) {
    throw new UsageError(`unexpected argument ${JSON.stringify(parsed.positionals[positionals.length])}`);
  }
  if (parsed.positionals.length < positionals.length) {
    throw new UsageError(`${positionals[parsed.positionals.length]} is missing`);
  }

  const read = new Map<string, readonly string[]>();
  for (const setting of settings) {
    const given = parsed.values[setting.flag];
    const values = valuesOf(setting, given, environment);
    check(setting, values, given !== undefined);
    read.set(setting.flag, values);
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
    flag: (flag) => ON.has((valuesFor(flag)[0] ?? "").toLowerCase()),
    list: valuesFor,
  };
}
