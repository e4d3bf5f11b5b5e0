/** The server on Bun does everything that it does on Node. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { start } from "../support/process.ts";
import { findRuntime } from "../support/runtimes.ts";
import { describeSameAsOnNode } from "./support/runtime-suite.ts";

const { runtime, missing } = findRuntime("bun");

describeSameAsOnNode("Bun", runtime, missing);

describe("a host that there is not, on Bun", { skip: missing }, () => {
  for (const port of ["0", "8787"]) {
    it(`is told in one line, port ${port}`, async () => {
      const files = ["--snapshot", "data/sample", "--keys", "none"];
      const host = ["--host", "no.such.host.invalid", "--port", port];
      const server = start(["serve", ...files, ...host], {}, [...runtime, "dist/main.js"]);
      const { status } = await server.ended;
      assert.equal(status, 1);
      const said = server.stderr().replaceAll(/^\{.*\}\n/gm, "");
      assert.match(
        said,
        /^orrery: cannot listen on no\.such\.host\.invalid port \d+: [^\n]*ENOTFOUND[^\n]*\n$/,
      );
    });
  }
});
