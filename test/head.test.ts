/** The reader of heads: a few rules, and heads of clients and random ones compared with the parser of node:http. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import {
  Fields,
  faultOf,
  type Head,
  MAX_FIELDS,
  readHead,
  skipEmptyLines,
  staysOpen,
} from "../src/http/head.ts";
import { IS_LONG, part, untilCovered } from "./support/long.ts";

/** Reads a head as a connection does, with a size limit that no text here reaches. */
function read(text: string, before?: Fields): Head | string {
  return readHead(text, skipEmptyLines(text, 0), before, Number.MAX_SAFE_INTEGER);
}

function headOf(...lines: string[]): Head {
  const head = read([...lines, "", ""].join("\r\n"));
  assert.ok(typeof head !== "string", `${head}: ${JSON.stringify(lines)}`);
  return head;
}

function withFields(...lines: string[]): Head {
  return headOf("GET / HTTP/1.1", "Host: a", ...lines);
}

function refusalOf(text: string): string | undefined {
  const head = read(text);
  return typeof head === "string" ? head : faultOf(head);
}

// ---------------------------------------------------------------- clients

/** Recorded by a listening socket; only the port was changed. */
const RECORDED = `
curl 7.88 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Authorization: Bearer svc_sk_example
curl 7.88 --head --compressed | HEAD /x HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Accept-Encoding: deflate, gzip, br, zstd
curl 7.88 --http1.0 | GET / HTTP/1.0 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */*
curl 7.88 --http2 | GET / HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Connection: Upgrade, HTTP2-Settings | Upgrade: h2c | HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA
curl 7.88 --request-target "*" | OPTIONS * HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */*
curl 7.88 --proxy | GET http://example.com/a HTTP/1.1 | Host: example.com | User-Agent: curl/7.88.1 | Accept: */* | Proxy-Connection: Keep-Alive
curl 7.88 --data "" | POST / HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Content-Length: 0 | Content-Type: application/x-www-form-urlencoded
curl 7.88 --data-urlencode | GET /?q=caf+%c3%a9 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | If-None-Match: "g"
curl 7.88 --upload-file | PUT /hostname HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Content-Length: 3 | Expect: 100-continue
wrk 4.1 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Authorization: Bearer svc_sk_example | Host: 127.0.0.1:8787
ab 2.3 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.0 | Authorization: Bearer svc_sk_example | Host: 127.0.0.1:8787 | User-Agent: ApacheBench/2.3 | Accept: */*
ab 2.3 -k | GET / HTTP/1.0 | Connection: Keep-Alive | Host: 127.0.0.1:8787 | User-Agent: ApacheBench/2.3 | Accept: */*
ab 2.3 -i | HEAD / HTTP/1.0 | Host: 127.0.0.1:8787 | User-Agent: ApacheBench/2.3 | Accept: */*
autocannon 9 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | Connection: keep-alive | Authorization:  Bearer svc_sk_example
hey 0.1 (Go's net/http) | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: hey/0.0.1 | Authorization: Bearer svc_sk_example | Content-Type: text/html | Accept-Encoding: gzip
fetch of Node 20 (undici) | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | host: 127.0.0.1:8787 | connection: keep-alive | authorization: Bearer svc_sk_example | accept: */* | accept-language: * | sec-fetch-mode: cors | user-agent: node | accept-encoding: gzip, deflate
http.get of Node 20 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | authorization: Bearer svc_sk_example | Host: 127.0.0.1:8787 | Connection: keep-alive
http.get of Node 20, without an agent | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | Connection: close
fetch of Bun 1.4 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Authorization: Bearer svc_sk_example | Connection: keep-alive | User-Agent: Bun/1.4.5 | Accept: */* | Host: 127.0.0.1:8787 | Accept-Encoding: gzip, deflate, br, zstd
fetch of Deno 2.9 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | authorization: Bearer svc_sk_example | accept: */* | accept-language: * | user-agent: Deno/2.9.6 | accept-encoding: gzip,br | host: 127.0.0.1:8787
http.client of Python 3.11 | GET /x HTTP/1.1 | Host: 127.0.0.1:8787 | Accept-Encoding: identity | Authorization: Bearer svc_sk_example
urllib of Python 3.11 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Accept-Encoding: identity | Host: 127.0.0.1:8787 | User-Agent: Python-urllib/3.11 | Authorization: Bearer svc_sk_example | Connection: close
requests 2.34 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: python-requests/2.34.2 | Accept-Encoding: gzip, deflate | Accept: */* | Connection: keep-alive | Authorization: Bearer svc_sk_example
httpx 0.28 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | Accept: */* | Accept-Encoding: gzip, deflate | Connection: keep-alive | User-Agent: python-httpx/0.28.1 | Authorization: Bearer svc_sk_example
aiohttp 3.14 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | Authorization: Bearer svc_sk_example | Accept: */* | Accept-Encoding: gzip, deflate | User-Agent: Python/3.11 aiohttp/3.14.3
Chromium 156, a page | GET /docs HTTP/1.1 | Host: 127.0.0.1:8787 | Connection: keep-alive | sec-ch-ua: "Not:A-Brand";v="8", "Chromium";v="156" | sec-ch-ua-mobile: ?0 | sec-ch-ua-platform: "Linux" | Upgrade-Insecure-Requests: 1 | User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36 | Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7 | Sec-Fetch-Site: none | Sec-Fetch-Mode: navigate | Sec-Fetch-User: ?1 | Sec-Fetch-Dest: document | Accept-Encoding: gzip, deflate, br, zstd | Accept-Language: en-US,en;q=0.9
Chromium 156, its icon | GET /favicon.ico HTTP/1.1 | Host: 127.0.0.1:8787 | Connection: keep-alive | sec-ch-ua-platform: "Linux" | User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36 | sec-ch-ua: "Not:A-Brand";v="8", "Chromium";v="156" | sec-ch-ua-mobile: ?0 | Accept: image/jxl,image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8 | Sec-Fetch-Site: same-origin | Sec-Fetch-Mode: no-cors | Sec-Fetch-Dest: image | Referer: http://127.0.0.1:8787/docs | Accept-Encoding: gzip, deflate, br, zstd | Accept-Language: en-US,en;q=0.9
HAProxy, a check | GET /readyz HTTP/1.0
HAProxy, a check with HTTP/1.1 | GET /livez HTTP/1.1 | host: orrery | connection: close
nginx | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.0 | Host: 127.0.0.1:8787 | Connection: close | User-Agent: curl/7.88.1 | Accept: */* | Authorization: Bearer svc_sk_example
nginx, with keep-alive | GET /k HTTP/1.1 | Host: 127.0.0.1 | X-Forwarded-For: 127.0.0.1 | X-Forwarded-Proto: http | User-Agent: curl/7.88.1 | Accept: */* | Authorization: Bearer svc_sk_example
HAProxy 2.6 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | host: 127.0.0.1:8787 | user-agent: curl/7.88.1 | accept: */* | authorization: Bearer svc_sk_example | x-forwarded-for: 127.0.0.1
`;

/** Written from the clients' documentation: these clients were not at hand to record. */
const WRITTEN = `
Firefox 128, a page | GET /docs HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 | Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8 | Accept-Language: en-US,en;q=0.5 | Accept-Encoding: gzip, deflate, br, zstd | Connection: keep-alive | Upgrade-Insecure-Requests: 1 | Sec-Fetch-Dest: document | Sec-Fetch-Mode: navigate | Sec-Fetch-Site: none | Sec-Fetch-User: ?1 | Priority: u=0, i
Firefox 128, a preflight | OPTIONS /api/public/v1/stats HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 | Accept: */* | Accept-Language: en-US,en;q=0.5 | Accept-Encoding: gzip, deflate, br, zstd | Access-Control-Request-Method: GET | Access-Control-Request-Headers: authorization | Origin: http://127.0.0.1:3000 | Connection: keep-alive | Sec-Fetch-Dest: empty | Sec-Fetch-Mode: cors | Sec-Fetch-Site: same-site
the probe of Kubernetes | GET /api/public/v1/stats HTTP/1.1 | Host: 10.0.0.1:8787 | User-Agent: kube-probe/1.29 | Accept: */* | Connection: close
`;

const CLIENT_HEADS = (RECORDED + WRITTEN)
  .split("\n")
  .filter(Boolean)
  .map((line): [client: string, head: string] => {
    const [client, ...lines] = line.split(" | ");
    return [client!, [...lines, "", ""].join("\r\n")];
  });

// ---------------------------------------------------------------- node:http

interface NodeHead {
  readonly method: string;
  readonly target: string;
  /** `1.0` or `1.1`, mostly. */
  readonly version: string;
  /** Names and values in turn. */
  readonly fields: readonly string[];
}

const heads: NodeHead[] = [];
/** Code of the error that ended the reading. */
let error: string | undefined;

const server = createServer({
  insecureHTTPParser: false,
  maxHeaderSize: 1 << 24,
  requireHostHeader: false,
  keepAliveTimeout: 0,
});
server.maxHeadersCount = 0;
for (const event of ["request", "checkContinue", "checkExpectation", "connect"]) {
  server.on(event, ({ method, url, httpVersion, rawHeaders }: IncomingMessage) => {
    heads.push({ method: method!, target: url!, version: httpVersion, fields: rawHeaders });
  });
}
server.on("clientError", (cause: NodeJS.ErrnoException) => {
  error ??= cause.code ?? cause.message;
});

/** Reads one-byte text synchronously: node:http reads a connection that is no socket as soon as it emits data. */
function readByNode(text: string) {
  heads.length = 0;
  error = undefined;
  const connection = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  connection.on("error", () => {});
  server.emit("connection", connection);
  connection.emit("data", Buffer.from(text, "latin1"));
  connection.destroy();
  return { heads: [...heads], error };
}

/** Fields as node:http gives them: names and values in turn. */
function fieldsOf({ fields }: Head): string[] {
  const lines = fields.text.split("\r\n").slice(0, -2);
  return lines.flatMap((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).replace(/^[\t ]+|[\t ]+$/g, "")];
  });
}

function valuesOf({ fields }: NodeHead, name: string): string[] {
  return fields.filter((_, at) => at % 2 === 1 && fields[at - 1]!.toLowerCase() === name);
}

/** Two user parts: llhttp refuses `@@`, but takes `@` twice. */
const TWO_USERS = /^(?:[A-Za-z]+:\/\/)?[^/?]*@[^/?]*@/;

/** Each kind of head that node:http takes and this server refuses, with an example; docs/http.md has the same words. */
const DIFFERENCES: Readonly<
  Record<string, { applies: (head: NodeHead, line: string) => boolean; example: string[] }>
> = {
  "a version other than `HTTP/1.0` and `HTTP/1.1`, or none": {
    applies: ({ version }) => version !== "1.0" && version !== "1.1",
    example: ["GET / HTTP/2.0", "Host: a"],
  },
  "a protocol other than HTTP": {
    applies: (_head, line) => /(?:RTSP|ICE)\/\d\.\d$/.test(line),
    example: ["GET / RTSP/1.1", "Host: a"],
  },
  "more than one space between two parts of the request line": {
    applies: (_head, line) => / {2}/.test(line),
    example: ["GET  / HTTP/1.1", "Host: a"],
  },
  "a CR or LF alone before the request line": {
    applies: (_head, line) => /^[\r\n]/.test(line),
    example: ["\nGET / HTTP/1.1", "Host: a"],
  },
  "a target that is no path, no URL with a valid authority, and not `*`": {
    applies: ({ method, target }) =>
      /^\*./.test(method === "CONNECT" ? "" : target) || (!target.startsWith("/") && TWO_USERS.test(target)),
    example: ["OPTIONS *x HTTP/1.1", "Host: a"],
  },
  "`*` with a method other than OPTIONS": {
    applies: ({ method, target }) => target === "*" && method !== "OPTIONS" && method !== "CONNECT",
    example: ["GET * HTTP/1.1", "Host: a"],
  },
  "an HTTP/1.1 request without `Host`, and any with more than one": {
    applies: (head) => {
      const hosts = valuesOf(head, "host").length;
      return hosts > 1 || (hosts === 0 && head.version === "1.1");
    },
    example: ["GET / HTTP/1.1", "Host: a", "Host: a"],
  },
  "a `Content-Length` of more than 15 digits": {
    applies: (head) => valuesOf(head, "content-length").some((length) => !/^\d{1,15}$/.test(length)),
    example: ["POST / HTTP/1.1", "Host: a", "Content-Length: 1234567890123456"],
  },
  "an empty `Transfer-Encoding` (Node 20 does; 24 refuses it)": {
    applies: (head) => valuesOf(head, "transfer-encoding").includes(""),
    example: ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding:"],
  },
  "more than 128 fields": {
    applies: ({ fields }) => fields.length > 2 * MAX_FIELDS,
    example: ["GET / HTTP/1.1", "Host: a", ...Array.from({ length: MAX_FIELDS }, () => "a: b")],
  },
  "a body of more than 65,536 bytes, or in other codings than `chunked`": {
    applies: (head) => {
      const codings = valuesOf(head, "transfer-encoding");
      if (codings.length > 0) return codings.join().toLowerCase() !== "chunked" || head.version === "1.0";
      return Number(valuesOf(head, "content-length")[0] ?? 0) > 65_536;
    },
    example: ["POST / HTTP/1.1", "Host: a", "Content-Length: 65537"],
  },
  "an `Expect` of anything but `100-continue`": {
    applies: (head) => {
      const value = valuesOf(head, "expect").at(-1);
      return value !== undefined && value.toLowerCase() !== "100-continue";
    },
    example: ["GET / HTTP/1.1", "Host: a", "Expect: x"],
  },
  CONNECT: { applies: ({ method }) => method === "CONNECT", example: ["CONNECT a:443 HTTP/1.1", "Host: a"] },
};

/** Node before 24 refuses a tab there; RFC 9110 (5.5) allows it. */
const TAB_AFTER_LENGTH = /^content-length:[\t ]*\d+ *\t[\t ]*\r$/im;

/** Node refuses raw bytes of UTF-8 in a target, which many clients send. */
const RAW_TARGET = /^(?:\r\n)*[^\r\n]*[\x80-\xff]/;

function isNodesError({ error }: ReturnType<typeof readByNode>, text: string): boolean {
  if (error === "HPE_INVALID_URL") return RAW_TARGET.test(text);
  return error === "HPE_INVALID_CONTENT_LENGTH" && TAB_AFTER_LENGTH.test(text);
}

/** The known differences that apply to a text that node:http takes. */
function reasonsOf(head: NodeHead, text: string): string[] {
  const [line] = text.replace(/^(?:\r\n)+/, "").split("\r\n") as [string];
  return Object.keys(DIFFERENCES).filter((name) => DIFFERENCES[name]!.applies(head, line));
}

const met = new Map<string, number>();

function count(outcome: string): void {
  met.set(outcome, (met.get(outcome) ?? 0) + 1);
}

/** Asserts that a text means the same to both parsers, or that the difference is known. */
function compare(text: string): void {
  const what = JSON.stringify(text);
  const head = read(text);
  const byNode = readByNode(text);
  const first = byNode.heads[0];
  if (typeof head !== "string") {
    if (first === undefined && isNodesError(byNode, text)) return;
    assert.ok(first, `only node refuses (${byNode.error}): ${what}`);
    const { method, target, minor } = head;
    assert.deepEqual(first, { method, target, version: `1.${minor}`, fields: fieldsOf(head) }, what);
    compareNext(text.slice(0, head.end), head);
  }
  // A head that node refuses after handing it on does not count as taken.
  if (first === undefined || byNode.error !== undefined) return;
  const refusal = typeof head === "string" ? head : faultOf(head);
  const reasons = reasonsOf(first, text);
  if (refusal === undefined) assert.deepEqual(reasons, [], `taken although: ${what}`);
  else
    assert.notEqual(reasons.length, 0, `refused (${refusal}), which node does not, for no reason: ${what}`);
  count(refusal === undefined ? "taken" : "difference");
}

/** Asserts that node finds the next head in the same place if our connection stays open. */
function compareNext(text: string, head: Head): void {
  if (faultOf(head) !== undefined || !staysOpen(head)) return;
  // node:http reads nothing after an Upgrade, even if it accepts none, and it obeys a field of old proxies.
  if (head.fields.get("upgrade") !== null || head.fields.get("proxy-connection") !== null) return;
  // It does not recognise "chunked" before a tab.
  if (/^transfer-encoding:[^\r]*\t/im.test(text)) return;
  // With HTTP/1.0 it does not recognise "keep-alive" before a tab, although a tab is white space.
  if (head.minor === 0 && /^connection:[^\r]*\t/im.test(text)) return;
  const body = head.fields.isCoded ? "0\r\n\r\n" : "x".repeat(head.fields.bodyBytes);
  const { heads } = readByNode(`${text}${body}GET /next HTTP/1.1\r\n\r\n`);
  assert.equal(heads[1]?.target, "/next", `the end of ${JSON.stringify(text)}`);
  count("next");
}

/** Bytes that parsers treat differently. */
const SPECIAL = "\0\x01\t\n\v\f\r\x1f !\"#%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~\x7f\x80\xa0\xff";

const lines = (name: string, ...values: string[]): string[] => values.map((value) => `${name}: ${value}\r\n`);

const PIECES = [
  ..."\r \n \r\n \r\n\r\n \0 : , \x7f \xff * / // ? # @ %zz".split(" "),
  ..."HTTP/1.0 HTTP/1.1 HTTP/1.2 HTTP/0.9 HTTP/2.0 http/1.1 RTSP/1.0 ICE/1.0".split(" "),
  ..."http://a/ http://u:p@[::1]:8/ ftp://".split(" "),
  ..."GET POST HEAD OPTIONS CONNECT SOURCE PRI".split(" ").map((method) => `${method} `),
  ...["\r\n ", " \r\n", " ", "\t", " :", "PRI * HTTP/2.0\r\n\r\n"],
  ...lines("Content-Length", "0", "5", "", "+5", "0\t", "5 5", "0x5", "1234567890123456"),
  ...lines("Transfer-Encoding", "chunked", "gzip, chunked", "chunked, gzip", "", ",", "xchunked"),
  ...lines("Transfer-Encoding", "chunked, chunked"),
  ...lines("Connection", "close", "close\t,\tx", "keep-alive, close", "upgrade"),
  ...["Upgrade: x\r\n", "Host: b\r\n", "Expect: x\r\n", "a: b\r\n", "Proxy-Connection: close\r\n"],
];

const byte = fc.oneof(
  fc.constantFrom(...SPECIAL),
  fc.nat(255).map((code) => String.fromCharCode(code)),
);
const place = fc.oneof(fc.nat(40), fc.nat(600));
const piece = fc.constantFrom(...PIECES);
const clientHead = fc.constantFrom(...CLIENT_HEADS.map(([, head]) => head));

/** A change of a head, or of one of its lines. */
type Edit = (text: string) => string;

function atLine(number: number, change: (lines: string[], at: number) => void): Edit {
  return (text) => {
    const lines = text.split("\r\n");
    change(lines, number % lines.length);
    return lines.join("\r\n");
  };
}

/** Puts a text into another one, in the place of so many of its characters. */
const splice = (at: number, many: number, some: string): Edit => {
  return (text) => text.slice(0, at) + some + text.slice(at + many);
};

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(place, byte).map(([at, one]) => splice(at, 0, one)),
  fc.tuple(place, byte).map(([at, one]) => splice(at, 1, one)),
  fc.tuple(place, fc.integer({ min: 1, max: 4 })).map(([at, many]) => splice(at, many, "")),
  fc.tuple(place, piece).map(([at, some]) => splice(at, 0, some)),
  fc
    .tuple(place, clientHead, place)
    .map(([at, other, from]) => splice(at, Number.POSITIVE_INFINITY, other.slice(from))),
  fc
    .tuple(fc.nat(12), piece)
    .map(([line, some]) =>
      atLine(line, (lines, at) => lines.splice(Math.max(at, 1), 0, some.replace(/\r\n$/, ""))),
    ),
  fc
    .tuple(fc.nat(12), fc.nat(12))
    .map(([line, other]) => atLine(line, (lines, at) => lines.push(lines[at]!, lines[other] ?? ""))),
  fc.tuple(fc.nat(2), piece).map(([word, some]) =>
    atLine(0, (lines) => {
      const words = lines[0]!.split(" ");
      words[word] = some.trim();
      lines[0] = words.join(" ");
    }),
  ),
);

const mutated = fc
  .tuple(clientHead, fc.array(edit, { minLength: 1, maxLength: 3 }))
  .map(([head, edits]) => edits.reduce((text, change) => change(text), head));

const token = fc.string({ unit: fc.constantFrom(..."aZ0-_.!#$%&'*+^`|~"), minLength: 1, maxLength: 6 });
const value = fc.oneof(
  fc.constantFrom("", " ", "chunked", "close", "keep-alive", "0", "5", "a, b", "100-continue"),
  fc.string({ unit: byte, maxLength: 6 }),
);
const fieldName = fc.oneof(
  token,
  fc.constantFrom("Host", "HOST", "Content-Length", "content-length", "Transfer-Encoding", "Connection"),
  fc.constantFrom("Expect", "Upgrade", "Proxy-Connection", "Authorization", "If-None-Match"),
);
const blanks = fc.constantFrom("", " ", " ", " ", "\t", "  ", " \t ");
const fieldLine = fc
  .tuple(fieldName, fc.constantFrom(":", ":", ":", " :", ""), blanks, value, blanks)
  .map((parts) => parts.join(""));
const target = fc.oneof(
  fc.constantFrom("/", "*", "/a?b#c", "http://a/b", "a:443", "HTTPS://u:p@[::1]:8/?x"),
  fc.string({ unit: byte, maxLength: 8 }),
  fc.string({ unit: byte, maxLength: 8 }).map((text) => `/${text}`),
  fc.string({ unit: byte, maxLength: 8 }).map((text) => `http://${text}`),
);
const methods = "GET GET HEAD POST OPTIONS CONNECT M-SEARCH PRI get GETX".split(" ");
const versions = "HTTP/1.1 HTTP/1.1 HTTP/1.1 HTTP/1.0 HTTP/1.2 HTTP/0.9 ICE/1.0".split(" ");
const made = fc
  .record({
    method: fc.constantFrom(...methods),
    target,
    version: fc.constantFrom(...versions, ""),
    lines: fc.array(fieldLine, { maxLength: 4 }),
    hosts: fc.constantFrom(1, 1, 1, 0, 2),
  })
  .map(({ method, target, version, lines, hosts }) => {
    const head = [`${method} ${target} ${version}`, ...Array<string>(hosts).fill("Host: a"), ...lines];
    return [...head, "", ""].join("\r\n");
  });

describe("beside node:http", () => {
  for (const [client, head] of CLIENT_HEADS) {
    test(`${client} is read as by node:http`, () => {
      compare(head);
      assert.equal((read(head) as Head).end, head.length);
      // Others have another method, a body, or no Host (a proxy's check).
      const isPlain = /^(?:GET|HEAD) /.test(head) && /^host:/im.test(head);
      if (isPlain) assert.equal(refusalOf(head), undefined);
    });
  }

  for (const [name, { example }] of Object.entries(DIFFERENCES)) {
    test(`taken by node:http, not here: ${name}`, () => {
      const text = [...example, "", ""].join("\r\n");
      const isOfThisNode = process.version.startsWith("v20.") || !name.includes("Node 20");
      if (isOfThisNode) assert.equal(readByNode(text).heads.length, 1);
      assert.notEqual(refusalOf(text), undefined);
      compare(text);
    });
  }

  test("docs/http.md lists the differences", () => {
    const page = readFileSync(new URL("../docs/http.md", import.meta.url), "utf8");
    const [, section] = page.split("\n### Requests that node:http takes\n");
    const listed = section!.split("\n#")[0]!.match(/(?<=^\| )[^|]+(?= \|)/gm)!;
    assert.deepEqual(listed.slice(1), Object.keys(DIFFERENCES));
  });

  test("every byte in every place of a few heads", async () => {
    const bytes = IS_LONG
      ? Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
      : [..."\0\t\n\r :@*aé"];
    for (const head of [
      "GET /a?b#c HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST http://u:p@[::1]:8/?x HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\n",
      "CONNECT a.b:1 HTTP/1.1\r\nHost: a\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    ]) {
      for (let at = 0; at <= head.length; at++) {
        for (const one of bytes) {
          compare(head.slice(0, at) + one + head.slice(at));
          compare(head.slice(0, at) + one + head.slice(at + 1));
        }
        // Lets the connections end: that takes another turn.
        await setImmediate();
      }
    }
  });

  for (const [name, texts] of Object.entries({ mutated, random: made })) {
    test(`${name} heads`, async () => {
      met.clear();
      let compared = 0;
      const property = fc.asyncProperty(texts, async (text) => {
        compare(text);
        if (compared++ % 64 === 0) await setImmediate();
      });
      let seed = 20;
      await untilCovered(
        () => fc.assert(property, { seed: seed++, numRuns: part(40_000) }),
        () => ["taken", "difference", "next"].every((outcome) => (met.get(outcome) ?? 0) > part(1000)),
        () => JSON.stringify([...met]),
      );
    });
  }
});

// ---------------------------------------------------------------- rules

describe("rules", () => {
  test("staying open: `close` wins in any spelling, HTTP/1.0 must ask for it", () => {
    const isOpen = (version: string, ...connection: string[]): boolean =>
      staysOpen(headOf(`GET / ${version}`, "Host: a", ...connection.map((value) => `Connection: ${value}`)));
    const closing = ["close", "CLOSE", "close\t,\tx", "x\t,\tclose\t", ",close,", "keep-alive, close"];
    for (const values of [...closing.map((one) => [one]), ["keep-alive", "close"], ["close", "Keep-Alive"]]) {
      assert.equal(isOpen("HTTP/1.1", ...values), false, values.join());
      assert.equal(isOpen("HTTP/1.0", ...values), false, values.join());
    }
    for (const open of ["keep-alive", "Keep-Alive", "x\t,\tkeep-alive"])
      assert.equal(isOpen("HTTP/1.0", open), true);
    assert.equal(isOpen("HTTP/1.0"), false);
    assert.equal(isOpen("HTTP/1.0", "xkeep-alive"), false);
    for (const other of ["", "closed", "xclose", "clo se", "x"])
      assert.equal(isOpen("HTTP/1.1", other), true, other);
    assert.equal(staysOpen(withFields("Proxy-Connection: close")), true);
    assert.equal(staysOpen(withFields("Content-Length: 1")), true);
    assert.equal(staysOpen(withFields("Expect: 100-continue")), false);
  });

  test("a beginning of a head is never refused, and what is refused stays so", () => {
    fc.assert(
      fc.property(fc.oneof(clientHead, mutated, made), (text) => {
        const from = skipEmptyLines(text, 0);
        const whole = read(text);
        const end = typeof whole === "string" ? text.length : whole.end;
        for (let length = from + 1; length < end; length++) {
          const some = readHead(text.slice(0, length), from, undefined, Number.MAX_SAFE_INTEGER);
          if (some === "partial") continue;
          assert.deepEqual(some, whole, JSON.stringify(text.slice(0, length)));
          break;
        }
      }),
      { seed: 21, numRuns: part(3000) },
    );
  });

  test("fields of the head before make no difference", () => {
    fc.assert(
      fc.property(fc.oneof(clientHead, mutated), edit, (text, change) => {
        const first = read(text);
        if (typeof first === "string") return;
        assert.equal((read(text, first.fields) as Head).fields, first.fields);
        const other = change(text);
        const plain = read(other);
        const reused = read(other, first.fields);
        if (typeof plain === "string") assert.equal(reused, plain);
        else assert.deepEqual(reused, plain);
        assert.deepEqual(new Fields(first.fields.text), first.fields);
      }),
      { seed: 22, numRuns: part(6000) },
    );
  });
});
