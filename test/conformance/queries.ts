/** Conformance cases of parameters and searches, and of lists that are read to the end. */

import assert from "node:assert/strict";
import { ROUTES } from "../../src/api/routes.ts";
import { NASTY_TEXTS } from "../support/snapshot.ts";
import type { Got } from "./doors.ts";
import { at, type Group, goodTarget, isList, withParameters, words } from "./worlds.ts";

/** What must be applied and echoed; the defaults where a field is absent. */
interface Applied {
  limit?: number;
  offset?: number;
  period?: string;
}

const MOST_OFFSET = { offset: Number.MAX_SAFE_INTEGER };

/** Queries, separated by spaces, and what each of them must apply. */
const PARAMETERS: readonly [queries: string, applied: Applied][] = [
  ["limit=1", { limit: 1 }],
  ["limit=7 limit=007", { limit: 7 }],
  ["limit=20", { limit: 20 }],
  ["limit=49", { limit: 49 }],
  [`limit=50 limit=51 limit=1000000 limit=${"9".repeat(400)}`, { limit: 50 }],
  ["limit=0 limit=000 limit=-1 limit=-0 limit=%2B5 limit=+5 limit=10.5 limit=10.0 limit=1e1 limit=0x10", {}],
  ["limit=%205 limit=5%20 limit=5%0A limit= limit limit=ten limit=NaN limit=Infinity LIMIT=5", {}],
  ["limit=%EF%BC%95 limit=%D9%A5 limit=&limit=7 limit=x&limit=7 limit[]=7", {}],
  ["limit=%35 %6Cimit=5 limit=5&limit=7 &&limit=5&& =&limit=5 %ff=1&limit=5 limit=5&x=%", { limit: 5 }],
  ["x?limit=5 ?limit=5 %3Flimit=5 limit=5;offset=1 limit=5? limit=5= limit==5", {}],
  ["?offset=1 ?period=week", {}],
  ["?limit=5&limit=7", { limit: 7 }],
  ["?&limit=5 a=b?&limit=5", { limit: 5 }],
  ["__proto__=5&limit=6", { limit: 6 }],
  ["offset=1 offset=1&offset=2", { offset: 1 }],
  ["offset=3&limit=2", { offset: 3, limit: 2 }],
  ["offset=0003", { offset: 3 }],
  ["offset=59", { offset: 59 }],
  ["offset=60", { offset: 60 }],
  ["offset=4294967296", { offset: 4_294_967_296 }],
  ["offset=4294967297", { offset: 4_294_967_297 }],
  ["offset=9007199254740991 offset=9007199254740992 offset=9007199254740993", MOST_OFFSET],
  [`offset=${"9".repeat(400)}`, MOST_OFFSET],
  ["offset=0 offset=-1 offset=1.5 offset=1e3 offset=0x1 offset=+1 offset= offset=x offset=%201", {}],
  ["offset=x&offset=2 offset=%EF%BC%91", {}],
  ["period=week period=we%65k period=week&period=month", { period: "week" }],
  ["period=month", { period: "month" }],
  ["period=all period=year period=Week period=WEEK period= period period=week%20 period=+week", {}],
  ["period=x&period=month period=constructor period=__proto__", {}],
  ["period=month&limit=3&offset=2", { period: "month", limit: 3, offset: 2 }],
];

export const parameters: Group = (world) =>
  ROUTES.filter(isList).flatMap((route) => {
    const target = goodTarget(world, route);
    const caseOf = (query: string, { limit = 20, offset = 0, period = "all" }: Applied) => ({
      target: withParameters(target, query),
      key: "full",
      status: 200,
      check({ body }: Got) {
        const { pagination, ...others } = JSON.parse(body);
        assert.deepEqual([pagination.limit, pagination.offset], [limit, offset]);
        if (route.reply.envelope === "ranking") assert.equal(others.period, period);
      },
    });
    return [
      caseOf("", {}),
      ...PARAMETERS.flatMap(([queries, applied]) => words(queries).map((query) => caseOf(query, applied))),
    ];
  });

const SEARCHES = ROUTES.filter(({ parameters }) => parameters.includes("q")).map(({ path }) => path);

/** Queries of a search that have no text to search for. */
const NO_TEXT = [
  "",
  ...words("? ?q ?q= ?q=%20 ?q=+++ ?q=%09%0A%0D ?q=%E3%80%80 ?q=%C2%A0 ?q=%EF%BB%BF ?q=%CC%81"),
  ...words("?q=%20%CC%81%CD%AF%20 ?Q=a ??q=a ?q=&q=a ?limit=5 ?%71%00=a"),
  `?q=${"+".repeat(256)}a`,
  `?q=${"%CC%81".repeat(256)}a`,
];

export const missingQueries: Group = () =>
  SEARCHES.flatMap((route) =>
    NO_TEXT.map((query) => ({ target: at(`${route}${query}`), key: "full", status: 400 })),
  );

const QUERIES = [
  ...NASTY_TEXTS.flatMap((text) => [
    ...[text, text.toUpperCase(), text.toLowerCase(), text.normalize("NFD"), text.normalize("NFKC")],
    ...[`  ${text}\n`, text.slice(0, 1), text.slice(0, 2), text.slice(1), text.slice(-1), text.slice(2, 5)],
    `${text} ${text}`,
  ]),
  ...["か a", "ss", "i", "ı", "i̇", "σ", "ς", "ff", "1 2", "x2", "gaki", "ガギ", "ｶﾞ", "カ", "\u3099"],
  ...["k a", "one two three four five six seven eight nine ten zzz"],
  ...["one two three four five six seven eight nine zzz ten"],
  ...["one one one one one one one one one one one zzz", "twelve eleven one", "unicode", "d\u017e"],
  ...["صلى الله", "\u200d", "\ufe0f", "🏽", "\ud83d", "\ufffd", `${"y".repeat(255)}😀`],
  ...[`${"y".repeat(255)}😀not the same`, `${"y".repeat(254)}😀`, `${"x".repeat(256)}not the same`],
  ...[`${"x".repeat(255)}q`, "/", "\\", "?", "#", "&", "=", "\u0085", "\u001f"],
];

const UNDECODABLE = words("% %2 %zz %FF %ED%A0%80 a% %E6%9D %C0%80 a%00b %F0%9F%98");

export const searches: Group = () => {
  const encoded = QUERIES.map((q) => new URLSearchParams({ q }).toString());
  const queries = new Set(encoded.flatMap((query) => [query, query.replaceAll("+", "%20")]));
  // Repeated queries may be answered from a cache, page by page.
  const pages = ["", "", "", "", "&limit=2", "", "&limit=2", "&limit=2", "&limit=2", "&limit=2&offset=1"];
  return SEARCHES.flatMap((route) => [
    ...["a", "e", "unicode"].map((q) =>
      pages.map((more) => ({ target: at(`${route}?q=${q}${more}`), key: "cli" })),
    ),
    ...[...queries].map((query) => ({ target: at(`${route}?${query}`), key: "cli" })),
    ...UNDECODABLE.map((q) => ({ target: at(`${route}?q=${q}`), key: "cli", status: 200 })),
  ]);
};

/** A web-standard client that reads pages of one generation. */
export const crawls: Group = (world) =>
  ROUTES.filter(isList).flatMap((route) =>
    [1, 7, 50].map((limit) => {
      const step = Math.max(limit, 5);
      return Array.from({ length: Math.floor(60 / step) + 1 }, (_, page) => ({
        target: withParameters(goodTarget(world, route), `limit=${limit}&offset=${page * step}`),
        key: "cli",
        headers: [["If-Match", `"${world.settings.generation}"`]] as const,
        status: 200,
      }));
    }),
  );
