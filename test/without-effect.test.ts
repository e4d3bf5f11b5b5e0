/** Settings that do nothing without another one: a warning names them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Environment, WithoutEffect } from "../src/cli/options.ts";
import { optionsOf } from "./support/options.ts";

function told(args: readonly string[], environment: Environment = {}): readonly WithoutEffect[] {
  return optionsOf("serve", ["--snapshot", "s", "--keys", "k", ...args], environment).withoutEffect;
}

test("settings of what is off are told, with what turns it on", () => {
  assert.deepEqual(told(["--max-age", "5"], { ORRERY_ACCESS_LOG_SAMPLE: "100" }), [
    { settings: ["--max-age"], why: "without --admin" },
    { settings: ["ORRERY_ACCESS_LOG_SAMPLE"], why: "without --access-log" },
  ]);
  const on = ["--max-age", "5", "--admin", "8788", "--replicas", "2", "--shared-limits", "redis://h"];
  assert.deepEqual(told(on, {}), []);
});
