/** Settings that do nothing without another one: a warning names them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Environment } from "../src/cli/options.ts";
import { reportWithoutEffect } from "../src/cli/serve.ts";
import type { Observation } from "../src/observe/events.ts";
import { optionsOf } from "./support/options.ts";

function told(args: readonly string[], environment: Environment = {}): Observation[] {
  const options = optionsOf("serve", ["--snapshot", "s", "--keys", "k", ...args], environment);
  const observed: Observation[] = [];
  reportWithoutEffect(options, (observation) => observed.push(observation));
  return observed;
}

test("settings of what is off are told, with what turns it on", () => {
  const kind = "settings-without-effect" as const;
  assert.deepEqual(told(["--max-age", "5"], { ORRERY_ACCESS_LOG_SAMPLE: "100" }), [
    { kind, settings: ["--max-age"], why: "without --admin" },
    { kind, settings: ["ORRERY_ACCESS_LOG_SAMPLE"], why: "without --access-log" },
  ]);
  const on = ["--max-age", "5", "--admin", "8788", "--replicas", "2", "--shared-limits", "redis://h"];
  assert.deepEqual(told(on, {}), []);
});
