/** Requests as bytes: good ones, and malformed ones. */

import { BASE, TOKENS, type TokenName } from "./http-server.ts";
import { requestHead } from "./raw.ts";

export const STATS = `${BASE}/stats`;
export const PAGE = `${BASE}/worlds?limit=50`;
export const SEARCH = `${BASE}/worlds/search?q=world`;

export function bearer(token: TokenName): string {
  return `Authorization: Bearer ${TOKENS[token]}`;
}

export function good(target: string, headers: readonly string[] = [], method = "GET"): string {
  return requestHead(target, [bearer("cli"), ...headers], method);
}

export const HOST = "Host: orrery.test\r\n";
export const AUTH = `${bearer("cli")}\r\n`;
export const OK = `GET ${STATS} HTTP/1.1\r\n${HOST}${AUTH}`;

/** The answer to each is one 400 and the end of the connection. */
export const MALFORMED: Readonly<Record<string, string | Buffer>> = {
  "an unknown method": `BREW ${STATS} HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "a method in lower case": `get ${STATS} HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "an unknown version": `GET ${STATS} HTTP/1.2\r\n${HOST}${AUTH}\r\n`,
  "version 2.0": `GET ${STATS} HTTP/2.0\r\n${HOST}${AUTH}\r\n`,
  "version 3.0": `GET ${STATS} HTTP/3.0\r\n${HOST}${AUTH}\r\n`,
  "another protocol's name": `GET ${STATS} HTTQ/1.1\r\n${HOST}${AUTH}\r\n`,
  "no version": `GET ${STATS}\r\n${HOST}${AUTH}\r\n`,
  "version 0.9": `GET ${STATS} HTTP/0.9\r\n${HOST}${AUTH}\r\n`,
  "no target": `GET HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "a space in the target": `GET ${STATS} x HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "a target without a slash": `GET stats HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "a control byte in the target": `GET ${STATS}\x01 HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "NUL in the target": `GET ${STATS}\0 HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "DEL in the target": `GET ${STATS}\x7f HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "bare LF in the request line": `GET ${STATS} HTTP/1.1\n${HOST}${AUTH}\r\n`,
  "bare LF behind a header": `GET ${STATS} HTTP/1.1\r\nHost: orrery.test\n${AUTH}\r\n`,
  "bare LF throughout": `${OK.replaceAll("\r", "")}\n`,
  "bare CR in a header": `${OK}X-Odd: a\rb\r\n\r\n`,
  "a folded header": `${OK}X-Odd: a\r\n b\r\n\r\n`,
  "NUL in a header": `${OK}X-Odd: a\0b\r\n\r\n`,
  "a control byte in a header": `${OK}X-Odd: a\x02b\r\n\r\n`,
  "a space before the colon": `${OK}X-Odd : a\r\n\r\n`,
  "a header without a name": `${OK}: a\r\n\r\n`,
  "a header without a colon": `${OK}X-Odd\r\n\r\n`,
  "a header name that is no token": `${OK}X(Odd): a\r\n\r\n`,
  "Content-Length with Transfer-Encoding": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "Transfer-Encoding with Content-Length": `POST ${STATS} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  "two Content-Lengths": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
  "Transfer-Encoding that is not chunked at its end": `POST ${STATS} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  "Content-Length twice the same": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
  "Content-Length with plus": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: +5\r\n\r\nhello`,
  "Content-Length with minus": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: -5\r\n\r\nhello`,
  "Content-Length in hex": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 0x5\r\n\r\nhello`,
  "Content-Length beyond 64 bits": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length: 99999999999999999999\r\n\r\n`,
  "a TLS hello": Buffer.from(`16030100c8010000c40303${"5a".repeat(196)}`, "hex"),
  "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "random bytes": Buffer.from("fffe00017f80c3280d0a0d0a", "hex"),
  "no Host": `GET ${STATS} HTTP/1.1\r\n${AUTH}\r\n`,
  "two Hosts": `${OK}Host: other.test\r\n\r\n`,
  "two equal Hosts": `${OK}hOST: orrery.test\r\n\r\n`,
  RTSP: `GET ${STATS} RTSP/1.1\r\n${HOST}${AUTH}\r\n`,
  ICE: `GET ${STATS} ICE/1.1\r\n${HOST}${AUTH}\r\n`,
  "HTTP in lower case": `GET ${STATS} http/1.1\r\n${HOST}${AUTH}\r\n`,
  "half of the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\n",
  "a bare CR at the end of a header": `${OK}X-Odd: a\r\r\n\r\n`,
  "a bare CR before a line": `${OK}\rX-Odd: a\r\n\r\n`,
  "an empty line that is a bare LF": `${OK}\n`,
  "a folded first header": `GET ${STATS} HTTP/1.1\r\n ${HOST}${AUTH}\r\n`,
  "a tab before the colon": `${OK}X-Odd\t: a\r\n\r\n`,
  "DEL in a header": `${OK}X-Odd: a\x7fb\r\n\r\n`,
  "an empty Content-Length": `POST ${STATS} HTTP/1.1\r\n${HOST}Content-Length:\r\n\r\n`,
  "an empty Transfer-Encoding": `POST ${STATS} HTTP/1.1\r\n${HOST}Transfer-Encoding:\r\n\r\n`,
  "an authority that is none": `GET http://a"b${STATS} HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
  "GET *": `GET * HTTP/1.1\r\n${HOST}${AUTH}\r\n`,
};
