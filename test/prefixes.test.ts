/** Prefixes of tokens that will not do: the message names where they were set. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Environment, readPrefixes, UsageError } from "../src/cli/options.ts";
import { openOrrery } from "../src/mod.ts";
import { optionsOf } from "./support/options.ts";

function problem(args: readonly string[], environment: Environment = {}): string {
  try {
    readPrefixes(optionsOf("serve", ["--snapshot", "s", "--keys", "k", ...args], environment));
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  return assert.fail("nothing is wrong");
}

const ASCII = "must be visible ASCII without spaces, is";

test("of a command by flag or variable", () => {
  assert.equal(problem(["--cli-token-prefix", "a b"]), `--cli-token-prefix: ${ASCII} "a b"`);
  assert.equal(problem(["--api-key-prefix", "schlüssel_"]), `--api-key-prefix: ${ASCII} "schlüssel_"`);
  assert.equal(problem([], { ORRERY_API_KEY_PREFIX: "a b" }), `ORRERY_API_KEY_PREFIX: ${ASCII} "a b"`);
  assert.equal(
    problem(["--api-key-prefix", "tok"], { ORRERY_CLI_TOKEN_PREFIX: "tok_" }),
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
