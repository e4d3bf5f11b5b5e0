/** The thread that loads a generation, and the guard against a shrunken snapshot. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it, type TestContext, test } from "node:test";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { generateSnapshot } from "../src/generate/generate.ts";
import { type Observation, type OpenOptions, type Orrery, openOrrery } from "../src/mod.ts";
import { indexStore } from "../src/search/search.ts";
import { loadInThread } from "../src/server/load/threaded-loader.ts";
import { collectGarbage } from "../src/util/process/collect.ts";
import { temporaryFolder } from "./support/folders.ts";
import { IS_LONG } from "./support/long.ts";
import { replace } from "./support/place.ts";
import { until } from "./support/process.ts";
import { workersOf } from "./support/workers.ts";

const TOKEN = "svcx_threads";
const BASE = "/api/public/v1";
const QUERIES = ["a", "an", "the", "さ", "world the", "zzzz", "ß", "e"];

const folder = temporaryFolder();
const small = join(folder, "small");
const large = join(folder, "large");

await generateSnapshot({ out: large, users: 600, worlds: 300, instances: 60, seed: 5, gzip: false });
await generateSnapshot({ out: small, users: 200, worlds: 300, instances: 60, seed: 5, gzip: false });

async function open(t: TestContext, snapshot: string, more: Partial<OpenOptions> = {}) {
  const seen: Observation[] = [];
  const orrery = await openOrrery({
    snapshot,
    keys: [{ id: "t", kind: "cli", token: TOKEN }],
    observe: (observation) => seen.push(observation),
    ...more,
  });
  t.after(() => orrery.close());
  const observed = (kind: Observation["kind"]) => until(() => seen.find((one) => one.kind === kind), kind);
  return { orrery, observed };
}

async function search(orrery: Orrery, table: "users" | "worlds", query: string): Promise<string> {
  const target = `${BASE}/${table}/search?q=${encodeURIComponent(query)}&limit=50`;
  const reply = await orrery.ask({ target, authorization: `Bearer ${TOKEN}` });
  assert.equal(reply.status, 200, `${query}: ${reply.body}`);
  return reply.body;
}

// This test must be the first: one thread exposes the collector for all.
test("a thread has a collector from its start, and makes no context for one", async () => {
  const types = [runInNewContext("typeof gc")];
  const loading = loadInThread(small, {});
  // Before the thread runs.
  types.push(runInNewContext("typeof gc"));
  const loaded = await loading;
  assert.ok(!("problems" in loaded));
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

test("what two threads index together is what one thread indexes", async () => {
  const loaded = await loadInThread(large, {}, 1);
  assert.ok(!("problems" in loaded));
  const { users, worlds } = loaded.index;
  assert.ok(users.texts.units.length > 1000 && worlds.texts.units.length > 1000);
  assert.deepEqual(loaded.index, indexStore(loaded.store));
});

it("a loading thread ends after its load, and one that dies refuses it", async (t) => {
  const [opened, first] = await workersOf(() => open(t, large, { searchCacheBytes: 0, similar: false }));
  const { orrery, observed } = opened;
  await until(() => first.every(({ threadId }) => threadId === -1), "the end of the thread");
  for (const query of QUERIES) assert.match(await search(orrery, "users", query), /^\{"data":\[/);
  const manifest = JSON.parse(readFileSync(join(large, "manifest.json"), "utf8")) as object;
  replace(join(large, "manifest.json"), JSON.stringify({ ...manifest, generation: "later" }));
  const [reloaded] = await workersOf(async (workers) => {
    const loading = orrery.reload();
    await until(() => workers.length > 0, "a thread");
    await workers[0]!.terminate();
    return await loading;
  });
  assert.equal(reloaded.snapshot, "refused");
  assert.match(reloaded.problems[0]!, /: the loading thread died: /);
  await observed("snapshot-refused");
  assert.equal((await orrery.reload()).snapshot, "loaded");
  assert.equal(orrery.generation(), "later");
});

// Only the long form tries the allowed case.
for (const allowShrink of IS_LONG ? [false, true] : [false]) {
  const outcome = allowShrink ? "let in when that is allowed" : "refused, and the log says how to allow it";
  it(`a snapshot that lost most of its users is ${outcome}`, async (t) => {
    const snapshot = join(folder, `shrinking-${allowShrink}`);
    cpSync(large, snapshot, { recursive: true });
    const { orrery, observed } = await open(t, snapshot, { allowShrink });
    const before = orrery.generation();
    cpSync(small, snapshot, { recursive: true });
    const { problems } = await orrery.reload();
    assert.equal(orrery.generation() !== before, allowShrink);
    if (!allowShrink) await observed("snapshot-refused");
    const shrunk = /^users\.ndjson: 200 visible rows, less than half of the 600 .*--allow-shrink/;
    assert.equal(shrunk.test(problems.join("\n")), !allowShrink);
  });
}
