/** Which runtimes are refused, and how: the oldest Node is the one that package.json names. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { OLDEST_NODE, whyNotHere } from "../src/install/runtime.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

it("a demo that has no place for its keys says so in one line", () => {
  const env = { ...process.env, TMPDIR: join(ROOT, "package.json") };
  const { status, stderr } = spawnSync(process.execPath, ["dist/main.js", "demo"], {
    cwd: ROOT,
    env,
    encoding: "utf8",
  });
  assert.match(stderr, /^orrery: cannot write to the temporary folder [^\n]* \(ENOTDIR\)\n$/);
  assert.equal(status, 1);
});

describe("a runtime", () => {
  it("is Node from the version that package.json names, Bun or Deno", () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    assert.equal(engines.node, `>=${OLDEST_NODE}`);
    for (const node of ["20.19.0", "20.20.2", "21.0.0", "24.1.0", "100.0.0"]) {
      assert.equal(whyNotHere({ node }), "", node);
    }
    for (const node of ["20.18.3", "20.2.0", "18.20.8", "9.30.0", "0.10.48"]) {
      assert.equal(
        whyNotHere({ node }),
        `needs Node ${OLDEST_NODE} or newer, Bun 1.2.3 or newer, or Deno; this is Node ${node}`,
      );
    }
    for (const bun of ["1.2.3", "1.2.10", "1.4.5", "2.0.0"])
      assert.equal(whyNotHere({ node: "18.0.0", bun }), "", bun);
    for (const bun of ["1.2.2", "1.1.40", "0.8.1"]) {
      assert.match(whyNotHere({ node: "22.0.0", bun }), new RegExp(`; this is Bun ${bun}$`));
    }
    assert.equal(whyNotHere({ deno: "2.0.0" }), "");
    assert.match(whyNotHere({}), /; this is none of them$/);
  });

  for (const [what, version] of [
    ["too old", '"18.20.8"'],
    ["unknown", "undefined"],
  ]) {
    it(`that is ${what} is told in one line, with status 2; the library throws`, () => {
      const code = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: ${version} } });`;
      const pretend = `data:text/javascript,${encodeURIComponent(code)}`;
      const start = (...args: string[]) =>
        spawnSync(process.execPath, ["--import", pretend, ...args], { cwd: ROOT, encoding: "utf8" });
      for (const file of ["bin/orrery.mjs", "dist/main.js"]) {
        const { status, stdout, stderr } = start(file, "--version");
        assert.match(stderr, /^orrery: needs Node [^\n]* this is (Node 18\.20\.8|none of them)\n$/, file);
        assert.deepEqual({ status, stdout }, { status: 2, stdout: "" }, file);
      }
      const { status, stderr } = start("dist/mod.js");
      assert.notEqual(status, 0);
      assert.match(stderr, /^Error: orrery needs Node [^\n]* this is /m);
    });
  }
});
