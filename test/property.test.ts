/** Any request over any rows, compared with the model: searches, pages, conditions, the rate limit. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { judgeConditions } from "../src/api/conditions.ts";
import { readParameters } from "../src/api/parameters.ts";
import { ROUTES } from "../src/api/routes.ts";
import { countRequest, createCounters, slotOf } from "../src/auth/limit.ts";
import { fold, readTerm } from "../src/search/fold.ts";
import { askAndCompare, type Step } from "./conformance/doors.ts";
import {
  MODEL_BASE,
  ModelLimit,
  modelConditions,
  modelFold,
  modelParameters,
  modelTerm,
  type SnapshotRows,
} from "./conformance/model.ts";
import {
  ask,
  CLI,
  crawl,
  folder,
  loading,
  queryOf,
  snapshot,
  TOKEN,
  text,
  textIn,
  weighted,
  withRows,
} from "./conformance/property.ts";
import { part, untilCovered } from "./support/long.ts";
import { nastyRows, UNKNOWN_ID, writeSnapshot } from "./support/snapshot.ts";

// ---------------------------------------------------------------- searches and lists

/** All lists without a search, of a world and a user that may be hidden or not there. */
function listsOf({ worlds, users }: SnapshotRows): [below: string, parameters: Record<string, string>][] {
  const world = worlds[0]?.id ?? UNKNOWN_ID;
  return [
    ["/worlds", {}],
    ["/worlds/popular", {}],
    ["/worlds/popular", { period: "week" }],
    ["/worlds/popular", { period: "month" }],
    ["/instances", {}],
    ["/instances", { worldId: world }],
    [`/worlds/${world}/instances`, {}],
    [`/users/${users[0]?.id ?? UNKNOWN_ID}/worlds`, {}],
  ];
}

describe("searches and lists", () => {
  test("find what the model finds, in its order, on every page", async () => {
    let found = 0;
    let asked = 0;
    let longest = 0;
    const round = () =>
      fc.assert(
        fc.asyncProperty(
          snapshot,
          fc.array(ask, { minLength: 6, maxLength: 16, size: "max" }),
          fc.integer({ min: 2, max: 12 }),
          async (rows, asks, limit) => {
            await withRows(folder, rows, async (door, model) => {
              const texts = [
                ...rows.users.map(({ displayName }) => displayName),
                ...rows.worlds.flatMap(({ name, description }) => [name, description ?? ""]),
              ];
              for (const each of asks) {
                const q = queryOf(each, texts);
                for (const below of ["/users/search", "/worlds/search"]) {
                  asked++;
                  if ((await crawl(door, model, below, { q }, limit)) > 1) found++;
                }
              }
              for (const [below, parameters] of listsOf(rows)) {
                longest = Math.max(longest, await crawl(door, model, below, parameters, limit));
              }
              const others = ["/stats", ...rows.worlds.map(({ id }) => `/worlds/${id}/stats`)];
              for (const below of others) {
                await askAndCompare(door, model, { target: MODEL_BASE + below, headers: CLI });
              }
            });
          },
        ),
        loading(part(35)),
      );
    // Queries without hits prove little.
    await untilCovered(
      round,
      () => asked > part(500) && found > asked / 10 && longest > 10,
      () => `${found} of ${asked} queries found two or more; the longest list has ${longest} items`,
    );
  });

  test("fold and cut queries as the model does", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const short = a.toWellFormed();
        assert.equal(fold(short), modelFold(short));
        assert.equal(readTerm(short), modelTerm(short));
        for (const length of [254, 255, 256, 257]) {
          const query = (b.toWellFormed().padEnd(length, "x").slice(0, length) + a).toWellFormed();
          for (const long of [query, `${query}😀`]) assert.equal(readTerm(long), modelTerm(long));
          assert.ok(readTerm(query).isWellFormed());
        }
      }),
      { numRuns: part(1500) },
    );
  });
});

// ---------------------------------------------------------------- whole requests

describe("any request", () => {
  const rows = nastyRows();
  const idOf = (list: readonly { id: string }[]) => fc.constantFrom(...list.map(({ id }) => id));
  const anyId = weighted(
    [4, idOf(rows.worlds)],
    [4, idOf(rows.users)],
    [4, idOf(rows.instances)],
    [1, fc.constantFrom(UNKNOWN_ID, "x", "search", "popular", "", "stats")],
    [1, fc.string({ maxLength: 4 })],
  );
  const number = fc.oneof(
    fc.integer({ min: -3, max: 80 }).map(String),
    fc.bigInt({ min: 0n, max: 2n ** 70n }).map(String),
    fc.constantFrom("", "0", "00", "1e1", "0x10", " 5", "5 ", "+5", "1.0", "٣", "５", "NaN"),
  );
  const parameter = fc.oneof(
    fc.tuple(fc.constantFrom("limit", "offset"), number),
    fc.tuple(fc.constant("period"), fc.constantFrom("all", "week", "month", "Week", "year", "")),
    fc.tuple(fc.constant("q"), fc.oneof(text, fc.constantFrom("a", "e", "x", "東"))),
    fc.tuple(fc.constant("worldId"), anyId),
    fc.tuple(fc.constant("match"), fc.constantFrom("similar", "exact", "Similar", "")),
    fc.tuple(fc.constantFrom("sort", "Limit", "__proto__", ""), text),
  );
  const query = weighted(
    [6, fc.array(parameter, { maxLength: 4 }).map((pairs) => `?${new URLSearchParams(pairs)}`)],
    [1, fc.constant("")],
    // The "x" prevents "??": the rules do not say clearly whether the second mark belongs to the query.
    [2, fc.string({ unit: "binary", maxLength: 12 }).map((any) => `?x${any}`)],
    [
      2,
      textIn(["limit", "q", "=", "&", "%", "+", "5", "a", ";", "%6", "offset=1"], 9).map((any) => `?${any}`),
    ],
  );
  const patterns = ROUTES.map(({ path }) => path);
  const fixed = patterns.filter((path) => !path.includes(":id"));
  const operationPath = fc
    // Fixed paths twice as often, as most ids belong to another table.
    .tuple(fc.constantFrom(...patterns, ...fixed, ...fixed), anyId)
    .map(([pattern, id]) => pattern.replace(":id", () => id));
  const anyPath = weighted(
    [30, operationPath],
    [1, operationPath.map((some) => `${some}/`)],
    [1, fc.string({ maxLength: 8 }).map((some) => `/${some}`)],
    [1, fc.tuple(operationPath, operationPath).map(([a, b]) => a + b)],
  );
  const authorization = weighted(
    [4, fc.constant(`Bearer ${TOKEN}`)],
    [5, fc.constant("Bearer svc_sk_all")],
    [2, fc.constant("bearer   svc_sk_some")],
    [1, fc.constantFrom("", "Bearer", "Bearer ", "Basic x", "Bearer svc_sk_", "svcx_property")],
    [1, textIn(["Bearer", "bearer", " ", "\t", "svc_sk_", "svcx_", "property", "all", "x"], 6)],
  );
  const tagList = fc
    .array(fc.constantFrom('"g-1"', 'W/"g-1"', '"other"', 'W/"other"', '"g-1,"', '""', '"g-2", "g-1"'), {
      minLength: 1,
      maxLength: 3,
    })
    .map((parts) => parts.join(", "));
  const condition = weighted([4, tagList], [1, fc.constant("*")]);
  const seldom = <T>(some: fc.Arbitrary<T>) => weighted([3, fc.constant(null)], [1, some]);
  const mostly = (usual: string, times: number, others: readonly string[]) =>
    fc.constantFrom(...Array.from({ length: times }, () => usual), ...others);
  const step: fc.Arbitrary<Step> = fc
    .record({
      method: mostly("GET", 14, ["HEAD", "HEAD", "OPTIONS", "POST", "DELETE"]),
      base: mostly(MODEL_BASE, 30, [`http://any${MODEL_BASE}`, "/api/public/v2", `/${MODEL_BASE}`]),
      below: anyPath,
      query,
      authorization: fc.option(authorization, { freq: 9 }),
      "if-match": seldom(condition),
      "if-none-match": seldom(condition),
      // The expiring key expires within this range.
      now: fc.integer({ min: 1_000_000_000_000, max: 1_000_000_009_000 }),
    })
    .map(({ method, base, below, query, now, ...headers }) => ({
      method,
      target: `${base}${below}${query}`,
      headers: Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
      now,
    }));

  test("is answered as the model answers it", async () => {
    const statuses = new Map<number, number>();
    writeSnapshot(folder, rows, { generation: "g-1" });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80, size: "max" }), async (steps) => {
        await withRows(folder, rows, async (door, model) => {
          for (const each of steps) {
            const { status } = await askAndCompare(door, model, each);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }
        });
      }),
      loading(32),
    );
    for (const status of [200, 204, 304, 400, 401, 403, 404, 405, 412, 429]) {
      assert.ok((statuses.get(status) ?? 0) > 5, `only ${statuses.get(status)} answers were ${status}`);
    }
  });

  test("has its parameters read as the model reads them", () => {
    fc.assert(
      fc.property(query, (made) => {
        const read = readParameters(made.slice(1), ["limit", "offset", "q", "period", "worldId", "match"]);
        assert.deepEqual(read, modelParameters(made.slice(1)));
      }),
      { numRuns: part(3000) },
    );
  });

  test("has its conditions judged as the model judges them", () => {
    const marked = fc
      .tuple(
        fc.constantFrom("", "W/"),
        fc.constantFrom("g", "h", "", "g-"),
        fc.constantFrom("-", ";", "--", "---", "_", ""),
        fc.constantFrom("gzip", "br", "zstd", "deflate", "gzi", "gzip2", "GZIP"),
      )
      .map(([weak, tag, mark, name]) => `${weak}"${tag}${mark}${name}"`);
    const plain = fc.constantFrom('"g"', 'W/"g"', '"h"', 'W/"h"', '"g,g"', '"W/g"', '""', '"*"', '"é"');
    const tags = fc
      .array(fc.oneof(plain, marked), { maxLength: 5 })
      .chain((list) => fc.constantFrom(",", ", ", " , ", ",,", ", ,\t").map((glue) => list.join(glue)));
    const header = fc.option(weighted([5, tags], [1, fc.constant("*")]), { nil: undefined });
    fc.assert(
      fc.property(header, header, (ifMatch, ifNoneMatch) => {
        const expected = modelConditions(ifMatch, ifNoneMatch, "g");
        assert.equal(judgeConditions(ifMatch, ifNoneMatch, '"g"'), expected);
      }),
      { numRuns: part(3000) },
    );
  });
});

// ---------------------------------------------------------------- parts

test("the rate limit lets pass and tells what the model does, whatever the clock does", async () => {
  let refused = 0;
  const request = fc.record({
    key: fc.nat(4),
    limit: fc.integer({ min: 1, max: 4 }),
    step: fc.oneof(
      fc.integer({ min: -30_000, max: 30_000 }),
      fc.constantFrom(0, 0, 0, 1, -1, 999, 1000, 60_000),
    ),
  });
  const round = () =>
    fc.assert(
      fc.property(
        fc.constantFrom(1, 2, 7, 60, 3600),
        fc.constantFrom(0, 1_700_000_000_000, 1_699_999_999_999, 3_600_000 * 480_000),
        fc.boolean(),
        fc.array(request, { minLength: 1, maxLength: 60, size: "max" }),
        (window, start, keyLimits, requests) => {
          const counters = createCounters(window);
          const model = new ModelLimit(window);
          let now = start;
          for (const { key, limit, step } of requests) {
            now = Math.max(0, now + step);
            // A key either keeps its limit or gets another with every request.
            const applied = keyLimits ? key + 1 : limit;
            const quota = countRequest(counters, slotOf(counters, `key ${key}`), applied, now);
            assert.deepEqual(quota, model.count(`key ${key}`, applied, now));
            if (!quota.passed) refused++;
          }
        },
      ),
      { numRuns: part(800) },
    );
  await untilCovered(
    round,
    () => refused > part(1000),
    () => `${refused} requests were refused`,
  );
});
