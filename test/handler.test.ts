/** `orrery.handle` in foreign servers: node:http, and hosts that call handlers in turn, as Express does. */

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { openPlace as open } from "./support/library.ts";
import { TOKEN } from "./support/place.ts";
import { serveHttp as serve } from "./support/ports.ts";
import { until } from "./support/process.ts";

const API = "/api/public/v1";
const headers = { authorization: `Bearer ${TOKEN}` };

type Layer = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;

/** A host that gives each handler a `next`; after the last, or on an error, it answers 418 with the path or the error. */
function host(...layers: Layer[]): RequestListener {
  return (request, response) => {
    function go(at: number, error?: unknown): void {
      const layer = error === undefined ? layers[at] : undefined;
      if (layer !== undefined) layer(request, response, (later) => go(at + 1, later));
      else response.writeHead(418, { "Content-Type": "text/plain" }).end(`host: ${error ?? request.url}`);
    }
    go(0);
  };
}

async function statusesOf(origin: string, paths: readonly string[]): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (const path of paths) {
    const reply = await fetch(origin + path, { headers, redirect: "manual" });
    await reply.arrayBuffer();
    statuses[path] = reply.status;
  }
  return statuses;
}

const OWN = { [`${API}/stats`]: 200, [`${API}/worlds?limit=1`]: 200, [`${API}/worlds/no-id`]: 404 };
const PAGES = { "/": 302, "/docs": 200, "/openapi.json": 200 };
const OTHERS = ["/shop", "/docsy", `${API}/nothing`, `${API}/stats/`, "/api", "//"];

test("a host is left whatever is neither the API's nor a page's", async (t) => {
  const orrery = await open(t);
  const seen: string[] = [];
  const before: Layer = (request, _, next) => {
    seen.push(request.url!);
    next();
  };
  const origin = await serve(t, host(before, orrery.handle));
  assert.deepEqual(await statusesOf(origin, [...Object.keys(OWN), ...Object.keys(PAGES), ...OTHERS]), {
    ...OWN,
    ...PAGES,
    ...Object.fromEntries(OTHERS.map((path) => [path, 418])),
  });
  assert.equal(seen.length, Object.keys({ ...OWN, ...PAGES }).length + OTHERS.length);

  const body = { method: "POST", body: "something" };
  const refused = await fetch(`${origin}${API}/stats`, body);
  assert.equal(refused.status, 405);
  const passed = await fetch(`${origin}/upload?q=1`, body);
  assert.equal(await passed.text(), "host: /upload?q=1", "what goes to the host is as it came");
});

test("without pages all but the API is the host's", async (t) => {
  const orrery = await open(t, { docs: false });
  const origin = await serve(t, host(orrery.handle));
  const theirs = Object.keys(PAGES).map((path) => [path, 418]);
  assert.deepEqual(await statusesOf(origin, [...Object.keys(OWN), ...Object.keys(PAGES)]), {
    ...OWN,
    ...Object.fromEntries(theirs),
  });
});

test("a replica that was closed still leaves a host what is the host's", async (t) => {
  const orrery = await open(t);
  const origin = await serve(t, host(orrery.handle));
  orrery.close();
  assert.deepEqual(await statusesOf(origin, [`${API}/stats`, "/shop"]), {
    [`${API}/stats`]: 503,
    "/shop": 418,
  });
});

test("a third argument that is no function is ignored", async (t) => {
  const orrery = await open(t);
  const handle = orrery.handle as (...given: readonly unknown[]) => void;
  for (const third of [undefined, null, "expectation", "noToken", 7, {}, Symbol("next")]) {
    const origin = await serve(t, (request, response) => handle(request, response, third));
    const expected = { ...OWN, "/openapi.json": 200, "/shop": 404 };
    assert.deepEqual(await statusesOf(origin, Object.keys(expected)), expected, String(third));
  }
});

test("arguments of another kind are refused at once, as is a response that has begun", async (t) => {
  const orrery = await open(t);
  const handle = orrery.handle as (...given: readonly unknown[]) => void;
  const message = /^handle: takes a request and its response of node:http; for a Request there is fetch$/;
  for (const given of [[], [new Request("http://a/")], [{ rawHeaders: [] }], [{}, {}, () => {}]])
    assert.throws(() => handle(...given), { name: "TypeError", message });
  const origin = await serve(t, (request, response) => {
    response.write("mine: ");
    assert.throws(() => handle(request, response), /^TypeError: handle: the response has begun already/);
    response.end("whole");
  });
  assert.equal(await (await fetch(`${origin}${API}/stats`)).text(), "mine: whole");
});

test("a host that has answered meanwhile keeps its response", async (t) => {
  const orrery = await open(t);
  const origin = await serve(t, async (request, response) => {
    orrery.handle(request, response);
    response.writeHead(202).write("mine: ");
    // The handler's own wait is over by then; an error of it would be an unhandled rejection.
    await orrery.ask({ target: "/docs" });
    response.end("whole");
  });
  const reply = await fetch(`${origin}/docs`);
  assert.deepEqual([reply.status, await reply.text()], [202, "mine: whole"]);
});

test("what a pipelined request causes is observed in that request's own context", async (t) => {
  const context = new AsyncLocalStorage<number>();
  const seen: (number | undefined)[] = [];
  const orrery = await open(t, {
    accessLog: true,
    observe: ({ kind }) => {
      if (kind === "request") seen.push(context.getStore());
    },
  });
  let request = 0;
  const origin = await serve(t, (incoming, response) =>
    context.run(request++, () => orrery.handle(incoming, response)),
  );
  const count = 40;
  const targets = Array.from({ length: count }, (_, at) => `${API}/worlds/search?q=${at}`);
  const lines = targets.map(
    (target) => `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
  );
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  socket.resume();
  socket.write(lines.join(""));
  await until(() => seen.length === count, "all observations");
  socket.destroy();
  assert.deepEqual(
    [...seen].sort((a, b) => a! - b!),
    targets.map((_, at) => at),
  );
});
