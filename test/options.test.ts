/** Arguments and environment: booleans, variables, and messages for unknown options. */

import assert from "node:assert/strict";
import { after, describe, it, test } from "node:test";
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
import { openOrrery } from "../src/mod.ts";
import type { Observation } from "../src/observe/events.ts";
import { createLog } from "../src/observe/log/log.ts";
import { SnapshotKeeper } from "../src/server/load/snapshots.ts";
import {
  type Command,
  commandsOf,
  nameOf,
  problemWith,
  readBoolean,
  readsVariable,
  settingsOf,
  variableOf,
} from "../src/settings/settings.ts";
import { nearest } from "../src/util/distance.ts";
import { temporaryFolder } from "./support/folders.ts";
import { DEFAULTS, optionsOf as read } from "./support/options.ts";
import { until } from "./support/process.ts";

const MIRROR = ["--from", "u", "--token-file", "f", "--out", "o"];

const SERVE = ["--snapshot", "s", "--keys", "k"];

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
function otherValue({ flag, kind, choices, default: usual }: (typeof PROGRAM.settings)[number]): string {
  if (kind === "flag") return defaultOf(flag) === "on" ? "off" : "on";
  if (choices) return choices.find((choice) => kind === "list" || choice !== usual)!;
  if (flag === "shared-limits") return "redis://a.example";
  return flag === "trusted-proxies" ? "::1" : "2001";
}

describe("values", () => {
  it("have names and types that the compiler knows", () => {
    const { values, names } = read("serve", [...SERVE, "--threads", "auto", "--watch", "0.5"]);
    const typed: { host: string; port: number; watch: number; cors: boolean; threads: number | "auto" } =
      values;
    assert.deepEqual(
      [typed.host, typed.port, typed.watch, typed.cors, typed.threads],
      ["127.0.0.1", 8787, 0.5, true, "auto"],
    );
    const away: "share" | "deny" = values.limitsWhenAway;
    const none: string | undefined = values.sharedLimits;
    assert.deepEqual([away, none, names.watch], ["share", undefined, "--watch"]);
    const lists: readonly string[] = read("mirror", [...MIRROR, "--users", "a,b"]).values.users;
    const count: number = read("generate", ["--out", "x"]).values.users;
    assert.deepEqual([lists, count], [["a", "b"], 2000]);

    // @ts-expect-error: a name that is mistyped
    assert.equal(values.rateLimt, undefined);
    // @ts-expect-error: a setting of another command
    assert.equal(values.users, undefined);
    // @ts-expect-error: a name of no setting
    assert.equal(names.rateLimt, undefined);
    // @ts-expect-error: not one of the choices
    assert.ok(away !== "shares");
    // @ts-expect-error: may be undefined
    assert.throws(() => values.admin.length, TypeError);
  });

  it("of a server where nothing is said are the defaults", () => {
    const { snapshot, keys, ...others } = read("serve", SERVE).values;
    assert.deepEqual([snapshot, keys], ["s", "k"]);
    assert.deepEqual({ ...DEFAULTS }, { ...others, snapshot: undefined, keys: undefined });
  });
});

describe("relations", () => {
  it("name settings of the same commands", () => {
    const related = PROGRAM.settings.filter(({ needs, notWith }) => needs ?? notWith);
    assert.ok(related.length > 5);
    for (const setting of related) {
      const { needs, notWith } = setting;
      for (const command of commandsOf(setting)) {
        const other = settingsOf(PROGRAM.settings, command).find(
          ({ flag }) => flag === (needs ?? notWith?.flag),
        );
        assert.ok(other, `${needs ?? notWith?.flag} of ${command}`);
        if (notWith) assert.ok(other.choices?.includes(notWith.value));
      }
    }
  });

  it("of two that must not be given together are refused", () => {
    const made = ["--keys", "k", "--name", "n", "--kind", "cli"];
    const why = "a CLI token has neither a limit nor scopes";
    assert.equal(problem("keys create", [...made, "--limit", "5"]), `--limit: ${why}`);
    assert.equal(problem("keys create", [...made, "--scope", "read:users"]), `--scope: ${why}`);
    assert.equal(problem("keys create", [...made.slice(0, 4), "--limit", "5"]), "");
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
      for (const [word, value] of words) {
        assert.equal(valueIn(read("serve", [...SERVE, `--${flag}`, word]), flag), value, `--${flag} ${word}`);
        assert.equal(
          valueIn(read("serve", [`--${flag}=${word}`, ...SERVE]), flag),
          value,
          `--${flag}=${word}`,
        );
        assert.equal(
          valueIn(read("serve", SERVE, { [variableOf(flag)]: word }), flag),
          value,
          `${flag} by variable`,
        );
      }
      for (const more of [[], SERVE]) {
        const args = more.length > 0 ? [`--${flag}`, ...more] : [...SERVE, `--${flag}`];
        assert.equal(valueIn(read("serve", args), flag), true, `--${flag} alone`);
      }
      assert.equal(valueIn(read("serve", [...SERVE, `--no-${flag}`]), flag), false);
      assert.equal(valueIn(read("serve", SERVE), flag), defaultOf(flag) === "on", "the default");
      assert.equal(
        valueIn(read("serve", [...SERVE, `--${flag}`], { [variableOf(flag)]: "off" }), flag),
        true,
      );
      assert.equal(valueIn(read("serve", SERVE, { [variableOf(flag)]: "" }), flag), defaultOf(flag) === "on");
    }
  });

  it("that are none are refused by name", () => {
    for (const { flag } of booleans) {
      const says = `--${flag}: must be on or off, is "maybe"`;
      assert.equal(problem("serve", [...SERVE, `--${flag}=maybe`]), says);
      assert.equal(problem("serve", [...SERVE, `--${flag}`, "maybe"]), says);
      assert.equal(problem("serve", [`--${flag}`, "maybe", ...SERVE]), says);
      assert.match(problem("serve", [...SERVE, `--${flag}=`]), /must be on or off/);
      assert.match(problem("serve", SERVE, { [variableOf(flag)]: "maybe" }), /^ORRERY_.*must be on or off/);
      assert.match(problem("serve", [...SERVE, `--no-${flag}=on`]), /Unknown option/);
    }
  });

  it("take no word that is the command's own", () => {
    const options = read("check", ["--json", "data/sample"]);
    assert.deepEqual([options.values.json, options.positionals], [true, ["data/sample"]]);
    const off = read("diff", ["a", "--json", "off", "b"]);
    assert.deepEqual([off.values.json, off.positionals], [false, ["a", "b"]]);
    assert.deepEqual(read("check", ["--", "--json"]).positionals, ["--json"]);
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
        const value = otherValue(setting);
        assert.equal(problemWith(setting, value), undefined, `${flag} ${value}`);
        const options = read(name, [...args, ...words], { [variableOf(flag)]: value });
        const isRead = options.given.has(nameOf(flag));
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

describe("options that are not known", () => {
  it("are refused with the one that may be meant", () => {
    assert.match(
      problem("serve", [...SERVE, "--rate-limt", "5"]),
      /'--rate-limt'; did you mean --rate-limit\?/,
    );
    assert.match(problem("serve", [...SERVE, "--acess-log"]), /did you mean --access-log\?/);
    assert.match(problem("serve", [...SERVE, "--colour"]), /^Unknown option '--colour'$/);
    // A flag of another command.
    assert.match(problem("keys list", ["--keys", "k", "--limit", "5"]), /^Unknown option '--limit'$/);
  });

  it("nearest: by edits, swaps included, as far as a third of the word", () => {
    const words = ["rateLimit", "rateWindow", "watch", "cors"];
    const cases: readonly [word: string, meant: string | undefined][] = [
      ["rateLimits", "rateLimit"],
      ["rateLimti", "rateLimit"],
      ["ratelimit", "rateLimit"],
      ["RATEWINDOW", "rateWindow"],
      ["wathc", "watch"],
      ["core", "cors"],
      ["corn", "cors"],
      ["port", undefined],
      ["", undefined],
      ["x".repeat(10_000), undefined],
    ];
    for (const [word, meant] of cases) assert.equal(nearest(word, words), meant, word);
  });
});

describe("lists", () => {
  it("are given one by one or joined by commas", () => {
    const made = ["--keys", "k", "--name", "n"];
    const scopes = (...args: string[]): readonly string[] =>
      read("keys create", [...made, ...args]).values.scope;
    assert.deepEqual(scopes(), []);
    assert.deepEqual(scopes("--scope", "a,b", "--scope", " c"), ["a", "b", "c"]);
    for (const empty of ["", ",", "a,", "a,,b"]) {
      assert.equal(problem("keys create", [...made, "--scope", empty]), "--scope: must not be empty");
    }
  });

  it("say which of their words is wrong", () => {
    const serve = (...args: string[]) => problem("serve", [...SERVE, ...args]);
    assert.equal(
      serve("--trusted-proxies", "loopback, 10.0.0.0/8,10.0.0.0/33"),
      '--trusted-proxies: must be an address, a range such as 10.0.0.0/8, or loopback, is "10.0.0.0/33"',
    );
    assert.equal(
      serve("--access-log", "--access-log-fields", "query,agent"),
      '--access-log-fields: must be one of query, userAgent, is "agent"',
    );
    assert.match(
      String(serve("--log-format", "text")),
      /^--log-format: must be one of auto, json, pretty, is "text"/,
    );
  });
});

it("numbers below zero are values of the flag before them, and out of its bounds", () => {
  assert.match(
    problem("serve", [...SERVE, "--rate-limit", "-5"]),
    /^--rate-limit: must be a whole number of at least 1/,
  );
  assert.match(problem("keys create", ["--keys", "k", "--name", "n", "--limit", "-1"]), /^--limit: must be/);
  // After a bare -- nothing is a flag.
  assert.deepEqual(read("check", ["--", "-5"]).positionals, ["-5"]);
});

describe("a password that stands in the wrong place", () => {
  const SECRETS = [
    "redis://:hunter2@host",
    "redis://user:hun/ter2@host:6379/0",
    "unix://u:hunter2@/run/redis.sock",
  ];
  for (const url of SECRETS) {
    it(`is not shown: ${url}`, () => {
      for (const args of [
        [url],
        ["--replicas", url],
        [`--replicas=${url}`],
        ["--port", url],
        [`--share-limits=${url}`],
      ]) {
        const told = problem("serve", [...SERVE, ...args]);
        assert.notEqual(told, "");
        assert.doesNotMatch(told, /hun|ter2/);
      }
      assert.doesNotMatch(problem("serve", SERVE, { ORRERY_REPLICAS: url }), /^$|hun|ter2/);
    });
  }
});

const serveOptions = (args: readonly string[], environment: Environment = {}): Options<"serve"> =>
  read("serve", [...SERVE, ...args], environment);

const told = (args: readonly string[], environment: Environment = {}): Options["withoutEffect"] =>
  serveOptions(args, environment).withoutEffect;

test("settings of what is off are told, with what turns it on", () => {
  assert.deepEqual(told(["--max-age", "5"], { ORRERY_ACCESS_LOG_SAMPLE: "100" }), [
    { settings: ["--max-age"], why: "without --admin" },
    { settings: ["ORRERY_ACCESS_LOG_SAMPLE"], why: "without --access-log" },
  ]);
  const on = ["--max-age", "5", "--admin", "8788", "--replicas", "2", "--shared-limits", "redis://h"];
  assert.deepEqual(told(on, {}), []);
});

const prefixProblem = (args: readonly string[], environment: Environment = {}): string =>
  problemOf(() => readPrefixes(serveOptions(args, environment)));

const ASCII = "must be visible ASCII without spaces, is";

test("of a command by flag or variable", () => {
  assert.equal(prefixProblem(["--cli-token-prefix", "a b"]), `--cli-token-prefix: ${ASCII} "a b"`);
  assert.equal(prefixProblem(["--api-key-prefix", "schlüssel_"]), `--api-key-prefix: ${ASCII} "schlüssel_"`);
  assert.equal(prefixProblem([], { ORRERY_API_KEY_PREFIX: "a b" }), `ORRERY_API_KEY_PREFIX: ${ASCII} "a b"`);
  assert.equal(
    prefixProblem(["--api-key-prefix", "tok"], { ORRERY_CLI_TOKEN_PREFIX: "tok_" }),
    '--api-key-prefix, ORRERY_CLI_TOKEN_PREFIX: neither may begin with the other, are "tok" and "tok_"',
  );
});

test("of the library by option", async () => {
  const given = { snapshot: "s", keys: [] };
  await assert.rejects(openOrrery({ ...given, cliTokenPrefix: "a b" }), {
    message: `openOrrery: option "cliTokenPrefix": ${ASCII} "a b"`,
  });
  await assert.rejects(openOrrery({ ...given, apiKeyPrefix: "svcx_1" }), {
    message:
      'openOrrery: option "apiKeyPrefix", option "cliTokenPrefix": neither may begin with the other, are "svcx_1" and "svcx_"',
  });
});

const folder = temporaryFolder({ after });

it("a value that is refused is shown with the flag or the variable that it came from", () => {
  const bounds = "must be auto or a whole number from 1 to 64";
  for (const value of ["none", "0", "65", "1.5", "-1", "Auto"]) {
    const is = `${bounds}, is "${value}"`;
    assert.throws(() => serveOptions(["--threads", value]), new UsageError(`--threads: ${is}`));
    assert.throws(() => serveOptions([], { ORRERY_THREADS: value }), new UsageError(`ORRERY_THREADS: ${is}`));
  }
  assert.throws(
    () => serveOptions([], { ORRERY_PORT: "tcp://10.0.0.1:8787" }),
    new UsageError('ORRERY_PORT: must be a whole number from 0 to 65535, is "tcp://10.0.0.1:8787"'),
  );
  assert.equal(serveOptions(["--threads", "64"]).values.threads, 64);
  assert.equal(serveOptions([], { ORRERY_THREADS: "auto" }).values.threads, "auto");
});

it("variables that no command reads are reported with the one that may be meant, as a warning", () => {
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
  assert.deepEqual(
    seen.map((one) => (one.kind === "variable-unknown" ? [one.variable, one.meant] : [])),
    [
      ["ORRERY_RATE_LIMT", "ORRERY_RATE_LIMIT"],
      ["ORRERY_PROT", "ORRERY_PORT"],
      ["ORRERY_COLOUR", undefined],
      ["ORRERY_SCOPE", undefined],
    ],
  );
  const lines: string[] = [];
  const observe = createLog(PROGRAM.tables.events, "warn", { write: (line: string) => lines.push(line) });
  for (const one of seen) observe(one);
  const messages = lines.map((line) => JSON.parse(line) as { level: string; msg: string });
  assert.deepEqual(
    messages.map(({ level }) => level),
    Array(4).fill("warn"),
  );
  assert.equal(messages[0]!.msg, "ORRERY_RATE_LIMT is not a setting; did you mean ORRERY_RATE_LIMIT?");
  assert.equal(messages[2]!.msg, "ORRERY_COLOUR is not a setting");
});

describe("a snapshot that changes while it is read", () => {
  const counts = { rows: 0 };
  const store = { id: "g", contents: "c", users: counts, worlds: counts, instances: counts };
  const changed = { ok: false, problems: ["changed"], fingerprint: undefined, changed: true } as const;

  /** The level of the log line of a reload of such a snapshot. */
  async function levelOf(isWatched: boolean): Promise<string> {
    const lines: string[] = [];
    let isFirst = true;
    const keeper = await SnapshotKeeper.open(
      {
        folder,
        allowShrink: false,
        observe: createLog(PROGRAM.tables.events, "info", { write: (line: string) => lines.push(line) }),
        load: async () => {
          if (!isFirst) return changed;
          isFirst = false;
          return { ok: true, store, search: {}, reports: [], fingerprint: "", retire() {} } as never;
        },
      },
      () => undefined,
    );
    if (isWatched) keeper.watch(60_000);
    await keeper.reload();
    keeper.stop();
    const line = await until(() => lines.find((one) => one.includes("snapshot-refused")), "the line");
    return (JSON.parse(line) as { level: string }).level;
  }

  it("is a warning where it will be looked at again, and an error where it will not", async () => {
    assert.equal(await levelOf(true), "warn");
    assert.equal(await levelOf(false), "error");
  });
});

describe("help", () => {
  it("fits into a hundred columns", () => {
    for (const row of PROGRAM.commands) {
      for (const line of helpFor(row, PROGRAM.settings).split("\n"))
        assert.ok(line.length <= 100, `${row.name}: ${line}`);
    }
  });

  it("does not say that there is no default where it says what it is", () => {
    for (const row of PROGRAM.commands)
      assert.doesNotMatch(helpFor(row, PROGRAM.settings), /\[none/, row.name);
  });
});
