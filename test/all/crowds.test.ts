/** Crowds of hostile peers, and clients beside them: probes of the admin listener, and requests one at a time. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pin } from "../../bench/support/child.ts";
import { percentile } from "../../bench/support/load.ts";
import { slowness, within } from "../support/patience.ts";
import { place, TOKEN } from "../support/place.ts";
import { type Served, serve, withOpenFiles } from "../support/process.ts";
import { askOnce, dial, filled, requestHead } from "../support/raw.ts";

const CROWD = fileURLToPath(new URL("./support/crowd.mjs", import.meta.url));

type Conduct = "silent" | "endless" | "patient";

/** Starts a crowd of `crowd.mjs` and waits until it is connected; it ends with the test. @returns its process's id */
async function startCrowd(t: TestContext, port: number, count: number, conduct: Conduct, request: string) {
  const args = [CROWD, String(port), String(count), conduct, request];
  const crowd = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(crowd, "exit");
  t.after(() => {
    crowd.kill("SIGKILL");
    return ended;
  });
  await within(once(crowd.stdout, "data"), "the crowd");
  return crowd.pid!;
}

/** Longest time for an answer to a probe, in milliseconds of a quiet machine: an orchestrator restarts a server that gives none. */
const LIMIT_MS = 100;
/** The same where a crowd's connections replace each other: a new one waits with a hundred of them to be accepted. */
const QUEUED_LIMIT_MS = 300;
const PROBES = 60;
const ADMIN_TOKEN = "canary-of-admin";

/** Probes that a burst of connections may cost where it uses up all files: the runtime then closes all that wait to be accepted. */
const MOST_LOST = 2;

/** Probes repeatedly. @param mostLost probes that may meet the end of their connection @returns the longest wait in milliseconds */
async function probeAll(port: number, mostLost: number): Promise<number> {
  let longest = 0;
  let lost = 0;
  for (let at = 0; at < PROBES; at++) {
    const path = at % 2 === 0 ? "/livez" : "/readyz";
    const began = performance.now();
    const reply = await askOnce(port, path, ["Host: localhost"]).catch((error: unknown) => {
      if (++lost > mostLost || !/^(fin|ECONNRESET) /.test((error as Error).message)) throw error;
    });
    if (reply === undefined) continue;
    const { status } = reply;
    longest = Math.max(longest, performance.now() - began);
    assert.equal(status, 200, `${path}, probe ${at}`);
    await sleep(10);
  }
  return longest;
}

/** Number of connections, their conduct, and their target. */
const CROWDS: readonly (readonly [number, Conduct, string])[] = [
  [40, "patient", "/status"],
  [40, "patient", "/livez"],
  [40, "endless", "/status"],
  [40, "endless", "/livez"],
  [200, "patient", "/status"],
  [200, "silent", ""],
  [1000, "silent", ""],
];

for (const files of [undefined, 400]) {
  describe(`/livez and /readyz, ${files ?? "many"} open files at most`, () => {
    const { folder, snapshot, keys } = place({ after });
    let server: Served;
    let port: number;
    before(async () => {
      const token = join(folder, "admin.token");
      writeFileSync(token, ADMIN_TOKEN);
      const admin = ["--admin", "0", "--admin-token-file", token];
      server = await serve(snapshot, keys, admin, {}, files === undefined ? undefined : withOpenFiles(files));
      port = Number(new URL(server.admin()).port);
    });

    for (const [count, conduct, target] of CROWDS) {
      it(`are answered in time beside ${count} ${conduct} connections ${target}`, async (t) => {
        const isQueued = files !== undefined && conduct === "patient" && count === 200;
        const request = `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
        await startCrowd(t as TestContext, port, count, conduct, request);
        const limit = (isQueued ? QUEUED_LIMIT_MS : LIMIT_MS) * slowness();
        // The connections of the crowd before may not all be closed yet.
        const usesAll = files !== undefined && count * 2 >= files;
        // A machine that stalls for a moment is not the listener's fault.
        const longest: number[] = [];
        do longest.push(await probeAll(port, usesAll ? MOST_LOST : 0));
        while (longest.at(-1)! >= limit && longest.length < 4);
        t.diagnostic(`longest waits: ${longest.map(Math.round).join(", ")} ms of ${Math.round(limit)}`);
        assert.ok(longest.at(-1)! < limit, `${longest} ms, of ${limit}`);
      });
    }

    it("are not all that is answered afterwards", async () => {
      const headers = ["Host: localhost", `Authorization: Bearer ${ADMIN_TOKEN}`];
      assert.equal((await askOnce(port, "/status", headers)).status, 200);
      await server.stop();
    });
  });
}

const HONEST = 10;
/** Pause between an answer and the next request, in milliseconds: small load compared with any flood. */
const PAUSE_MS = 2;
const MEASURED_MS = 1500;
/**
 * Bound of the median wait, in milliseconds of a quiet machine. It is 1 where turns are shared, and hundreds where a
 * connection gets as many answers as it requests; the slowest hundredth depends on the machine rather than the server.
 */
const MOST_MS = 50;
/** A machine that stalls for a moment is not the server's fault. */
const MOST_TRIES = 5;

const STATS = "/api/public/v1/stats";

/** Sends requests over some connections for a while. @returns the milliseconds of each wait, sorted */
async function askHonestly(port: number): Promise<Float64Array> {
  const waits: number[] = [];
  const end = performance.now() + MEASURED_MS;
  const client = async (): Promise<void> => {
    const wire = await dial(port);
    while (performance.now() < end) {
      const began = performance.now();
      void wire.send(requestHead(STATS, [`Authorization: Bearer ${TOKEN}`]));
      await wire.response();
      waits.push(performance.now() - began);
      await sleep(PAUSE_MS);
    }
    wire.destroy();
  };
  await Promise.all(Array.from({ length: HONEST }, client));
  return Float64Array.from(waits).sort();
}

/** Requests without a token; each crowd sends one of them repeatedly. */
const WITHOUT_TOKEN: Readonly<Record<string, string>> = {
  OPTIONS: `OPTIONS ${STATS} HTTP/1.1\r\nHost:\r\n\r\n`,
  "GET /": "GET / HTTP/1.1\r\nHost:\r\n\r\n",
  "/openapi.json": "GET /openapi.json HTTP/1.1\r\nHost:\r\n\r\n",
  "304 of a page": "GET /docs HTTP/1.1\r\nHost:\r\nIf-None-Match: *\r\n\r\n",
  401: `GET ${STATS} HTTP/1.1\r\nHost:\r\n\r\n`,
  404: "GET /x HTTP/1.1\r\nHost:\r\n\r\n",
  405: `PUT ${STATS} HTTP/1.1\r\nHost:\r\n\r\n`,
};

/** @returns the median of honest waits beside a crowd, in milliseconds */
async function medianBeside(port: number, t: TestContext, name: string): Promise<number> {
  const waits = await askHonestly(port);
  const numbers = [0.5, 0.99, 1].map((share) => percentile(waits, share).toFixed(1)).join(", ");
  t.diagnostic(`${name}: p50, p99 and longest: ${numbers} ms`);
  return percentile(waits, 0.5);
}

/** A crowd is as dear as its kind: with more connections a few kinds are enough. */
const KINDS: Readonly<Record<number, readonly string[]>> = {
  200: Object.keys(WITHOUT_TOKEN),
  1000: ["OPTIONS", "/openapi.json", "401"],
};

for (const count of [200, 1000]) {
  describe(`${count} connections with endless pipelines leave room for others`, () => {
    const { snapshot, keys } = place({ after });
    for (const name of KINDS[count]!) {
      const request = WITHOUT_TOKEN[name]!;
      it(name, async (t) => {
        const server = await serve(snapshot, keys, ["--watch", "0", "--rate-limit", "1000000"]);
        pin(server.child.pid!, 0);
        pin(await startCrowd(t as TestContext, server.port, count, "endless", request), 1);
        let p50 = Number.POSITIVE_INFINITY;
        for (let at = 0; at < MOST_TRIES && p50 > MOST_MS * slowness(); at++)
          p50 = await medianBeside(server.port, t as TestContext, name);
        assert.ok(p50 <= MOST_MS * slowness(), `p50 ${p50} ms`);
        await server.kill();
      });
    }
  });
}

const field =
  (name: string, target = STATS) =>
  (text: string): string =>
    requestHead(target, [`${name}: ${text}`]);

const PLAIN = filled(field("X-Plain"), "a");
/** Some of the heads that `dear-heads.test.ts` judges by their CPU time. */
const DEAR: Readonly<Record<string, string>> = {
  "Accept-Encoding, commas": filled(field("Accept-Encoding", "/openapi.json"), ","),
  "X-Forwarded-For, addresses": filled(field("X-Forwarded-For"), "127.0.0.1,"),
  "a path of escapes": filled((text) => requestHead(`/${text}`), "%41"),
  "User-Agent, escapes": filled(field("User-Agent"), "%41"),
};

describe("200 connections with endless heads that are dear to read delay others little more than plain ones", () => {
  const { snapshot, keys } = place({ after });
  /** The median beside plain heads; measured again where the machine has become slower since. */
  let plain: number | undefined;
  const settings = "--access-log --trusted-proxies loopback --watch 0 --rate-limit 1000000".split(" ");
  for (const [name, request] of Object.entries(DEAR)) {
    it(name, async (t) => {
      const measure = async (what: string, head: string): Promise<number> => {
        const server = await serve(snapshot, keys, settings);
        pin(server.child.pid!, 0);
        pin(await startCrowd(t as TestContext, server.port, 200, "endless", head), 1);
        const p50 = await medianBeside(server.port, t as TestContext, what);
        await server.kill();
        return p50;
      };
      let times = Number.POSITIVE_INFINITY;
      plain ??= await measure("plain", PLAIN);
      for (let at = 0; at < MOST_TRIES && times > 2; at++) {
        if (at > 0) plain = await measure("plain", PLAIN);
        times = (await measure(name, request)) / plain;
      }
      t.diagnostic(`${times.toFixed(2)} times`);
      assert.ok(times <= 2, `p50 is ${times} times that beside plain heads`);
    });
  }
});
