/** What one peer can send to keep a server busy, by kind. */

/** A kind of attack: bytes that are sent once, and one small request that follows them again and again. */
export interface Kind {
  readonly name: string;
  readonly first: string;
  /** Whether what follows is sent only when the first was answered. */
  readonly afterAnswer?: true;
  readonly small: string;
  /** Whether the peer reads nothing. */
  readonly deaf?: true;
  /** Settings of the server. */
  readonly settings?: readonly string[];
}

/** As short as a good request can be: 302. */
const SMALL = "GET / HTTP/1.1\r\nHost:\r\n\r\n";

const STATS = "/api/public/v1/stats";

/** Kinds that are answered once, with the end of the connection. */
export const CLOSING: readonly Kind[] = [
  { name: "400, no Host", first: "", small: "GET / HTTP/1.1\r\n\r\n" },
  { name: "400, malformed", first: "BREW / HTTP/1.1\r\n\r\n", small: SMALL },
  {
    name: "431, 65 headers",
    first: `GET / HTTP/1.1\r\nHost:\r\n${"a:\r\n".repeat(64)}\r\n`,
    small: SMALL,
  },
  {
    name: "431, 17 KB",
    first: `GET / HTTP/1.1\r\nHost:\r\nx: ${"x".repeat(17_000)}\r\n\r\n`,
    small: SMALL,
  },
  { name: "417", first: "GET / HTTP/1.1\r\nHost:\r\nExpect: x\r\n\r\n", small: SMALL },
  {
    name: "408",
    first: "GET / HTTP/1.1\r\nHost:\r\n",
    afterAnswer: true,
    small: SMALL,
    settings: ["--headers-timeout", "0.2", "--timeout-check-interval", "0.1"],
  },
  {
    name: "body refused",
    first: "GET / HTTP/1.1\r\nHost:\r\nContent-Length: 5\r\n\r\nhello",
    small: SMALL,
  },
  {
    name: "405 with a body",
    first: `POST ${STATS} HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    small: SMALL,
  },
  { name: "CONNECT", first: "CONNECT a:1 HTTP/1.1\r\nHost:\r\n\r\n", small: SMALL },
  { name: "Connection: close", first: "GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", small: SMALL },
  { name: "HTTP/1.0", first: "", small: "GET / HTTP/1.0\r\n\r\n" },
  {
    name: "most requests of a connection",
    first: "",
    small: SMALL,
    settings: ["--max-requests-per-socket", "10"],
  },
];

/** Pipelines of good requests, which a peer reads or not. */
export function pipelines(token: string): readonly Kind[] {
  const asked = (target: string): string =>
    `GET /api/public/v1${target} HTTP/1.1\r\nHost:\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  return [
    { name: "302, read", first: "", small: SMALL },
    { name: "302, not read", first: "", small: SMALL, deaf: true },
    { name: "401, not read", first: "", small: `GET ${STATS} HTTP/1.1\r\nHost:\r\n\r\n`, deaf: true },
    { name: "pages of 50, not read", first: "", small: asked("/worlds?limit=50"), deaf: true },
    {
      name: "searches, not read",
      first: "",
      small: asked("/worlds/search?q=a%20e%20o&offset=40"),
      deaf: true,
    },
  ];
}

/** Requests without a token, of which a crowd sends nothing else. */
export const WITHOUT_TOKEN: readonly { readonly name: string; readonly small: string }[] = [
  { name: "OPTIONS", small: `OPTIONS ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
  { name: "GET /", small: SMALL },
  { name: "/openapi.json", small: "GET /openapi.json HTTP/1.1\r\nHost:\r\n\r\n" },
  { name: "304 of a page", small: "GET /docs HTTP/1.1\r\nHost:\r\nIf-None-Match: *\r\n\r\n" },
  { name: "401", small: `GET ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
  { name: "404", small: "GET /x HTTP/1.1\r\nHost:\r\n\r\n" },
  { name: "405", small: `PUT ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
];
