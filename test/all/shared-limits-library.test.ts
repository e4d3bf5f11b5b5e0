/** Limits shared by programs that embed the library: over every door, with a real counter server. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type OpenOptions, type Orrery, openOrrery } from "../../src/mod.ts";
import { temporaryFolder } from "../support/folders.ts";
import { runInside } from "../support/inside.ts";
import { need } from "../support/need.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { serveHttp } from "../support/ports.ts";
import { PROGRAM, startRedis } from "../support/redis.ts";

const TARGET = "/api/public/v1/stats";
const TOKEN = "svc_sk_library";
const authorization = `Bearer ${TOKEN}`;
const folder = temporaryFolder();

function open(limit: number, more: Partial<OpenOptions>): Promise<Orrery> {
  const keys = [{ id: `key-${limit}`, kind: "api", token: TOKEN, limit }] as const;
  return openOrrery({ snapshot: "data/sample", keys, watch: 0, threads: false, ...more });
}

/** Status of a request, by each door. */
const DOORS: readonly ((orrery: Orrery) => Promise<number>)[] = [
  async ({ ask }) => (await ask({ target: TARGET, authorization })).status,
  async (orrery) =>
    (await orrery.fetch(new Request(`http://localhost${TARGET}`, { headers: { authorization } }))).status,
  async ({ handle }) => {
    return (await fetch((await serveHttp({ after }, handle)) + TARGET, { headers: { authorization } }))
      .status;
  },
];

describe("programs that embed the library", { skip: need(PROGRAM) }, () => {
  it("share limits, whichever door a request comes through", async () => {
    const { url } = await startRedis();
    const limit = 20;
    const replicas = await Promise.all([1, 2].map(() => open(limit, { sharedLimits: url, replicas: 2 })));
    const statuses: number[] = [];
    for (let at = 0; at < limit + 5; at++) {
      statuses.push(await DOORS[at % DOORS.length]!(replicas[at % replicas.length]!));
    }
    assert.deepEqual(statuses, [...Array<number>(limit).fill(200), ...Array<number>(5).fill(429)]);
    for (const { close } of replicas) close();
  });

  it("count a key that gets a new token on, whichever of its tokens comes to which program", async () => {
    const { url } = await startRedis();
    const limit = 12;
    const file = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN, { id: "turned", limit }));
    const replicas = await Promise.all([1, 2].map(() => open(limit, { keys: file, sharedLimits: url })));
    const statuses: number[] = [];
    let token = TOKEN;
    for (let at = 0; at < limit + 4; at++) {
      if (at === 4) {
        token = (await runInside(["keys", "rotate", "turned", "--keys", file])).stdout.trim();
        for (const { reload } of replicas) await reload();
      }
      const { ask } = replicas[at % 2]!;
      const reply = await ask({ target: TARGET, authorization: `Bearer ${at % 3 === 0 ? TOKEN : token}` });
      statuses.push(reply.status);
    }
    assert.deepEqual(statuses, [...Array<number>(limit).fill(200), ...Array<number>(4).fill(429)]);
    for (const { close } of replicas) close();
  });

  it("have a password in a file, and deny what cannot be counted when that is wished", async () => {
    const redis = await startRedis(["--requirepass", "not-to-be-seen"]);
    const file = join(folder, "password");
    writeFileSync(file, "not-to-be-seen\n");
    const seen: unknown[] = [];
    const orrery = await open(1000, {
      sharedLimits: redis.url,
      sharedLimitsPasswordFile: file,
      limitsWhenAway: "deny",
      observe: (observation) => seen.push(observation),
    });
    const [ask] = DOORS;
    assert.equal(await ask!(orrery), 200);
    writeFileSync(file, "another\n");
    const stranger = await open(999, {
      sharedLimits: redis.url,
      sharedLimitsPasswordFile: file,
      limitsWhenAway: "deny",
    });
    assert.equal(await ask!(stranger), 429);
    assert.ok(!JSON.stringify(seen).includes("not-to-be-seen"));
    stranger.close();
    orrery.close();
  });
});
