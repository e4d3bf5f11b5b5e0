/** A token is in no message, in whatever form another server repeats it. */

import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { createHider } from "../src/source/hide-token.ts";
import { TIMING } from "../src/source/timing.ts";
import { createUpstream } from "../src/source/upstream/upstream.ts";

const TOKEN = "svc_sk_c4naryTOK~'\"\\%&<>/+=?8";

const everyUnit = (to: (code: number) => string) => (text: string) =>
  Array.from(text, (unit) => to(unit.charCodeAt(0))).join("");
const hex = (code: number, digits = 2): string => code.toString(16).padStart(digits, "0");
const base64 = (text: string, encoding: BufferEncoding = "base64"): string =>
  Buffer.from(text, "latin1").toString(encoding);

/** Each gives a text that somebody could get the token out of. */
const FORMS: Readonly<Record<string, (token: string) => string>> = {
  "as it is": (token) => token,
  "percent-encoded where it must be": encodeURIComponent,
  "percent-encoded twice": (token) => encodeURIComponent(encodeURIComponent(token)),
  "percent-encoded, every letter": everyUnit((code) => `%${hex(code).toUpperCase()}`),
  "in a query": (token) => String(new URLSearchParams({ token })),
  "as JSON within JSON": (token) => JSON.stringify(JSON.stringify({ token })),
  "with escapes of JSON": everyUnit((code) => `\\u${hex(code, 4)}`),
  "with escapes of a shell": everyUnit((code) => `\\x${hex(code)}`),
  "as HTML": (token) =>
    token.replace(
      /[&<>"']/g,
      (unit) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[unit]!,
    ),
  "as HTML, every letter": everyUnit((code) => `&#x${hex(code)};`),
  "in base64": (token) => base64(token),
  "in base64, behind one letter": (token) => base64(`x${token}yz`),
  "in base64, behind two": (token) => base64(`xy${token}z`),
  "in base64, the header": (token) => base64(`Bearer ${token}`),
  "in base64 with a name": (token) => base64(`user:${token}`),
  "in base64 for URLs": (token) => base64(`??>>${token}`, "base64url"),
  "in base64, percent-encoded": (token) => encodeURIComponent(base64(`~~?${token}>`)),
  "in base64, on several lines": (token) => base64(token).replace(/.{10}/g, "$&\r\n"),
  "in hexadecimal": (token) => base64(token, "hex"),
  "in hexadecimal capitals": (token) => base64(token, "hex").toUpperCase(),
  "in capitals": (token) => token.toUpperCase(),
  "with blanks in it": (token) => token.replace("TOK", "T O\u0000K\u200b"),
};

/** Nothing of the middle of a form is left; its ends may belong to what stands around the token. */
function assertHidden(told: string, form: string): void {
  const third = Math.floor(form.length / 3);
  for (let from = third; from < form.length - third; from++) {
    const part = form.slice(from, from + 6);
    assert.ok(!told.includes(part), `${JSON.stringify(part)} in ${told}`);
  }
}

describe("a token that is hidden", () => {
  const hide = createHider(TOKEN);

  for (const [name, form] of Object.entries(FORMS)) {
    it(name, () => {
      const given = form(TOKEN);
      for (const [before, after] of [
        ["", ""],
        ["it said: ", " and no more"],
        ["é…😀 “", "” 😀"],
      ] as const) {
        const told = hide(before + given + after);
        assert.ok(told.includes("…"), told);
        assertHidden(told, given);
        assert.ok(told.startsWith(before) && told.endsWith(after), told);
      }
      const twice = hide(`${given} | ${given}`);
      assert.equal(twice.split("…").length, 3, twice);
    });
  }

  it("leaves all else as it is", () => {
    for (const text of [
      "",
      "http://a.example/api/public/v1/worlds/search?q=%E4%B8%96%2B&limit=50: the server answered 500",
      'it begins with "<!DOCTYPE html>&nbsp;\\u00e9"',
      "😀\ud800%ZZ%\\u12 &#99999999;",
      TOKEN.slice(0, -1),
      base64(TOKEN.slice(0, -4)),
    ])
      assert.equal(hide(text), text);
  });

  it("takes no longer than its text is long", () => {
    const began = process.cpuUsage();
    for (const text of ["%25".repeat(1e5), "A".repeat(3e5), `${TOKEN.slice(0, -1)} `.repeat(1e4)]) {
      assert.ok(hide(text).length < 200_000);
    }
    const { user, system } = process.cpuUsage(began);
    assert.ok(user + system < 5e6, `${user + system} µs of CPU`);
  });

  it("may be of one letter", () => {
    assert.equal(createHider("x")("axb YWJj eA=="), "a…b YWJj eA==");
  });
});

/** The message that asking a server ends with. */
async function problemOf(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const upstream = createUpstream({
    ...{ base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: () => TOKEN },
    ...{ timing: TIMING, signal: new AbortController().signal },
  });
  const error = await upstream.get("/stats", { statuses: [200] }).then(
    () => assert.fail("it was taken"),
    (found: Error) => found,
  );
  return `${error.message}\n${error.stack}`;
}

describe("a server that repeats the token", () => {
  // What can be hidden is the same everywhere; these are hidden at all.
  for (const name of ["as it is", "percent-encoded, every letter", "in base64, the header", "in capitals"]) {
    const form = FORMS[name]!;
    it(`in an error: ${name}`, async (t) => {
      const given = form(TOKEN);
      const told = await problemOf(t, (_request, response) => {
        response.writeHead(400).end(JSON.stringify({ error: `what is ${given}?` }));
      });
      assert.match(told, /answered 400: what is .*…/);
      assertHidden(told, given);
    });
  }

  it("where its reply is cut off", async (t) => {
    const told = await problemOf(t, (_request, response) => {
      response.writeHead(200).end(`${"x".repeat(45)} ${TOKEN}`);
    });
    assert.match(told, /begins with "x{45} …"/);
  });

  it("in the host of a redirect", async (t) => {
    const host = "svc_sk_upstream-canary";
    const upstream = createServer((_request, response) => {
      response.writeHead(302, { location: `http://${host.toUpperCase()}.example/` }).end();
    });
    await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
    t.after(() => upstream.close());
    const asked = createUpstream({
      ...{ base: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, token: () => host },
      ...{ timing: TIMING, signal: new AbortController().signal },
    });
    await assert.rejects(
      asked.get("/stats", { statuses: [200] }),
      /redirects to http:\/\/…\.example; a token/,
    );
  });
});
