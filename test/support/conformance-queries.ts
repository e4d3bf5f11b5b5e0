/** Conformance cases of parameters and searches. */

import assert from "node:assert/strict";
import { ROUTES } from "../../src/api/routes.ts";
import { as, at, type Group, goodTarget, isList, one } from "./conformance.ts";
import { NASTY_TEXTS } from "./snapshot.ts";

/** Query text, and the values that must be applied and echoed. */
const PARAMETERS: readonly [query: string, applied: { limit?: number; offset?: number; period?: string }][] =
  [
    ["", {}],
    ["limit=1", { limit: 1 }],
    ["limit=7", { limit: 7 }],
    ["limit=20", { limit: 20 }],
    ["limit=49", { limit: 49 }],
    ["limit=50", { limit: 50 }],
    ["limit=51", { limit: 50 }],
    ["limit=1000000", { limit: 50 }],
    [`limit=${"9".repeat(400)}`, { limit: 50 }],
    ["limit=007", { limit: 7 }],
    ["limit=0", { limit: 20 }],
    ["limit=000", { limit: 20 }],
    ["limit=-1", { limit: 20 }],
    ["limit=-0", { limit: 20 }],
    ["limit=%2B5", { limit: 20 }],
    ["limit=+5", { limit: 20 }],
    ["limit=10.5", { limit: 20 }],
    ["limit=10.0", { limit: 20 }],
    ["limit=1e1", { limit: 20 }],
    ["limit=0x10", { limit: 20 }],
    ["limit=%205", { limit: 20 }],
    ["limit=5%20", { limit: 20 }],
    ["limit=5%0A", { limit: 20 }],
    ["limit=", { limit: 20 }],
    ["limit", { limit: 20 }],
    ["limit=ten", { limit: 20 }],
    ["limit=NaN", { limit: 20 }],
    ["limit=Infinity", { limit: 20 }],
    ["limit=%EF%BC%95", { limit: 20 }],
    ["limit=%D9%A5", { limit: 20 }],
    ["limit=%35", { limit: 5 }],
    ["%6Cimit=5", { limit: 5 }],
    ["LIMIT=5", { limit: 20 }],
    ["limit=5&limit=7", { limit: 5 }],
    ["limit=&limit=7", { limit: 20 }],
    ["limit=x&limit=7", { limit: 20 }],
    ["limit[]=7", { limit: 20 }],
    ["&&limit=5&&", { limit: 5 }],
    ["x?limit=5", { limit: 20 }],
    ["?limit=5", { limit: 20 }],
    ["?limit=5&limit=7", { limit: 7 }],
    ["?offset=1", { offset: 0 }],
    ["?period=week", { period: "all" }],
    ["?&limit=5", { limit: 5 }],
    ["%3Flimit=5", { limit: 20 }],
    ["a=b?&limit=5", { limit: 5 }],
    ["limit=5;offset=1", { limit: 20 }],
    ["limit=5?", { limit: 20 }],
    ["limit=5=", { limit: 20 }],
    ["limit==5", { limit: 20 }],
    ["=&limit=5", { limit: 5 }],
    ["%ff=1&limit=5", { limit: 5 }],
    ["limit=5&x=%", { limit: 5 }],
    ["__proto__=5&limit=6", { limit: 6 }],
    ["offset=0", { offset: 0 }],
    ["offset=1", { offset: 1 }],
    ["offset=3&limit=2", { offset: 3, limit: 2 }],
    ["offset=0003", { offset: 3 }],
    ["offset=59", { offset: 59 }],
    ["offset=60", { offset: 60 }],
    ["offset=4294967296", { offset: 4_294_967_296 }],
    ["offset=4294967297", { offset: 4_294_967_297 }],
    ["offset=9007199254740991", { offset: Number.MAX_SAFE_INTEGER }],
    ["offset=9007199254740992", { offset: Number.MAX_SAFE_INTEGER }],
    ["offset=9007199254740993", { offset: Number.MAX_SAFE_INTEGER }],
    [`offset=${"9".repeat(400)}`, { offset: Number.MAX_SAFE_INTEGER }],
    ["offset=-1", { offset: 0 }],
    ["offset=1.5", { offset: 0 }],
    ["offset=1e3", { offset: 0 }],
    ["offset=0x1", { offset: 0 }],
    ["offset=+1", { offset: 0 }],
    ["offset=", { offset: 0 }],
    ["offset=x", { offset: 0 }],
    ["offset=%201", { offset: 0 }],
    ["offset=1&offset=2", { offset: 1 }],
    ["offset=x&offset=2", { offset: 0 }],
    ["offset=%EF%BC%91", { offset: 0 }],
    ["period=all", { period: "all" }],
    ["period=week", { period: "week" }],
    ["period=month", { period: "month" }],
    ["period=year", { period: "all" }],
    ["period=Week", { period: "all" }],
    ["period=WEEK", { period: "all" }],
    ["period=", { period: "all" }],
    ["period", { period: "all" }],
    ["period=week%20", { period: "all" }],
    ["period=+week", { period: "all" }],
    ["period=we%65k", { period: "week" }],
    ["period=week&period=month", { period: "week" }],
    ["period=x&period=month", { period: "all" }],
    ["period=constructor", { period: "all" }],
    ["period=__proto__", { period: "all" }],
    ["period=month&limit=3&offset=2", { period: "month", limit: 3, offset: 2 }],
  ];

export const parameters: Group = (world) =>
  ROUTES.filter(({ path: route }) => isList(route)).flatMap(({ path: route }) => {
    const target = goodTarget(world, route);
    return PARAMETERS.map(([query, applied]) =>
      one(`${route} ${query.slice(0, 60)}`, {
        target: `${target}${target.includes("?") ? "&" : "?"}${query}`,
        headers: [as(world, "full")],
        status: 200,
        check({ body }) {
          const { pagination, period } = JSON.parse(body);
          assert.equal(pagination.limit, applied.limit ?? 20, "limit");
          assert.equal(pagination.offset, applied.offset ?? 0, "offset");
          if (route === "/worlds/popular") assert.equal(period, applied.period ?? "all", "period");
        },
      }),
    );
  });

export const missingQueries: Group = (world) =>
  ["/worlds/search", "/users/search"].flatMap((route) =>
    [
      ...["", "?", "?q", "?q=", "?q=%20", "?q=+++", "?q=%09%0A%0D", "?q=%E3%80%80", "?q=%C2%A0"],
      ...["?q=%EF%BB%BF", "?q=%CC%81", "?q=%20%CC%81%CD%AF%20", `?q=${"+".repeat(256)}a`],
      ...[`?q=${"%CC%81".repeat(256)}a`, "?Q=a", "??q=a", "?q=&q=a", "?limit=5", "?%71%00=a"],
    ].map((query) =>
      one(`${route}${query.slice(0, 40)}`, {
        target: at(`${route}${query}`),
        headers: [as(world, "full")],
        status: 400,
        error: 'Query parameter "q" is required',
      }),
    ),
  );

export const searches: Group = (world) => {
  const queries = new Set<string>();
  for (const text of NASTY_TEXTS) {
    for (const q of [
      ...[text, text.toUpperCase(), text.toLowerCase(), text.normalize("NFD"), text.normalize("NFKC")],
      ...[`  ${text}\n`, text.slice(0, 1), text.slice(0, 2), text.slice(1), text.slice(-1), text.slice(2, 5)],
      `${text} ${text}`,
    ])
      queries.add(q);
  }
  for (const q of [
    ...["か a", "ss", "i", "ı", "i̇", "σ", "ς", "ff", "1 2", "x2", "gaki", "ガギ", "ｶﾞ", "カ", "\u3099"],
    ...["k a", "one two three four five six seven eight nine ten zzz"],
    ...["one two three four five six seven eight nine zzz ten"],
    ...["one one one one one one one one one one one zzz", "twelve eleven one", "unicode", "d\u017e"],
    ...["صلى الله", "\u200d", "\ufe0f", "🏽", "\ud83d", "\ufffd", `${"y".repeat(255)}😀`],
    ...[`${"y".repeat(255)}😀not the same`, `${"y".repeat(254)}😀`, `${"x".repeat(256)}not the same`],
    ...[`${"x".repeat(255)}q`, "/", "\\", "?", "#", "&", "=", "\u0085", "\u001f"],
  ]) {
    queries.add(q);
  }
  const targets = (route: string, q: string): string[] => {
    const encoded = new URLSearchParams({ q }).toString();
    const percents = encoded.replaceAll("+", "%20");
    return percents === encoded
      ? [at(`${route}?${encoded}`)]
      : [at(`${route}?${encoded}`), at(`${route}?${percents}`)];
  };
  const undecodable = ["%", "%2", "%zz", "%FF", "%ED%A0%80", "a%", "%E6%9D", "%C0%80", "a%00b", "%F0%9F%98"];
  // Repeated queries may be answered from a cache, page by page.
  const pages = ["", "", "", "", "&limit=2", "", "&limit=2", "&limit=2", "&limit=2", "&limit=2&offset=1"];
  return ["/worlds/search", "/users/search"].flatMap((route) => [
    ...["a", "e", "unicode"].map((q) => ({
      name: `${route} ${q} again and again`,
      steps: pages.map((more) => ({ target: at(`${route}?q=${q}${more}`), headers: [as(world, "cli")] })),
    })),
    ...[...queries].flatMap((q) =>
      targets(route, q).map((target) =>
        one(`${route} ${JSON.stringify(q)}`, { target, headers: [as(world, "cli")] }),
      ),
    ),
    ...undecodable.map((text) =>
      one(`${route} q=${text}`, {
        target: at(`${route}?q=${text}`),
        headers: [as(world, "cli")],
        status: 200,
      }),
    ),
  ]);
};
