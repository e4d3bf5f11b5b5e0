/** Refused runtimes, a damaged installation, and the handover of signals. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it, test } from "node:test";
import { pathToFileURL } from "node:url";
import { openConsole } from "../src/cli/console.ts";
import { takeSignals } from "../src/cli/serve.ts";
import { OLDEST_NODE, whyNotHere } from "../src/install/runtime.mjs";
import { observeNothing } from "../src/observe/events.ts";
import { deferSignals, IGNORED_SIGNALS, STOP_SIGNALS } from "../src/util/process/early-signals.ts";
import { damageOf } from "../src/util/system-error.ts";
import { temporaryFolder } from "./support/folders.ts";
import { NO_IO } from "./support/inside.ts";
import { ROOT } from "./support/program.ts";

it("a demo that has no place for its keys says so in one line", () => {
  const env = { ...process.env, TMPDIR: join(ROOT, "package.json") };
  const options = { cwd: ROOT, env, encoding: "utf8" } as const;
  const { status, stderr } = spawnSync(process.execPath, ["dist/main.js", "demo"], options);
  assert.match(stderr, /^orrery: cannot write to the temporary folder [^\n]* \(ENOTDIR\)\n$/);
  assert.equal(status, 1);
});

describe("a runtime", () => {
  it("is Node from the version that package.json names, Bun or Deno", () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    assert.equal(engines.node, `>=${OLDEST_NODE}`);
    const needed = `needs Node ${OLDEST_NODE} or newer, Bun 1.2.3 or newer, or Deno; this is`;
    for (const node of ["20.19.0", "20.20.2", "21.0.0", "24.1.0", "100.0.0"])
      assert.equal(whyNotHere({ node }), "", node);
    for (const node of ["20.18.3", "20.2.0", "18.20.8", "9.30.0", "0.10.48"])
      assert.equal(whyNotHere({ node }), `${needed} Node ${node}`);
    for (const bun of ["1.2.3", "1.2.10", "1.4.5", "2.0.0"])
      assert.equal(whyNotHere({ node: "18.0.0", bun }), "", bun);
    for (const bun of ["1.2.2", "1.1.40", "0.8.1"])
      assert.equal(whyNotHere({ node: "22.0.0", bun }), `${needed} Bun ${bun}`);
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

const folder = temporaryFolder({ after });

/** The error of an import of a file with the given text. */
async function errorOf(name: string, text: string): Promise<unknown> {
  const file = join(folder, name);
  writeFileSync(file, text);
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("damage of the installation", () => {
  for (const [name, text] of [
    ["cut-off.mjs", "export function start() {\n"],
    ["names-nothing.mjs", 'import { nothing } from "node:path";'],
    ["imports-nothing.mjs", 'import "./nowhere.mjs";'],
  ] as const) {
    it(`is told of ${name}`, async () => {
      assert.match(
        String(damageOf(await errorOf(name, text))),
        /^the installation is damaged, install it again: ./,
      );
    });
  }

  it("is not what a file throws by itself", async () => {
    assert.equal(damageOf(await errorOf("parses.mjs", 'JSON.parse("{");')), undefined);
    assert.equal(damageOf(await errorOf("throws.mjs", "throw new SyntaxError('no');")), undefined);
    assert.equal(damageOf(await errorOf("calls.mjs", "undefined.start();")), undefined);
  });
});

test("from the first listener on there is always one, and in the end one of each signal", (t) => {
  const signals = [...STOP_SIGNALS, "SIGHUP", ...IGNORED_SIGNALS];
  const without: string[] = [];
  const removed = (name: string | symbol): void => {
    if (process.listenerCount(name) === 0) without.push(String(name));
  };
  t.after(() => {
    process.off("removeListener", removed);
    for (const signal of signals) process.removeAllListeners(signal);
  });
  // As in `launch.mjs`.
  for (const signal of signals) process.on(signal, () => {});
  process.on("removeListener", removed);

  const haveOneEach = (): void => {
    for (const signal of signals) assert.equal(process.listenerCount(signal), 1, signal);
  };
  deferSignals(() => assert.fail("it ended the process"));
  haveOneEach();
  takeSignals(NO_IO, { console: openConsole(), observe: observeNothing });
  haveOneEach();
  assert.deepEqual(without, []);
});
