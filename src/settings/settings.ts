/**
 * The settings of all commands: the rows of the core, their type, and checking and reading values by a row.
 *
 * Long: the table has one row per setting.
 */

import { problemWithProxy } from "../model/client-address.ts";
import type { FeatureRows } from "../model/feature-rows.ts";
import { problemWithSocketPath } from "../model/socket-place.ts";

const SERVING = ["serve", "demo"] as const;
const VERBS = ["create", "list", "show", "find", "update", "rotate", "disable", "enable", "delete"] as const;
type KeysCommand = `keys ${(typeof VERBS)[number]}`;

export type CoreCommand = (typeof SERVING)[number] | KeysCommand | ("check" | "build");

export interface Setting<C extends string = string> {
  /** Long flag without its dashes. */
  readonly flag: string;
  /** For a feature's setting of a core command: the core's flag that it follows in lists. */
  readonly after?: string;
  /**
   * How a value is read: text, a whole number (or one of its choices), a number, one of some words, a boolean or one of
   * its choices (a flag alone is on), or text that may be given many times or joined by commas.
   */
  readonly kind: "text" | "integer" | "number" | "choice" | "flag" | "list";
  /** Placeholder of the value in help texts. */
  readonly value?: string;
  /** As a user would write it; a boolean without one is off. */
  readonly default?: string;
  readonly required?: true;
  /** 0 when absent. */
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
  /** For text or a list: what else is wrong with a value, or undefined. */
  readonly problem?: (text: string) => string | undefined;
  /** Flag of a setting, or a form of its text, without which this one has no effect; given then, this one causes a warning. */
  readonly needs?: string | { readonly flag: string; readonly form: RegExp; readonly why: string };
  /** The value of another setting that this one must not be given with, and why. */
  readonly notWith?: { readonly flag: string; readonly value: string; readonly why: string };
  /** Its value may hold a secret: no message quotes it. */
  readonly isSecret?: true;
  /** Whether it is an option of the library, too. */
  readonly isOption?: true;
  readonly meaning: string;
  /** The commands that have it; the ones that serve when absent. */
  readonly commands?: readonly C[];
}

export const MOST_THREADS = 64;

const CLI = { flag: "kind", value: "cli", why: "a CLI token has neither a limit nor scopes" };

// Rows that commands of features have, too.
export const ALLOW_SHRINK = {
  flag: "allow-shrink",
  kind: "flag",
  meaning: "Accept a new snapshot with less than half of the users or worlds of the previous one.",
} as const;

export const OUT = {
  flag: "out",
  kind: "text",
  value: "DIR",
  required: true,
  meaning: "Directory to write the snapshot to; created if missing.",
} as const;

const JSON_RESULT = { flag: "json", kind: "flag", meaning: "Print the result as JSON." } as const;

const COUNT = { kind: "integer", value: "N", min: 1 } as const;
const BYTES = { kind: "integer", value: "BYTES" } as const;
const SECONDS = { kind: "number", value: "SECONDS" } as const;
const NAME = { flag: "name", kind: "text", value: "NAME" } as const;
const OWNER = { flag: "owner", kind: "text", value: "TEXT" } as const;
const NOTE = { flag: "note", kind: "text", value: "TEXT" } as const;
const SCOPE = { flag: "scope", kind: "list", value: "SCOPE" } as const;
const TIMEOUT = { ...SECONDS, min: 0.1, max: 3600 } as const;

const PREFIX = {
  isOption: true,
  kind: "text",
  value: "TEXT",
  commands: [...SERVING, "keys create", "keys rotate"],
} as const;

export const CORE_SETTINGS = [
  {
    flag: "snapshot",
    kind: "text",
    value: "DIR|URL",
    required: true,
    meaning:
      "Directory of the snapshot, or the URL of one, which ends with a slash; or the database to export: `postgres://…`.",
    commands: ["serve"],
  },
  {
    flag: "keys",
    kind: "text",
    value: "FILE",
    required: true,
    meaning: "The keys file.",
    commands: ["serve", ...VERBS.map((verb): KeysCommand => `keys ${verb}`)],
  },
  {
    flag: "host",
    kind: "text",
    value: "HOST",
    default: "127.0.0.1",
    problem: problemWithSocketPath,
    meaning: "Address to listen on, or `unix:/PATH` for a Unix socket, which has no port.",
  },
  {
    flag: "port",
    kind: "integer",
    value: "PORT",
    default: "8787",
    max: 65_535,
    meaning: "Port to listen on; 0 picks a free one.",
  },
  {
    ...COUNT,
    flag: "threads",
    value: "N|auto",
    choices: ["auto"],
    default: "1",
    max: MOST_THREADS,
    meaning:
      "Threads that answer requests; `auto` starts one per processor. More than one requires Node 22.12 or newer.",
    commands: ["serve"],
  },
  {
    flag: "share-port",
    kind: "flag",
    meaning:
      "Share the port with another server that was started with `--threads` or `--share-port`, so that the next " +
      "version can start before the last one stops. Requires Node 22.12 or newer.",
    commands: ["serve"],
  },
  {
    ...COUNT,
    flag: "rate-limit",
    isOption: true,
    default: "1000",
    meaning: "Requests per window for an API key without its own limit.",
  },
  {
    ...COUNT,
    flag: "rate-window",
    isOption: true,
    value: "SECONDS",
    default: "3600",
    max: 315_360_000,
    meaning: "Length of a rate-limit window; windows are aligned to the epoch.",
  },
  {
    flag: "cors",
    isOption: true,
    kind: "flag",
    default: "on",
    meaning: "Allow web pages from any origin to read the responses.",
  },
  {
    ...SECONDS,
    flag: "watch",
    isOption: true,
    default: "2",
    max: 86_400,
    meaning: "Time between two checks of the snapshot's files; 0 turns the check off.",
  },
  { ...ALLOW_SHRINK, isOption: true, commands: [...SERVING, "build"] },
  {
    ...PREFIX,
    flag: "api-key-prefix",
    default: "svc_sk_",
    meaning: "Prefix of every API key: letters, digits, `.`, `_`, `~` and `-`.",
  },
  {
    ...PREFIX,
    flag: "cli-token-prefix",
    default: "svcx_",
    meaning: "Prefix of every CLI token, of the same characters.",
  },
  {
    ...BYTES,
    flag: "search-cache-bytes",
    isOption: true,
    default: "67108864",
    meaning: "Memory for the results of recent searches; 0 turns the cache off.",
  },
  { flag: "access-log", isOption: true, kind: "flag", meaning: "Log every request, tokens masked." },
  {
    flag: "trusted-proxies",
    kind: "list",
    value: "LIST",
    problem: problemWithProxy,
    meaning:
      "Proxies whose `X-Forwarded-For` gives the client's address for the log: addresses, ranges such as `10.0.0.0/8`, `unix` for Unix sockets, or `loopback`, which includes these; joined by commas. Default: none.",
  },
  {
    flag: "log-level",
    kind: "choice",
    choices: ["debug", "info", "warn", "error", "silent"],
    default: "info",
    meaning: "Lowest level of the logged lines.",
  },
  {
    flag: "log-format",
    kind: "choice",
    choices: ["auto", "json", "pretty"],
    default: "auto",
    meaning:
      "Form of the log: `json`, a line an event, `pretty`, for people, or `auto`: pretty on a terminal.",
  },
  {
    flag: "http",
    kind: "choice",
    choices: ["direct", "node"],
    default: "direct",
    meaning:
      "Reader of requests: `direct`, orrery's own HTTP, or `node`, the runtime's node:http, which bounds less and is slower.",
  },
  {
    ...TIMEOUT,
    flag: "request-timeout",
    default: "15",
    meaning: "Time allowed for a whole request to arrive.",
  },
  {
    ...TIMEOUT,
    flag: "keep-alive-timeout",
    default: "65",
    meaning: "Time for which an idle connection stays open.",
  },
  {
    ...TIMEOUT,
    flag: "socket-timeout",
    default: "30",
    meaning: "Time for which a connection with a request in progress may be inactive.",
  },
  { ...NAME, required: true, meaning: "Name of the key, such as its purpose.", commands: ["keys create"] },
  { ...OWNER, meaning: "The person or team that has the key.", commands: ["keys create"] },
  { ...NOTE, meaning: "A text to keep with the key, such as a ticket.", commands: ["keys create"] },
  {
    flag: "kind",
    kind: "choice",
    choices: ["api", "cli"],
    default: "api",
    meaning: "An API key (scoped, limited) or a CLI token (neither).",
    commands: ["keys create"],
  },
  {
    ...SCOPE,
    notWith: CLI,
    meaning:
      "A scope to grant: `read:worlds`, `read:users` or `read:instances`. For several, repeat the option or join them with commas. Default: all three.",
    commands: ["keys create"],
  },
  {
    ...COUNT,
    flag: "limit",
    notWith: CLI,
    meaning: "Requests per window for this key. Default: the server's `--rate-limit`.",
    commands: ["keys create"],
  },
  {
    flag: "expires",
    kind: "text",
    value: "WHEN",
    meaning:
      "End of validity: `30m`, `12h`, `90d` or `1w` from now, a date (00:00 UTC) or a time. Default: never.",
    commands: ["keys create"],
  },
  { ...NAME, meaning: "A new name. Default: as before.", commands: ["keys update"] },
  {
    ...OWNER,
    value: "TEXT|none",
    meaning: "The person or team that has the key, or `none`. Default: as before.",
    commands: ["keys update"],
  },
  {
    ...NOTE,
    value: "TEXT|none",
    meaning: "A text to keep with the key, or `none`. Default: as before.",
    commands: ["keys update"],
  },
  {
    ...SCOPE,
    meaning:
      "A scope to grant, in place of the previous scopes: `read:worlds`, `read:users` or `read:instances`. For several, repeat the option or join them with commas. Default: as before.",
    commands: ["keys update"],
  },
  {
    ...COUNT,
    flag: "limit",
    value: "N|default",
    choices: ["default"],
    meaning:
      "Requests per window for this key, or `default` for the server's `--rate-limit`. Default: as before.",
    commands: ["keys update"],
  },
  {
    flag: "expires",
    kind: "text",
    value: "WHEN|never",
    meaning:
      "End of validity: `30m`, `12h`, `90d` or `1w` from now, a date (00:00 UTC), a time, or `never`. Default: as before.",
    commands: ["keys update"],
  },
  {
    flag: "overlap",
    kind: "text",
    value: "SPAN",
    default: "24h",
    meaning:
      "Time for which the previous token stays valid: `30m`, `12h`, `2d`, `1w`, or `0`, which ends it and all earlier ones at once.",
    commands: ["keys rotate"],
  },
  { ...OUT, commands: ["build"] },
  {
    flag: "manifest",
    kind: "flag",
    meaning: "Write a `manifest.json` too; an existing one is always renewed.",
    commands: ["build"],
  },
  {
    flag: "no-index",
    kind: "flag",
    meaning: "Validate only; skip building the search index.",
    commands: ["check"],
  },
  { ...JSON_RESULT, commands: ["check", "keys list", "keys show", "keys find"] },
] as const satisfies readonly Setting<CoreCommand>[];

type CoreRow = (typeof CORE_SETTINGS)[number];

type Row = CoreRow | (FeatureRows extends { readonly settings: infer R } ? R : never);

export type Command =
  | CoreCommand
  | (FeatureRows extends { readonly commands: readonly { readonly name: infer C }[] } ? C : never);

type CommandsOf<R> = R extends { readonly commands: readonly (infer C)[] } ? C : (typeof SERVING)[number];

type RowOf<C extends string, R> = R extends Setting ? (C extends CommandsOf<R> ? R : never) : never;

type Named<Flag extends string> = Flag extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Named<Rest>>}`
  : Flag;

type WordOf<R> = R extends { readonly choices: readonly (infer Word)[] } ? Word : never;

type ValueOf<R extends Setting> = R["kind"] extends "integer" | "number"
  ? number | WordOf<R>
  : { text: string; choice: WordOf<R>; flag: boolean | WordOf<R>; list: readonly string[] }[Exclude<
      R["kind"],
      "integer" | "number"
    >];

type MissingOf<R> = R extends { default: string } | { required: true } | { kind: "flag" | "list" }
  ? never
  : undefined;

type ValuesIn<R extends Setting, C extends string> = C extends string
  ? { readonly [One in RowOf<C, R> as Named<One["flag"]>]: ValueOf<One> | MissingOf<One> }
  : never;

/** The settings of a command by name, features' included; undefined where one is not given and has no default. */
export type Values<C extends Command> = ValuesIn<Row, C>;

export type CoreValues<C extends CoreCommand> = ValuesIn<CoreRow, C>;

/** Name of a setting in {@link Values}: `rate-limit` is `rateLimit`. */
export function nameOf(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Reads the value of a setting from its checked texts; only a list can have more than one. */
export function readValue({ kind, choices = [] }: Setting, texts: readonly string[]): unknown {
  const [text] = texts;
  if (kind === "list") return texts;
  if (text !== undefined && choices.includes(text)) return text;
  if (kind === "flag") return text !== undefined && readBoolean(text);
  const isNumber = kind === "integer" || kind === "number";
  return isNumber && text !== undefined ? Number(text) : text;
}

/** Whether a setting is the path of a file or folder, or may be one. */
export function isPath({ value = "" }: Setting): boolean {
  return /^(FILE|DIR)/.test(value);
}

/** The environment variable of a setting: `rate-limit` is `ORRERY_RATE_LIMIT`. */
export function variableOf(flag: string): string {
  return `ORRERY_${flag.toUpperCase().replaceAll("-", "_")}`;
}

/** Whether a command reads the variable of a setting. Servers do; their variables must not change other commands, but for `keys`. */
export function readsVariable(command: string, flag: string): boolean {
  return SERVING.some((name) => name === command) || flag === "keys";
}

const ON = new Set(["on", "true", "1", "yes"]);
const OFF = new Set(["off", "false", "0", "no"]);

/** Reads a boolean, in upper or lower case; undefined when the text is none. */
export function readBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase();
  return ON.has(lower) ? true : OFF.has(lower) ? false : undefined;
}

/** Inserts rows of features into a table of the core: each after the row that it names, or at the end. */
export function placed<R extends { readonly after?: string; readonly flag?: string; readonly name?: string }>(
  core: readonly R[],
  added: readonly R[],
): R[] {
  const following = (name: string | undefined): R[] => added.filter(({ after }) => after === name);
  return [...core.flatMap((row) => [row, ...following(row.flag ?? row.name)]), ...following(undefined)];
}

export function settingsOf(table: readonly Setting[], command: string): Setting[] {
  return table.filter(({ commands = SERVING }) => commands.includes(command));
}

export type Settings = Values<"serve">;

export type Defaults = Omit<Settings, "snapshot" | "keys">;

/** The defaults of all settings of a server. @param table of the core and all features */
export function defaultsOf(table: readonly Setting[]): Defaults {
  const values = settingsOf(table, "serve").map((setting) => [
    nameOf(setting.flag),
    readValue(setting, [setting.default ?? []].flat()),
  ]);
  return Object.fromEntries(values) as unknown as Defaults;
}

export const CORE_DEFAULTS = defaultsOf(CORE_SETTINGS) as Omit<CoreValues<"serve">, "snapshot" | "keys">;

function problemWithNumber(setting: Setting, value: string): string | undefined {
  const { kind, min = 0, max = Number.MAX_SAFE_INTEGER, choices = [] } = setting;
  const shape = kind === "integer" ? /^\d+$/ : /^\d+(\.\d+)?$/;
  const number = Number(value);
  if ((shape.test(value) && number >= min && number <= max) || choices.includes(value)) return undefined;
  const words = choices.map((word) => `${word} or `).join("");
  const what = `${words}${kind === "integer" ? "a whole number" : "a number"}`;
  return max === Number.MAX_SAFE_INTEGER
    ? `must be ${what} of at least ${min}`
    : `must be ${what} from ${min} to ${max}`;
}

/** @returns what is wrong with a value, or undefined */
export function problemWith(setting: Setting, value: string): string | undefined {
  const { kind, choices = [], problem } = setting;
  switch (kind) {
    case "integer":
    case "number":
      return problemWithNumber(setting, value);
    case "choice":
      return choices.includes(value) ? undefined : `must be one of ${choices.join(", ")}`;
    case "flag":
      return choices.includes(value) || readBoolean(value) !== undefined
        ? undefined
        : `must be ${[...choices, "on or off"].join(", ")}`;
    case "text":
    case "list":
      return value.trim() === "" ? "must not be empty" : problem?.(value);
  }
}

/** A setting that cannot be used. The caller knows whether it is a flag, a variable or an option of the library. */
export class SettingError extends Error {
  override name = "SettingError";
  /** Its name in `Settings`. */
  readonly setting: string;
  /** The text after its name in messages: `": …"` or `" …"`. */
  readonly detail: string;
  /** Whether the value itself is wrong, and not, for example, the file that it names. */
  readonly isMisuse: boolean;

  constructor(setting: string, detail: string, isMisuse: boolean) {
    super(setting + detail);
    this.setting = setting;
    this.detail = detail;
    this.isMisuse = isMisuse;
  }
}

type ForPrefixes = { readonly [Name in "apiKeyPrefix" | "cliTokenPrefix"]: string };

/** @returns why the kind of a token cannot be told from its prefix, or undefined @param names of both, for messages */
export function problemWithPrefixes(prefixes: ForPrefixes, names: ForPrefixes): string | undefined {
  for (const kind of ["apiKeyPrefix", "cliTokenPrefix"] as const) {
    // Other characters end a part of a query or a path, where the log masks tokens, or may be written in several ways.
    if (!/^[A-Za-z0-9._~-]+$/.test(prefixes[kind])) {
      return `${names[kind]}: must be letters, digits, ".", "_", "~" and "-", is ${JSON.stringify(prefixes[kind])}`;
    }
  }
  const { apiKeyPrefix: api, cliTokenPrefix: cli } = prefixes;
  if (!api.startsWith(cli) && !cli.startsWith(api)) return undefined;
  const are = `are ${JSON.stringify(api)} and ${JSON.stringify(cli)}`;
  return `${names.apiKeyPrefix}, ${names.cliTokenPrefix}: neither may begin with the other, ${are}`;
}
