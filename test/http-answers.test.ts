/** Answers on the wire: headers, the order of checks, methods, CORS and the limit. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AT_ONCE, AUTH, ask, bearer, isStats, main, PAGE, rateOf, SEARCH, STATS } from "./support/hostile.ts";
import { BASE, FEW, HIDDEN_WORLD, serve, TOKENS, USER } from "./support/http-server.ts";
import { errorOf, header, headerValues, lastWord, type RawResponse } from "./support/raw.ts";

describe("headers that matter", AT_ONCE, () => {
  test("names in any case", async () => {
    isStats(await ask(STATS, [`aUTHORIZATION: Bearer ${TOKENS.cli}`, "hOsT: x"]));
    const known = [`AUTHORIZATION:Bearer ${TOKENS.cli}`, `IF-NONE-MATCH:\t${main.etag}  `];
    assert.equal((await ask(STATS, known)).status, 304);
    const other = [bearer("cli"), 'if-MATCH: "other"'];
    assert.equal((await ask(STATS, other)).status, 412);
  });

  test("of two Authorization headers the first counts", async () => {
    isStats(await ask(STATS, [bearer("cli"), bearer("disabled")]));
    isStats(await ask(STATS, [bearer("cli"), "Authorization: "]));
    assert.equal(errorOf(await ask(STATS, [bearer("disabled"), bearer("cli")])), "API key is deactivated");
    assert.equal(errorOf(await ask(STATS, ["Authorization:", bearer("cli")])), "Invalid token format");
    assert.equal(
      errorOf(await ask(STATS, ["authorization: Basic eDp5", bearer("cli")])),
      "Invalid token format",
    );
  });

  test("conditions in several headers count together", async () => {
    const none = [bearer("cli"), 'If-None-Match: "a"', `if-none-match: W/${main.etag}, "b"`];
    assert.equal((await ask(STATS, none)).status, 304);
    assert.equal((await ask(STATS, [bearer("cli"), 'If-None-Match: "a"', 'If-None-Match: "b"'])).status, 200);
    const match = [bearer("cli"), 'If-Match: "a"', `If-Match: ${main.etag}`];
    assert.equal((await ask(STATS, match)).status, 200);
  });

  test("an empty Host is a Host, and HTTP/1.0 needs none", async () => {
    isStats(await ask(STATS, [bearer("cli"), "Host:"]));
    isStats(await lastWord(main.port, `GET ${STATS} HTTP/1.0\r\n${AUTH}\r\n`));
  });

  const FORMAT = "Invalid token format";
  const TRIES: readonly (readonly [value: string | undefined, error: string | undefined])[] = [
    [undefined, "Authentication required"],
    ["", FORMAT],
    ["Bearer", FORMAT],
    [TOKENS.cli, FORMAT],
    [`Basic ${TOKENS.cli}`, FORMAT],
    [`Bearer\t${TOKENS.cli}`, FORMAT],
    [`Bearer${TOKENS.cli}`, FORMAT],
    [`Bearer "${TOKENS.cli}"`, FORMAT],
    ["Bearer svc_sk_", FORMAT],
    ["Bearer svcx_", FORMAT],
    ["Bearer SVCX_tool", FORMAT],
    [`bearer ${TOKENS.cli}`, undefined],
    [`BEARER    ${TOKENS.api}`, undefined],
    [`Bearer ${TOKENS.cli} more`, "Invalid CLI token"],
    [`Bearer ${TOKENS.api} more`, "Invalid API key"],
    [`Bearer ${TOKENS.api},`, "Invalid API key"],
    ["Bearer svc_sk_nobody", "Invalid API key"],
    [`Bearer ${TOKENS.disabled}`, "API key is deactivated"],
    [`Bearer ${TOKENS.expired}`, "API key has expired"],
    ["Bearer svcx_nobody", "Invalid CLI token"],
    [`Bearer ${TOKENS.cliDisabled}`, "Invalid CLI token"],
    [`Bearer ${TOKENS.cliExpired}`, "CLI token has expired"],
  ];
  test("tokens", async () => {
    for (const [value, error] of TRIES) {
      const response = await ask(STATS, value === undefined ? [] : [`Authorization: ${value}`]);
      const what = `Authorization: ${value}`;
      assert.equal(response.status, error === undefined ? 200 : 401, what);
      if (error === undefined) continue;
      assert.equal(errorOf(response), error, what);
      assert.equal(header(response, "WWW-Authenticate"), "Bearer", what);
      assert.deepEqual(rateOf(response), [undefined, undefined, undefined], what);
    }
  });
});

describe("order of checks", AT_ONCE, () => {
  const OTHER = 'If-Match: "other"';
  const known = `If-None-Match: ${main.etag}`;
  const missing = `${BASE}/worlds/${HIDDEN_WORLD}`;

  const STEPS: readonly (readonly [
    status: number,
    error: string,
    target: string,
    headers: string[],
    method?: string,
  ])[] = [
    [404, "Not found", "/nowhere", [OTHER]],
    [404, "Not found", "/nowhere", [bearer("disabled")], "POST"],
    [405, "Method not allowed", STATS, [OTHER], "POST"],
    [401, "Authentication required", `${BASE}/worlds/search`, [OTHER]],
    [403, "Insufficient scope. Required: read:worlds", `${BASE}/worlds/search`, [bearer("narrow"), OTHER]],
    [403, "Insufficient scope. Required: read:worlds", missing, [bearer("narrow"), OTHER]],
    [403, "Insufficient scope. Required: read:users", `${BASE}/users/${USER}`, [bearer("narrow"), known]],
    [400, 'Query parameter "q" is required', `${BASE}/worlds/search`, [bearer("api"), OTHER]],
    [400, 'Query parameter "q" is required', `${BASE}/users/search?q=%20`, [bearer("api"), known]],
    [404, "World not found", missing, [bearer("api"), OTHER]],
    [404, "World not found", missing, [bearer("api"), known]],
    [412, "Snapshot has changed", STATS, [bearer("api"), OTHER, known]],
    [412, "Snapshot has changed", SEARCH, [bearer("api"), OTHER, known]],
  ];
  for (const [status, error, target, headers, method = "GET"] of STEPS) {
    test(`${method} ${target} ${headers.join(", ")}: ${status}`, async () => {
      const response = await ask(target, headers, method);
      assert.equal(response.status, status);
      assert.equal(errorOf(response), error);
      assert.equal(header(response, "Cache-Control"), "no-store");
      assert.equal(header(response, "Access-Control-Allow-Origin"), "*");
      assert.equal(header(response, "ETag"), status === 412 ? main.etag : undefined);
      assert.equal(header(response, "Allow"), status === 405 ? "GET, HEAD, OPTIONS" : undefined);
      const counted = [400, 403, 412].includes(status) || error === "World not found";
      assert.equal(
        rateOf(response).every((value) => value !== undefined),
        counted,
      );
      assert.equal(
        rateOf(response).some((value) => value !== undefined),
        counted,
      );
    });
  }

  test("429 comes before 403, 400 and 404, and behind 401, 405 and the unknown path", async () => {
    for (let at = 1; at <= FEW; at++) {
      const response = await ask(`${BASE}/worlds/search`, [bearer("fewNarrow")]);
      assert.equal(response.status, 403);
      assert.deepEqual(rateOf(response).slice(0, 2), [String(FEW), String(FEW - at)]);
    }
    for (const target of [`${BASE}/worlds/search`, missing, STATS]) {
      const response = await ask(target, [bearer("fewNarrow"), OTHER]);
      assert.equal(response.status, 429);
      assert.equal(errorOf(response), "Rate limit exceeded");
      assert.deepEqual(rateOf(response).slice(0, 2), [String(FEW), "0"]);
      assert.equal(header(response, "Cache-Control"), "no-store");
      const wait = Number(header(response, "Retry-After"));
      const reset = Number(header(response, "X-RateLimit-Reset"));
      assert.ok(Number.isInteger(wait) && wait >= 1);
      assert.ok(Math.abs(reset - Date.now() / 1000 - wait) < 5, "Retry-After is the time to the reset");
    }
    assert.equal((await ask("/nowhere", [bearer("fewNarrow")])).status, 404);
    assert.equal((await ask(STATS, [bearer("fewNarrow")], "POST")).status, 405);
    assert.equal((await ask(STATS, [bearer("fewNarrow")], "OPTIONS")).status, 204);
  });
});

describe("methods, CORS and the limit", AT_ONCE, () => {
  const headersOf = (response: RawResponse): string[] =>
    response.headers
      .filter(([name]) => !/^(date|x-ratelimit-remaining)$/i.test(name))
      .map((pair) => pair.join(": "));

  for (const target of [
    STATS,
    SEARCH,
    PAGE,
    `${BASE}/worlds/${HIDDEN_WORLD}`,
    `${BASE}/worlds/search`,
    "/nowhere",
  ]) {
    for (const token of ["api", "cli", "narrow", "expired"] as const) {
      test(`HEAD answers as GET without a body: ${target} as ${token}`, async () => {
        const get = await ask(target, [bearer(token)]);
        const head = await ask(target, [bearer(token)], "HEAD");
        assert.equal(head.status, get.status);
        assert.deepEqual(headersOf(head), headersOf(get));
        assert.ok(get.body.length > 0);
        assert.equal(Buffer.byteLength(get.body), Number(header(get, "Content-Length")));
      });
    }
  }

  test("304: tag, no body, counted", async () => {
    for (const target of [STATS, SEARCH]) {
      const response = await ask(target, [bearer("api"), "If-None-Match: *"]);
      assert.equal(response.status, 304);
      assert.equal(header(response, "ETag"), main.etag);
      assert.equal(header(response, "Cache-Control"), "private, no-cache");
      assert.equal(header(response, "Access-Control-Allow-Origin"), "*");
      assert.ok(rateOf(response).every((value) => value !== undefined));
    }
  });

  const PREFLIGHT = [
    "Origin: https://app.test",
    "Access-Control-Request-Method: GET",
    "Access-Control-Request-Headers: authorization",
  ];

  test("OPTIONS: 204, no token needed, the preflight answered", async () => {
    const response = await ask(SEARCH, PREFLIGHT, "OPTIONS");
    assert.equal(response.status, 204);
    assert.equal(header(response, "Allow"), "GET, HEAD, OPTIONS");
    assert.equal(header(response, "Access-Control-Allow-Origin"), "*");
    assert.equal(header(response, "Access-Control-Allow-Credentials"), undefined);
    assert.match(header(response, "Access-Control-Allow-Methods") ?? "", /\bGET\b.*\bHEAD\b/);
    const allowed = (header(response, "Access-Control-Allow-Headers") ?? "").toLowerCase().split(/, */);
    assert.deepEqual(allowed.toSorted(), [
      "authorization",
      "content-type",
      "if-match",
      "if-none-match",
      "traceparent",
      "tracestate",
      "x-request-id",
    ]);
    assert.equal((await ask("/nowhere", PREFLIGHT, "OPTIONS")).status, 404);
  });

  test("OPTIONS *: no such path", async () => {
    assert.equal((await ask("*", [], "OPTIONS")).status, 404);
  });

  test("web pages may read what they need", async () => {
    const response = await ask(STATS, [bearer("api")]);
    const exposed = (header(response, "Access-Control-Expose-Headers") ?? "").toLowerCase().split(/, */);
    assert.deepEqual(exposed.toSorted(), [
      "etag",
      "retry-after",
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
      "x-request-id",
    ]);
  });

  test("the reference says the limit and window of this server", async () => {
    const server = await serve({ rateLimit: 1234, rateWindow: 86_400, docs: true });
    for (const path of ["/docs", "/openapi.json"]) {
      const reply = await fetch(`http://127.0.0.1:${server.port}${path}`);
      assert.match(await reply.text(), /1,234 a day where nothing else was agreed/);
    }
  });

  test("with CORS off no such header is sent, and OPTIONS still answers", async () => {
    const off = await serve({ cors: false });
    const origin = "Origin: https://app.test";
    const responses = [
      await ask(STATS, [bearer("cli"), origin], "GET", off),
      await ask(STATS, [bearer("cli"), origin, "If-None-Match: *"], "GET", off),
      await ask(STATS, [origin], "GET", off),
      await ask("/nowhere", [origin], "GET", off),
      await ask(STATS, PREFLIGHT, "OPTIONS", off),
    ];
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 304, 401, 404, 204],
    );
    assert.equal(header(responses[4]!, "Allow"), "GET, HEAD, OPTIONS");
    for (const { headers } of responses) {
      assert.deepEqual(
        headers.filter(([name]) => /^access-control-/i.test(name)),
        [],
      );
    }
  });

  test("a CLI token carries no rate headers", async () => {
    assert.deepEqual(rateOf(await ask(STATS, [bearer("cli")])), [undefined, undefined, undefined]);
  });

  test("every status of an authenticated key counts, and of many at once exactly the limit pass", async () => {
    // What does not count comes first.
    await ask("/nowhere", [bearer("few")]);
    await ask(STATS, [bearer("few")], "POST");
    await ask(STATS, [bearer("few")], "OPTIONS");
    const first = await ask(STATS, [bearer("few"), "If-None-Match: *"]);
    assert.equal(first.status, 304);
    assert.deepEqual(rateOf(first).slice(0, 2), [String(FEW), String(FEW - 1)]);
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        ask(at % 2 ? SEARCH : STATS, [bearer("few")], at % 3 ? "GET" : "HEAD"),
      ),
    );
    const passed = all.filter(({ status }) => status === 200);
    assert.equal(passed.length, FEW - 1);
    assert.equal(all.filter(({ status }) => status === 429).length, 40 - passed.length);
    const left = passed.map((response) => header(response, "X-RateLimit-Remaining")).toSorted();
    assert.deepEqual(left, ["0", "1", "2", "3"]);
    for (const response of all) {
      assert.equal(headerValues(response, "Retry-After").length, response.status === 429 ? 1 : 0);
    }
  });
});
