/** Reports to an operator about real servers with a fault: /status, /metrics and /explain, during the fault and afterwards. */

import assert from "node:assert/strict";
import { unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { explainKey } from "../../src/admin/explain.ts";
import type { Status } from "../../src/admin/status.ts";
import { user, writeSnapshot } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { get, type Served, serve, until } from "../support/process.ts";
import { PROGRAM, startRedis } from "../support/redis.ts";

/** The part of an explanation that is looked at here. */
interface Explained {
  readonly key: Awaited<ReturnType<typeof explainKey>>;
  readonly answer: { readonly status: number };
}

function operator(server: Served) {
  const json = async (path: string) => JSON.parse((await server.askAdmin(path)).text);
  const status = (): Promise<Status> => json("status");
  const kinds = async (): Promise<string> => String((await status()).problems.map(({ kind }) => kind));
  return {
    status,
    explain: (key: string): Promise<Explained> => json(`explain?target=/api/public/v1/stats&key=${key}`),
    /** Value of a metric with its labels. */
    async metric(series: string): Promise<number> {
      const lines = (await server.askAdmin("metrics")).text.split("\n");
      return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1));
    },
    untilKinds: (wanted: readonly string[], what: string) =>
      until(async () => (await kinds()) === String(wanted), what),
  };
}

const gauge = (kind: string): string => `orrery_problems{kind="${kind}"}`;

describe("problems of a server", () => {
  it("are files that were refused, for as long as they are; /readyz keeps its shape", async (t) => {
    const { snapshot, keys } = place(t);
    writeKeys(keys, keyRecord(TOKEN));
    const server = await serve(snapshot, keys, ["--admin", "0", "--watch", "0.1"]);
    const { status, metric, untilKinds } = operator(server);
    assert.deepEqual((await status()).problems, []);
    assert.deepEqual([(await status()).limits.shared, (await status()).limits.server], [false, null]);
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
    // A folder with a missing file, and then the same folder as before.
    unlinkSync(join(snapshot, "users.ndjson"));
    await untilKinds(["snapshot-refused"], "the missing file");
    writeSnapshot(snapshot, { "users.ndjson": [user(1)] });
    await untilKinds([], "the file to be back");
    await server.stop();
  });

  it("are data that nothing has confirmed", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--admin", "0", "--watch", "0", "--max-age", "1"]);
    const { untilKinds, status, metric } = operator(server);
    await untilKinds(["data-stale"], "old data");
    assert.match((await status()).problems[0]!.message, /--max-age allows 1 s/);
    assert.equal(await metric(gauge("data-stale")), 1);
    server.child.kill("SIGHUP");
    await untilKinds([], "a confirmation");
    await server.stop();
  });
});

describe("shared limits, as an operator sees them", { skip: need(PROGRAM) }, () => {
  const LIMIT = 20;

  it("explain what the replica would apply, and tell of a counter server that is away", async (t) => {
    const redis = await startRedis();
    const { snapshot, keys } = place(t);
    writeKeys(keys, keyRecord(TOKEN, { id: "shared", limit: LIMIT }));
    const limits = ["--shared-limits", redis.url, "--replicas", "2", "--rate-window", "31536000"];
    const settings = ["--admin", "0", ...limits];
    const [one, two] = await Promise.all([serve(snapshot, keys, settings), serve(snapshot, keys, settings)]);
    const [here, there] = [operator(one), operator(two)];
    for (let at = 0; at < LIMIT; at++) {
      assert.equal((await get(`${one.url}/stats`, { token: TOKEN })).status, 200);
      // On a busy machine an answer may be late.
      const { key, answer } = await until(async () => {
        const explained = await there.explain("shared");
        return explained.key!.quota!.counted === "shared" ? explained : undefined;
      }, "an answer of the counter server");
      const left = LIMIT - 1 - at;
      assert.deepEqual([key!.quota!.remaining, answer.status], [left, left === 0 ? 429 : 200]);
    }
    assert.equal((await get(`${two.url}/stats`, { token: TOKEN })).status, 429);
    const well = (await here.status()).limits;
    assert.ok(well.shared);
    assert.deepEqual([well.server, well.replicas, well.whenAway], ["reachable", 2, "share"]);
    assert.equal((await here.status()).keys.busiest[0]!.remaining, 0);

    redis.signal("SIGKILL");
    await here.untilKinds(["limits-away"], "the loss");
    const lost = (await here.status()).limits;
    assert.deepEqual([lost.server, lost.losses, lost.away.length], ["away", well.losses + 1, 1]);
    assert.equal(lost.since, lost.away[0]!.since);
    const [problem] = (await here.status()).problems;
    assert.match(problem!.message, /^The server of shared limits 127\.0\.0\.1:.*divided by 2\.$/);
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
});
