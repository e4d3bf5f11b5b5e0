/** Heads of 16 KiB that could be dear to read: each costs about as much as a plain refused request of the same size. */

import assert from "node:assert/strict";
import { after, it } from "node:test";
import { createApiApp } from "../src/http/api.ts";
import { faultOf, readHead, staysOpen } from "../src/http/head.ts";
import { openState } from "../src/server/open.ts";
import { cleanUp, testOptions } from "./support/http-server.ts";
import { filled, requestHead } from "./support/raw.ts";
import { bearer, STATS } from "./support/requests.ts";

after(cleanUp);

/** Most times the cost of a plain head; a square of 16 KiB would be hundreds of times. */
const TIMES = 10;

const complete = await testOptions(
  { accessLog: true, trustedProxies: ["loopback", "10.0.0.0/8"], docs: true, observe: () => {} },
  [],
);
const { state, stop, close } = await openState(complete);
const app = createApiApp(state);
after(() => {
  stop();
  return close();
});

const field =
  (name: string, ...others: string[]) =>
  (text: string): string =>
    requestHead(STATS, [`${name}: ${text}`, ...others]);
const target = (before: string) => (text: string) => requestHead(`${before}${text}`);
/** The field in a request for a page. */
const ofPage = (name: string) => (text: string) => requestHead("/docs", [`${name}: ${text}`]);
const lines = (text: string): string => `GET ${STATS} HTTP/1.1\r\nHost: a\r\n${text}\r\n`;

const DEAR: Readonly<Record<string, string>> = {
  "Accept-Encoding, commas": filled(ofPage("Accept-Encoding"), ","),
  "Accept-Encoding, semicolons": filled(ofPage("Accept-Encoding"), ";"),
  "Accept-Encoding, codings": filled(ofPage("Accept-Encoding"), "a;q=0, "),
  "Connection, commas": filled(field("Connection"), ","),
  "Connection, names": filled(field("Connection"), "a, "),
  "X-Forwarded-For, commas": filled(field("X-Forwarded-For"), ","),
  "X-Forwarded-For, addresses": filled(field("X-Forwarded-For"), "10.0.0.1,"),
  "X-Forwarded-For, blanks": filled(field("X-Forwarded-For"), " ,"),
  "X-Forwarded-For, colons": filled(field("X-Forwarded-For"), ":"),
  "If-None-Match, commas": filled(field("If-None-Match", bearer("cli")), ","),
  "If-None-Match, quotes": filled(field("If-None-Match", bearer("cli")), '"'),
  "If-None-Match, tags of a page": filled(ofPage("If-None-Match"), '"a",'),
  "If-Match, tags": filled(field("If-Match", bearer("cli")), 'W/"a",'),
  "a query of escapes": filled(target(`${STATS}?q=`), "%41"),
  "a query of parameters": filled(target(`${STATS}?`), "&"),
  "a path of escapes": filled(target("/"), "%41"),
  "a path of slashes": filled(target("/"), "/"),
  "a path of prefixes": filled(target("/"), "svc_sk_/"),
  "an authority": filled(target("http://"), "a"),
  "User-Agent, escapes": filled(field("User-Agent"), "%41"),
  "User-Agent, blanks": filled(field("User-Agent"), "% "),
  "User-Agent, bytes": filled(field("User-Agent"), "\xff"),
  "X-Request-Id": filled(field("X-Request-Id"), "a"),
  traceparent: filled(field("traceparent"), "0"),
  Authorization: filled(field("Authorization"), " "),
  "a token": filled((text) => requestHead(STATS, [`Authorization: Bearer svc_sk_${text}`]), "a"),
  "Transfer-Encoding": filled(
    (text) => requestHead(STATS, [`Transfer-Encoding: ${text}`], "POST"),
    "chunked ",
  ),
  Expect: filled(field("Expect"), "A"),
  "short fields": filled(lines, "a:\r\n"),
  "lines of a list": filled(lines, "Connection:,\r\n"),
};

/** Reads and answers a head as a connection does. */
function answer(text: string): number | Promise<number> {
  const head = readHead(text, 0);
  assert.ok(typeof head !== "string", `${head}`);
  const { method, target, fields } = head;
  const fault = faultOf(head);
  staysOpen(head);
  const peer = { remoteAddress: "127.0.0.1" };
  const { authorization, ifNoneMatch, ifMatch } = fields;
  const ask = { method, target, authorization, ifNoneMatch, ifMatch, now: Date.now(), headers: fields, peer };
  const reply = fault === undefined ? app.answer(ask) : app.refuse(fault, peer, ask);
  return reply instanceof Promise ? reply.then(({ status }) => status) : reply.status;
}

/** CPU time of some answers, in microseconds each; the least of several rounds, since others use the machine, too. */
function costOf(text: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 8; round++) {
    const before = process.cpuUsage();
    // A new text for each, as a read makes one: some costs fall on its first use.
    for (let at = 0; at < 25; at++) void answer(Buffer.from(text, "latin1").toString("latin1"));
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 25);
  }
  return least;
}

for (const [name, text] of Object.entries(DEAR)) {
  it(name, async (t) => {
    assert.notEqual(await answer(text), 500);
    let plain = 0;
    let dear = 0;
    // A busy machine slows one of the two; a cost that is real is there each time.
    for (let attempt = 0; attempt < 5; attempt++) {
      plain = costOf(filled(field("X-Plain"), "a"));
      dear = costOf(text);
      if (dear <= TIMES * plain) break;
    }
    const times = (dear / plain).toFixed(1);
    t.diagnostic(`${dear.toFixed(0)} microseconds, ${times} times the ${plain.toFixed(0)} of a plain one`);
    assert.ok(dear <= TIMES * plain, `${dear} microseconds, of ${plain} at least`);
  });
}
