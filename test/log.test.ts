/** The log: one line an observation, JSON or plain, and nothing secret. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { event } from "../src/observe/event.ts";
import type { Observe } from "../src/observe/events.ts";
import { createLog } from "../src/observe/log/log.ts";
import { OBSERVATIONS } from "./support/observations.ts";

function logged(level: string, isTTY: boolean): string[] {
  const lines: string[] = [];
  const observe = createLog(level, { isPretty: isTTY, write: (text: string) => lines.push(text) });
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
    const line = logged("info", false).find((text) => text.includes('"event":"defect"'))!;
    assert.match(line, /boom/);
    assert.doesNotMatch(line, /canary/);
  });

  it("leaves out what is below its level", () => {
    assert.equal(logged("error", false).length, 13 + 3);
    assert.equal(logged("warn", false).length, 25 + 3);
  });

  it("writes requests, and that lines were dropped, at any level", () => {
    const events = logged("silent", false).map((line) => (JSON.parse(line) as { event: string }).event);
    assert.deepEqual([...new Set(events)], ["request", "log-lines-dropped"]);
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
    const observe = createLog("info", { isPretty: true, write: (text: string) => lines.push(text) });
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
    const observe = createLog("info", { isPretty: true, write: (text: string) => lines.push(text) });
    observe({ kind: "keys-refused", problem: "\u001b[2J\u009b2J\n" });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    assert.doesNotMatch(lines[0]!.slice(0, -1), /[\u0000-\u001f\u007f-\u009f]/);
  });
});

/** Never called: the compiler checks it. */
function misspell(observe: Observe): void {
  // @ts-expect-error a kind that is none
  observe({ kind: "key-loaded", keys: 1 });
  // @ts-expect-error a field that is none
  observe({ kind: "keys-loaded", key: 1 });
  // @ts-expect-error a field that the line has of its own
  event<{ level: string }>({ level: "info", text: "", meaning: "" });
  // @ts-expect-error a metric that is none
  event<object>({ level: "info", text: "", meaning: "", counts: { load: "loaded" } });
  // @ts-expect-error a value that the metric's label does not have
  event<object>({ level: "info", text: "", meaning: "", counts: { loads: "lost" } });
  // @ts-expect-error a field that the event does not have
  event<{ ms: number }>({ level: "info", text: ({ us }) => `${us}`, meaning: "" });
}
void misspell;
