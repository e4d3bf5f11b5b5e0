/** Each request is counted once, however it ends: answered, refused by the parser, or abandoned by its peer. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { figuresOf, readTotals } from "../../src/admin/metrics/figures.ts";
import {
  countersOf,
  createRequestCells,
  REQUESTS,
  type RequestCells,
  SERIES,
  seriesAt,
} from "../../src/observe/metrics/counters.ts";
import type { Caller, Found, Search } from "../../src/store/generation.ts";
import { BASE, cleanUp, serve, serveOpen, WORLD } from "../support/http-server.ts";
import { until } from "../support/process.ts";
import { askOnce, dial, lastWord, requestHead } from "../support/raw.ts";
import { bearer } from "../support/requests.ts";

after(cleanUp);

/** The counts, a line per series: `GET /worlds 200 3`. */
function counted(cells: RequestCells): string[] {
  const counters = countersOf(cells, 0);
  const lines: string[] = [];
  for (let series = 0; series < SERIES; series++) {
    const count = counters[REQUESTS + series]!;
    const { method, route, status } = seriesAt(series);
    if (count > 0) lines.push(`${method} ${route || "-"} ${status} ${count}`);
  }
  return lines.sort();
}

const figures = (cells: RequestCells) => figuresOf(readTotals(cells));

test("each request is counted by its method, route and status", async () => {
  const cells = createRequestCells(1);
  const { port, etag } = await serve({ requestCells: cells });
  const api = bearer("api");
  const requests: [target: string, headers?: string[], method?: string][] = [
    ["/worlds?limit=1", [api]],
    ["/worlds?limit=1", [api], "HEAD"],
    ["/worlds", [], "OPTIONS"],
    ["/worlds", [], "POST"],
    ["/worlds", [api, `If-None-Match: ${etag}`]],
    ["/worlds", [api, 'If-Match: "another"']],
    [`/worlds/${WORLD}`, [api]],
    ["/worlds/svc_sk_whole", [api]],
    ["/worlds/search?q=", [api]],
    ["/worlds/search?q=world", [api]],
    ["/worlds/search?q=world", [api]],
    ["/worlds", [bearer("narrow")]],
    ["/worlds", [bearer("disabled")]],
    ["/worlds"],
    ["/nowhere/svc_sk_whole"],
    ["/stats", ["Expect: the-impossible"]],
    ["/stats", ["Content-Length: 65537"]],
  ];
  for (const [target, ...more] of requests) await askOnce(port, BASE + target, ...more);
  assert.equal((await lastWord(port, "no HTTP at all\r\n\r\n")).status, 400);
  assert.equal((await lastWord(port, "GET / HTTP/1.1\r\n\r\n")).status, 400);
  assert.equal((await lastWord(port, `GET / HTTP/1.1\r\nX: ${"y".repeat(20_000)}`)).status, 431);
  assert.equal((await lastWord(port, "CONNECT here:1 HTTP/1.1\r\nHost: a\r\n\r\n")).status, 405);
  assert.equal((await askOnce(port, "/", [], "PROPFIND")).status, 404);
  const expected = [
    ...["CONNECT - 405 1", "GET - 400 2", "GET - 404 1", "GET - 417 1", "GET /worlds 200 1"],
    ...["GET /worlds 304 1", "GET /worlds 401 2", "GET /worlds 403 1", "GET /worlds 412 1"],
    ...["GET /worlds/:id 200 1", "GET /worlds/:id 404 1", "GET /worlds/search 200 2"],
    ...["GET /worlds/search 400 1", "HEAD /worlds 200 1", "OPTIONS /worlds 204 1", "POST /worlds 405 1"],
    ...["_OTHER - 400 1", "_OTHER - 404 1", "_OTHER - 431 1"],
  ];
  // A request is counted after its answer is sent.
  const sent = expected.reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
  await until(() => figures(cells).total >= sent, `${sent} to be counted:\n${counted(cells).join("\n")}`);
  assert.deepEqual(counted(cells), expected);
  const { rejected, searches } = figures(cells);
  assert.deepEqual(rejected, {
    request_line: 1,
    no_host: 1,
    body_not_allowed: 1,
    head_too_large: 1,
    expectation: 1,
    not_found: 2,
    method_not_allowed: 2,
    no_token: 1,
    api_key_inactive: 1,
    scope_worlds: 1,
    no_query: 1,
  });
  const made = searches.filter(({ total }) => total > 0);
  assert.deepEqual(made, [
    { search: "worlds", outcome: "cached", total: 1 },
    { search: "worlds", outcome: "searched", total: 1 },
  ]);
});

test("requests that wait are active, and those of a peer that left have no status", async () => {
  const cells = createRequestCells(1);
  const callers: Caller[] = [];
  const finish: (() => void)[] = [];
  const found: Found = { total: 1, rows: Uint32Array.of(1) };
  const later: Search = (_table, _term, _page, caller) => {
    callers.push(caller);
    return new Promise((resolve) => finish.push(() => resolve(found)));
  };
  const server = await serveOpen({ requestCells: cells }, later);
  const wires = [await dial(server.port), await dial(server.port)];
  for (const wire of wires) await wire.send(requestHead(`${BASE}/users/search?q=a`, [bearer("cli")]));
  await until(() => finish.length === 2, "both searches");
  assert.equal(figures(cells).active, 2);
  assert.deepEqual(counted(cells), []);
  const began = performance.now();
  wires[0]!.destroy();
  // As a running search asks: this tells a closed connection from a half-closed one.
  await until(() => callers.some((caller) => caller.isGone()), "the server to notice");
  for (const done of finish) done();
  await wires[1]!.response("GET");
  await until(() => figures(cells).total === 2, "both to be counted");
  assert.deepEqual(counted(cells), ["GET /users/search 0 1", "GET /users/search 200 1"]);
  const { active, byStatus, rejected, routes } = figures(cells);
  assert.deepEqual({ active, byStatus, rejected }, { active: 0, byStatus: { 0: 1, 200: 1 }, rejected: {} });
  // Latency includes the time of waiting.
  const { p99Ms } = routes[0]!.latency!;
  assert.ok(p99Ms > 0 && p99Ms / 2.5 < performance.now() - began + 5000, `${p99Ms}`);
});
