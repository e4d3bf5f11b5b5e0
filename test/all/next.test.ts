/** The recipe for Next: a build without data, a standalone server, and edits under `next dev`. */

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { within } from "../support/patience.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { environment, start, until } from "../support/process.ts";
import { ROOT } from "../support/program.ts";
import { EXAMPLES, installRecipes, lacksRecipes, run } from "./support/recipes.ts";

const folder = temporaryFolder();
const place = join(folder, "project");
const route = join(place, "app/api/public/v1/[[...path]]/route.ts");
const NEXT = join(place, "node_modules/next/dist/bin/next");
const keys = join(folder, "keys.json");
const DATA = { SNAPSHOT: join(ROOT, "data/sample"), KEYS: keys };
const TOKEN = "svcx_of-the-next-test";
const PATIENCE = { timeout: 240_000 };

/** Starts a server of the project, and asks it for paths below the API's base path. */
async function serve(t: TestContext, cwd: string, file: string, ...args: string[]) {
  const port = String(await freePort());
  const variables = { ...DATA, PORT: port, HOSTNAME: "127.0.0.1", NEXT_TELEMETRY_DISABLED: "1" };
  const server = start([file, ...args], variables, [process.execPath], { cwd });
  t.after(async () => {
    // `next dev` ends its own child when it is asked to.
    server.child.kill("SIGTERM");
    await within(server.ended, "the stop of Next").catch(server.kill);
  });
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/api/public/v1/${path}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
      ...init,
    });
  await until(() => ask("stats").catch(() => undefined), "Next listens");
  return { ask, pid: server.child.pid!, said: () => server.stdout() + server.stderr() };
}

/** Builds with a configuration, and copies what is to be deployed to a place of its own. */
async function standalone(name: string): Promise<string> {
  const env = environment({ NEXT_TELEMETRY_DISABLED: "1" });
  await run(process.execPath, [NEXT, "build"], { cwd: place, env });
  const deployed = join(folder, name);
  cpSync(join(place, ".next/standalone"), deployed, { recursive: true, verbatimSymlinks: true });
  return deployed;
}

/** The number of threads of a process and its children. A replica has one, for similar search. */
function threadsOf(pid: number): number {
  const below = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  const all = [pid, ...below.filter((id) => id > 0)];
  return all.reduce((sum, id) => sum + readdirSync(`/proc/${id}/task`).length, 0);
}

describe("Next", { skip: lacksRecipes }, () => {
  before(async () => {
    await installRecipes(folder);
    mkdirSync(join(route, ".."), { recursive: true });
    cpSync(join(EXAMPLES, "next/route.ts"), route);
    cpSync(join(EXAMPLES, "next/next.config.mjs"), join(place, "next.config.mjs"));
    writeKeys(keys, keyRecord(TOKEN));
  });

  it("builds without data, and a standalone server answers by the package", PATIENCE, async (t) => {
    const { ask } = await serve(t, await standalone("deployed"), "server.js");
    const stats = await ask("stats");
    assert.equal(stats.status, 200);
    assert.match(await stats.text(), /"totalUsers":2000/);
    assert.equal((await ask("stats", { headers: {} })).status, 401);
    const condition = { authorization: `Bearer ${TOKEN}`, "if-none-match": stats.headers.get("etag")! };
    assert.equal((await ask("stats", { headers: condition })).status, 304);
    assert.equal((await ask("stats", { method: "HEAD" })).status, 200);
    const missing = await ask("worldz");
    assert.deepEqual([missing.status, await missing.json()], [404, { error: "Not found" }]);
    assert.equal((await ask("stats", { method: "PATCH" })).headers.get("allow"), "GET, HEAD, OPTIONS");
    // The thread for similar names starts from the copied package, too.
    await until(async () => {
      const found = await ask("users/search?q=vaisam&match=similar");
      return (await found.text()).endsWith(`"match":"similar"}`) ? found : undefined;
    }, "similar search answers");
  });

  it("has one replica under `next dev`, whatever is edited", PATIENCE, async (t) => {
    const { ask, pid } = await serve(t, place, NEXT, "dev");
    const text = readFileSync(route, "utf8");
    t.after(() => writeFileSync(route, text));
    const edit = async (number: number): Promise<void> => {
      const edited = `.then((reply) => (reply.headers.set("x-edit", "${number}"), reply))`;
      writeFileSync(route, text.replace(".fetch(request)", `.fetch(request)${edited}`));
      await until(async () => {
        const reply = await ask("stats");
        return reply.status === 200 && reply.headers.get("x-edit") === String(number) ? reply : undefined;
      }, `edit ${number} is served`);
    };
    for (let number = 1; number <= 5; number++) await edit(number);
    const before = threadsOf(pid);
    const edits = 20;
    for (let number = 6; number <= 5 + edits; number++) await edit(number);
    const after = threadsOf(pid);
    // Next's own pool of threads grows and shrinks.
    assert.ok(after < before + edits / 2, `${before} threads, then ${after}`);
  });

  it("says which setting is missing where the package is bundled", PATIENCE, async (t) => {
    const file = join(place, "next.config.mjs");
    const text = readFileSync(file, "utf8");
    t.after(() => writeFileSync(file, text));
    writeFileSync(file, text.replace(', serverExternalPackages: ["orrery"]', ""));
    const { ask, said } = await serve(t, await standalone("bundled"), "server.js");
    assert.equal((await ask("stats")).status, 503);
    assert.match(said(), /SnapshotError.*serverExternalPackages: \["orrery"\]/);
  });
});
