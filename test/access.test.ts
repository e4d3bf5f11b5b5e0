/** The access log: what its lines say, what they never say, and the id that goes with an answer. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, describe, it } from "node:test";
import { readClients } from "../src/model/client-address.ts";
import type { Ask, Reply } from "../src/model/message.ts";
import { AccessLog, loggedPath } from "../src/observe/access-log.ts";
import type { Observation } from "../src/observe/events.ts";
import { createLog } from "../src/observe/log/log.ts";
import { cleanUp, serve, type TestServer, TOKENS } from "./support/http-server.ts";
import { until } from "./support/process.ts";

after(cleanUp);

type Access = Extract<Observation, { kind: "request" }>;

const PREFIXES = { api: "svc_sk_", cli: "svcx_" };
const BASE = "/api/public/v1";

function accesses({ observations }: TestServer): Access[] {
  return observations.filter((observation) => observation.kind === "request");
}

/** Sends bytes; resolves with what came back when the server ends the connection. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part;
    });
    socket.once("end", () => resolve(text));
    socket.once("error", reject);
    socket.write(bytes);
  });
}

function ask(port: number, target: string, token?: string, method = "GET"): Promise<string> {
  const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
  return exchange(
    port,
    `${method} ${target} HTTP/1.1\r\nHost: x\r\n${authorization}Connection: close\r\n\r\n`,
  );
}

describe("the access log", () => {
  it("says of each request what was asked, by whom, and what came of it; the answer carries the id", async () => {
    const server = await serve({ accessLog: true });
    const cases: [target: string, token: string | undefined, method: string, line: Partial<Access>][] = [
      [
        `${BASE}/stats?x=1`,
        TOKENS.cli,
        "GET",
        { path: `${BASE}/stats`, status: 200, keyId: "cli", route: "/stats" },
      ],
      [`${BASE}/worlds`, TOKENS.cli, "HEAD", { method: "HEAD", status: 200, bytes: 0 }],
      [
        `${BASE}/worlds/none`,
        TOKENS.api,
        "GET",
        { path: `${BASE}/worlds/none`, status: 404, fault: "worldMissing" },
      ],
      [`${BASE}/stats`, undefined, "GET", { status: 401, fault: "noToken", keyId: "" }],
      ["/nowhere", undefined, "GET", { path: "/nowhere", route: "", status: 404, fault: "notFound" }],
      [`${BASE}/stats`, undefined, "OPTIONS", { status: 204, bytes: 0 }],
      [`${BASE}/users/search?q=User`, TOKENS.api, "GET", { status: 200, route: "/users/search" }],
    ];
    for (const [at, [target, token, method, expected]] of cases.entries()) {
      const text = await ask(server.port, target, token, method);
      const line = accesses(server)[at]!;
      for (const [name, value] of Object.entries(expected)) {
        assert.equal(line[name as keyof Access], value, `${method} ${target}: ${name}`);
      }
      assert.equal(line.client, "127.0.0.1");
      assert.equal(line.bytes, text.length - text.indexOf("\r\n\r\n") - 4);
      assert.ok(text.includes(`\r\nX-Request-Id: ${line.id}\r\n`), text);
      assert.equal("fault" in line, line.status >= 400);
    }
    assert.equal(new Set(accesses(server).map(({ id }) => id)).size, cases.length);
    await server.stop();
  });

  it("names a key that is known, though it is not valid", async () => {
    const server = await serve({ accessLog: true });
    const cases: [token: string, fault: string, keyId: string][] = [
      [TOKENS.disabled, "apiKeyInactive", "disabled"],
      [TOKENS.expired, "apiKeyExpired", "expired"],
      [TOKENS.cliDisabled, "cliTokenUnknown", "cliDisabled"],
      [TOKENS.cliExpired, "cliTokenExpired", "cliExpired"],
      ["svc_sk_unknown", "apiKeyUnknown", ""],
    ];
    for (const [token] of cases) await ask(server.port, `${BASE}/stats`, token);
    const told = accesses(server).map(({ fault, keyId, status }) => ({ fault, keyId, status }));
    assert.deepEqual(
      told,
      cases.map(([, fault, keyId]) => ({ fault, keyId, status: 401 })),
    );
    await server.stop();
  });

  it("has what was refused before it was a request", async () => {
    const server = await serve({ accessLog: true });
    const refused: [bytes: string, fault: string, status: number][] = [
      ["GET / HTTP/1.1\r\n\r\n", "badRequest", 400],
      ["NONSENSE\r\n\r\n", "badRequest", 400],
      [`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`, "headTooLarge", 431],
      ["GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", "bodyNotAllowed", 400],
    ];
    for (const [at, [bytes, fault, status]] of refused.entries()) {
      const text = await exchange(server.port, bytes);
      const line = await until(() => accesses(server)[at], fault);
      assert.equal(text.split(`\r\nX-Request-Id: ${line.id}\r\n`).length, 2, text);
      assert.deepEqual([line.fault, line.status, line.client], [fault, status, "127.0.0.1"]);
    }
    await server.stop();
  });

  it("is nothing, and no header, while it is off", async () => {
    const server = await serve();
    assert.doesNotMatch(await ask(server.port, `${BASE}/stats`, TOKENS.cli), /^X-Request-Id:/im);
    await exchange(server.port, "GET / HTTP/1.1\r\n\r\n");
    assert.equal(accesses(server).length, 0);
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
    for (const target of targets) await ask(server.port, target, canary);
    await exchange(server.port, `GET /${canary} HTTP/1.1\r\nAuthorization: Bearer ${canary}\r\n\r\n`);
    await exchange(server.port, `GET /${canary} HTTP/9.9\r\nAuthorization: Bearer ${canary}\r\n\r\n`);
    await until(() => accesses(server).length === targets.length + 2, "a line for each");
    assert.doesNotMatch(JSON.stringify(server.observations), /canary/);
    await server.stop();
  });
});

describe("fields that are asked for", () => {
  it("are the query and the User-Agent, without tokens and control characters", async () => {
    const server = await serve({ accessLog: true, accessLogFields: ["query", "userAgent"] });
    const sent = async (target: string, agent?: string): Promise<Access> => {
      const header = agent === undefined ? "" : `User-Agent: ${agent}\r\n`;
      const count = accesses(server).length;
      await exchange(server.port, `GET ${target} HTTP/1.1\r\nHost: x\r\n${header}Connection: close\r\n\r\n`);
      return accesses(server)[count]!;
    };
    const one = await sent(`${BASE}/worlds?limit=5&q=a%20b`, "crawler/1.0 (+https://example.com)");
    assert.deepEqual([one.query, one.userAgent], ["limit=5&q=a%20b", "crawler/1.0 (+https://example.com)"]);
    const two = await sent(`${BASE}/worlds`);
    assert.ok(!("query" in two || "userAgent" in two));
    assert.ok(!("query" in (await sent(`${BASE}/worlds?`, ""))));
    const agent = 'a "b" \\ \u00e9\u009b\tx svc_sk_canary/svcx_canary more';
    const three = await sent(`/x?a=1&token=svc_sk_canary&b=svcx_canary#canary`, agent);
    assert.equal(three.query, "a=1&token=svc_sk_***&b=svcx_***");
    assert.match(three.userAgent!, /^a "b" \\ %C3%A9%C2%9B%09x svc_sk_\*\*\* more$/);
    const four = await sent(`/svc%5fsk_canary?x=%73vc_sk_canary&y=${"z".repeat(5000)}`, "u".repeat(5000));
    assert.equal(four.path, "/***");
    assert.match(four.query!, /^\*\*\*&y=z+\.\.\.$/);
    assert.deepEqual([four.query!.length, four.userAgent!.length], [515, 515]);
    assert.doesNotMatch(JSON.stringify(server.observations), /canary/);
    await server.stop();
  });
});

describe("a line of the access log", () => {
  const whole: Reply = { status: 200, headers: "", body: "{}", route: "/worlds/:id", keyId: "key_1" };
  const headers = (more: Record<string, string>) => ({ get: (name: string) => more[name] ?? null });
  const ask: Ask = {
    method: "GET",
    target: `${BASE}/worlds/1`,
    authorization: undefined,
    ifNoneMatch: undefined,
    ifMatch: undefined,
    now: 0,
    peer: { remoteAddress: "127.0.0.1" },
  };
  const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const cases: readonly [Partial<Ask>, Partial<Reply>, sample: number][] = [
    [{}, {}, 1],
    [
      { target: `${BASE}/worlds/"\\%22\u00e9?q="&x=svc_sk_y` },
      { keyId: 'k"\u2028\n', status: 404, fault: "worldMissing" },
      1,
    ],
    [{ headers: headers({ traceparent: trace, "user-agent": 'x "y" \\', "x-request-id": "mine" }) }, {}, 100],
    [{ target: "", method: "", peer: undefined }, { route: "", keyId: "" }, 1],
  ];

  it("has the bytes of the object that stands for it", () => {
    for (const [asked, replied, sample] of cases) {
      const [lines, objects]: string[][] = [[], []];
      const log = createLog("info", { write: (line: string) => objects!.push(line) });
      const options = { observe: log, prefixes: PREFIXES, keeps: () => sample, clientOf: readClients([]) };
      const fields = ["query", "userAgent"];
      const write = (line: string): unknown => lines!.push(line);
      for (const one of [
        { ...options, fields, write },
        { ...options, fields },
      ])
        new AccessLog(one).record({ ...ask, ...asked }, { ...whole, ...replied });
      const same = (line = ""): string => line.replace(/"(time|id)":"(?!mine)[^"]*"/g, "");
      assert.equal(same(lines![0]), same(objects![0]));
      assert.equal(JSON.parse(lines![0]!).event, "request");
    }
  });
});

describe("a logged path", () => {
  it("is bounded and visible ASCII", () => {
    const long = loggedPath(`/${"é\u009b\n".repeat(1000)}`, "", PREFIXES);
    assert.match(long, /^[\x21-\x7e]+$/);
    assert.ok(long.length < 2000);
    assert.equal(loggedPath("/a%2Fb/C", "", PREFIXES), "/a%2Fb/C");
  });

  it("keeps what is no token", () => {
    const id = "/api/public/v1/worlds/00000000-0000-4000-8000-000000000001";
    assert.equal(loggedPath(`${id}?q=1`, "/worlds/:id", PREFIXES), id);
    assert.equal(loggedPath("/x/svcx_abc/y", "", PREFIXES), "/x/svcx_***/y");
  });
});
