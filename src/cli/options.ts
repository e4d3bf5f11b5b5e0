/** Reads checked settings from arguments and environment. */

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Prefixes } from "../auth/admit.ts";
import { isAddress } from "../files/folders.ts";
import {
  type Command,
  isPath,
  nameOf,
  problemWith,
  problemWithPrefixes,
  readBoolean,
  readsVariable,
  readValue,
  type Setting,
  SettingError,
  settingsOf,
  type Values,
  variableOf,
} from "../settings/settings.ts";
import { nearest } from "../util/distance.ts";
import { problemText, systemErrorText } from "../util/system-error.ts";
import { PlaceError, UserError } from "../util/user-error.ts";

/** The command was called wrongly: exit status 2. */
export class UsageError extends UserError {
  override name = "UsageError";
}

/** The command failed: exit status 1. */
export class CommandError extends UserError {
  override name = "CommandError";
}

/** Names the place in an error of the system or a {@link PlaceError}; returns any other unchanged. */
export function failureAt(place: string, error: unknown): unknown {
  if (!(error instanceof PlaceError) && systemErrorText(error) === undefined) return error;
  return new CommandError(`${place}: ${problemText(error)}`);
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** For commands that read local snapshots. @throws {UsageError} when a snapshot is a URL */
export function refuseAddress(snapshot: string): void {
  if (isAddress(snapshot)) throw new UsageError("DIR: is a URL; only serve takes one");
}

/** Makes a {@link SettingError} name its flag or variable; returns any other error unchanged. */
export function nameSetting(error: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof SettingError)) return error;
  const message = names[error.setting]! + error.detail;
  return error.isMisuse ? new UsageError(message) : new CommandError(message);
}

export interface Options<C extends Command = Command> {
  readonly positionals: readonly string[];
  readonly values: Values<C>;
  /** The name of each value, for messages: its variable if that gave it, else its flag. */
  readonly names: { readonly [Name in keyof Values<C>]: string };
  /** Flags or variables of settings that have no effect, as without another setting, and why. */
  readonly withoutEffect: readonly { readonly settings: readonly string[]; readonly why: string }[];
}

/** The words that a command takes besides its settings: they stand first in its usage. */
export function positionalsOf({ usage }: { readonly usage: string }): string[] {
  return usage.replace(/--.*/, "").match(/\S+/g) ?? [];
}

/**
 * Joins flag and value (`--cors=off`) where parseArgs needs that: for booleans, whose value it does not let users omit
 * (`--cors off`, `--cors` and `--no-cors`), and for negative numbers, which it would take for flags.
 * @param takesWords whether the command takes words besides its settings; then only a boolean's words are its value
 */
function attachValues(args: readonly string[], settings: readonly Setting[], takesWords: boolean): string[] {
  const isBoolean = (flag: string): boolean =>
    settings.some((setting) => setting.flag === flag && setting.kind === "flag");
  const isValue = (word: string): boolean =>
    !word.startsWith("-") && (!takesWords || readBoolean(word) !== undefined);
  const end = args.indexOf("--");
  const words = end < 0 ? args : args.slice(0, end);
  const given: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const arg = words[at]!;
    // "--" ends the settings, so it cannot be a value.
    const next = words[at + 1] ?? "-";
    const flag = arg.startsWith("--") ? arg.slice(2) : "";
    if (isBoolean(flag)) given.push(`${arg}=${isValue(next) ? words[++at] : "on"}`);
    else if (flag.startsWith("no-") && isBoolean(flag.slice(3))) given.push(`--${flag.slice(3)}=off`);
    else if (flag !== "" && !flag.includes("=") && /^-\d/.test(next)) given.push(`${arg}=${words[++at]}`);
    else given.push(arg);
  }
  return [...given, ...args.slice(words.length)];
}

function usageProblem(error: Error, settings: readonly Setting[]): string {
  // The first sentence says what is wrong; the rest explains how to pass such an argument by position.
  const problem = error.message.split(/\. (?=To )|\n/)[0]!;
  const [, flag] = /^Unknown option '--([^']+)'/.exec(problem) ?? [];
  const flags = settings.map((setting) => setting.flag);
  const meant = nearest(flag ?? "", flags);
  return meant === undefined ? problem : `${problem}; did you mean --${meant}?`;
}

/** The texts of one setting; those of a list may be joined by commas. */
function textsOf({ kind }: Setting, given: string | string[]): readonly string[] {
  const texts = [given].flat();
  return kind === "list" ? texts.flatMap((text) => text.split(",").map((part) => part.trim())) : texts;
}

/** A value for a message, passwords masked: a URL in the wrong place may hold one. */
function shown(value: string): string {
  return JSON.stringify(value.replace(/:\S*@/g, ":***@"));
}

function check(command: Command, setting: Setting, texts: readonly string[], name: string): void {
  const { flag } = setting;
  if (texts.length === 0 && setting.required) {
    throw new UsageError(
      `--${flag}${readsVariable(command, flag) ? ` (or ${variableOf(flag)})` : ""} is required`,
    );
  }
  for (const text of texts) {
    const problem = problemWith(setting, text);
    if (problem === undefined) continue;
    const isText = setting.kind === "text" || setting.kind === "list";
    // An empty text has nothing to show.
    const isShown = !setting.isSecret && (!isText || text.trim() !== "");
    const is = isShown ? `, is ${shown(text)}` : "";
    throw new UsageError(`${name}: ${problem}${is}`);
  }
}

/** Why a setting has no effect beside the others; undefined if it has one. */
function whyWithoutEffect(
  { needs }: Setting,
  values: Readonly<Record<string, unknown>>,
  given: ReadonlySet<string>,
): string | undefined {
  if (needs === undefined) return undefined;
  if (typeof needs === "string") return given.has(nameOf(needs)) ? undefined : `without --${needs}`;
  const text = values[nameOf(needs.flag)];
  // Of a command that lacks the other setting, this one is its own.
  return text === undefined || needs.form.test(String(text)) ? undefined : needs.why;
}

/** Checks `notWith` and `needs` of the given settings. @throws {UsageError} */
function checkRelations(
  settings: readonly Setting[],
  values: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
  given: ReadonlySet<string>,
) {
  const found = new Map<string, string[]>();
  for (const setting of settings) {
    const { flag, notWith } = setting;
    const name = nameOf(flag);
    if (!given.has(name)) continue;
    if (notWith !== undefined && values[nameOf(notWith.flag)] === notWith.value)
      throw new UsageError(`${names[name]}: ${notWith.why}`);
    const why = whyWithoutEffect(setting, values, given);
    if (why !== undefined) found.set(why, [...(found.get(why) ?? []), names[name]!]);
  }
  return Array.from(found, ([why, settings]) => ({ settings, why }));
}

/** Parses arguments into texts by flag. @throws {UsageError} */
function parse(settings: readonly Setting[], args: readonly string[], words: readonly string[]) {
  const options = Object.fromEntries(
    settings.map(({ flag, kind }) => [flag, { type: "string" as const, multiple: kind === "list" }]),
  );
  let parsed: { values: Record<string, string | string[] | undefined>; positionals: string[] };
  try {
    const withValues = attachValues(args, settings, words.length > 0);
    parsed = parseArgs({ args: withValues, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(usageProblem(error as Error, settings));
  }
  const { length } = parsed.positionals;
  if (length > words.length)
    throw new UsageError(`unexpected argument ${shown(parsed.positionals[words.length]!)}`);
  if (length < words.length) throw new UsageError(`${words[length]} is missing`);
  return parsed;
}

/** The value of a setting. Paths of a server are absolute: the working folder may be deleted while it runs. */
function readSetting(command: Command, setting: Setting, texts: readonly string[]): unknown {
  const value = readValue(setting, texts);
  const isKept = typeof value === "string" && isPath(setting) && ["serve", "demo"].includes(command);
  return isKept && !isAddress(value) ? resolve(value) : value;
}

/** Reads the settings of a command. @param table the settings of all commands @throws {UsageError} naming the faulty one */
export function readOptions<C extends Command>(
  row: { readonly name: C; readonly usage: string },
  args: readonly string[],
  environment: Environment,
  table: readonly Setting[],
): Options<C> {
  const { name: command } = row;
  const settings = settingsOf(table, command);
  const parsed = parse(settings, args, positionalsOf(row));
  const values: Record<string, unknown> = {};
  const names: Record<string, string> = {};
  const given = new Set<string>();
  for (const setting of settings) {
    const { flag } = setting;
    const argument = parsed.values[flag];
    // An empty variable counts as absent.
    const variable = (readsVariable(command, flag) && environment[variableOf(flag)]) || undefined;
    const texts = textsOf(setting, argument ?? variable ?? setting.default ?? []);
    const name = nameOf(flag);
    names[name] = argument === undefined && variable ? variableOf(flag) : `--${flag}`;
    check(command, setting, texts, names[name]);
    if (argument !== undefined || variable) given.add(name);
    values[name] = readSetting(command, setting, texts);
  }
  const withoutEffect = checkRelations(settings, values, names, given);
  const { positionals } = parsed;
  return { positionals, values, names, withoutEffect } as unknown as Options<C>;
}

/** The prefixes of tokens, by their kind. @throws {UsageError} naming the settings at fault */
export function readPrefixes({
  values,
  names,
}: Options<"serve" | "demo" | "keys create" | "keys rotate">): Prefixes {
  const problem = problemWithPrefixes(values, names);
  if (problem !== undefined) throw new UsageError(problem);
  return { api: values.apiKeyPrefix, cli: values.cliTokenPrefix };
}
