/** Similar search over reloads that change no name, and its thread: reloads, stops and deaths, and its use by serving threads. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { whyNoSharing } from "../../src/http/port.ts";
import type { Observation } from "../../src/mod.ts";
import { startServer } from "../../src/server/server.ts";
import { cleanUp, TOKENS, testOptions } from "../support/http-server.ts";
import { until } from "../support/process.ts";
import {
  answersWhileIndexing,
  closesAnyTime,
  folder,
  NAMES,
  namesIn,
  open,
  pageOf,
  writeRows,
} from "../support/similar-served.ts";
import { workersOf } from "../support/workers.ts";

before(() => writeRows("one", NAMES));
after(cleanUp);

describe("the thread for similar names", () => {
  it("indexes each generation while the exact search answers", (t) => answersWhileIndexing(t, true));

  it("can be ended at any time", (t) => closesAnyTime(t, true));

  async function openWithThread(t: TestContext) {
    const [opened, workers] = await workersOf(async () => {
      const opening = await open(t);
      // The thread starts after the opening.
      await new Promise((resolve) => setImmediate(resolve));
      return opening;
    });
    assert.equal(workers.length, 2);
    return { ...opened, thread: workers[1]! };
  }

  it("is replaced when it dies; meanwhile the exact search answers", async (t) => {
    const { ask, observed, seen, thread } = await openWithThread(t);
    await observed("similar-ready");
    const asked = ["rabit", "ribat", "rabibt"].map((q) => ask(`/users/search?q=${q}&match=similar`));
    await thread.terminate();
    for (const reply of await Promise.all(asked)) assert.match(pageOf(reply).match!, /^(exact|similar)$/);
    await observed("thread-died");
    assert.equal(pageOf(await ask("/users/search?q=rabit&match=similar")).match, "exact");
    await observed("similar-ready", 2);
    assert.ok(namesIn(pageOf(await ask("/users/search?q=rabit&match=similar"))).includes("Rabbit"));
    const said = seen.filter(({ kind }) => kind.startsWith("thread"));
    assert.deepEqual(
      said.map((one) => "role" in one && `${one.kind} ${one.role}`),
      ["thread-died similar", "thread-replaced similar"],
    );
  });
});

function rename(generation: string): void {
  const file = join(folder, "manifest.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), generation }));
}

for (const threads of [false, true]) {
  it(`similar search goes on ${threads ? "in its thread" : "here"} while names stay, and begins anew when they change`, async (t) => {
    writeRows("one", NAMES);
    const { orrery, ask, seen, observed } = await open(t, { threads });
    const ready = () => seen.flatMap((one) => (one.kind === "similar-ready" ? [one.generation] : []));
    const target = "/users/search?q=rabit&match=similar";
    // Indexing may still run.
    rename("two");
    await orrery.reload();
    await observed("similar-ready");
    const first = await ask(target);
    assert.equal(first.headers.etag, '"two"');

    rename("three");
    await orrery.reload();
    const second = await ask(target);
    assert.deepEqual([second.headers.etag, second.body], ['"three"', first.body]);
    assert.equal(pageOf(second).match, "similar");
    assert.equal(ready().length, 1);

    writeRows("four", ["Rabot"]);
    await orrery.reload();
    await observed("similar-ready", 2);
    assert.equal(ready()[1], "four");
    assert.deepEqual(namesIn(pageOf(await ask(target))), ["Rabot"]);
  });
}

const why = whyNoSharing();
it("serving threads share one thread for similar names", { skip: why !== undefined && why }, async (t) => {
  writeRows("one", NAMES);
  const seen: Observation[] = [];
  const options = { snapshot: folder, similar: true, threads: true, servingThreads: 3 };
  const server = await startServer(await testOptions(options, seen));
  t.after(() => server.stop("test"));
  const bodies = async (): Promise<string[]> => {
    const asked = Array.from({ length: 12 }, async () => {
      const headers = { Authorization: `Bearer ${TOKENS.cli}`, Connection: "close" };
      return await (await fetch(`${server.url}/users/search?q=rabit&match=similar`, { headers })).text();
    });
    return [...new Set(await Promise.all(asked))];
  };
  await until(() => seen.some(({ kind }) => kind === "similar-ready"), "the index");
  const [body, ...others] = await bodies();
  assert.deepEqual(others, []);
  assert.match(body!, /"Rabbit".*"match":"similar"\}$/);
  writeRows("threads", ["Gopher"]);
  await server.reload();
  for (const exact of await bodies()) assert.match(exact, /"match":"(exact|similar)"\}$/);
  await until(() => seen.filter(({ kind }) => kind === "similar-ready").length === 2, "the next index");
  assert.doesNotMatch((await bodies()).join(), /"Rabbit"/);
  writeRows("one", NAMES);
});
