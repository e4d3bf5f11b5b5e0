/** The thread that loads a generation, and a bundle that lacks its file. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { it, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import { generateSnapshot } from "../src/generate/generate.ts";
import type { Observation } from "../src/mod.ts";
import { indexStore } from "../src/search/search.ts";
import { loadInThread } from "../src/server/load/threaded-loader.ts";
import { collectGarbage } from "../src/util/process/collect.ts";
import { temporaryFolder } from "./support/folders.ts";
import { openSample, repliesTo } from "./support/library.ts";
import { place } from "./support/place.ts";
import { until } from "./support/process.ts";
import { changeManifest } from "./support/published.ts";
import { workersOf } from "./support/workers.ts";

const TOKEN = "svcx_threads";
const QUERIES = ["a", "an", "the", "さ", "world the", "zzzz", "ß", "e"];

const large = join(temporaryFolder(), "large");

await generateSnapshot({ out: large, users: 600, worlds: 300, instances: 60, seed: 5, gzip: false });

/** Loads in a thread that another one helps to index. */
const load = () => loadInThread(large, {}, 1);
let loaded: Awaited<ReturnType<typeof load>>;

// This test must be the first: one thread exposes the collector for all.
test("a thread has a collector from its start, and makes no context for one", async () => {
  const types = [runInNewContext("typeof gc")];
  const loading = load();
  // Before the thread runs.
  types.push(runInNewContext("typeof gc"));
  loaded = await loading;
  assert.deepEqual(types, ["undefined", "function"]);
  const worker = new Worker("require('node:worker_threads').parentPort.postMessage(typeof gc)", {
    eval: true,
  });
  assert.deepEqual(await once(worker, "message"), ["function"]);
  let collected = 0;
  const before = globalThis.gc;
  globalThis.gc = () => Promise.resolve(void collected++);
  collectGarbage();
  globalThis.gc = before;
  assert.equal(collected, 1);
});

test("what two threads index together is what one thread indexes", () => {
  assert.ok(!("problems" in loaded));
  const { users, worlds } = loaded.index;
  assert.ok(users.texts.units.length > 1000 && worlds.texts.units.length > 1000);
  assert.deepEqual(loaded.index, indexStore(loaded.store));
});

it("a loading thread ends after its load, and one that dies refuses it", async (t) => {
  const seen: Observation[] = [];
  const keys = [{ id: "t", kind: "cli", token: TOKEN }] as const;
  const observe = (observation: Observation) => seen.push(observation);
  const options = { snapshot: large, keys, threads: true, searchCacheBytes: 0, similar: false, observe };
  const [orrery, first] = await workersOf(() => openSample(t, options));
  await until(() => first.every(({ threadId }) => threadId === -1), "the end of the thread");
  const targets = QUERIES.map((q) => `/users/search?${new URLSearchParams({ q, limit: "50" })}`);
  for (const { status, body } of await repliesTo(orrery, targets, TOKEN)) {
    assert.equal(status, 200, body);
    assert.match(body, /^\{"data":\[/);
  }
  changeManifest(large, { generation: "later" });
  const [reloaded] = await workersOf(async (workers) => {
    const loading = orrery.reload();
    await until(() => workers.length > 0, "a thread");
    await workers[0]!.terminate();
    return await loading;
  });
  assert.equal(reloaded.snapshot, "refused");
  assert.match(reloaded.problems[0]!, /: the loading thread died: /);
  await until(() => seen.some(({ kind }) => kind === "snapshot-refused"), "the refusal");
  assert.equal((await orrery.reload()).snapshot, "loaded");
  assert.equal(orrery.generation(), "later");
});

const LIBRARY = fileURLToPath(new URL("../src/mod.ts", import.meta.url));

test("a bundle without the file of the thread names it, and does not advise to install again", async (t) => {
  const { folder, snapshot } = place(t);
  const outfile = join(folder, "bundle.mjs");
  const contents = `
    import { openOrrery } from ${JSON.stringify(LIBRARY)};
    for (const threads of [true, false]) {
      const opened = openOrrery({ snapshot: process.argv[2], keys: [], watch: 0, threads });
      console.log(await opened.then((orrery) => orrery.close(), ({ name, message }) => name + ": " + message));
    }
  `;
  await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
    // As in the build: others bundle its output.
    define: { IS_BUILT: "true" },
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  const ran = spawnSync(process.execPath, [outfile, snapshot], { encoding: "utf8" });
  assert.equal(ran.stderr, "");
  const [threads, none] = ran.stdout.split("\n");
  assert.match(
    threads!,
    /^SnapshotError: \S+: the loading thread died: there is no \S+\/generation-thread\.mjs; a bundle needs /,
  );
  assert.match(threads!, /or the option threads: false$/);
  assert.doesNotMatch(threads!, /install/);
  assert.equal(none, "undefined");
});
