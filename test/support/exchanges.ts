/** Requests of every kind to every operation, as bytes, for tests that compare servers. */

import { ROUTES } from "../../src/api/routes.ts";
import { requestHead } from "./raw.ts";
import { NASTY_TEXTS, UNKNOWN_ID } from "./snapshot.ts";

const BASE = "/api/public/v1";

/** Head of a request that ends its connection. */
function ending(target: string, headers: readonly string[], method = "GET"): string {
  return requestHead(target, [...headers, "Connection: close"], method);
}

/** Ids that exist, by the first segment of the paths that take them. */
export type Ids = Readonly<Record<string, string>>;

const PAGES = [
  "limit=1",
  "limit=50&offset=3",
  "limit=51",
  "limit=0",
  "limit=x&offset=-1",
  "offset=1999&limit=5",
];
const ODD = [
  "limit=2&limit=3",
  "offset=99999999999999999999",
  "unknown=1",
  "limit=%31",
  "limit=%zz",
  "&&=&limit",
];
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  limit: [...PAGES, ...ODD],
  q: ["q=", "q=%20", "q=a", "q=the%20of&limit=3", "q=zzzzzzzz", "q=%ff", `q=${"x".repeat(300)}`],
  match: ["match=similar", "match=exact&limit=2", "match="],
  period: ["period=week", "period=month&limit=2", "period=year"],
  worldId: ["worldId=", `worldId=${UNKNOWN_ID}`, "worldId=x"],
};

/** Targets of every operation: with ids that exist, do not, and cannot; with parameters of all kinds. */
export function targetsOf(ids: Ids): string[] {
  const targets = ROUTES.flatMap(({ path, parameters }) => {
    const known = ids[path.split("/")[1]!] ?? UNKNOWN_ID;
    const all = path.includes(":id") ? [known, known.toUpperCase(), UNKNOWN_ID, "x", "%00"] : [""];
    const places = all.map((id) => path.replace(":id", id));
    const queries = parameters.flatMap((name) => QUERIES[name] ?? []);
    if (parameters.includes("worldId")) queries.push(`worldId=${ids.worlds}`);
    if (parameters.includes("q"))
      queries.push(...NASTY_TEXTS.map((text) => `q=${encodeURIComponent(text.toWellFormed())}`));
    const [first] = places;
    const needed = parameters.includes("q") ? "q=e&" : "";
    return [...places, ...queries.map((query) => `${first}?${query.startsWith("q=") ? "" : needed}${query}`)];
  });
  return targets.map((target) => BASE + target);
}

/** Targets that no operation has. */
const NOWHERE = [
  "/",
  BASE,
  `${BASE}/`,
  `${BASE}/nothing`,
  `${BASE}/worlds/`,
  `${BASE}//worlds`,
  "*",
  "/%2e",
  "/?a",
];

/** Requests beside a plain one: every method, conditions, and tokens of all kinds. */
function variantsOf(target: string, token: string, others: readonly string[], etag: string): string[] {
  const bearer = `Authorization: Bearer ${token}`;
  const heads = [
    [`If-None-Match: ${etag}`],
    ["If-None-Match: *"],
    [`If-Match: W/${etag}`],
    ['If-Match: "x"'],
  ];
  const wrong = [[], ["Authorization: Basic x"], ["Authorization: Bearer"], [`${bearer}x`], [bearer, bearer]];
  return [
    ...["HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"].map((method) =>
      ending(target, [bearer, "Origin: https://a.example"], method),
    ),
    ...[...heads, ["Content-Length: 3"], ["Origin: https://a.example"]].map((lines) =>
      ending(target, [bearer, ...lines]),
    ),
    ...wrong.map((lines) => ending(target, lines)),
    ...others.map((other) => ending(target, [`Authorization: Bearer ${other}`])),
  ];
}

/** What no HTTP client would send. */
const MALFORMED = [
  "nonsense\r\n\r\n",
  "GET / HTTP/1.1\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n",
  "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
  "GET / HTTP/1.0\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: 80 }, (_, at) => `A${at}: b\r\n`).join("")}\r\n`,
];

/** All of them, each for a connection of its own; the last are of a key that has few requests. */
export function exchanges(
  ids: Ids,
  tokens: { readonly whole: string; readonly others: readonly string[]; readonly few: string },
  etag: string,
): string[] {
  const bearer = `Authorization: Bearer ${tokens.whole}`;
  const plain = [...targetsOf(ids), ...NOWHERE].map((target) => ending(target, [bearer]));
  const places = ROUTES.map(({ path }) => `${BASE}${path.replace(":id", ids[path.split("/")[1]!] ?? "x")}`);
  const varied = places.flatMap((target) => variantsOf(target, tokens.whole, tokens.others, etag));
  const many = Array.from({ length: 8 }, () =>
    ending(`${BASE}/stats`, [`Authorization: Bearer ${tokens.few}`]),
  );
  return [...plain, ...varied, ...MALFORMED, ...many];
}
