/**
 * Several threads that serve one port: the same answers, exact limits, reloads, deaths and stops without loss, and
 * shared ports.
 */

import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { Agent } from "node:http";
import { constants } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { generateSnapshot } from "../src/generate/generate.ts";
import { whyNoSharing } from "../src/http/port.ts";
import type { Observation } from "../src/observe/events.ts";
import { startServer } from "../src/server/server.ts";
import { temporaryFolder } from "./support/folders.ts";
import { cleanUp, testOptions } from "./support/http-server.ts";
import { keyRecord, writeKeys } from "./support/place.ts";
import { freePort } from "./support/ports.ts";
import { get, run, startClients, until } from "./support/process.ts";
import { changeManifest } from "./support/published.ts";
import { startInThreads } from "./support/workers.ts";

const THREADS = 4;

const folder = temporaryFolder();
const snapshot = join(folder, "snapshot");
const why = whyNoSharing();

await generateSnapshot({ out: snapshot, users: 300, worlds: 120, instances: 40, seed: 3, gzip: false });

after(cleanUp);

/** Writes a keys file with one API key; its token is the prefix and its id. */
function writeKey(file: string, id: string, limit: number): void {
  writeKeys(file, keyRecord(`svc_sk_${id}`, { id, limit }));
}

async function serveInThreads(t: TestContext, name: string, limit = 1_000_000) {
  const own = join(folder, name);
  cpSync(snapshot, own, { recursive: true });
  const keys = join(folder, `${name}.json`);
  writeKey(keys, "k", limit);
  const seen: Observation[] = [];
  const options = await testOptions({ snapshot: own, keys, servingThreads: THREADS, threads: true }, seen);
  return {
    ...(await startInThreads(t, options)),
    snapshot: own,
    keys,
    seen,
    observed: (kind: Observation["kind"]) => until(() => seen.some((one) => one.kind === kind), kind),
  };
}

async function ask(url: string, agent?: Agent, key = "k") {
  const { status, headers, text } = await get(url, { token: `svc_sk_${key}`, ...(agent && { agent }) });
  return { status, body: text, etag: headers.etag ?? "" };
}

/** Searches on a few connections at the same time; each search must be answered. */
async function search(url: string): Promise<void> {
  const all = Array.from({ length: 8 }, (_, at) => ask(`${url}/users/search?q=a&offset=${at}`));
  for (const { status } of await Promise.all(all)) assert.equal(status, 200);
}

describe("threads that serve", { skip: why !== undefined }, () => {
  it("answer as one does, searches included", async (t) => {
    const { server } = await serveInThreads(t, "same");
    const alone = await startServer(await testOptions({ snapshot, keys: join(folder, "same.json") }, []));
    t.after(() => alone.stop("test"));
    const { id, ownerId } = JSON.parse((await ask(`${alone.url}/worlds`)).body).data[3];
    const paths = ["/stats", "/worlds?limit=7&offset=5", `/worlds/${id}`, `/users/${ownerId}/worlds`];
    for (const q of ["a", "the", "さ", "zzzz", "world the"]) {
      for (const offset of [0, 3, 1000]) {
        const query = `q=${encodeURIComponent(q)}&limit=5&offset=${offset}`;
        paths.push(`/users/search?${query}`, `/worlds/search?${query}`);
      }
    }
    for (const path of paths) {
      const expected = await ask(alone.url + path);
      // Each uses a new connection: the system spreads them over the threads.
      for (let at = 0; at < 5; at++) assert.deepEqual(await ask(server.url + path), expected, path);
    }
  });

  it("let exactly as many requests pass as the limit says, over 256 connections", async (t) => {
    const limit = 1500;
    const { server } = await serveInThreads(t, "limited", limit);
    const agents = Array.from({ length: 256 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const byTwelve = Array.from({ length: 12 }, () => agents).flat();
    const replies = await Promise.all(byTwelve.map((agent) => ask(`${server.url}/stats`, agent)));
    for (const agent of agents) agent.destroy();
    const withStatus = (wanted: number) => replies.filter(({ status }) => status === wanted).length;
    assert.deepEqual([withStatus(200), withStatus(429)], [limit, 256 * 12 - limit]);
  });

  it("all take a new generation and new keys, and no request is lost meanwhile", async (t) => {
    const { server, snapshot: own, keys } = await serveInThreads(t, "reloaded");
    const clients = startClients(server.url, "svc_sk_k", 24);
    for (const name of ["one", "two", "three"]) {
      const searches = search(server.url);
      changeManifest(own, { generation: name });
      await server.reload();
      await searches;
      assert.equal(server.generation(), name);
    }
    await until(() => clients.answered() > 100, "busy clients");
    await clients.leave();
    for (let at = 0; at < 20; at++) assert.equal((await ask(`${server.url}/stats`)).etag, '"three"');
    writeKey(keys, "other", 1_000_000);
    await server.reload();
    for (let at = 0; at < 20; at++) {
      assert.equal((await ask(`${server.url}/stats`)).status, 401);
      assert.equal((await ask(`${server.url}/stats`, undefined, "other")).status, 200);
    }
  });

  it("go on when one dies, which is replaced by one that knows what is new", async (t) => {
    const { server, snapshot: own, workers, seen, observed } = await serveInThreads(t, "mortal");
    assert.equal(workers.length, THREADS + 1);
    changeManifest(own, { generation: "newer" });
    await server.reload();
    // The first worker loads and searches, and the reload replaced it: this one serves.
    await workers[2]!.terminate();
    await observed("thread-replaced");
    assert.ok(seen.some((one) => one.kind === "thread-died" && one.role === "serving"));
    for (let at = 0; at < 40; at++) {
      const { status, etag } = await ask(`${server.url}/users/search?q=a`);
      assert.deepEqual([status, etag], [200, '"newer"']);
    }
  });

  it("stop without losing a request", async (t) => {
    const { server, seen } = await serveInThreads(t, "stopped");
    const clients = startClients(server.url, "svc_sk_k", 24);
    await until(() => clients.answered() > 50, "busy clients");
    await Promise.all([server.stop("test"), clients.over]);
    const kinds = seen.map(({ kind }) => kind);
    assert.deepEqual(kinds.slice(kinds.lastIndexOf("stopping")), ["stopping", "stopped"]);
  });

  it("stop without losing a request while one that died is being replaced", async (t) => {
    const { server, workers, seen, observed } = await serveInThreads(t, "replaced");
    await workers[2]!.terminate();
    await observed("thread-died");
    const clients = startClients(server.url, "svc_sk_k", 16);
    while (clients.answered() === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    await Promise.all([server.stop("test"), clients.over]);
    await assert.rejects(ask(`${server.url}/stats`), { code: "ECONNREFUSED" });
    const kinds = seen.map(({ kind }) => kind);
    assert.ok(!kinds.includes("defect"));
    assert.equal(kinds.filter((kind) => kind === "thread-died").length, 1);
  });
});

it("without servers that share a port, what needs them is a wrong call", {
  skip: why === undefined,
}, async () => {
  for (const [flags, says] of [
    [["--threads", "2"], /--threads: more than one requires Node 22\.12 or newer/],
    [["--share-port"], /--share-port: requires Node 22\.12 or newer/],
  ] as const) {
    const { status, stderr } = await run(["serve", "--snapshot", "x", "--keys", "none.json", ...flags]);
    assert.equal(status, 2);
    assert.match(stderr, says);
  }
});

/** Starts a server that stops after the test. */
async function started(
  t: TestContext,
  options: { servingThreads?: number; sharePort?: boolean; port?: number },
) {
  const server = await startServer(await testOptions({ ...options, threads: true }, []));
  t.after(() => server.stop("test"));
  return Number(new URL(server.url).port);
}

const IN_USE = { code: "EADDRINUSE", syscall: "listen" };

describe("a port that is shared", { skip: why }, () => {
  it("is shared by no second server that does not ask for it, however many threads both have", async (t) => {
    const port = await started(t, { servingThreads: 2 });
    for (const servingThreads of [1, 2]) {
      const options = await testOptions({ servingThreads, port, threads: true }, []);
      await assert.rejects(startServer(options), IN_USE);
    }
  });

  it("is not shared with a server that has it for itself", async (t) => {
    const port = await started(t, {});
    const options = await testOptions({ servingThreads: 2, port, sharePort: true, threads: true }, []);
    await assert.rejects(startServer(options), IN_USE);
  });

  it("of another machine is refused with the error of the system, number included, as without threads", async () => {
    for (const servingThreads of [1, 2]) {
      const options = await testOptions({ servingThreads, host: "192.0.2.1", threads: true }, []);
      const wanted = { code: "EADDRNOTAVAIL", syscall: "listen", errno: -constants.errno.EADDRNOTAVAIL };
      await assert.rejects(startServer(options), wanted);
      const hostname = "no.such.host.invalid";
      const unknown = await testOptions({ servingThreads, host: hostname, threads: true }, []);
      await assert.rejects(startServer(unknown), { syscall: "getaddrinfo", hostname });
    }
  });

  it("is shared by a second server that asks for it", async (t) => {
    const port = await started(t, { servingThreads: 2 });
    assert.equal(await started(t, { port, sharePort: true }), port);
    assert.equal(await started(t, { port, sharePort: true, servingThreads: 2 }), port);
  });

  it("goes to one of two servers that start at the same moment", async (t) => {
    const options = await testOptions({ servingThreads: 2, port: await freePort(), threads: true }, []);
    const start = async (): Promise<string> => {
      const server = await startServer(options);
      t.after(() => server.stop("test"));
      return "started";
    };
    const tries = [start(), start()].map((one) => one.catch((error: NodeJS.ErrnoException) => error.code));
    assert.deepEqual((await Promise.all(tries)).sort(), ["EADDRINUSE", "started"]);
  });
});
