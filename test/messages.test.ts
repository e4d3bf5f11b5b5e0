/** What an operator is told: which value was refused and why, and which variables nobody reads. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { CommandIo } from "../src/cli/command.ts";
import { helpFor } from "../src/cli/help.ts";
import { createKey } from "../src/cli/keys.ts";
import { type Environment, type Options, UsageError } from "../src/cli/options.ts";
import { reportUnknownVariables } from "../src/cli/serve.ts";
import { PROGRAM } from "../src/features.ts";
import type { Observation } from "../src/observe/events.ts";
import { createLog } from "../src/observe/log/log.ts";
import { SnapshotKeeper } from "../src/server/load/snapshots.ts";
import type { Store } from "../src/store/generation.ts";
import { optionsOf } from "./support/options.ts";
import { until } from "./support/process.ts";

const folder = mkdtempSync(join(tmpdir(), "orrery-messages-"));
after(() => rmSync(folder, { recursive: true }));

function serveOptions(args: readonly string[], environment: Environment = {}): Options<"serve"> {
  return optionsOf("serve", ["--snapshot", "s", "--keys", "k", ...args], environment);
}

describe("a value that is refused", () => {
  it("is shown with the flag or the variable that it came from", () => {
    const bounds = "must be auto or a whole number from 1 to 64";
    for (const value of ["none", "0", "65", "1.5", "-1", "Auto"]) {
      const is = `${bounds}, is "${value}"`;
      assert.throws(() => serveOptions(["--threads", value]), new UsageError(`--threads: ${is}`));
      assert.throws(
        () => serveOptions([], { ORRERY_THREADS: value }),
        new UsageError(`ORRERY_THREADS: ${is}`),
      );
    }
    assert.throws(
      () => serveOptions([], { ORRERY_PORT: "tcp://10.0.0.1:8787" }),
      new UsageError('ORRERY_PORT: must be a whole number from 0 to 65535, is "tcp://10.0.0.1:8787"'),
    );
    assert.equal(serveOptions(["--threads", "64"]).values.threads, 64);
    assert.equal(serveOptions([], { ORRERY_THREADS: "auto" }).values.threads, "auto");
  });

  it("by the command itself has a name, too", () => {
    assert.equal(serveOptions(["--threads", "2"]).names.threads, "--threads");
    assert.equal(serveOptions([], { ORRERY_THREADS: "2" }).names.threads, "ORRERY_THREADS");
    assert.equal(serveOptions(["--threads", "2"], { ORRERY_THREADS: "3" }).names.threads, "--threads");
    assert.equal(serveOptions([], { ORRERY_THREADS: "" }).names.threads, "--threads");
  });
});

describe("keys create", () => {
  const keys = join(folder, "keys.json");

  async function problemOf(...more: readonly string[]): Promise<string> {
    const forbidden = (): never => assert.fail("it went on");
    const world = { environment: {}, print: forbidden, deliver: forbidden } as unknown as CommandIo;
    try {
      await createKey(optionsOf("keys create", ["--keys", keys, ...more]), world);
    } catch (error) {
      assert.ok(error instanceof UsageError, String(error));
      assert.ok(!existsSync(keys));
      return error.message;
    }
    return "";
  }

  it("says why an expiry is refused", async () => {
    const cases: readonly (readonly [text: string, says: RegExp])[] = [
      ["2020-01-01", /must be in the future, is 2020-01-01T00:00:00\.000Z$/],
      ["0d", /must be in the future/],
      ["90x", /unknown unit "x" in "90x"; the units are m, h, d and w/],
      ["3 months", /unknown unit "months"/],
      ["90D", /unknown unit "D"/],
      ["2030-02-31", /there is no day "2030-02-31"/],
      ["2030-13-01T00:00:00Z", /there is no day "2030-13-01"/],
      ["2030-01-31T12:00:00", /has no time zone; append Z for UTC/],
      ["2030-01-31T25:00:00Z", /is neither a time from now \(30m, .*\), a date \(.*\) nor a time \(.*\)$/],
      ["soon", /^--expires: "soon" is neither/],
      ["90", /^--expires: "90" is neither/],
      ["99999999999d", /"99999999999d" is after the year 9999/],
    ];
    for (const [text, says] of cases) assert.match(await problemOf("--name", "n", "--expires", text), says);
  });

  it("refuses a name of nothing but white space", async () => {
    for (const name of [" ", "\t \n", "\u3000"]) {
      assert.equal(await problemOf("--name", name), "--name: must not be empty");
    }
  });
});

describe("variables that no command reads", () => {
  it("are reported with the one that may be meant, as a warning", () => {
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
    const observe = createLog("warn", { write: (line: string) => lines.push(line) });
    for (const one of seen) observe(one);
    const messages = lines.map((line) => JSON.parse(line) as { level: string; msg: string });
    assert.deepEqual(
      messages.map(({ level }) => level),
      Array(4).fill("warn"),
    );
    assert.equal(messages[0]!.msg, "ORRERY_RATE_LIMT is not a setting; did you mean ORRERY_RATE_LIMIT?");
    assert.equal(messages[2]!.msg, "ORRERY_COLOUR is not a setting");
  });
});

describe("a snapshot that changes while it is read", () => {
  const counts = { rows: 0 };
  const store = { id: "g", contents: "c", users: counts, worlds: counts, instances: counts };
  const changed = { ok: false, problems: ["changed"], fingerprint: undefined, changed: true } as const;

  /** The level of the line that a reload of such a snapshot makes. */
  async function levelOf(isWatched: boolean): Promise<string> {
    const lines: string[] = [];
    let isFirst = true;
    const keeper = await SnapshotKeeper.open(
      {
        folder,
        allowShrink: false,
        observe: createLog("info", { write: (line: string) => lines.push(line) }),
        load: async () => {
          if (!isFirst) return changed;
          isFirst = false;
          return {
            ok: true,
            store: store as unknown as Store,
            search: {} as never,
            index: {} as never,
            reports: [],
            cacheBytes: 0,
            bytes: 0,
            readMs: 0,
            packMs: 0,
            indexMs: 0,
            fingerprint: "",
            retire: () => {},
          } as never;
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
