/** The program as one executable file: it needs no other file, and passes the suites of processes and of HTTP. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { get, type Program, served, start, until } from "../support/process.ts";
import { ROOT } from "../support/program.ts";
import { assertPassesOn, findNode, lacking } from "../support/runtimes.ts";

const folder = temporaryFolder();
const binary = join(folder, "orrery");
const empty = join(folder, "empty");

/** Suites of processes that it must pass as the installed program does, and which tests of one that runs few processes. */
const SUITES: Readonly<Record<string, { readonly pattern?: string }>> = {
  conformance: {},
  keys: { pattern: "where standard output is|ends with status 1" },
  "all/process": {},
  "all/outputs": {},
};

const node = findNode(24);

/** Runs it with an empty environment, without even a PATH. */
function run(...args: readonly string[]): string {
  const ran = spawnSync(binary, args, { cwd: empty, env: {}, encoding: "utf8" });
  assert.equal(ran.status, 0, `${args.join(" ")}: ${ran.stderr}`);
  return ran.stdout;
}

const startAlone = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Program =>
  start(args, {}, [binary], { cwd: empty, env });

/** Number of V8's threads besides the program's own. */
function helpersOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((id) =>
    readFileSync(`/proc/${pid}/task/${id}/comm`, "utf8").trim(),
  );
  return threads.filter((name) => name === "V8Worker").length;
}

let warnings: readonly string[] = [];

describe("the program as one file", { skip: lacking(node) }, () => {
  before(() => {
    mkdirSync(empty);
    const build = join(ROOT, "tools/build-binary.ts");
    const made = spawnSync(process.execPath, ["--import", "tsx", build, "--out", binary], {
      cwd: ROOT,
      encoding: "utf8",
    });
    assert.equal(made.status, 0, made.stderr);
    // npm's warnings about its own settings are not the build's.
    warnings = made.stderr.split("\n").filter((line) => /^warning|^\W*\[WARNING\]/i.test(line));
  });
  it("is built without a warning", () => {
    // Without binutils the compiler's notes stay, with a warning for each.
    if (spawnSync("strip", ["--version"]).status === 0) assert.deepEqual(warnings, []);
  });

  it("has every command, in an empty folder and without an environment", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    assert.equal(run("--version"), `${version}\n`);
    assert.match(run("--help"), /\bserve\b[\s\S]*\bopenapi\b/);
    assert.equal(typeof JSON.parse(run("openapi")), "object");
    run("generate", "--out", "rows", "--users", "300", "--worlds", "60", "--instances", "9");
    assert.match(run("check", "rows"), /users\.ndjson +300 /);
    assert.match(run("keys", "create", "--keys", "keys.json", "--name", "n"), /^svc_sk_/);
    const id = /key_\w+/.exec(run("keys", "list", "--keys", "keys.json"))![0];
    for (const verb of ["disable", "enable"]) run("keys", verb, id, "--keys", "keys.json");
    // The PostgreSQL client is built in.
    const from = ["--postgres", "postgres://127.0.0.1:1/x", "--out", "exported"];
    const ran = spawnSync(binary, ["export", ...from], { cwd: empty, env: {}, encoding: "utf8" });
    assert.match(ran.stderr, /^orrery: PostgreSQL at 127\.0\.0\.1:1: connection refused \(ECONNREFUSED\)\n$/);
    assert.deepEqual(readdirSync(empty).sort(), ["keys.json", "rows"]);
  });

  it("serves its sample, whose copy is gone when it ends", async () => {
    const temporary = join(folder, "temporary");
    mkdirSync(temporary);
    const server = await served(startAlone(["demo", "--port", "0"], { TMPDIR: temporary }));
    const [, token, url] = await until(
      () => /Bearer ([^']+)' '([^']+)'/.exec(server.stdout()),
      "the example of a request",
    );
    const reply = await get(url!, { token });
    assert.equal(reply.status, 200);
    assert.equal((JSON.parse(reply.text) as { data: unknown[] }).data.length, 3);
    const { generation: wanted } = JSON.parse(
      readFileSync(join(ROOT, "data/sample/manifest.json"), "utf8"),
    ) as { generation: string };
    assert.equal(server.generation, wanted);
    assert.equal(readdirSync(temporary).length, 1);
    await server.stop();
    assert.deepEqual(readdirSync(temporary), []);
  });

  it("serves with threads, each with V8's one helper", async () => {
    run("generate", "--out", "served", "--users", "300", "--worlds", "60", "--instances", "9");
    const token = run("keys", "create", "--keys", "served.json", "--name", "n").trim();
    // What speaks to the server that counts is in it: otherwise it would not start.
    const more = ["--port", "0", "--threads", "2", "--shared-limits", "redis://127.0.0.1:1"];
    const server = await served(
      startAlone(["serve", "--snapshot", "served", "--keys", "served.json", ...more]),
    );
    assert.match(String((await server.logged("limits-away")).problem), /ECONNREFUSED|refused/);
    const { url } = server;
    for (const target of ["/stats", "/worlds/search?q=a", "/users/search?q=ab"]) {
      assert.equal((await get(url + target, { token })).status, 200, target);
    }
    assert.match((await get(new URL("/docs", url).href, {})).text, /<h1>Public read-only API<\/h1>/);
    if (existsSync("/proc/self/task")) assert.equal(helpersOf(server.child.pid!), 1);
    await server.stop();
  });

  for (const [suite, some] of Object.entries(SUITES)) {
    it(`passes test/${suite}.test.ts`, () =>
      assertPassesOn({ path: process.execPath }, `test/${suite}.test.ts`, {
        ...some,
        variables: { ORRERY_TEST_PROGRAM: binary },
        atLeast: 1,
      }));
  }
});
