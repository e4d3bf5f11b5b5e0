/** The library's front door: where snapshot and keys may lie, what may be asked, and what is left after the end. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { type DirectAsk, type OpenOptions, type Orrery, openOrrery } from "../src/mod.ts";
import { place, TOKEN } from "./support/place.ts";

const target = "/api/public/v1/stats";
const authorization = `Bearer ${TOKEN}`;

async function open(given: Partial<OpenOptions> & Pick<OpenOptions, "snapshot" | "keys">): Promise<Orrery> {
  return await openOrrery({ threads: false, watch: 0, ...given });
}

/** With the files of a folder that goes with its test. */
async function openPlace(t: TestContext, given: Partial<OpenOptions> = {}): Promise<Orrery> {
  const { snapshot, keys } = place(t);
  const orrery = await open({ snapshot, keys, ...given });
  t.after(orrery.close);
  return orrery;
}

test("snapshot and keys may be file: URLs", async (t) => {
  const { snapshot, keys } = place(t);
  const orrery = await open({ snapshot: pathToFileURL(`${snapshot}/`), keys: pathToFileURL(keys) });
  t.after(orrery.close);
  assert.equal((await orrery.ask({ target, authorization })).status, 200);

  const wrong: [given: Pick<OpenOptions, "snapshot" | "keys">, says: string][] = [
    [
      { snapshot: new URL("ftp://host/rows/"), keys },
      'option "snapshot": a URL must begin with http:// or https://',
    ],
    [{ snapshot, keys: new URL("data:,x") }, 'option "keys" can be a file: URL only, is a data: URL'],
  ];
  for (const [given, says] of wrong) {
    await assert.rejects(open(given), { name: "TypeError", message: `openOrrery: ${says}` });
  }
  const elsewhere = open({ snapshot: new URL("file://elsewhere/rows"), keys });
  await assert.rejects(elsewhere, { name: "TypeError", message: /^openOrrery: option "snapshot": / });
});

test("a field that cannot be asked is named, with the one that may be meant", async (t) => {
  const orrery = await openPlace(t);
  const wrong: [asked: object, says: RegExp][] = [
    [
      { target, authorisation: authorization },
      /^ask: unknown field "authorisation"; did you mean "authorization"\?$/,
    ],
    [{ target, ifmatch: "x" }, /did you mean "ifMatch"\?$/],
    [{ target, headers: {} }, /^ask: unknown field "headers"; there are target, method, /],
    [{ target, now: "today" }, /^ask: now must be a number$/],
    [{ target, now: Number.NaN }, /^ask: now must be a number$/],
  ];
  for (const [asked, message] of wrong) {
    await assert.rejects(orrery.ask(asked as DirectAsk), { name: "TypeError", message });
  }
});

for (const threads of [false, true]) {
  test(`a replica that was closed answers nothing more, threads: ${threads}`, async (t) => {
    const orrery = await openPlace(t, { threads });
    const server = createServer({ requireHostHeader: false }, orrery.handle);
    t.after(() => server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const headers = { authorization };
    assert.equal((await fetch(base + target, { headers })).status, 200);
    orrery.close();

    const reply = await orrery.ask({ target, authorization });
    assert.deepEqual([reply.status, reply.body], [503, '{"error":"Server is closed"}']);
    for (const ask of [orrery.fetch, fetch]) {
      for (const path of ["/stats", "/worlds", "/users/search?q=a"]) {
        const reply = await ask(new Request(`${base}/api/public/v1${path}`, { headers }));
        assert.equal(reply.status, 503, path);
        assert.deepEqual(await reply.json(), { error: "Server is closed" });
        assert.equal(reply.headers.get("x-ratelimit-remaining"), null, "it is not counted");
      }
    }
    assert.equal((await orrery.reload()).snapshot, "refused");
    assert.ok(orrery.generation());
  });
}
