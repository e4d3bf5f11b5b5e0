/**
 * The admin listener of servers in processes of their own: during loads, reloads and stops, with threads; and its reports
 * of a fault: /status, /metrics and /explain, meanwhile and afterwards.
 */

import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { explainKey } from "../../src/admin/explain.ts";
import type { Status } from "../../src/admin/status.ts";
import { snapshotFiles, temporaryFolder, user, withManifest, writeSnapshot } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { within } from "../support/patience.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { type Command, get, type Program, run, serve, start, until } from "../support/process.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";
import { type Host, startHost } from "../support/source-server.ts";
import { PROGRAM, startRedis } from "./support/redis.ts";

const ADMIN = ["--admin", "0"];
const HARMLESS = { method: "POST", headers: { "X-Orrery-Admin": "1" } };

/** The part of an explanation that is looked at here. */
interface Explained {
  readonly key: Awaited<ReturnType<typeof explainKey>>;
  readonly refusal: { readonly status: number } | null;
}

/** The questions of an operator to an admin listener. */
function operator(url: string) {
  const json = async (path: string) => JSON.parse((await get(url + path)).text);
  const status = (): Promise<Status> => json("status");
  const kinds = async (): Promise<string> => String((await status()).problems.map(({ kind }) => kind));
  const ready = async (): Promise<{ code: number; status: string; generation: string | null }> => {
    const { status: code, text } = await get(`${url}readyz`);
    return { code, ...JSON.parse(text) };
  };
  return {
    json,
    status,
    ready,
    explain: (key: string): Promise<Explained> => json(`explain?target=/api/public/v1/stats&key=${key}`),
    async reload(query = "") {
      const reply = await fetch(`${url}reload${query}`, HARMLESS);
      return { code: reply.status, ...JSON.parse(await reply.text()) };
    },
    /** Value of a metric with its labels. */
    async metric(series: string): Promise<number> {
      const lines = (await get(`${url}metrics`)).text.split("\n");
      return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1));
    },
    untilReady: (wanted: string) => until(async () => (await ready()).status === wanted, wanted),
    untilKinds: (wanted: readonly string[], what: string) =>
      until(async () => (await kinds()) === String(wanted), what),
  };
}

/** Starts a server with an admin listener in a place of its own. */
async function serveAdmin(t: TestContext, args: readonly string[], command?: Command) {
  const here = place(t);
  const server = await serve(here.snapshot, here.keys, [...ADMIN, ...args], {}, command);
  return { ...here, ...operator(server.admin()), server };
}

/** A host that can hold all requests until it is told to release them. */
async function holdingHost(t: TestContext): Promise<{ host: Host; hold: () => void; letGo: () => void }> {
  const rows = [user(1, { displayName: "first" })];
  const host = await startHost(withManifest(snapshotFiles({ "users.ndjson": rows }), "first"));
  t.after(() => host.close());
  const waiting: Parameters<Host["sendFile"]>[] = [];
  const letGo = (): void => {
    host.fault = undefined;
    for (const held of waiting.splice(0)) host.sendFile(...held);
  };
  t.after(letGo);
  const hold = (): void => {
    host.fault = (...held) => waiting.push(held) > 0;
  };
  return { host, hold, letGo };
}

/** Starts a server whose snapshot comes from a host; it may not be ready yet. */
async function startFrom(t: TestContext, host: Host) {
  const folder = temporaryFolder(t);
  const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
  const from = ["--snapshot", host.url, "--cache", join(folder, "cache"), "--keys", keys];
  const program: Program = start(["serve", ...from, "--port", "0", ...ADMIN, "--watch", "0"]);
  const url = await until(() => {
    assert.equal(program.child.exitCode, null, program.stderr());
    return /"event":"admin-listening","url":"([^"]+)"/.exec(program.stderr())?.[1];
  }, "the admin listener");
  return { program, url, ...operator(url) };
}

describe("the admin listener", () => {
  it("answers while the first snapshot loads, and while the next one does", async (t) => {
    const { host, hold, letGo } = await holdingHost(t);
    hold();
    const { program, url, json, ready, reload, untilReady } = await startFrom(t, host);
    assert.equal((await get(`${url}livez`)).text, "ok");
    const loading = await ready();
    assert.deepEqual([loading.code, loading.status, loading.generation], [503, "loading", null]);
    const status = await json("status");
    assert.deepEqual([status.generation, status.url, status.requests.total], [null, null, 0]);
    assert.equal((await get(`${url}explain?target=/`)).status, 503);
    assert.equal((await reload()).code, 409);
    letGo();
    await untilReady("ready");
    hold();
    const asked = host.asked.length;
    const reloaded = reload();
    await until(() => host.asked.length > asked, "the reload");
    assert.equal((await ready()).status, "ready");
    assert.ok((await json("status")).loading.sinceMs >= 0);
    assert.equal((await reload()).code, 409);
    letGo();
    assert.equal((await within(reloaded, "the reload's reply")).code, 200);
    await program.stop();
  });

  it("counts a look that finds nothing new as a confirmation, but none at a bad snapshot", async (t) => {
    const { server, snapshot, json } = await serveAdmin(t, ["--watch", "0.05"]);
    await until(async () => {
      const { uptimeSeconds, ready } = await json("status");
      return uptimeSeconds > 2.5 && ready.status === "ready" && ready.ageSeconds < 1.5;
    }, "a snapshot that is old and current");
    appendFileSync(join(snapshot, "users.ndjson"), "no row\n");
    await server.logged("snapshot-refused");
    await until(async () => (await json("status")).ready.ageSeconds > 1.5, "an age that grows");
    await server.stop();
  });

  it("takes a snapshot that has lost most of its users once, by a reload that allows it", async (t) => {
    const { server, snapshot, reload } = await serveAdmin(t, ["--watch", "0"]);
    const write = (count: number): string =>
      writeSnapshot(snapshot, { "users.ndjson": Array.from({ length: count }, (_, n) => user(n + 1)) });
    write(300);
    await reload();
    write(20);
    for (const [query, wanted] of [
      ["", "200 refused"],
      ["?allow-shrink=0", "200 refused"],
      ["?allow-shrink=perhaps", "400 allow-shrink must be on or off"],
      ["?allow-shrink=1", "200 loaded"],
    ] as const) {
      const { code, error, snapshot: became } = await reload(query);
      assert.equal(`${code} ${became?.result ?? error}`, wanted);
    }
    await server.stop();
  });

  it("is refused without a token where others can reach it, and where it cannot listen", async (t) => {
    const { snapshot, keys } = place(t);
    for (const [status, line, ...args] of [
      [2, /--admin-token-file is required/, "0.0.0.0:0"],
      [2, /--admin/, "127.1:0"],
      [1, /none/, "0", "--admin-token-file", join(snapshot, "none")],
    ] as const) {
      const settings = ["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0", "--admin"];
      const ended = await run([...settings, ...args]);
      assert.deepEqual([ended.status, ended.stdout], [status, ""], ended.stderr);
      assert.match(ended.stderr, line);
    }
  });
});

const node = findNode(24);

it("with threads that serve figures are sums over them", {
  skip: lacking(node),
}, async (t) => {
  const { server, json, reload } = await serveAdmin(t, ["--threads", "2"], programOn(node));
  // Each on a connection of its own, which the system assigns to one of the threads.
  for (let at = 0; at < 24; at++) {
    assert.equal((await get(`${server.url}/users/search?q=user`, { token: TOKEN })).status, 200);
  }
  const status = await until(async () => {
    const now = await json("status");
    // The threads write the figures of their caches a few times a second.
    const { hits, misses } = now.searchCache;
    return now.requests.total === 24 && hits + misses === 24 ? now : undefined;
  }, "the requests of all threads");
  const [{ used, passed }] = status.keys.busiest;
  assert.deepEqual([used, passed], [24, 24]);
  const threads = status.threads.all as { role: string; number: number; eventLoop: unknown }[];
  assert.equal(threads.map((one) => `${one.role} ${one.number}`).join(), "main 0,serving 1,serving 2");
  assert.ok(threads.every(({ eventLoop }) => eventLoop !== null));
  assert.equal((await reload()).snapshot.result, "unchanged");
  await server.stop();
});

const gauge = (kind: string): string => `orrery_problems{kind="${kind}"}`;

it("files that were refused are problems for as long as they are; /readyz keeps its shape", async (t) => {
  const { server, snapshot, keys, status, metric, untilKinds } = await serveAdmin(t, ["--watch", "0.1"]);
  const { problems, limits } = await status();
  assert.deepEqual([problems, limits.shared, limits.server], [[], false, null]);
  writeFileSync(keys, "no keys");
  writeFileSync(join(snapshot, "users.ndjson"), '{"id":"none"}\n{}\n');
  const earliest = new Date().toISOString();
  await untilKinds(["snapshot-refused", "keys-refused"], "both problems");
  const [rows, list] = (await status()).problems;
  const served = `generation ${server.generation} is still served: .*users\\.ndjson:1`;
  assert.match(rows!.message, new RegExp(served));
  assert.match(list!.message, /keys before stay in force: .*keys\.json/);
  for (const { since } of [rows!, list!])
    assert.ok(since >= earliest.slice(0, 19) && since <= new Date().toISOString());
  assert.deepEqual([await metric(gauge("snapshot-refused")), await metric(gauge("keys-refused"))], [1, 1]);
  const { status: code, text } = await server.askAdmin("readyz");
  const names = "status,generation,loadedAt,ageSeconds,createdAt";
  assert.deepEqual([code, Object.keys(JSON.parse(text)).join()], [200, names]);
  const loads = await metric('orrery_keys_loads_total{result="loaded"}');
  writeKeys(keys, keyRecord(TOKEN));
  await untilKinds(["snapshot-refused"], "the keys to be in order");
  assert.equal(await metric('orrery_keys_loads_total{result="loaded"}'), loads, "they held nothing new");
  assert.equal(await metric('orrery_keys_loads_total{result="unchanged"}'), 1);
  writeSnapshot(snapshot, { "users.ndjson": [user(1)] });
  await untilKinds([], "the snapshot to be in order");
  assert.equal(await metric(gauge("snapshot-refused")), 0);
  await server.stop();
});

it("shared limits explain what the replica would apply, and tell of a counter server that is away", {
  skip: need(PROGRAM),
}, async (t) => {
  const LIMIT = 20;
  const redis = await startRedis();
  const { snapshot, keys } = place(t);
  writeKeys(keys, keyRecord(TOKEN, { id: "shared", limit: LIMIT }));
  const limits = ["--shared-limits", redis.url, "--replicas", "2", "--rate-window", "31536000"];
  const settings = ["--admin", "0", ...limits];
  const [one, two] = await Promise.all([serve(snapshot, keys, settings), serve(snapshot, keys, settings)]);
  const [here, there] = [operator(one.admin()), operator(two.admin())];
  for (let at = 0; at < LIMIT; at++) {
    assert.equal((await get(`${one.url}/stats`, { token: TOKEN })).status, 200);
  }
  // On a busy machine an answer may be late.
  const { key: full, refusal } = await until(async () => {
    const explained = await there.explain("shared");
    return explained.key!.quota!.counted === "shared" ? explained : undefined;
  }, "an answer of the counter server");
  assert.deepEqual([full!.quota!.remaining, refusal?.status], [0, 429]);
  assert.equal((await get(`${two.url}/stats`, { token: TOKEN })).status, 429);
  const well = (await here.status()).limits;
  assert.ok(well.shared);
  assert.deepEqual([well.server, well.replicas, well.problem], ["reachable", 2, null]);
  assert.equal((await here.status()).keys.busiest[0]!.remaining, 0);
  await get(`${one.url}/stats`, { token: TOKEN });

  redis.signal("SIGKILL");
  await here.explain("shared");
  await here.untilKinds(["limits-away"], "the loss");
  const lost = (await here.status()).limits;
  assert.deepEqual([lost.server, lost.losses], ["away", well.losses + 1]);
  assert.ok(lost.problem);
  const [problem] = (await here.status()).problems;
  assert.match(
    problem!.message,
    /^The server of shared limits 127\.0\.0\.1:.*within this replica.s share\.$/,
  );
  assert.equal(await here.metric(gauge("limits-away")), 1);
  const { key } = await here.explain("shared");
  assert.deepEqual([key!.quota!.counted, key!.fault], ["alone", "rateLimited"]);
  assert.equal((await get(`${one.url}/stats`, { token: TOKEN })).status, 429);
  await redis.restart();
  await here.untilKinds([], "the return");
  const back = (await here.status()).limits;
  assert.deepEqual([back.server, back.losses], ["reachable", lost.losses]);
  assert.ok(back.since! > lost.since!);
  await Promise.all([one.stop(), two.stop()]);
});
