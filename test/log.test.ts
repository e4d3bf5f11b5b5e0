/** The log: one line an observation, JSON or plain, and nothing secret. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Observation } from "../src/observe/events.ts";
import { createLog } from "../src/observe/log/log.ts";

const OBSERVATIONS: readonly Observation[] = [
  { kind: "listening", url: "http://127.0.0.1:1", generation: "g" },
  { kind: "stopping", signal: "SIGTERM" },
  { kind: "stopped", ms: 1 },
  {
    kind: "snapshot-loaded",
    generation: "g",
    counts: { users: 1, worlds: 1, instances: 1 },
    bytes: 1,
    ms: 4,
    readMs: 1,
    packMs: 1,
    indexMs: 2,
    read: ["worlds"],
    kept: ["users"],
  },
  { kind: "snapshot-unchanged", generation: "g", ms: 1, read: [], kept: ["users"] },
  { kind: "snapshot-shrunk", table: "users", from: 3, to: 1 },
  { kind: "snapshot-refused", problems: ["users.ndjson:1: id: is missing"], serving: "g" },
  { kind: "search-cache", generation: "g", hits: 1, joined: 0, misses: 1, entries: 1, bytes: 300 },
  { kind: "source-downloaded", generation: "g", files: 1, bytes: 9, reused: 3, ms: 1 },
  { kind: "source-failed", problem: "no answer", copy: "g", ageSeconds: 1, retryMs: 1 },
  { kind: "source-recovered", ms: 1 },
  { kind: "source-damaged", place: "/cache/x" },
  { kind: "similar-ready", generation: "g", names: 2, ms: 1 },
  { kind: "similar-failed", generation: "g", problem: "out of memory", retryMs: 5000 },
  { kind: "thread-died", role: "search", cause: "out of memory" },
  { kind: "thread-replaced", role: "serving", ms: 1 },
  { kind: "connections-refused", limit: 15 },
  { kind: "keys-loaded", keys: 1, added: 1, changed: 0, removed: 0 },
  { kind: "keys-unchanged", keys: 1 },
  { kind: "keys-refused", problem: "keys.json: not valid JSON" },
  { kind: "log-lines-dropped", count: 3 },
  { kind: "key-limited", keyId: "key_1", name: "shop", limit: 10, reset: 3600 },
  { kind: "bad-tokens", client: "127.0.0.1", count: 10, fault: "apiKeyUnknown" },
  { kind: "log-reopened" },
  { kind: "log-reopen-failed", problem: "no such file or directory (ENOENT)" },
  { kind: "state-restored", file: "/state", keys: 1, reset: 3600 },
  { kind: "state-refused", file: "/state", problem: "is empty" },
  { kind: "state-refused", file: "/state", problem: "is of a window that is over", isOld: true },
  { kind: "state-failed", file: "/state", problem: "no space left on device (ENOSPC)" },
  { kind: "state-recovered", file: "/state" },
  { kind: "signal-ignored", signal: "SIGUSR2" },
  { kind: "settings-without-effect", settings: ["--max-age"], why: "without --admin" },
  { kind: "variable-unknown", variable: "ORRERY_PROT", meant: "ORRERY_PORT" },
  {
    kind: "request",
    id: "r",
    method: "GET",
    path: "/api/public/v1/stats",
    route: "/stats",
    status: 200,
    bytes: 10,
    ms: 0.1,
    keyId: "key_1",
  },
  { kind: "defect", where: "/stats", error: Object.assign(new Error("boom"), { token: "svc_sk_canary" }) },
];

function logged(level: string, isTTY: boolean): string[] {
  const lines: string[] = [];
  const observe = createLog(level, { isTTY, write: (text: string) => lines.push(text) });
  for (const observation of OBSERVATIONS) observe(observation);
  return lines;
}

describe("the log", () => {
  it("writes a JSON line an observation, with its fields", () => {
    const lines = logged("info", false).map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(lines.length, OBSERVATIONS.length);
    for (const [at, { kind, ...fields }] of OBSERVATIONS.entries()) {
      const line = lines[at]!;
      assert.equal(line.event, kind);
      assert.equal(typeof line.msg, "string");
      assert.match(String(line.time), /^\d{4}-\d\d-\d\dT/);
      if (kind === "defect") continue;
      for (const [name, value] of Object.entries(fields))
        assert.deepEqual(line[name], value, `${kind} ${name}`);
    }
  });

  it("writes plain lines on a terminal", () => {
    const lines = logged("info", true);
    assert.equal(lines.length, OBSERVATIONS.length);
    assert.match(lines[0]!, /^\d{4}-\S+ INFO +listening .*generation=g\n$/);
    // Problems stand below the line, each on one of its own.
    for (const line of lines) assert.match(line, /^\S[^\n]+\n(?: {2}[^\n]+\n)*$/);
  });

  it("shows of an error its message and stack, and no other property", () => {
    const line = logged("info", false).at(-1)!;
    assert.match(line, /boom/);
    assert.doesNotMatch(line, /canary/);
  });

  it("leaves out what is below its level", () => {
    assert.equal(logged("error", false).length, 7 + 2);
    assert.equal(logged("warn", false).length, 15 + 2);
  });

  it("writes requests, and that lines were dropped, at any level", () => {
    const events = logged("silent", false).map((line) => (JSON.parse(line) as { event: string }).event);
    assert.deepEqual(events, ["log-lines-dropped", "request"]);
  });

  it("warns of a keys file without keys", () => {
    const lines: string[] = [];
    createLog("warn", { write: (text: string) => lines.push(text) })({
      kind: "keys-loaded",
      keys: 0,
      added: 0,
      changed: 0,
      removed: 0,
    });
    assert.equal((JSON.parse(lines[0]!) as { level: string }).level, "warn");
  });

  it("gives a terminal a line for each problem, and names keys and reasons in words", () => {
    const lines: string[] = [];
    const observe = createLog("info", { isTTY: true, write: (text: string) => lines.push(text) });
    const problems = ["users.ndjson:1: id: is missing", "worlds.ndjson:2: not valid\u001b JSON"];
    observe({ kind: "snapshot-refused", problems, serving: "gen-1" });
    const [first, ...below] = lines[0]!.split("\n");
    assert.match(first!, /ERROR snapshot refused, .* serving=gen-1$/);
    assert.deepEqual(below, [`  ${problems[0]}`, "  worlds.ndjson:2: not valid\\u001b JSON", ""]);
    observe({ kind: "key-limited", keyId: "key_1", name: "shop \u0007", limit: 10, reset: 3600 });
    assert.match(lines[1]!, /INFO {2}key key_1 \(shop \\u0007\) has used up its window .*name=shop/);
    observe({ kind: "bad-tokens", client: "127.0.0.1", count: 10, fault: "apiKeyExpired" });
    assert.match(lines[2]!, /the last one: API key has expired .*fault=apiKeyExpired/);
  });

  it("shows a terminal no control characters", () => {
    const lines: string[] = [];
    const observe = createLog("info", { isTTY: true, write: (text: string) => lines.push(text) });
    observe({ kind: "keys-refused", problem: "\u001b[2J\u009b2J\n" });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    assert.doesNotMatch(lines[0]!.slice(0, -1), /[\u0000-\u001f\u007f-\u009f]/);
  });
});
