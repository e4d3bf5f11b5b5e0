/** Ids that requests bring: which are taken, where they appear, and that answers never mix them. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createFetchHandler } from "../src/http/fetch.ts";
import { Fields } from "../src/http/head.ts";
import { requestIdOf, traceOf } from "../src/model/request-ids.ts";
import type { Observation } from "../src/observe/events.ts";
import { openState } from "../src/server/open.ts";
import { cleanUp, serve, TOKENS, testOptions } from "./support/http-server.ts";
import { get } from "./support/process.ts";

after(cleanUp);

const PREFIXES = { api: "svc_sk_", cli: "svcx_" };
const BASE = "/api/public/v1";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";

type Access = Extract<Observation, { kind: "request" }>;

/** Headers with a value that a web-standard object would refuse or trim. */
function headersOf(values: Readonly<Record<string, string>>): Pick<Headers, "get"> {
  return { get: (name) => values[name] ?? null };
}

describe("an X-Request-Id", () => {
  const idOf = (requestId: string): string | undefined =>
    requestIdOf(headersOf({ "x-request-id": requestId }), PREFIXES);

  it("is taken when it is a short word of harmless characters", () => {
    for (const id of [
      "a",
      "f058ebd6-02f7-4d3f-942e-904344e8cde5",
      "Root=1-67891233-abc/7:a+b=~@.",
      "x".repeat(128),
    ]) {
      assert.equal(idOf(id), id);
    }
  });

  it("is not taken when it is long, odd, two, or may be a token", () => {
    const refused = [
      "",
      "x".repeat(129),
      "a b",
      "a, b",
      "a,b",
      "é",
      "a\tb",
      '"a"',
      "{}",
      "<b>",
      "svc_sk_1",
      "a-svcx_1",
    ];
    for (const id of refused) assert.equal(idOf(id), undefined, id);
  });
});

describe("a traceparent", () => {
  const traceFrom = (traceparent: string) => traceOf(headersOf({ traceparent }));
  const whole = `00-${TRACE}-${PARENT}-01`;

  it("is taken as W3C says, of later versions, too", () => {
    for (const value of [whole, `cc-${TRACE}-${PARENT}-00`, `cc-${TRACE}-${PARENT}-00-what`]) {
      assert.deepEqual(traceFrom(value), { traceId: TRACE, parentId: PARENT });
    }
  });

  it("is not taken otherwise", () => {
    const refused = [
      "",
      `ff-${TRACE}-${PARENT}-01`,
      `${whole}-more`,
      `${whole}x`,
      ` ${whole}`,
      whole.toUpperCase(),
      `00-${"0".repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${"0".repeat(16)}-01`,
      `00-${TRACE}-${PARENT}-0`,
      `${whole}, ${whole}`,
      `cc-${TRACE}-${PARENT}-00-${"x".repeat(500)}`,
    ];
    for (const value of refused) assert.equal(traceFrom(value), undefined, value);
  });
});

it("ids are found alike in raw and in web-standard headers, sent twice, too", () => {
  const lists = [
    [],
    ["X-Request-ID", "a", "TraceParent", "b"],
    ["x-request-id", "a", "x-request-id", "b", "traceparent", "c", "Traceparent", "d", "Traceparenz", "e"],
  ];
  for (const raw of lists) {
    const headers = new Headers();
    for (let at = 0; at < raw.length; at += 2) headers.append(raw[at]!, raw[at + 1]!);
    const lines = raw.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("");
    const fields = new Fields(`${lines}\r\n`);
    for (const name of ["x-request-id", "traceparent"]) assert.equal(fields.get(name), headers.get(name));
  }
});

describe("the access log", () => {
  const targets: [target: string, token: string | undefined][] = [
    [`${BASE}/stats`, TOKENS.cli],
    [`${BASE}/worlds?limit=3`, TOKENS.api],
    [`${BASE}/worlds/none`, TOKENS.api],
    [`${BASE}/users/search?q=User`, TOKENS.api],
    [`${BASE}/stats`, undefined],
    ["/nowhere", undefined],
  ];
  const authorization = (token: string | undefined): Record<string, string> =>
    token === undefined ? {} : { Authorization: `Bearer ${token}` };

  it("has the request's own ids, and its answer has them back, each its own, through every door", async () => {
    const wire = await serve({ accessLog: true });
    const observations: Observation[] = [];
    const opened = await openState({ ...(await testOptions({ accessLog: true }, observations)) });
    const handler = createFetchHandler(opened.state);
    const doors = [
      {
        lines: wire.observations,
        ask: async (target: string, headers: Record<string, string>) =>
          (await get(`http://127.0.0.1:${wire.port}${target}`, { headers })).headers["x-request-id"],
      },
      {
        lines: observations,
        ask: async (target: string, headers: Record<string, string>) =>
          (await handler(new Request(`http://any${target}`, { headers }))).headers.get("x-request-id"),
      },
    ];
    for (const { lines, ask } of doors) {
      const of = (id: string): Access =>
        (lines as readonly Observation[])
          .filter((one) => one.kind === "request")
          .find((one) => one.id === id)!;
      let number = 0;
      for (const [target, token] of [...targets, ...targets]) {
        const own = `own-${++number}`;
        const traceparent = `00-${TRACE}-${PARENT}-01`;
        const headers = { ...authorization(token), "X-Request-Id": own, traceparent };
        assert.equal(await ask(target, headers), own, target);
        assert.deepEqual([of(own).traceId, of(own).parentId], [TRACE, PARENT]);
        const made = String(await ask(target, { ...authorization(token), "X-Request-Id": "svc_sk_canary" }));
        assert.match(made, /^[0-9a-f]{8}-[0-9a-z]+$/);
        assert.equal("traceId" in of(made), false);
      }
      assert.doesNotMatch(JSON.stringify(lines), /canary/);
    }
    opened.stop();
    opened.close();
    await wire.stop();
  });

  it("has them of a request that is refused for its form, too", async () => {
    const server = await serve({ accessLog: true });
    const url = `http://127.0.0.1:${server.port}${BASE}/stats`;
    const { status, headers } = await get(url, {
      headers: { "Content-Length": "1", "X-Request-Id": "mine" },
    });
    assert.deepEqual([status, headers["x-request-id"]], [400, "mine"]);
    await server.stop();
  });

  it("is without effect on answers while it is off", async () => {
    const server = await serve();
    const url = `http://127.0.0.1:${server.port}${BASE}/stats`;
    const { headers } = await get(url, { token: TOKENS.cli, headers: { "X-Request-Id": "mine" } });
    assert.equal("x-request-id" in headers, false);
    await server.stop();
  });
});
