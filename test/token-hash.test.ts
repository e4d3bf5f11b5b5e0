/** The hash of a token: that of its bytes as they came over the wire, whatever the runtime hashes with. */

import assert from "node:assert/strict";
import { createHash, hash } from "node:crypto";
import { describe, it } from "node:test";
import { hashToken, tokenHasher } from "../src/auth/keys.ts";

/** Texts, and the bytes that they stand for. */
const TOKENS: Record<string, [token: string, bytes: Buffer]> = {
  nothing: ["", Buffer.alloc(0)],
  ASCII: ["svc_sk_0aZ~", Buffer.from("svc_sk_0aZ~")],
  "every ASCII char": [
    String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code)),
    Buffer.from(Array.from({ length: 128 }, (_, code) => code)),
  ],
  "UTF-8 out of a header": ["svc_sk_\xc3\xa9", Buffer.from("svc_sk_é")],
  "bytes that are no UTF-8": ["svc_sk_\xff\x80", Buffer.from([...Buffer.from("svc_sk_"), 0xff, 0x80])],
  "a program's own text": ["svc_sk_é東", Buffer.from("svc_sk_é東")],
  "half of a surrogate pair": ["svc_sk_東\ud800", Buffer.from("svc_sk_東\ufffd")],
  "a part of a header": [
    "Bearer svc_sk_a-token-that-is-cut-out".slice(7),
    Buffer.from("svc_sk_a-token-that-is-cut-out"),
  ],
};

describe("the hash of a token", () => {
  const hashers = {
    "as it is here": hashToken,
    "in one call": tokenHasher(hash),
    "in several": tokenHasher(undefined),
  };
  for (const [how, hasher] of Object.entries(hashers)) {
    for (const [what, [token, bytes]] of Object.entries(TOKENS)) {
      it(`${how}: ${what}`, () => {
        assert.equal(hasher(token), createHash("sha256").update(bytes).digest("hex"));
      });
    }
  }

  it("is made in one call where there is one", () => {
    let calls = 0;
    const hasher = tokenHasher((algorithm) => {
      calls++;
      return algorithm;
    });
    assert.equal(hasher("svc_sk_\xff"), "sha256");
    assert.equal(calls, 1);
  });
});
