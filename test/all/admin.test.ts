/** The admin listener of servers in processes of their own: during loads, reloads and stops, and with threads. */

import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { snapshotFiles, temporaryFolder, user, withManifest } from "../support/folders.ts";
import { within } from "../support/patience.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { get, type Program, run, serve, start, until } from "../support/process.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";
import { type Host, startHost } from "../support/source-server.ts";

const ADMIN = ["--admin", "0"];

async function adminUrl({ stderr, child }: Pick<Program, "stderr" | "child">): Promise<string> {
  return await until(() => {
    assert.equal(child.exitCode, null, stderr());
    return /"event":"admin-listening","url":"([^"]+)"/.exec(stderr())?.[1];
  }, "the admin listener");
}

async function readyOf(url: string): Promise<{ code: number; status: string; generation: string | null }> {
  const { status: code, text } = await get(`${url}readyz`);
  return { code, ...JSON.parse(text) };
}

async function reload(url: string): Promise<{ status: number; text: string }> {
  const reply = await fetch(`${url}reload`, { method: "POST", headers: { "X-Orrery-Admin": "1" } });
  return { status: reply.status, text: await reply.text() };
}

/** A host that can hold all requests until it is told to release them. */
async function holdingHost(t: TestContext): Promise<{ host: Host; hold: () => void; letGo: () => void }> {
  const rows = [user(1, { displayName: "first" })];
  const host = await startHost(withManifest(snapshotFiles({ "users.ndjson": rows }), "first"));
  t.after(() => host.close());
  const waiting: ServerResponse[] = [];
  const letGo = (): void => {
    host.fault = undefined;
    for (const response of waiting.splice(0)) response.writeHead(503).end();
  };
  t.after(letGo);
  const hold = (): void => {
    host.fault = (_request, response) => waiting.push(response) > 0;
  };
  return { host, hold, letGo };
}

function startFrom(t: TestContext, host: Host): Program {
  const folder = temporaryFolder(t);
  const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
  const from = ["--snapshot", host.url, "--cache", join(folder, "cache"), "--keys", keys];
  return start(["serve", ...from, "--port", "0", ...ADMIN, "--watch", "0"]);
}

describe("the admin listener", () => {
  it("answers while the first snapshot loads, and while the next one does", async (t) => {
    const { host, hold, letGo } = await holdingHost(t);
    hold();
    const program = startFrom(t, host);
    const url = await adminUrl(program);
    assert.equal((await get(`${url}livez`)).text, "ok");
    const loading = await readyOf(url);
    assert.deepEqual([loading.code, loading.status, loading.generation], [503, "loading", null]);
    const status = JSON.parse((await get(`${url}status`)).text);
    assert.deepEqual([status.generation, status.url, status.requests.total], [null, null, 0]);
    assert.equal((await get(`${url}explain?target=/`)).status, 503);
    assert.equal((await reload(url)).status, 409);
    letGo();
    await until(async () => (await readyOf(url)).code === 200, "a ready server");
    hold();
    const asked = host.asked.length;
    const reloaded = reload(url);
    await until(() => host.asked.length > asked, "the reload");
    assert.equal((await readyOf(url)).status, "ready");
    assert.ok(JSON.parse((await get(`${url}status`)).text).loading.sinceMs >= 0);
    assert.equal((await reload(url)).status, 409);
    letGo();
    const { status: code, text } = await within(reloaded, "the reload's reply");
    assert.equal(code, 200, text);
    await program.stop();
  });

  it("does not keep a server that is stopped in the middle of a reload", async (t) => {
    const { host, hold } = await holdingHost(t);
    const program = startFrom(t, host);
    const url = await adminUrl(program);
    await until(async () => (await readyOf(url)).code === 200, "a ready server");
    hold();
    const asked = host.asked.length;
    const reloaded = reload(url).catch((error: unknown) => error);
    await until(() => host.asked.length > asked, "the reload");
    await program.stop();
    await within(reloaded, "the end of the reload's connection");
  });

  it("says what became of a reload, and grows stale while nothing confirms what is served", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, [...ADMIN, "--watch", "0", "--max-age", "0.5"]);
    const url = server.admin();
    await until(async () => (await readyOf(url)).status === "stale", "a stale snapshot");
    assert.equal((await readyOf(url)).code, 503);
    assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
    const same = JSON.parse((await reload(url)).text);
    assert.deepEqual([same.snapshot.result, same.keys.result], ["unchanged", "unchanged"]);
    appendFileSync(join(snapshot, "users.ndjson"), "no row\n");
    writeFileSync(keys, "no keys");
    const { status, text } = await reload(url);
    assert.equal(status, 200);
    const bad = JSON.parse(text);
    assert.deepEqual([bad.snapshot.result, bad.keys.result, bad.keys.total], ["refused", "refused", 1]);
    assert.match(bad.snapshot.problems[0], /^users\.ndjson:\d+: /);
    assert.match(bad.keys.problem, /not valid JSON/);
    await until(async () => (await readyOf(url)).status === "stale", "a stale snapshot after a bad one");
    await server.stop();
  });

  it("counts a look that finds nothing new as a confirmation, but none at a bad snapshot", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, [...ADMIN, "--watch", "0.05", "--max-age", "1.5"]);
    const url = server.admin();
    await until(async () => {
      const { uptimeSeconds, ready } = JSON.parse((await get(`${url}status`)).text);
      return uptimeSeconds > 2.5 && ready.status === "ready" && ready.ageSeconds < 1.5;
    }, "a snapshot that is old and current");
    appendFileSync(join(snapshot, "users.ndjson"), "no row\n");
    await server.logged("snapshot-refused");
    await until(async () => (await readyOf(url)).status === "stale", "a stale snapshot");
    await server.stop();
  });

  it("is refused without a token where others can reach it, and where it cannot listen", async (t) => {
    const { snapshot, keys } = place(t);
    const settings = ["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0"];
    for (const address of ["0.0.0.0:0", "[::]:0", "some.host:0"]) {
      const open = await run([...settings, "--admin", address]);
      assert.equal(open.status, 2, open.stderr);
      assert.match(open.stderr, /--admin-token-file is required/);
    }
    const wrong = await run([...settings, "--admin", "127.1:0"]);
    assert.deepEqual([wrong.status, wrong.stdout], [2, ""]);
    const empty = writeKeys(join(snapshot, "..", "empty"));
    const noToken = await run([...settings, ...ADMIN, "--admin-token-file", join(empty, "none")]);
    assert.equal(noToken.status, 1, noToken.stderr);
  });

  it("asks for the token of its file on every address", async (t) => {
    const { folder, snapshot, keys } = place(t);
    const file = join(folder, "admin.token");
    writeFileSync(file, "canary-of-admin\n", { mode: 0o600 });
    const server = await serve(snapshot, keys, ["--admin", "0.0.0.0:0", "--admin-token-file", file]);
    const url = server.admin().replace("0.0.0.0", "127.0.0.1");
    assert.equal((await get(`${url}status`)).status, 401);
    assert.equal((await readyOf(url)).code, 200);
    const { status, text } = await get(`${url}status`, { token: "canary-of-admin" });
    assert.equal(status, 200);
    assert.ok(!`${text}${server.stderr()}${server.stdout()}`.includes("canary"));
    await server.stop();
  });
});

const node = findNode(24);

it("with threads that serve figures are sums over them, and explanations know their caches", {
  skip: lacking(node),
}, async (t) => {
  const { snapshot, keys } = place(t);
  const server = await serve(snapshot, keys, [...ADMIN, "--threads", "2"], {}, programOn(node));
  const url = server.admin();
  // Each on a connection of its own, which the system assigns to one of the threads.
  for (let at = 0; at < 24; at++) {
    assert.equal((await get(`${server.url}/users/search?q=user`, { token: TOKEN })).status, 200);
  }
  const status = await until(async () => {
    const now = JSON.parse((await get(`${url}status`)).text);
    return now.requests.total === 24 ? now : undefined;
  }, "the requests of all threads");
  const { hits, joined, misses } = status.searchCache;
  assert.deepEqual([hits + joined + misses, status.keys.busiest[0].used], [24, 24]);
  assert.equal(status.keys.busiest[0].passed, 24);
  const threads = status.threads.all as { role: string; number: number; eventLoop: unknown }[];
  assert.equal(threads.map((one) => `${one.role} ${one.number}`).join(), "main 0,serving 1,serving 2");
  assert.ok(threads.every(({ eventLoop }) => eventLoop !== null));
  const target = encodeURIComponent("/api/public/v1/users/search?q=user");
  const explained = JSON.parse((await get(`${url}explain?target=${target}`)).text);
  assert.equal(explained.search.cache.asked, 2);
  assert.equal(explained.search.cache.holding, misses, "each thread that searched holds its result");
  assert.equal(JSON.parse((await reload(url)).text).snapshot.result, "unchanged");
  await server.stop();
});
