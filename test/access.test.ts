/** The access log: what its lines say, what they never say, and the id that goes with an answer. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, describe, it } from "node:test";
import { loggedPath } from "../src/observe/access-log.ts";
import type { Observation } from "../src/observe/events.ts";
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
