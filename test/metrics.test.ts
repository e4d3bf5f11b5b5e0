/** Counts of requests, the figures from them, and the text of metrics. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { exposeMetrics } from "../src/admin/metrics/exposition.ts";
import { figuresOf, quantile, readTotals } from "../src/admin/metrics/figures.ts";
import { countEvents } from "../src/admin/metrics/observed.ts";
import { ROUTES } from "../src/api/routes.ts";
import { PROGRAM } from "../src/features.ts";
import { FAULTS, type FaultName } from "../src/model/fault.ts";
import {
  BOUNDS_MS,
  BUCKETS,
  bucketOf,
  countAnswered,
  countBegun,
  countersOf,
  countRefused,
  createRequestCells,
  FIGURES,
  forgetThread,
  NEWEST,
  ROUTE_NAMES,
  STATUSES,
  searchCounter,
  seriesAt,
  seriesOf,
} from "../src/observe/metrics/counters.ts";
import { readVitals, watchVitals } from "../src/observe/metrics/vitals.ts";
import { until } from "./support/process.ts";
import { watchedServer } from "./support/watched.ts";

const agoMs = (ms: number): number => performance.now() - ms;

describe("a series", () => {
  it("exists for each operation", () => {
    assert.deepEqual(ROUTE_NAMES.toSorted(), ["", ...ROUTES.map(({ path }) => path)].toSorted());
  });

  it("never says what a client made up", () => {
    for (const method of ["get", "BREW", "svc_sk_token", "", "__proto__", "constructor"]) {
      const { method: shown } = seriesAt(seriesOf(method, "/svc_sk_token", 404));
      assert.equal(shown, "_OTHER");
    }
    assert.equal(seriesAt(seriesOf("GET", "/worlds/1", 200)).route, "");
    assert.equal(seriesAt(seriesOf("GET", "/worlds", 299)).status, 0);
  });

  it("exists for the status of every error", () => {
    for (const { status } of Object.values(FAULTS)) assert.ok(STATUSES.includes(status), String(status));
  });
});

describe("figures", () => {
  it("are sums over the threads", () => {
    const cells = createRequestCells(3);
    for (const thread of [0, 1, 2]) {
      const counters = countersOf(cells, thread);
      countBegun(counters);
      countBegun(counters);
      countAnswered(counters, agoMs(3), "GET", { route: "/worlds", status: 200 });
      countRefused(counters, 400, "badRequest");
      searchCounter(counters)("worlds", "cached");
    }
    const { total, active, byStatus, rejected, routes, searches } = figuresOf(readTotals(cells));
    assert.deepEqual([total, active], [6, 3]);
    assert.deepEqual([byStatus, rejected], [{ 200: 3, 400: 3 }, { bad_request: 3 }]);
    const [refused, list] = routes;
    assert.deepEqual([refused!.route, refused!.total, refused!.byStatus], ["", 3, { 400: 3 }]);
    assert.deepEqual([list!.route, list!.total, list!.byStatus], ["/worlds", 3, { 200: 3 }]);
    const { p50Ms, p99Ms } = list!.latency!;
    assert.ok(p50Ms >= 2.5 && p99Ms >= p50Ms, `${p50Ms} ${p99Ms}`);
    const found = searches.filter((search) => search.total > 0);
    assert.deepEqual(found, [{ search: "worlds", outcome: "cached", total: 3 }]);
  });

  it("do not fall when a thread dies, but for what it had begun", () => {
    const cells = createRequestCells(2);
    const before = countersOf(cells, 1);
    countBegun(before);
    countBegun(before);
    countAnswered(before, agoMs(1), "GET", { route: "/stats", status: 200 });
    forgetThread(cells, 1);
    const next = countersOf(cells, 1);
    countBegun(next);
    countAnswered(next, agoMs(1), "GET", { route: "/stats", status: 200 });
    const { total, active } = figuresOf(readTotals(cells));
    assert.deepEqual({ total, active }, { total: 2, active: 0 });
  });

  it("of a thread are its newest, until it writes no more or is gone", async () => {
    const cells = createRequestCells(2);
    const counters = countersOf(cells, 1);
    assert.equal(readVitals(counters), "none");
    let hits = 1;
    const write = watchVitals(counters, () => ({ hits, misses: 2, entries: 3, bytes: 4 }));
    write();
    const first = readVitals(counters);
    assert.ok(typeof first === "object");
    assert.deepEqual([first.hits, first.misses, first.entries, first.bytes], [1, 2, 3, 4]);
    const delays = [first.p50Ms, first.p99Ms, first.maxMs];
    assert.deepEqual(delays, [null, null, null], "no delay was measured yet");
    assert.ok(first.heapUsedBytes! > 0 && first.heapTotalBytes! >= first.heapUsedBytes!);
    hits = 9;
    const { p50Ms, p99Ms, maxMs } = await until(() => {
      const now = readVitals(counters);
      return typeof now === "object" && now.hits === 9 ? now : undefined;
    }, "figures that it writes by itself");
    assert.ok(p50Ms! <= p99Ms! && p99Ms! <= maxMs!, `${p50Ms} ${p99Ms} ${maxMs}`);
    counters[NEWEST + FIGURES.indexOf("writtenMs")]! -= 2000;
    assert.equal(readVitals(counters), "late");
    forgetThread(cells, 1);
    assert.equal(readVitals(counters), "none");
  });

  it("since a moment leave out what was before", () => {
    const cells = createRequestCells(1);
    const counters = countersOf(cells, 0);
    const answer = (ms: number, fault?: FaultName): void => {
      countBegun(counters);
      const status = fault === undefined ? 200 : FAULTS[fault].status;
      countAnswered(counters, agoMs(ms), "GET", { route: "/worlds", status, fault });
    };
    for (let at = 0; at < 100; at++) answer(4000);
    answer(1, "rateLimited");
    const since = readTotals(cells);
    assert.deepEqual(figuresOf(readTotals(cells), since).routes, []);
    answer(1);
    answer(1, "busy");
    const { total, rejected, routes } = figuresOf(readTotals(cells), since);
    assert.deepEqual({ total, rejected }, { total: 2, rejected: { busy: 1 } });
    assert.ok(routes[0]!.latency!.p99Ms < 4000, `${routes[0]!.latency!.p99Ms}`);
  });
});

describe("a quantile", () => {
  it("lies in the bucket of the duration that it estimates", () => {
    const duration = fc.double({ min: 0, max: 9999, noNaN: true });
    const durations = fc.array(duration, { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(durations, fc.double({ min: 0.01, max: 1, noNaN: true }), (given, share) => {
        const buckets = new Float64Array(BUCKETS);
        for (const ms of given) buckets[bucketOf(BOUNDS_MS, ms)]!++;
        const sorted = given.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
        const bucket = bucketOf(BOUNDS_MS, exact);
        const estimate = quantile(buckets, share)!;
        assert.ok(estimate <= BOUNDS_MS[bucket]! + 1e-9, `${estimate} for ${exact}`);
        assert.ok(estimate >= (bucket === 0 ? 0 : BOUNDS_MS[bucket - 1]!), `${estimate} for ${exact}`);
      }),
    );
  });
});

const OPEN_METRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
const SERVER = watchedServer(createRequestCells(2), countEvents(PROGRAM.tables), true);

describe("the text", () => {
  it("is OpenMetrics for those who ask for it, and stays right for the others", () => {
    const expose = (accept: string) => exposeMetrics(SERVER, accept);
    const before = expose("text/plain").text;
    const { text, contentType } = expose(OPEN_METRICS);
    assert.match(contentType, /^application\/openmetrics-text; version=1\.0\.0/);
    assert.match(text, /\n# EOF\n$/);
    const names = (from: string): string[] => [...from.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!);
    assert.deepEqual(names(expose("*/*").text), names(before));
    for (const quality of ["q=0, */*", "version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.5", "q=x"])
      assert.match(expose(`application/openmetrics-text;${quality}`).contentType, /^text\/plain/, quality);
  });
});
