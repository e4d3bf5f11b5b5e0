/**
 * Real proxies in front of the program, which share few connections to it among all clients: whatever a client sends,
 * the program answers no part of a body as a request, and no client gets another's answer.
 */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../src/util/random.ts";
import { need } from "../support/need.ts";
import { place } from "../support/place.ts";
import { type LogLine, serve } from "../support/process.ts";
import { PROXIES, type Strictness } from "./support/proxies.ts";

/** Variants through each proxy in each of its configurations: each odd value comes in a dozen or more. */
const VARIANTS = 3000;
const AT_ONCE = 64;
/** After so many milliseconds without a byte the client hangs up: its request is incomplete. */
const SILENCE_MS = 60;

const METHODS = ["POST", "POST", "GET", "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "post", "BREW"];
/** A value, repeated to weight its draw. */
const often = <Value>(times: number, value: Value): Value[] => Array<Value>(times).fill(value);
const ODD_VERSIONS =
  "| HTTP/1.0| HTTP/1.2| HTTP/2.0| HTTP/01.1| HTTP/1.1 | http/1.1|  HTTP/1.1|\tHTTP/1.1".split("|");
const VERSIONS = [...often(12, " HTTP/1.1"), ...ODD_VERSIONS];
const LINE_ENDS = [...often(6, "\r\n"), "\n", "\r", "\r\r\n"];
const BEFORE_NAME = [...often(5, ""), " ", "\t", "\x0b", "X: a\r\n ", "X: a\n", "X: a\r", "X:\r\n\t"];
const ODD_COLONS = [":", " : ", "\t:", ":\t", ":\r\n ", ":\n ", "\x00: ", ": \x0b", "::", " "];
const AFTER_NAME = [...often(4, ": "), ...ODD_COLONS];
const AFTER_VALUE = ["", "", "", "", "", " ", "\t", "\x00", "\x0c", ",", ";q=1", "\r\n x", "\n x"];
const LENGTH_NAMES = "Content-Length content-length CONTENT-LENGTH Content_Length Content-Length\xa0".split(
  " ",
);
const CODING_NAMES = "Transfer-Encoding transfer-encoding Transfer_Encoding TE Transfer-Encoding\xad".split(
  " ",
);
const ODD_CODINGS =
  'Chunked|xchunked|chunked, identity|identity, chunked|identity|gzip, chunked|chunked, chunked|chunk|"chunked"|chunked\tx|, chunked|chunked chunked|';
const CODINGS = [...often(6, "chunked"), ...ODD_CODINGS.split("|")];
const MORE = [
  "Expect: 100-continue",
  "Expect: 100-Continue, x",
  "Expect: x",
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  ...["Connection: Content-Length", "Connection: Transfer-Encoding", "Connection: X-Request-Id"],
  ...["Connection: Host", "Connection: keep-alive, close", "Connection: close", "Host: other"],
  ...["Trailer: Content-Length", "X-Folded: a\r\n b", "X-Bare: a\nContent-Length: 0"],
  ...["X-Bare: a\rTransfer-Encoding: chunked", "X-Http-Method-Override: GET", "If-None-Match: *"],
];
const EXTENSIONS = ["", "", "", ";a=b", ';a="\r\n"', ";\n", ";a\r", " ", "\t;", `;${"x".repeat(2000)}`];

function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[random.below(values.length)]!;
}

/** A request inside a body. It has an id of its own, which no proxy has replaced. */
function canary(n: number): string {
  return `GET /canary/${n} HTTP/1.1\r\nHost: a\r\nX-Request-Id: canary/${n}\r\n\r\n`;
}

function lengthOf(random: Random, length: number): string {
  const all = [
    ...[...often(4, length), 0, 0, length - 1, length + 1, `+${length}`, `-${length}`, `0${length}`],
    ...[`${length}, ${length}`, `${length}, 0`, `0, ${length}`, `0x${length.toString(16)}`, `${length}.0`],
    ...["1e1", ""],
  ];
  return String(pick(random, all));
}

/** A body with a canary in it: plain, in chunks, or after bytes that some parsers take for the end of chunks. */
function bodyOf(random: Random, n: number): string {
  const inside = canary(n);
  const end = pick(random, ["\r\n", "\r\n", "\r\n", "\n", "\r"]);
  const hex = inside.length.toString(16);
  const size = pick(random, [
    ...[hex, hex, hex.toUpperCase(), `0${hex}`, `0x${hex}`, `+${hex}`, ""],
    ...["0", "0", "ffffffffffffffff1", (inside.length + 1).toString(16)],
  ]);
  const chunks = `${size}${pick(random, EXTENSIONS)}${end}${inside}${end}0${pick(random, EXTENSIONS)}${end}`;
  return pick(random, [
    ...[inside, inside, `${chunks}${end}`, `${chunks}X-Trailer: a${end}${end}`],
    ...[`${chunks}Content-Length: 0${end}${end}`, `0${end}${end}${inside}`],
    ...[`1${end}x${end}0${end}${end}${inside}`, `\r\n${inside}`],
  ]);
}

/** A field that gives the length of the body, or seems to. */
function framing(random: Random, length: number): string {
  const isLength = random.chance(0.5);
  const names = isLength ? LENGTH_NAMES : CODING_NAMES;
  const name = pick(random, random.chance(0.8) ? names.slice(0, isLength ? 3 : 2) : names);
  const value = isLength ? lengthOf(random, length) : pick(random, CODINGS);
  const plain = random.chance(0.8);
  return plain
    ? `${name}: ${value}`
    : pick(random, BEFORE_NAME) + name + pick(random, AFTER_NAME) + value + pick(random, AFTER_VALUE);
}

/** One variant: mostly well-formed, with a slip here or there. */
function variant(random: Random, n: number): string {
  const isOdd = (share: number): boolean => random.chance(share);
  const path = `/r/${n}`;
  const target = isOdd(0.2)
    ? pick(random, [
        ...[`http://a${path}`, `HTTP://a:80${path}`, `/${path}`, `${path}?x`, `${path}#x`],
        ...[`/x/..${path}`, `a${path}`, `${path} x`],
      ])
    : path;
  const body = bodyOf(random, n);
  const fields = ["Host: a", `X-Request-Id: own/${n}`, framing(random, body.length)];
  if (isOdd(0.35)) fields.push(framing(random, body.length));
  if (isOdd(0.1)) fields.push(framing(random, body.length));
  if (isOdd(0.4)) fields.push(pick(random, MORE));
  if (isOdd(0.3)) fields.reverse();
  const method = isOdd(0.8) ? pick(random, METHODS.slice(0, 4)) : pick(random, METHODS);
  const line = `${method} ${target}${isOdd(0.9) ? " HTTP/1.1" : pick(random, VERSIONS)}`;
  const end = isOdd(0.95) ? "\r\n" : pick(random, LINE_ENDS);
  const last = isOdd(0.95) ? "\r\n\r\n" : end + pick(random, LINE_ENDS);
  return [line, ...fields].join(end) + last + body;
}

/** Sends bytes and returns the answer up to its end, some silence, or the wanted part. */
function exchange(port: number, bytes: string, isEnough: (text: string) => boolean): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes, "latin1"));
    let text = "";
    let timer: NodeJS.Timeout | undefined;
    const wait = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), ms);
    };
    // The answer to a whole request may take long on a busy machine.
    wait(isEnough("") ? SILENCE_MS : 20_000);
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part;
      if (isEnough(text)) wait(bytes.startsWith("GET /n/") ? 0 : SILENCE_MS);
    });
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}

function idsOf(text: string): string[] {
  return [...text.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id!);
}

/** After a variant, sends another client's good request, which must get its own answer. */
async function askBetween(port: number, n: number): Promise<void> {
  const text = await exchange(port, `GET /n/${n} HTTP/1.1\r\nHost: a\r\n\r\n`, (all) =>
    all.includes('{"error":"Not found"}'),
  );
  assert.match(text, /^HTTP\/1\.1 404 /, `the answer between, ${n}`);
  assert.deepEqual(idsOf(text), [`fwd/n/${n}`], text);
}

/** Checks the log lines of the program's requests. @returns how many variants came through, with bodies or what may be one */
function readLog(lines: readonly LogLine[]): number {
  let through = 0;
  for (const { id, path, method, status } of lines) {
    // A request that cannot be parsed has neither.
    if (path === "" || method === "") continue;
    assert.match(String(id), /^fwd\//, `${method} ${path}, ${status}: no proxy has sent it`);
    if (String(id).startsWith("fwd/r/")) through++;
  }
  return through;
}

for (const [name, startProxy] of Object.entries(PROXIES)) {
  describe(`${name} in front`, { skip: need(name.toLowerCase()) }, () => {
    for (const [at, strictness] of (["strict", "lenient"] as Strictness[]).entries()) {
      it(`${strictness}: of ${VARIANTS} variants none smuggles a request`, async (t) => {
        const { folder, snapshot, keys } = place(t);
        const server = await serve(snapshot, keys, ["--access-log", "--watch", "0"]);
        const proxy = await startProxy(join(folder, "proxy"), `127.0.0.1:${server.port}`, strictness);
        t.after(() => proxy.end());
        const random = createRandom(at + 1, name);
        const statuses: Record<string, number> = {};
        let next = 0;
        const client = async (): Promise<void> => {
          while (next < VARIANTS) {
            const n = next++;
            const bytes = variant(random, n);
            const text = await exchange(proxy.port, bytes, () => true);
            const status = text.slice(9, 12) || "none";
            statuses[status] = (statuses[status] ?? 0) + 1;
            for (const id of idsOf(text)) {
              const isOwn = id === `fwd/r/${n}` || id === "fwd/odd" || !/^(fwd|own|canary)\//.test(id);
              assert.ok(isOwn, `${JSON.stringify(bytes)} was answered ${JSON.stringify(text)}`);
            }
            await askBetween(proxy.port, n);
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, client));
        await server.stop();
        const through = readLog(server.logs("request"));
        t.diagnostic(`${JSON.stringify(statuses)}, ${through} came through`);
        assert.ok(through > VARIANTS / 10);
      });
    }
  });
}
