/** `orrery.handle` in foreign servers: node:http, and hosts that call handlers in turn, as Express does. */

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { test } from "node:test";
import { openPlace as open } from "./support/library.ts";
import { TOKEN } from "./support/place.ts";
import { serveHttp as serve } from "./support/ports.ts";
import { until } from "./support/process.ts";
import { dial, requestHead } from "./support/raw.ts";

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

/** Asks for paths, each of which must have its status. */
async function assertStatuses(origin: string, expected: Readonly<Record<string, number>>): Promise<void> {
  for (const [path, status] of Object.entries(expected)) {
    const reply = await fetch(origin + path, { headers, redirect: "manual" });
    await reply.arrayBuffer();
    assert.equal(reply.status, status, path);
  }
}

const OWN = {
  [`${API}/stats`]: 200,
  [`${API}/worlds?limit=1`]: 200,
  [`${API}/worlds/no-id`]: 404,
  // Misspelt.
  [`${API}/nothing`]: 404,
  [`${API}/stats/`]: 404,
  [API]: 404,
};
const PAGES = { "/": 302, "/docs": 200, "/openapi.json": 200 };
const others = (...paths: string[]) => Object.fromEntries(paths.map((path) => [path, 418]));
const OTHERS = others("/shop", "/docsy", `${API}x`, `/x${API}/stats`, "/api", "//");

test("a host is left whatever is neither the API's nor a page's", async (t) => {
  const orrery = await open(t);
  const seen: string[] = [];
  const before: Layer = (request, _, next) => {
    seen.push(request.url!);
    next();
  };
  const origin = await serve(t, host(before, orrery.handle));
  const all = { ...OWN, ...PAGES, ...OTHERS };
  await assertStatuses(origin, all);
  assert.deepEqual(seen, Object.keys(all));

  const body = { method: "POST", body: "something" };
  const refused = await fetch(`${origin}${API}/stats`, body);
  assert.equal(refused.status, 405);
  const passed = await fetch(`${origin}/upload?q=1`, body);
  assert.equal(await passed.text(), "host: /upload?q=1", "what goes to the host is as it came");
});

test("without pages all but the API is the host's", async (t) => {
  const orrery = await open(t, { docs: false });
  const origin = await serve(t, host(orrery.handle));
  await assertStatuses(origin, { ...OWN, ...others(...Object.keys(PAGES)) });
});

test("a replica that was closed still leaves a host what is the host's", async (t) => {
  const orrery = await open(t);
  const origin = await serve(t, host(orrery.handle));
  orrery.close();
  await assertStatuses(origin, { [`${API}/stats`]: 503, "/shop": 418 });
});

test("a third argument that is no function is ignored", async (t) => {
  const orrery = await open(t);
  const handle = orrery.handle as (...given: readonly unknown[]) => void;
  for (const third of [undefined, null, "expectation", "noToken", 7, {}, Symbol("next")]) {
    const origin = await serve(t, (request, response) => handle(request, response, third));
    await assertStatuses(origin, { ...OWN, "/openapi.json": 200, "/shop": 404 });
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

test("a host that gives the fields of a request alone, without its raw headers, is answered", async (t) => {
  const orrery = await open(t);
  for (const rawHeaders of [[], undefined]) {
    const origin = await serve(t, (request, response) => {
      Object.assign(request, { rawHeaders });
      orrery.handle(request, response);
    });
    const headers = { Authorization: `Bearer ${TOKEN}`, "If-None-Match": '"a", "b"' };
    assert.equal((await fetch(`${origin}${API}/stats`, { headers })).status, 200);
    assert.equal((await fetch(`${origin}${API}/stats`)).status, 401);
  }
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
  const wire = await dial(Number(new URL(origin).port));
  void wire.send(targets.map((target) => requestHead(target, [`Authorization: Bearer ${TOKEN}`])).join(""));
  await until(() => seen.length === count, "all observations");
  assert.deepEqual(new Set(seen), new Set(targets.keys()));
});
