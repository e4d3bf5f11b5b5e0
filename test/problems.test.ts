/** Problems in the status: each from its beginning to its end, and none of a healthy server. */

import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Health } from "../src/admin/health.ts";
import { PROBLEM_KINDS } from "../src/admin/status.ts";
import { limitsStatus } from "../src/admin/status-reply.ts";
import type { SharedLimits } from "../src/auth/shared.ts";
import { PROGRAM } from "../src/features.ts";
import type { EventRow, Observation } from "../src/observe/events.ts";
import { type LoadedSearchable, loadHere, type Serving } from "../src/server/load/loader.ts";
import { loadedObservation } from "../src/server/load/served.ts";
import { temporaryFolder, world, writeSnapshot } from "./support/folders.ts";
import { OBSERVATIONS } from "./support/observations.ts";
import { prepare } from "./support/prepared.ts";

const NOW = Date.parse("2026-11-23T12:00:00Z");

const exampleOf = (kind: Observation["kind"]): Observation => OBSERVATIONS.find((one) => one.kind === kind)!;
const LOADED = exampleOf("snapshot-loaded");
const UNCHANGED = exampleOf("snapshot-unchanged");
const REFUSED = exampleOf("snapshot-refused");

function watched(t: TestContext, maxDataAge = 0) {
  t.mock.timers.enable({ apis: ["Date"], now: NOW });
  const health = new Health({ maxDataAge }, PROGRAM.tables.events);
  const see = (...observations: readonly Observation[]): void => {
    for (const observation of observations) health.observe(observation);
  };
  see({ kind: "listening", url: "http://x/", generation: "g" });
  const kinds = (): string[] => health.problems().map(({ kind }) => kind);
  const begins = (): string[] => health.problems().map(({ kind, since }) => `${kind} ${since}`);
  const pass = (ms: number): void => t.mock.timers.setTime(Date.now() + ms);
  return { health, see, kinds, begins, pass };
}

describe("problems", () => {
  it("are none of a server that is well", (t) => {
    const { health, kinds, see } = watched(t);
    see(LOADED, UNCHANGED, exampleOf("keys-loaded"), exampleOf("keys-unchanged"));
    see({ ...REFUSED, changing: true } as Observation);
    assert.deepEqual(kinds(), []);
    assert.equal(health.loads[0]!.result, "changing", "the status tells it from a refusal");
    assert.deepEqual(Object.keys(health.problemCounts()), [...PROBLEM_KINDS]);
    const known: readonly string[] = PROBLEM_KINDS;
    for (const [kind, { problem, ends = kind }] of Object.entries<EventRow<never>>(PROGRAM.tables.events))
      if (problem || ends !== kind) assert.ok(known.includes(ends), kind);
  });

  it("a refused snapshot lasts until a load takes one, or finds the served files again", (t) => {
    for (const end of [LOADED, UNCHANGED]) {
      const { health, kinds, see, pass } = watched(t);
      see(REFUSED);
      pass(5000);
      see({ ...REFUSED, problems: ["other"] } as Observation);
      const [problem] = health.problems();
      assert.equal(problem!.since, new Date(NOW).toISOString(), "since the first of them");
      assert.match(problem!.message, /generation g is still served: other$/);
      assert.equal(health.problemCounts()["snapshot-refused"], 1);
      health.confirmed(0);
      assert.deepEqual(kinds(), ["snapshot-refused"], "a check does not end it");
      see(end);
      assert.deepEqual(kinds(), []);
      t.mock.timers.reset();
    }
  });

  it("refused keys last until the file can be used, whether it holds something new or not", (t) => {
    for (const kind of ["keys-loaded", "keys-unchanged"] as const) {
      const { health, kinds, see } = watched(t);
      see({ kind: "keys-refused", problem: "k.json: not valid JSON" }, LOADED);
      health.confirmed(0);
      assert.deepEqual(kinds(), ["keys-refused"]);
      assert.match(health.problems()[0]!.message, /k\.json: not valid JSON/);
      see({ kind, keys: 1, added: 0, changed: 0, removed: 0 });
      assert.deepEqual(kinds(), []);
      t.mock.timers.reset();
    }
  });

  it("a source that cannot be used, a log that cannot be written, shared limits without their server", (t) => {
    const { health, kinds, see } = watched(t);
    for (const [begin, end, message] of [
      ["source-failed", "source-recovered", /no answer/],
      ["log-failed", "log-recovered", /ENOSPC/],
      ["limits-away", "limits-back", /connection refused/],
    ] as const) {
      see(exampleOf(begin), LOADED, UNCHANGED, exampleOf("keys-loaded"));
      assert.deepEqual(kinds(), [begin]);
      assert.match(health.problems()[0]!.message, message);
      see(exampleOf(end));
      assert.deepEqual(kinds(), []);
    }
  });

  for (const [what, fault, text] of [
    ["log lines that were dropped", { kind: "log-lines-dropped", count: 2 }, /^Log lines were dropped/],
    [
      "threads that died",
      { kind: "thread-died", role: "serving", cause: "no memory" },
      /serving.*: no memory\./,
    ],
  ] as const) {
    it(`${what}, for ten minutes after the last one`, (t) => {
      const { health, kinds, see, pass } = watched(t);
      see(fault);
      pass(599_000);
      see(fault);
      pass(599_000);
      const [{ since, message } = assert.fail()] = health.problems();
      assert.equal(since, new Date(NOW).toISOString());
      assert.match(message, text);
      pass(2000);
      assert.deepEqual(kinds(), []);
      see(fault);
      assert.equal(health.problems()[0]!.since, new Date(NOW + 1_200_000).toISOString());
    });
  }

  it("worlds of which none is visible, until one is or there are none", (t) => {
    const { health, kinds, begins, see, pass } = watched(t);
    const [hidden] = OBSERVATIONS.filter((one) => one.kind === "snapshot-loaded" && one.hiddenWorlds > 0);
    assert.ok(hidden?.kind === "snapshot-loaded");
    for (const end of [LOADED, { ...hidden, hiddenWorlds: 0 }]) {
      const since = new Date().toISOString();
      see(hidden);
      pass(1000);
      see(hidden, UNCHANGED);
      assert.deepEqual(begins(), [`worlds-hidden ${since}`]);
      assert.match(health.problems()[0]!.message, /rows: 12/);
      see(end);
      assert.deepEqual(kinds(), []);
    }
  });

  it("data of long ago, since they are too old; and data of nobody knows when", (t) => {
    const { health, kinds, begins, see } = watched(t, 60);
    see(LOADED);
    health.confirmed(0, "2026-11-23T11:58:30Z");
    assert.deepEqual(begins(), ["data-stale 2026-11-23T11:59:30.000Z"]);
    health.isDraining = true;
    assert.deepEqual(kinds(), [], "a stop is no problem");
    health.isDraining = false;
    health.confirmed(0, "2026-11-23T11:59:30Z");
    assert.deepEqual(kinds(), []);
    health.confirmed(0, "2026-11-23T12:05:00Z");
    assert.deepEqual(kinds(), [], "clocks may differ by five minutes");
    health.confirmed(0, "2026-11-30T12:00:00Z");
    assert.deepEqual(kinds(), ["data-ahead"]);
    assert.match(health.problems()[0]!.message, /604800 s ahead/);
    health.confirmed(0);
    assert.deepEqual(kinds(), ["data-undated"]);
    assert.equal(health.readiness().status, "ready");
  });
});

it("hidden worlds are counted in rows, in rows that are used again, and in a prepared file", async (t) => {
  const folder = temporaryFolder(t);
  const worlds = [world(1, { status: "DRAFT" }), world(2, { status: "DRAFT" })];
  const rows = writeSnapshot(join(folder, "rows"), { "worlds.ndjson": worlds, "instances.ndjson": "" });
  const loaded = async (from: string, serving?: Serving): Promise<LoadedSearchable> => {
    const result = await loadHere(from, { previous: serving });
    assert.ok(result.ok);
    return result;
  };
  const first = await loaded(rows);
  await prepare(rows, join(folder, "prepared"));
  appendFileSync(join(rows, "users.ndjson"), "\n");
  for (const one of [first, await loaded(rows, first), await loaded(join(folder, "prepared"))]) {
    const observation = loadedObservation(one, 1);
    assert.ok(observation.kind === "snapshot-loaded");
    assert.deepEqual([observation.hiddenWorlds, observation.counts.worlds], [2, 0]);
  }
});

describe("shared limits", () => {
  it("say since when the server is away, and how often it was lost", () => {
    const told = { since: new Date(NOW).toISOString(), losses: 2, problem: "late", replicas: 3 };
    const figures = { asks: 9, failures: 2, waited: 5, alone: 3, refused: 1 };
    const limits = { ...told, server: "cache:6379", figures: () => figures } as unknown as SharedLimits;
    const requests = { alone: 3, refused: 1 };
    assert.deepEqual(limitsStatus(limits), { ...told, shared: true, server: "away", requests });
    assert.equal(limitsStatus({ ...limits, problem: null }).server, "reachable");
  });
});
