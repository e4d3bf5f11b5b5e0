/** A text kept from a request must not keep the bytes around it in memory. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { hashToken, type Key, KeyRing } from "../../src/auth/keys.ts";
import { bearer } from "../support/hostile.ts";
import { cleanUp, serveHere } from "../support/http-server.ts";
import { dial, requestHead } from "../support/raw.ts";
import { SEARCH, STATS } from "../support/requests.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

after(cleanUp);

/** Extra bytes in each head. */
const PADDING = 10_000;
const COUNT = 2000;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const KINDS: Readonly<Record<string, (at: number) => [target: string, authorization: string]>> = {
  "searches that are kept": (at) => [`${SEARCH}-of-which-there-is-none-${at}&limit=1`, bearer("cli")],
  "searches of other letters": (at) => [
    `${SEARCH}%E3%81%8B-of-which-there-is-none-${at}&limit=1`,
    bearer("cli"),
  ],
  // Long itself: a collection of V8 14 copies a slice and lets the rest of its head go.
  "tokens that are unknown": (at) => [
    STATS,
    `Authorization: Bearer svcx_unknown_${at}_${"x".repeat(PADDING / 2)}`,
  ],
};

for (const [name, make] of Object.entries(KINDS)) {
  test(`of ${name} the rest of the head is let go`, async () => {
    const { port } = await serveHere({ searchCacheBytes: 16_000_000 });
    const wire = await dial(port);
    async function ask(from: number, to: number): Promise<void> {
      for (let at = from; at < to; at += 4) {
        const four = [at, at + 1, at + 2, at + 3].map((one) => {
          const [target, authorization] = make(one);
          return requestHead(target, [authorization, `x: ${"x".repeat(PADDING)}`]);
        });
        void wire.send(four.join(""));
        for (let answer = 0; answer < 4; answer++) await wire.response();
      }
    }
    await ask(0, 200);
    const before = heapBytes();
    await ask(200, 200 + COUNT);
    const each = (heapBytes() - before) / COUNT;
    assert.ok(each < PADDING / 4, `${each} bytes each`);
  });
}

test("of tokens that are known the rest of the head is let go", () => {
  const token = (at: number): string => `svcx_known_and_long_${at}`;
  const ring = new KeyRing();
  for (let at = 0; at < COUNT; at++) ring.add({ hash: hashToken(token(at)), slot: at } as Key);
  const before = heapBytes();
  for (let at = 0; at < COUNT; at++) {
    const head = Buffer.from(`${token(at)} ${"x".repeat(PADDING)}`).toString("latin1");
    assert.equal(ring.find(head.slice(0, head.indexOf(" ")))?.slot, at);
  }
  const each = (heapBytes() - before) / COUNT;
  assert.ok(ring.size === COUNT && each < PADDING / 4, `${each} bytes each`);
});
