/** The access log: the contents of its lines, secrets that stay out of them, ids of answers, and addresses of clients. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { PROGRAM } from "../src/features.ts";
import { createFetchHandler } from "../src/http/fetch.ts";
import { readClients } from "../src/model/client-address.ts";
import type { Ask, Reply } from "../src/model/message.ts";
import { requestIdOf, traceOf } from "../src/model/request-ids.ts";
import { AccessLog, loggedPath } from "../src/observe/access-log.ts";
import type { Observation } from "../src/observe/events.ts";
import { createLog } from "../src/observe/log/log.ts";
import { openState } from "../src/server/open.ts";
import { BASE, cleanUp, serve, type TestServer, TOKENS, testOptions } from "./support/http-server.ts";
import { get, until } from "./support/process.ts";
import { askOnce, header, lastWord, requestHead } from "./support/raw.ts";
import { bearer, STATS } from "./support/requests.ts";

after(cleanUp);

type Access = Extract<Observation, { kind: "request" }>;

const PREFIXES = { api: "svc_sk_", cli: "svcx_" };

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const WHOLE_TRACE = `00-${TRACE}-${PARENT}-01`;

/** Headers that may hold values that the `Headers` class would refuse or trim. */
function headersOf(values: Readonly<Record<string, string>>): Pick<Headers, "get"> {
  return { get: (name) => values[name] ?? null };
}

function accesses({ observations }: Pick<TestServer, "observations">): Access[] {
  return observations.filter((observation) => observation.kind === "request");
}

describe("the access log", () => {
  it("says of each request what was asked, by whom, and what came of it; the answer carries the id", async () => {
    const server = await serve({ accessLog: true });
    const cases: [target: string, headers: string[], line: Partial<Access>, method?: string][] = [
      [`${BASE}/stats?x=1`, [bearer("cli")], { path: STATS, status: 200, keyId: "cli" }],
      [`${BASE}/worlds`, [bearer("cli")], { method: "HEAD", status: 200, bytes: 0 }, "HEAD"],
      [`${BASE}/worlds/none`, [bearer("api")], { status: 404, fault: "worldMissing" }],
      [STATS, [], { status: 401, fault: "noToken", keyId: "" }],
      ["/nowhere", [], { path: "/nowhere", route: "", status: 404, fault: "notFound" }],
      [STATS, [], { status: 204, bytes: 0 }, "OPTIONS"],
      [`${BASE}/users/search?q=User`, [bearer("api")], { status: 200, route: "/users/search" }],
      // A key that is known is named, though it is not valid.
      [STATS, [bearer("disabled")], { status: 401, fault: "apiKeyInactive", keyId: "disabled" }],
      [STATS, [bearer("expired")], { status: 401, fault: "apiKeyExpired", keyId: "expired" }],
      [STATS, [bearer("cliDisabled")], { status: 401, fault: "cliTokenUnknown", keyId: "cliDisabled" }],
      [STATS, [bearer("cliExpired")], { status: 401, fault: "cliTokenExpired", keyId: "cliExpired" }],
      [STATS, ["Authorization: Bearer svc_sk_x"], { status: 401, fault: "apiKeyUnknown", keyId: "" }],
    ];
    for (const [at, [target, headers, expected, method]] of cases.entries()) {
      const response = await askOnce(server.port, target, headers, method);
      const line = accesses(server)[at]!;
      assert.deepEqual({ ...line, ...expected }, line, `${method} ${target}`);
      assert.deepEqual([line.client, line.bytes], ["127.0.0.1", Buffer.byteLength(response.body)]);
      assert.equal(header(response, "X-Request-Id"), line.id);
      assert.equal("fault" in line, line.status >= 400);
    }
    assert.equal(new Set(accesses(server).map(({ id }) => id)).size, cases.length);
    await server.stop();
  });

  it("has what was refused before it was a request", async () => {
    const server = await serve({ accessLog: true });
    const refused: [bytes: string, fault: string, status: number][] = [
      ["GET / HTTP/1.1\r\n\r\n", "noHost", 400],
      ["NONSENSE\r\n\r\n", "requestLine", 400],
      [`NONSENSE\r\nA: ${"a".repeat(20_000)}\r\n\r\n`, "requestLine", 400],
      [requestHead("/", [`A: ${"a".repeat(20_000)}`]), "headTooLarge", 431],
      [requestHead("/", ["Content-Length: 65537", "X-Request-Id: mine"]), "bodyNotAllowed", 400],
    ];
    for (const [at, [bytes, fault, status]] of refused.entries()) {
      const response = await lastWord(server.port, bytes);
      const line = await until(() => accesses(server)[at], fault);
      assert.equal(header(response, "X-Request-Id"), line.id);
      assert.deepEqual([line.fault, line.status, line.client], [fault, status, "127.0.0.1"]);
    }
    assert.equal(accesses(server).at(-1)!.id, "mine");
    await server.stop();
  });

  it("never holds a token, wherever a client puts it", async () => {
    const server = await serve({ accessLog: true });
    const canary = "svc_sk_canary-4711";
    const targets = [
      `${BASE}/stats?token=${canary}`,
      `${BASE}/stats??${canary}`,
      `/${canary}`,
      `/a/${canary}/b`,
      `/a-${canary}`,
      `${BASE}/worlds/${canary}`,
      `${BASE}/worlds/${canary}/stats`,
      `http://me:canary-4711@any${BASE}/stats`,
      `ftp://me:canary-4711@any/x`,
      `/x#${canary}`,
    ];
    for (const target of targets) await askOnce(server.port, target, [`Authorization: Bearer ${canary}`]);
    const noHost = `GET /${canary} HTTP/1.1\r\nAuthorization: Bearer ${canary}\r\n\r\n`;
    for (const bytes of [noHost, noHost.replace("1.1", "9.9")]) await lastWord(server.port, bytes);
    await until(() => accesses(server).length === targets.length + 2, "a line for each");
    assert.doesNotMatch(JSON.stringify(server.observations), /canary/);
    await server.stop();
  });
});

it("the query and the User-Agent stand in a line, without tokens and control characters", async () => {
  const server = await serve({ accessLog: true });
  const sent = async (target: string, agent?: string): Promise<Access> => {
    await askOnce(server.port, target, agent === undefined ? [] : [`User-Agent: ${agent}`]);
    return accesses(server).at(-1)!;
  };
  const one = await sent(`${BASE}/worlds?limit=5&q=a%20b`, "crawler/1.0 (+https://example.com)");
  assert.deepEqual([one.query, one.userAgent], ["limit=5&q=a%20b", "crawler/1.0 (+https://example.com)"]);
  const two = await sent(`${BASE}/worlds`);
  assert.ok(!("query" in two || "userAgent" in two));
  assert.ok(!("query" in (await sent(`${BASE}/worlds?`, ""))));
  const agent = 'a "b" \\ \xc3\xa9\xc2\x9b\tx svc_sk_canary/svcx_canary more';
  const three = await sent("/x?a=1&token=svc_sk_canary&b=svcx_canary#canary", agent);
  assert.equal(three.query, "a=1&token=svc_sk_***&b=svcx_***");
  assert.match(three.userAgent!, /^a "b" \\ %C3%A9%C2%9B%09x svc_sk_\*\*\* more$/);
  const four = await sent(`/svc%5fsk_canary?x=%73vc_sk_canary&y=${"z".repeat(5000)}`, "u".repeat(5000));
  assert.equal(four.path, "/***");
  assert.match(four.query!, /^\*\*\*&y=z+\.\.\.$/);
  assert.equal(four.userAgent!.length, 515);
  // It is cut before it is masked.
  assert.equal(four.query!.length, 515 - "%73vc_sk_canary".length + "***".length - 1);
  const encoded =
    "%2573vc_sk_canary&b=%2%35%37%33vc%255Fsk_canary&c=%252573vc_sk_canary-svc_sk_canary&%u0073vc_sk_canary";
  assert.equal((await sent(`/x?${encoded}`)).query, "***&***&***&***");
  assert.doesNotMatch(JSON.stringify(server.observations), /canary/);
  await server.stop();
});

it("a token is masked at every level of percent-encoding", () => {
  const encoded = (text: string): string =>
    text.replace(/[^%]|%/g, (unit) => `%${unit.charCodeAt(0).toString(16)}`);
  let path = "svc_sk_canary";
  for (let level = 1; level < 6; level++) {
    path = encoded(path);
    let shown = loggedPath(`/${path}/b`, "", PREFIXES);
    // A longer text is cut before it is masked.
    if (path.length < 500) assert.equal(shown, "/***/b", `${level}`);
    for (let decoded = ""; decoded !== shown; ) {
      decoded = shown;
      shown = shown.replace(/%([0-9a-f]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
    }
    assert.doesNotMatch(shown, /sk_c/, `${level}`);
  }
  // A prefix that the next level would destroy.
  const hex = { api: "abc_", cli: "svcx_" };
  assert.equal(loggedPath("/%25abc_canary", "", hex), "/***");
  // As many levels as fit: they are not read, and not shown.
  assert.equal(loggedPath(`/%${"25".repeat(900)}abc_canary`, "", hex), "/***...");
  assert.equal(loggedPath("/100%2525", "", PREFIXES), "/100%2525");
});

describe("a line of the access log", () => {
  const whole: Reply = { status: 200, headers: "", body: "{}", route: "/worlds/:id", keyId: "key_1" };
  const ask: Ask = {
    method: "GET",
    target: `${BASE}/worlds/1`,
    authorization: undefined,
    ifNoneMatch: undefined,
    ifMatch: undefined,
    now: 0,
    peer: { remoteAddress: "127.0.0.1" },
  };
  const odd = { traceparent: WHOLE_TRACE, "user-agent": 'x "y" \\', "x-request-id": "mine" };
  const quoted = `${BASE}/worlds/"\\%22\u00e9?q="&x=svc_sk_y`;

  it("has the bytes of the object that stands for it", () => {
    for (const [asked, replied] of [
      [{}, {}],
      [{ target: quoted }, { keyId: 'k"\u2028\n', status: 404, fault: "worldMissing" }],
      [{ headers: headersOf(odd) }, {}],
      [
        { target: "", method: "", peer: undefined },
        { route: "", keyId: "" },
      ],
    ] as [Partial<Ask>, Partial<Reply>][]) {
      const [lines, objects]: string[][] = [[], []];
      const log = createLog(PROGRAM.tables.events, "info", { write: (line: string) => objects!.push(line) });
      const options = { observe: log, prefixes: PREFIXES, clientOf: readClients([]) };
      for (const one of [{ ...options, write: (line: string): unknown => lines!.push(line) }, options])
        new AccessLog(one).record({ ...ask, ...asked }, { ...whole, ...replied }, performance.now());
      const same = (line = ""): string => line.replace(/"(time|id)":"(?!mine)[^"]*"|"ms":[\d.]+/g, "");
      assert.equal(same(lines![0]), same(objects![0]));
      assert.equal(JSON.parse(lines![0]!).event, "request");
    }
  });
});

describe("an X-Request-Id", () => {
  const idOf = (requestId: string): string | undefined =>
    requestIdOf(headersOf({ "x-request-id": requestId }), PREFIXES);

  it("is taken when it is a short word of harmless characters", () => {
    const odd = "Root=1-67891233-abc/7:a+b=~@.";
    for (const id of ["a", "f058ebd6-02f7-4d3f-942e-904344e8cde5", odd, "x".repeat(128)])
      assert.equal(idOf(id), id);
  });

  it("is not taken when it is long, odd, two, or may be a token", () => {
    const refused = ["", "x".repeat(129), "a b", "a, b", "é", "a\tb", '"a"', "<b>", "svc_sk_1", "a-svcx_1"];
    for (const id of refused) assert.equal(idOf(id), undefined, id);
  });
});

describe("a traceparent", () => {
  const traceFrom = (traceparent: string) => traceOf(headersOf({ traceparent }));

  it("is taken as W3C says, of later versions, too", () => {
    for (const value of [WHOLE_TRACE, `cc-${TRACE}-${PARENT}-00`, `cc-${TRACE}-${PARENT}-00-what`])
      assert.deepEqual(traceFrom(value), { traceId: TRACE, parentId: PARENT }, value);
  });

  it("is not taken otherwise", () => {
    const refused = [
      "",
      `ff-${TRACE}-${PARENT}-01`,
      `${WHOLE_TRACE}-more`,
      WHOLE_TRACE.toUpperCase(),
      `00-${"0".repeat(32)}-${PARENT}-01`,
      `${WHOLE_TRACE}, ${WHOLE_TRACE}`,
    ];
    for (const value of refused) assert.equal(traceFrom(value), undefined, value);
  });
});

describe("the access log", () => {
  const targets: [target: string, token?: string][] = [
    [STATS, TOKENS.cli],
    [`${BASE}/worlds?limit=3`, TOKENS.api],
    [`${BASE}/worlds/none`, TOKENS.api],
    [`${BASE}/users/search?q=User`, TOKENS.api],
    [STATS],
    ["/nowhere"],
  ];

  it("has the request's own ids, and its answer has them back, each its own, through every door", async () => {
    const wire = await serve({ accessLog: true });
    const observations: Observation[] = [];
    const opened = await openState(await testOptions({ accessLog: true }, observations));
    const handler = createFetchHandler(opened.state);
    const byWire = async (target: string, headers: Record<string, string>): Promise<unknown> =>
      (await get(`http://127.0.0.1:${wire.port}${target}`, { headers })).headers["x-request-id"];
    const byFetch = async (target: string, headers: Record<string, string>): Promise<unknown> =>
      (await handler(new Request(`http://any${target}`, { headers }))).headers.get("x-request-id");
    const doors = [
      { askId: byWire, ...wire },
      { askId: byFetch, observations },
    ];
    for (const { askId, ...door } of doors) {
      const of = (wanted: string) => accesses(door).find(({ id }) => id === wanted)!;
      for (const [at, [target, token]] of [...targets, ...targets].entries()) {
        const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
        const own = `own-${at}`;
        const headers = { ...authorization, "X-Request-Id": own, traceparent: WHOLE_TRACE };
        assert.equal(await askId(target, headers), own, target);
        assert.deepEqual([of(own).traceId, of(own).parentId], [TRACE, PARENT]);
        const made = String(await askId(target, { ...authorization, "X-Request-Id": "svc_sk_canary" }));
        assert.match(made, /^[0-9a-f]{8}-[0-9a-z]+$/);
        assert.equal("traceId" in of(made), false);
      }
      assert.doesNotMatch(JSON.stringify(door.observations), /canary/);
    }
    opened.stop();
    opened.close();
    await wire.stop();
  });

  it("is without effect on answers while it is off", async () => {
    const server = await serve();
    const response = await askOnce(server.port, STATS, [bearer("cli"), "X-Request-Id: mine"]);
    assert.equal(header(response, "X-Request-Id"), undefined);
    await server.stop();
  });
});

function clientOf(proxies: string, remoteAddress: string | undefined, forwarded: string): string | undefined {
  const headers = headersOf({ "x-forwarded-for": forwarded });
  return readClients(proxies.split(","))({ peer: { remoteAddress }, headers });
}

describe("the client of a request", () => {
  it("is the peer, unless that is a proxy that is trusted", () => {
    assert.equal(readClients([])({ peer: { remoteAddress: "127.0.0.1" } }), "127.0.0.1");
    for (const [proxies, peer, client] of [
      ["10.0.0.0/8", "11.0.0.1", "11.0.0.1"],
      ["loopback", undefined, undefined],
      ["10.0.0.0/8", "10.9.9.9", "1.2.3.4"],
      ["::ffff:10.0.0.0/104", "10.9.9.9", "1.2.3.4"],
      ["fe80::/10", "fe80::1%eth0", "1.2.3.4"],
      ["loopback", "::ffff:127.0.0.1", "1.2.3.4"],
    ] as const)
      assert.equal(clientOf(proxies, peer, "1.2.3.4"), client, `${proxies} ${peer}`);
  });

  function areClients(proxies: string, clients: Readonly<Record<string, string>>): void {
    for (const [forwarded, client] of Object.entries(clients))
      assert.equal(clientOf(proxies, "10.0.0.1", forwarded), client, forwarded);
  }

  it("is the last address that is not itself a trusted proxy's", () => {
    areClients("loopback,10.0.0.0/8,fd00::/8", {
      "6.6.6.6, 1.2.3.4": "1.2.3.4",
      "6.6.6.6,1.2.3.4 ,\t10.1.1.1,fd00::1, ::ffff:10.3.3.3,[fd00::2]:80": "1.2.3.4",
      "1.2.3.4:5678": "1.2.3.4",
      "[2001:DB8::1]:443": "2001:db8::1",
      "10.1.1.1, 10.2.2.2": "10.0.0.1",
      "6.6.6.6, [fe80::1%eth0]:80": "fe80::1%eth0",
      "1.2.3.4, fd00::1%eth0, [fd00::1%eth0.1]:80": "1.2.3.4",
      [`6.6.6.6${",10.1.1.1".repeat(64)}`]: "10.0.0.1",
      [`1.2.3.4${",10.1.1.1".repeat(63)}`]: "1.2.3.4",
    });
  });

  it("is the proxy that wrote what is malformed: what is left of it may be the client's own text", () => {
    areClients("10.0.0.0/8,fd00::/8", {
      "6.6.6.6, unknown": "10.0.0.1",
      "6.6.6.6, , 10.1.1.1": "10.1.1.1",
      ", 10.1.1.1": "10.1.1.1",
      "6.6.6.6, unix:, 10.1.1.1, 10.2.2.2:80": "10.1.1.1",
      "6.6.6.6, 1.2.3.4:port, [fd00::2]:80, 10.2.2.2": "fd00::2",
    });
  });
});

for (const kind of ["direct", "node"] as const) {
  it(`stands in lines and notices, all lines of the header together (--http ${kind})`, async () => {
    const settings = { accessLog: true, trustedProxies: ["loopback"], http: kind };
    const { port, observations, stop } = await serve(settings);
    const url = `http://127.0.0.1:${port}${BASE}/stats`;
    const headers = { "X-Forwarded-For": ["6.6.6.6, 192.0.2.7", "127.0.0.2"] as unknown as string };
    await get(url, { token: TOKENS.cli, headers });
    for (let times = 0; times < 12; times++) await get(url, { token: "svc_sk_wrong", headers });
    const clients = (): string[] =>
      observations.flatMap((one) => ("client" in one ? [`${one.kind} ${one.client}`] : []));
    await until(() => clients().length >= 14, "lines and a notice");
    assert.deepEqual([...new Set(clients())].sort(), ["bad-tokens 192.0.2.7", "request 192.0.2.7"]);
    await stop();
  });
}
