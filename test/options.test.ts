/** Arguments and environment: booleans, variables, and messages for unknown options. */

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { describe, it, test } from "node:test";
import { helpFor } from "../src/cli/help.ts";
import {
  type Environment,
  type Options,
  positionalsOf,
  readPrefixes,
  UsageError,
} from "../src/cli/options.ts";
import { reportUnknownVariables } from "../src/cli/serve.ts";
import { PROGRAM } from "../src/features.ts";
import type { Observation } from "../src/observe/events.ts";
import {
  type Command,
  isPath,
  nameOf,
  problemWith,
  readBoolean,
  readsVariable,
  settingsOf,
  variableOf,
} from "../src/settings/settings.ts";
import { DEFAULTS, optionsOf as read } from "./support/options.ts";

const SERVE = ["--snapshot", "s", "--keys", "k"];
const CREATE = ["--keys", "k", "--name", "n"];

function problemOf(use: () => unknown): string {
  try {
    use();
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  return "";
}

const problem = (command: Command, args: readonly string[], environment: Environment = {}): string =>
  problemOf(() => read(command, args, environment));

function valueIn({ values }: Options, flag: string): unknown {
  return new Map<string, unknown>(Object.entries(values)).get(nameOf(flag));
}

function defaultOf(flag: string): string {
  const setting = PROGRAM.settings.find((row) => row.flag === flag);
  return setting?.default ?? (setting?.kind === "flag" ? "off" : assert.fail(`${flag} has no default`));
}

/** A valid value of a setting that differs from its default. */
function otherValue({ flag, kind, choices, default: usual, max }: (typeof PROGRAM.settings)[number]): string {
  if (kind === "flag") return defaultOf(flag) === "on" ? "off" : "on";
  if (choices) return choices.find((choice) => kind === "list" || choice !== usual)!;
  if (flag === "shared-limits") return "redis://a.example";
  if (flag === "docs-url" || flag === "server") return "https://api.example.org";
  if (flag === "docs-contact") return "ops@example.org";
  if (flag === "trusted-proxies") return "::1";
  return String(Math.min(2001, max ?? 2001));
}

describe("values", () => {
  it("have names and types that the compiler knows", () => {
    const { values, names } = read("serve", [...SERVE, "--threads", "auto", "--watch", "0.5"]);
    const { host, port, watch, cors, threads, replicas, sharedLimits } = values;
    const texts: [string, string | undefined] = [host, sharedLimits];
    const others: [number, number, boolean, number | "auto", number] = [port, watch, cors, threads, replicas];
    assert.deepEqual(texts, ["127.0.0.1", undefined]);
    assert.deepEqual(others, [8787, 0.5, true, "auto", 1]);
    assert.equal(names.watch, "--watch");
    assert.equal(read("serve", [...SERVE, "--threads", "64"]).values.threads, 64, "the most");
    const list: readonly string[] = read("keys create", [...CREATE, "--scope", "a,b"]).values.scope;
    const count: number = read("generate", ["--out", "x"]).values.users;
    assert.deepEqual([list, count], [["a", "b"], 2000]);
  });

  it("of a server where nothing is said are the defaults", () => {
    const { snapshot, keys, ...others } = read("serve", SERVE).values;
    assert.deepEqual([snapshot, keys], [resolve("s"), resolve("k")]);
    assert.deepEqual({ ...DEFAULTS }, { ...others, snapshot: undefined, keys: undefined });
  });
});

describe("relations", () => {
  it("of two that must not be given together are refused", () => {
    const cli = [...CREATE, "--kind", "cli"];
    const why = "a CLI token has neither a limit nor scopes";
    assert.equal(problem("keys create", [...cli, "--limit", "5"]), `--limit: ${why}`);
    assert.equal(problem("keys create", [...cli, "--scope", "read:users"]), `--scope: ${why}`);
    assert.equal(problem("keys create", [...CREATE, "--limit", "5"]), "");
  });
});

describe("booleans", () => {
  const booleans = settingsOf(PROGRAM.settings, "serve").filter(({ kind }) => kind === "flag");
  const words: readonly (readonly [word: string, value: boolean])[] = [
    ...["on", "true", "1", "yes", "ON", "Yes"].map((word) => [word, true] as const),
    ...["off", "false", "0", "no", "OFF", "False"].map((word) => [word, false] as const),
  ];

  it("are read alike, whichever it is and wherever it stands", () => {
    assert.ok(booleans.length >= 3);
    for (const { flag } of booleans) {
      const isRead = (value: boolean | string, args: readonly string[], variable?: string): void => {
        const environment = variable === undefined ? {} : { [variableOf(flag)]: variable };
        assert.equal(valueIn(read("serve", args, environment), flag), value, `${args} ${variable}`);
      };
      for (const [word, value] of words) {
        isRead(value, [...SERVE, `--${flag}`, word]);
        isRead(value, [`--${flag}=${word}`, ...SERVE]);
        isRead(value, SERVE, word);
      }
      isRead(true, [`--${flag}`, ...SERVE]);
      isRead(true, [...SERVE, `--${flag}`]);
      isRead(true, [...SERVE, `--${flag}`], "off");
      isRead(false, [...SERVE, `--no-${flag}`]);
      const missing = flag === "similar" ? "auto" : defaultOf(flag) === "on";
      isRead(missing, SERVE);
      isRead(missing, SERVE, "");
    }
  });

  it("may have further words", () => {
    for (const args of [["--similar", "auto"], ["--similar=auto"]])
      assert.equal(read("serve", [...args, ...SERVE]).values.similar, "auto");
    assert.equal(read("serve", SERVE, { ORRERY_SIMILAR: "auto" }).values.similar, "auto");
    assert.match(problem("serve", [...SERVE, "--cors", "auto"]), /must be on or off/);
  });

  it("that are none are refused by name", () => {
    for (const { flag } of booleans) {
      const words = flag === "similar" ? "auto, on or off" : "on or off";
      const says = `--${flag}: must be ${words}, is "maybe"`;
      assert.equal(problem("serve", [...SERVE, `--${flag}=maybe`]), says);
      assert.equal(problem("serve", [...SERVE, `--${flag}`, "maybe"]), says);
      assert.equal(problem("serve", [`--${flag}`, "maybe", ...SERVE]), says);
      assert.match(problem("serve", [...SERVE, `--${flag}=`]), /must be .*on or off/);
      assert.match(problem("serve", SERVE, { [variableOf(flag)]: "maybe" }), /^ORRERY_.*must be .*on or off/);
      assert.match(problem("serve", [...SERVE, `--no-${flag}=on`]), /Unknown option/);
    }
  });

  it("take no word that is the command's own", () => {
    const options = read("check", ["--json", "data/sample"]);
    assert.deepEqual([options.values.json, options.positionals], [true, ["data/sample"]]);
    const off = read("check", ["--json", "off", "a"]);
    assert.deepEqual([off.values.json, off.positionals], [false, ["a"]]);
    assert.match(problem("keys disable", ["--keys", "k"]), /missing/);
    assert.match(problem("keys delete", ["a", "b", "--keys", "k"]), /"b"/);
    // Nor does a flag count as the value of another option.
    assert.match(problem("serve", ["--snapshot", "--cors", "--keys", "k"]), /--snapshot/);
  });
});

describe("variables", () => {
  it("are read by serve and demo for every option, by the others for the keys file alone", () => {
    let seen = 0;
    for (const { name } of PROGRAM.commands) {
      const needed = settingsOf(PROGRAM.settings, name).filter(({ required }) => required);
      const args = needed.flatMap(({ flag }) => [`--${flag}`, "x"]);
      const words = positionalsOf(PROGRAM.commands.find((row) => row.name === name)!);
      for (const setting of settingsOf(PROGRAM.settings, name)) {
        if (setting.required) continue;
        const { flag } = setting;
        const value = isPath(setting) ? resolve(otherValue(setting)) : otherValue(setting);
        const wrong = problemWith(setting, value);
        assert.ok(!wrong, `otherValue() of this file needs a valid value of --${flag}: ${value}: ${wrong}`);
        const options = read(name, [...args, ...words], { [variableOf(flag)]: value });
        const names: Readonly<Record<string, string>> = options.names;
        const isRead = names[nameOf(flag)] === variableOf(flag);
        const is = String(valueIn(options, flag));
        assert.equal(is === (setting.kind === "flag" ? String(readBoolean(value)) : value), isRead, flag);
        assert.equal(isRead, name === "serve" || name === "demo", `${name} --${flag}`);
        assert.equal(readsVariable(name, flag), isRead);
        // A wrong value in the variable is ignored.
        if (!isRead) read(name, [...args, ...words], { [variableOf(flag)]: "\n" });
        seen++;
      }
    }
    assert.ok(seen > 50, `only ${seen} options`);
    assert.equal(read("keys list", [], { ORRERY_KEYS: "file" }).values.keys, "file");
    assert.equal(read("keys list", ["--keys", "flag"], { ORRERY_KEYS: "file" }).values.keys, "flag");
  });

  it("are named in messages and help where they count, and only there", () => {
    assert.equal(problem("keys list", []), "--keys (or ORRERY_KEYS) is required");
    assert.equal(problem("generate", [], { ORRERY_OUT: "x" }), "--out is required");
    for (const row of PROGRAM.commands) {
      for (const { flag } of settingsOf(PROGRAM.settings, row.name)) {
        const named = new RegExp(`\\b${variableOf(flag)}\\b`).test(helpFor(row, PROGRAM.settings));
        assert.equal(named, readsVariable(row.name, flag), `${row.name} --${flag}`);
      }
    }
  });
});

it("after a bare -- nothing is a flag", () => {
  for (const word of ["-5", "--json"]) assert.deepEqual(read("check", ["--", word]).positionals, [word]);
});

const SECRETS = [
  "redis://:hunter2@host",
  "redis://user:hun/ter2@host:6379/0",
  "unix://u:hunter2@/run/redis.sock",
];
for (const url of SECRETS) {
  it(`a password that stands in the wrong place is not shown: ${url}`, () => {
    const wrong = [
      [url],
      ["--replicas", url],
      [`--replicas=${url}`],
      ["--port", url],
      [`--share-limits=${url}`],
    ];
    for (const args of wrong)
      assert.doesNotMatch(problem("serve", [...SERVE, ...args]), /^$|hun|ter2/, args.join(" "));
    assert.doesNotMatch(problem("serve", SERVE, { ORRERY_REPLICAS: url }), /^$|hun|ter2/);
  });
}

test("settings of what is off are told, with what turns it on", () => {
  const off = read("serve", [...SERVE, "--max-data-age", "5"], { ORRERY_REPLICAS: "2" });
  assert.deepEqual(off.withoutEffect, [
    { settings: ["--max-data-age"], why: "without --admin" },
    { settings: ["ORRERY_REPLICAS"], why: "without --shared-limits" },
  ]);
  const on = ["--max-data-age", "5", "--admin", "8788", "--replicas", "2", "--shared-limits", "redis://h"];
  assert.deepEqual(read("serve", [...SERVE, ...on]).withoutEffect, []);
});

test("settings of another kind of snapshot are told", () => {
  const given = ["--keys", "k", "--queries", "q", "--every", "5", "--skip-broken", "0"];
  const token = { ORRERY_SNAPSHOT_TOKEN_FILE: "t" };
  const ofDatabase = {
    settings: ["--queries", "--every", "--skip-broken"],
    why: "without a snapshot by postgres://",
  };
  const ofUrl = {
    settings: ["ORRERY_SNAPSHOT_TOKEN_FILE"],
    why: "without a snapshot by http:// or https://",
  };
  const cases = [
    ["folder", [ofUrl, ofDatabase]],
    ["HTTPS://h/s/", [ofDatabase]],
    ["postgresql://u@h/d", [ofUrl]],
  ] as const;
  for (const [snapshot, found] of cases)
    assert.deepEqual(read("serve", [...given, "--snapshot", snapshot], token).withoutEffect, found);
});

const THREADS = "must be auto or a whole number from 1 to 64, is";
const PREFIX = 'must be letters, digits, ".", "_", "~" and "-", is';

/** Usage that is refused: arguments and variables beside the required ones, and the message or a part of it. */
type Refused = [command: "serve" | "keys create", args: readonly string[], says: string | RegExp];

const REFUSED: readonly Refused[] = [
  ["serve", ["--rate-limt", "5"], /'--rate-limt'; did you mean --rate-limit\?/],
  ["serve", ["--acess-log"], /did you mean --access-log\?/],
  ["serve", ["--colour"], "Unknown option '--colour'"],
  ["serve", ["more"], /"more"/],
  ["serve", ["--port", "65536"], /^--port: .* to 65535, is "65536"$/],
  ["serve", ["ORRERY_LOG_LEVEL=loud"], /^ORRERY_LOG_LEVEL: must be one of .*, is "loud"$/],
  // A flag of another command.
  ["keys create", ["--rate-limit", "5"], /^Unknown option '--rate-limit'/],
  ["keys create", ["--scope", "a,,b"], "--scope: must not be empty"],
  [
    "serve",
    ["--trusted-proxies", "loopback, 10.0.0.0/8,10.0.0.0/33"],
    '--trusted-proxies: must be an address, a range such as 10.0.0.0/8, unix or loopback, is "10.0.0.0/33"',
  ],
  // Numbers below zero are values of the flag before them.
  ["serve", ["--rate-limit", "-5"], /^--rate-limit: must be a whole number of at least 1/],
  ["serve", ["--threads", "65"], `--threads: ${THREADS} "65"`],
  ["serve", ["ORRERY_THREADS=none"], `ORRERY_THREADS: ${THREADS} "none"`],
  ["serve", ["--api-key-prefix", "schlüssel_"], `--api-key-prefix: ${PREFIX} "schlüssel_"`],
  ["serve", ["ORRERY_API_KEY_PREFIX=a b"], `ORRERY_API_KEY_PREFIX: ${PREFIX} "a b"`],
  [
    "serve",
    ["--api-key-prefix", "tok", "ORRERY_CLI_TOKEN_PREFIX=tok_"],
    '--api-key-prefix, ORRERY_CLI_TOKEN_PREFIX: neither may begin with the other, are "tok" and "tok_"',
  ],
];

for (const [command, given, says] of REFUSED) {
  it(`${command} ${given.join(" ")} is refused, and what is wrong is named as it was given`, () => {
    const isVariable = (word: string): boolean => word.startsWith("ORRERY_");
    const environment = Object.fromEntries(given.filter(isVariable).map((word) => word.split("=")));
    const args = [...(command === "serve" ? SERVE : CREATE), ...given.filter((word) => !isVariable(word))];
    const message = problemOf(() => readPrefixes(read(command, args, environment) as Options<"serve">));
    if (typeof says === "string") assert.equal(message, says);
    else assert.match(message, says);
  });
}

it("variables that no command reads are reported with the one that may be meant", () => {
  const seen: Observation[] = [];
  const environment = {
    ORRERY_RATE_LIMT: "5",
    ORRERY_PROT: "80",
    ORRERY_COLOUR: "red",
    // An option of `keys create`, which reads no variable for it.
    ORRERY_SCOPE: "read:worlds",
    ORRERY_EMPTYY: "",
    ORRERY_RATE_LIMIT: "5",
    ORRERY_SNAPSHOT: "s",
    ORRERY_THREADS: "2",
    OTHER: "x",
  };
  reportUnknownVariables(environment, PROGRAM.settings, (observation) => seen.push(observation));
  const kind = "variable-unknown";
  assert.deepEqual(seen, [
    { kind, variable: "ORRERY_RATE_LIMT", meant: "ORRERY_RATE_LIMIT" },
    { kind, variable: "ORRERY_PROT", meant: "ORRERY_PORT" },
    { kind, variable: "ORRERY_COLOUR" },
    { kind, variable: "ORRERY_SCOPE" },
  ]);
});
