/** Mirroring a server whose data change meanwhile: what is published is of one generation, whole, or nothing is. */

import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { generateSnapshot } from "../../src/generate/generate.ts";
import { Mirror } from "../../src/sources/mirror/mirror.ts";
import { contents, temporaryFolder } from "../support/folders.ts";
import {
  CLI_TOKEN,
  type Passing,
  QUICK,
  startUpstream,
  tokenFile,
  type Upstream,
  withoutEtag,
} from "../support/upstream.ts";

/** Snapshots that have no row in common: after a change of one to the other, all that the first lists is gone. */
const SEEDS = { first: 3, second: 4 };
type Name = keyof typeof SEEDS;

let place: string;
let upstream: Upstream;
let requestsOfWhole: number;
const wholes: Partial<Record<Name, Record<string, string>>> = {};
const released: (() => void)[] = [];

/** Has the server serve other rows. */
async function serve(name: Name): Promise<void> {
  cpSync(join(place, name), join(place, "served"), { recursive: true });
  await upstream.reload();
}

/** Has the server change to other rows before it answers certain requests, by their numbers from 1. */
function serveAt(changes: Readonly<Record<number, Name>>): void {
  let requests = 0;
  upstream.fault = async () => {
    const name = changes[++requests];
    if (name !== undefined) await serve(name);
    return false;
  };
}

async function mirror(t: { after(done: () => void): void }, signal = new AbortController().signal) {
  const folder = temporaryFolder(t);
  const out = join(folder, "out");
  const opened = await Mirror.open({
    ...{ from: `${upstream.url}/api/public/v1`, tokenFile: tokenFile(folder, CLI_TOKEN), out, signal },
    ...{ searches: [], maxBytes: 1e9, timing: QUICK, tell: () => {} },
  });
  return { renew: () => opened.renew(), close: () => opened.close(), out };
}

before(async () => {
  place = temporaryFolder({ after: (done) => released.push(done) });
  for (const [name, seed] of Object.entries(SEEDS)) {
    await generateSnapshot({
      ...{ out: join(place, name), users: 80, worlds: 76, instances: 60, seed },
      gzip: false,
    });
  }
  cpSync(join(place, "first"), join(place, "served"), { recursive: true });
  upstream = await startUpstream(join(place, "served"));
  for (const name of ["second", "first"] as const) {
    await serve(name);
    const { out, renew, close } = await mirror({ after: (done) => released.push(done) });
    ({ requests: requestsOfWhole } = await renew());
    await close();
    wholes[name] = contents(out);
  }
  assert.notDeepEqual(wholes.first, wholes.second);
});
afterEach(async () => {
  upstream.change = undefined;
  upstream.fault = undefined;
  upstream.asked.length = 0;
  await serve("first");
});
after(async () => {
  await upstream.close();
  for (const release of released) release();
});

function assertWhole(out: string, ...names: readonly Name[]): void {
  const found = contents(out);
  const name = (Object.keys(wholes) as Name[]).find(
    (one) => wholes[one]!["manifest.json"] === found["manifest.json"],
  );
  assert.ok(
    name !== undefined && names.includes(name),
    `${name ?? "a mixture"} in place of ${names.join(" or ")}`,
  );
  assert.deepEqual(found, wholes[name]);
}

describe("a mirror of a server that changes", () => {
  it("is of one generation whenever the change comes, also where only 404s follow", async (t) => {
    const step = Math.ceil(requestsOfWhole / 12);
    let confirmed = 0;
    for (let at = 2; at <= requestsOfWhole; at += step) {
      await serve("first");
      serveAt({ [at]: "second" });
      upstream.asked.length = 0;
      const { out, renew, close } = await mirror(t);
      const { collected } = await renew();
      await close();
      assertWhole(out, "second");
      assert.equal(collected!.gone, 0);
      if (upstream.asked.some(({ status, target }) => status === 404 && target.endsWith("/stats")))
        confirmed++;
    }
    assert.ok(confirmed > 3, `${confirmed} rounds had worlds that were gone`);
  });

  it("is of one generation when the change is taken back, however soon", async (t) => {
    for (const length of [1, 3, 10, 20]) {
      for (const at of [9, 30, requestsOfWhole - 20]) {
        await serve("first");
        serveAt({ [at]: "second", [at + length]: "first" });
        const { out, renew, close } = await mirror(t);
        await renew();
        await close();
        assertWhole(out, "first");
      }
    }
  });

  it("is of one generation when it goes on from a journal of another one", async (t) => {
    const stop = new AbortController();
    let left = Math.floor(requestsOfWhole / 2);
    upstream.change = () => {
      if (--left === 0) stop.abort(new Error("stopped"));
    };
    const stopped = await mirror(t, stop.signal);
    await assert.rejects(stopped.renew(), /stopped/);
    await stopped.close();
    await serve("second");
    const again = await Mirror.open({
      ...{ from: `${upstream.url}/api/public/v1`, out: stopped.out, signal: new AbortController().signal },
      ...{ searches: [], maxBytes: 1e9, timing: QUICK, tell: () => {} },
      tokenFile: tokenFile(temporaryFolder(t), CLI_TOKEN),
    });
    await again.renew();
    await again.close();
    assertWhole(stopped.out, "second");
  });

  it("is not made when it changes all the time, and is made once it does no more", async (t) => {
    const manifest = join(place, "served/manifest.json");
    let requests = 0;
    upstream.fault = async () => {
      if (++requests % 40 === 0) {
        const text = readFileSync(manifest, "utf8");
        writeFileSync(manifest, text.replace(/"generation": "[^"]*"/, `"generation": "change-${requests}"`));
        await upstream.reload();
      }
      return false;
    };
    const { out, renew, close } = await mirror(t);
    await assert.rejects(renew(), { name: "SourceError", message: /the server('s data)? change/ });
    assert.equal(existsSync(out), false);
    upstream.fault = undefined;
    await serve("second");
    await renew();
    await close();
    assertWhole(out, "second");
  });
});

describe("worlds that are listed and gone", () => {
  const gone = (reply: Passing): void => {
    if (!/\/worlds\/[^/]+\/stats$/.test(reply.target)) return;
    Object.assign(reply, { status: 404, body: '{"error":"World not found"}' });
    delete reply.headers.etag;
  };
  for (const [named, change] of [
    ["names its generations", gone],
    [
      "names none",
      (reply: Passing) => {
        gone(reply);
        withoutEtag(reply);
      },
    ],
  ] as const) {
    it(`are no empty snapshot, of a server that ${named}`, async (t) => {
      const { out, renew, close } = await mirror(t);
      upstream.change = change;
      const lines =
        /the server lists \d+ worlds and answers 404 to the statistics of all of them; nothing is published/;
      await assert.rejects(renew(), lines);
      await assert.rejects(renew(), lines);
      assert.equal(existsSync(out), false);
      // The journal does not hold it against the server.
      upstream.change = named === "names none" ? withoutEtag : undefined;
      const { collected } = await renew();
      assert.ok(collected!.worlds.length > 50);
      await close();
    });
  }

  it("cost fewer requests more than there are", async (t) => {
    const owners = /\/users\/[0-9a-f-]+$/;
    upstream.change = (reply) => {
      if (owners.test(reply.target))
        Object.assign(reply, { status: 404, body: '{"error":"User not found"}' });
      if (/\/users\/search/.test(reply.target)) {
        reply.body = reply.body.replace(
          /"data":\[.*\],"pagination":\{"total":\d+/,
          '"data":[],"pagination":{"total":0',
        );
      }
    };
    const { renew, close } = await mirror(t);
    const { collected } = await renew();
    await close();
    const asked = upstream.asked.filter(({ target }) => owners.test(target)).length;
    const confirmed = upstream.asked.filter(({ headers }) => headers["if-none-match"] !== undefined);
    assert.ok(asked > 20 && collected!.unknownOwners === asked, `${asked} of ${collected!.unknownOwners}`);
    assert.ok(confirmed.every(({ status }) => status === 304));
    assert.ok(confirmed.length > 0 && confirmed.length < asked, `${confirmed.length} confirm ${asked}`);
  });
});
