/** An installation with a missing or truncated file: any command prints one line about it and exits with status 1. */

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { within } from "../support/patience.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { type Outcome, start } from "../support/process.ts";
import { ROOT } from "../support/program.ts";
import { findNode, lacking } from "../support/runtimes.ts";

const folder = temporaryFolder();
const installed = join(folder, "installed");

/** Its threads can share a port. */
const node = findNode(24);
const current = "path" in node ? node.path : "";
const keys = writeKeys(join(folder, "served.json"), keyRecord(TOKEN));

/** The installed program, without the other files of a checkout. */
function install(): void {
  mkdirSync(installed);
  for (const part of ["bin", "dist", "data", "package.json"]) {
    const filter = (file: string): boolean => !/\.map$|\/types$|\/orrery$/.test(file);
    cpSync(join(ROOT, part), join(installed, part), { recursive: true, filter });
  }
  symlinkSync(join(ROOT, "node_modules"), join(installed, "node_modules"));
}

/** Runs the program in a broken installation. @param file the file to remove, or to replace by the result of `harm` */
async function runWithout(file: string, args: readonly string[], harm?: (text: string) => string) {
  const [path, saved] = [join(installed, file), join(folder, "saved")];
  renameSync(path, saved);
  if (harm !== undefined) writeFileSync(path, harm(readFileSync(saved, "utf8")));
  try {
    return await run(args);
  } finally {
    rmSync(path, { force: true });
    renameSync(saved, path);
  }
}

/** Runs the program to its end; kills it and gives undefined if it serves. */
async function run(args: readonly string[]): Promise<Outcome | undefined> {
  const program = start(["bin/orrery.mjs", ...args], {}, [current], { cwd: installed });
  const isServing = (): boolean => program.stdout().includes(" listening on ");
  program.child.stdout!.on("data", () => isServing() && program.child.kill("SIGKILL"));
  const ended = await within(program.ended, args.join(" ")).finally(program.kill);
  return isServing() ? undefined : { ...ended, stdout: program.stdout(), stderr: program.stderr() };
}

/** It must have ended with status 1 and one line besides the log's. */
function assertTold(outcome: Outcome | undefined, line: RegExp, what: string): void {
  assert.ok(outcome, `it serves without ${what}`);
  const { status, stdout, stderr } = outcome;
  const said = stderr.replaceAll(/^\{.*\}\n/gm, "");
  assert.match(said, /^[^\n]+\n$/, `${what}: ${stderr}`);
  assert.match(said, line, what);
  assert.deepEqual({ status, stdout }, { status: 1, stdout: "" }, what);
}

const DAMAGED = /the installation is damaged, install it again: /;

const PORT = ["--port", "0"];

/** A command line that needs the files of a server. */
const SERVE = [
  ..."serve --snapshot data/sample --port 0 --log-level error --threads 2 --keys".split(" "),
  keys,
];

/** The files that a start of a server names. */
const ENTRIES = ["main.js", "program.js", "generation-thread.js", "serving-thread.js"];

describe("a damaged installation", { skip: lacking(node) }, () => {
  before(install);

  it("lacks one file of dist/ that a server needs", async () => {
    for (const file of ENTRIES) assertTold(await runWithout(`dist/${file}`, SERVE), DAMAGED, file);
  });

  for (const [what, harm] of [
    ["is empty", () => ""],
    ["is cut off", (text: string) => text.slice(0, 700)],
  ] as const) {
    it(`has a file that ${what}`, async () => {
      for (const file of ENTRIES) {
        assertTold(await runWithout(`dist/${file}`, SERVE, harm), /damaged|thread died: /, file);
      }
    });
  }

  it("lacks the sample, a part of it, package.json, or all of dist/", async () => {
    for (const [file, args, line] of [
      ["data/sample", ["demo", ...PORT], /sample/],
      ["data/sample/users.ndjson", ["demo", ...PORT], /users\.ndjson/],
      ["data/sample/manifest.json", ["demo", ...PORT], undefined],
      ["package.json", ["--version"], DAMAGED],
      ["dist", ["--version"], DAMAGED],
    ] as const) {
      const outcome = await runWithout(file, args);
      if (line === undefined) assert.equal(outcome, undefined, file);
      else assertTold(outcome, line, file);
    }
  });
});
