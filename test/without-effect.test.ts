/** Settings that do nothing, on Bun or without another one: whoever gives one is told. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Environment, readOptions } from "../src/cli/options.ts";
import { reportWithoutEffect } from "../src/cli/serve.ts";
import type { Observation } from "../src/observe.ts";

function told(args: readonly string[], environment: Environment = {}, isBun = true): Observation[] {
  const options = readOptions("serve", ["--snapshot", "s", "--keys", "k", ...args], environment, []);
  const observed: Observation[] = [];
  reportWithoutEffect(options, (observation) => observed.push(observation), isBun);
  return observed;
}

test("settings without effect are told by flag or variable, those that were given alone", () => {
  const given = ["--socket-timeout", "30", "--keep-alive-timeout", "5"];
  const variables = { ORRERY_HEADERS_TIMEOUT: "3", ORRERY_REQUEST_TIMEOUT: "" };
  assert.deepEqual(told(given, variables), [
    {
      kind: "settings-without-effect",
      settings: ["ORRERY_HEADERS_TIMEOUT", "--socket-timeout"],
      why: "on Bun",
    },
  ]);
  assert.deepEqual(told(["--keep-alive-timeout", "5"]), []);
  assert.deepEqual(told(given, variables, false), [], "elsewhere they do what they say");
});

test("settings of what is off are told, with what turns it on", () => {
  const kind = "settings-without-effect" as const;
  assert.deepEqual(told(["--max-age", "5"], { ORRERY_ACCESS_LOG_SAMPLE: "100" }, false), [
    { kind, settings: ["--max-age"], why: "without --admin" },
    { kind, settings: ["ORRERY_ACCESS_LOG_SAMPLE"], why: "without --access-log" },
  ]);
  const on = ["--max-age", "5", "--admin", "8788", "--replicas", "2", "--shared-limits", "redis://h"];
  assert.deepEqual(told(on, {}, false), []);
});
