/** Where requests come from: which proxies are trusted, and which address of `X-Forwarded-For` counts. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { networkOf } from "../src/auth/notices.ts";
import { problemWithProxy, readClients } from "../src/model/client-address.ts";
import { BASE, cleanUp, serve, TOKENS } from "./support/http-server.ts";
import { get, until } from "./support/process.ts";

after(cleanUp);

/** The client of a request of a peer, whose `X-Forwarded-For` is that text. */
function clientOf(
  proxies: string,
  remoteAddress: string | undefined,
  forwarded?: string,
): string | undefined {
  const headers = { get: (name: string) => (name === "x-forwarded-for" ? (forwarded ?? null) : null) };
  return readClients(proxies.split(","))({ peer: { remoteAddress }, headers });
}

describe("a list of proxies", () => {
  it("has addresses, ranges and loopback", () => {
    for (const proxy of [
      "10.0.0.1",
      "10.0.0.0/8",
      "0.0.0.0/0",
      "::1",
      "fd00::/8",
      "::/0",
      "::ffff:10.0.0.0/104",
    ])
      assert.equal(problemWithProxy(proxy), undefined, proxy);
    for (const proxy of [
      ..."10.0.0 10.0.0.256 010.0.0.1 10.0.0.0/33 10.0.0.0/ 10.0.0.0/-1 ::1/129 fe80::1%eth0 [::1] ::g".split(
        " ",
      ),
      ..."localhost Loopback loopback/8 10.0.0.0/8/8 127.0.0.1:80 *".split(" "),
    ])
      assert.match(String(problemWithProxy(proxy)), /^must be an address, a range/, proxy);
  });
});

describe("the client of a request", () => {
  it("is the peer, unless that is a proxy that is trusted", () => {
    assert.equal(clientOf("10.0.0.0/8", "11.0.0.1", "1.2.3.4"), "11.0.0.1");
    assert.equal(readClients([])({ peer: { remoteAddress: "127.0.0.1" } }), "127.0.0.1");
    assert.equal(clientOf("loopback", undefined, "1.2.3.4"), undefined);
    assert.equal(clientOf("10.0.0.0/8", "10.9.9.9", "1.2.3.4"), "1.2.3.4");
    assert.equal(clientOf("10.0.0.0/8", "::ffff:10.9.9.9", "1.2.3.4"), "1.2.3.4");
    assert.equal(clientOf("::ffff:10.0.0.0/104", "10.9.9.9", "1.2.3.4"), "1.2.3.4");
    assert.equal(clientOf("fe80::/10", "fe80::1%eth0", "1.2.3.4"), "1.2.3.4");
    for (const peer of ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
      assert.equal(clientOf("loopback", peer, "2001:db8::1"), "2001:db8::1");
  });

  it("is the last address that is not itself a trusted proxy's", () => {
    const behind = (forwarded?: string): string | undefined =>
      clientOf("loopback,10.0.0.0/8,fd00::/8", "10.0.0.1", forwarded);
    assert.equal(behind("6.6.6.6, 1.2.3.4"), "1.2.3.4");
    assert.equal(behind("6.6.6.6,1.2.3.4 ,\t10.1.1.1,fd00::1, ::ffff:10.3.3.3,[fd00::2]:80"), "1.2.3.4");
    assert.equal(behind("1.2.3.4:5678"), "1.2.3.4");
    assert.equal(behind("[2001:DB8::1]:443"), "2001:db8::1");
    assert.equal(behind("[2001:db8::1]"), "2001:db8::1");
    assert.equal(behind("::ffff:1.2.3.4"), "1.2.3.4");
    assert.equal(behind("10.1.1.1, 10.2.2.2"), "10.0.0.1");
  });

  it("is not taken from what is malformed", () => {
    const behind = (forwarded: string): string | undefined => clientOf("10.0.0.1", "10.0.0.1", forwarded);
    for (const forwarded of [
      "",
      ",",
      " , ,",
      "unknown",
      "1.2.3",
      "1.2.3.4.5",
      "1.2.3.4:",
      "1.2.3.4:x",
      "[1::2",
      "::1%lo",
    ])
      assert.equal(behind(forwarded), "10.0.0.1", forwarded);
    assert.equal(behind('1.2.3.4, unknown, "5.6.7.8", _hidden,'), "1.2.3.4");
    assert.equal(behind(`${"10.0.0.1,".repeat(20_000)}`), "10.0.0.1");
  });
});

for (const kind of ["direct", "node"] as const) {
  it(`stands in lines and notices, all lines of the header together (--http ${kind})`, async () => {
    const settings = { accessLog: true, trustedProxies: ["loopback"], http: { kind } };
    const { port, observations, stop } = await serve(settings);
    const url = `http://127.0.0.1:${port}${BASE}/stats`;
    const headers = { "X-Forwarded-For": ["6.6.6.6, 192.0.2.7", "127.0.0.2"] as unknown as string };
    await get(url, { token: TOKENS.cli, headers });
    for (let times = 0; times < 12; times++) await get(url, { token: "svc_sk_wrong", headers });
    const clients = await until(() => {
      const told = observations.flatMap((one) =>
        one.kind === "request" || one.kind === "bad-tokens" ? [`${one.kind} ${one.client}`] : [],
      );
      return told.length >= 14 ? told : undefined;
    }, "lines and a notice");
    assert.deepEqual([...new Set(clients)].sort(), ["bad-tokens 192.0.2.7", "request 192.0.2.7"]);
    await stop();
  });
}

it("is one of IPv6 that a notice takes for its network", () => {
  assert.equal(networkOf(clientOf("loopback", "::1", "2001:DB8:1:2:3::4")!), "2001:db8:1:2::/64");
});
