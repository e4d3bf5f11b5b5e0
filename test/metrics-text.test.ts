/** The text of metrics, in both formats, and who gets which. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  countAborted,
  countAnswered,
  countBegun,
  countersOf,
  createRequestCells,
  mainThread,
} from "../src/observe/metrics/counters.ts";
import { createExposition } from "../src/observe/metrics/exposition.ts";
import type { Measured } from "../src/observe/metrics/families.ts";
import { countObservation, createObservedCounts } from "../src/observe/metrics/observed.ts";
import { METRICS } from "../src/observe/metrics/table.ts";
import { watchVitals } from "../src/observe/metrics/vitals.ts";

const OPEN_METRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";

function measured(): Measured {
  const cells = createRequestCells(2);
  for (const thread of [0, 1]) {
    const counters = countersOf(cells, thread);
    for (const ms of [1, 30]) {
      countBegun(counters);
      countAnswered(counters, performance.now() - ms, "GET", { route: "/worlds/:id", status: 200 });
    }
    countBegun(counters);
    countAborted(counters, performance.now() - 1, "BREW", "");
  }
  // The main thread and one that serves.
  for (const thread of [mainThread(cells), 1]) watchVitals(countersOf(cells, thread))(3);
  const observed = createObservedCounts();
  countObservation(observed, { kind: "thread-died", role: "serving", cause: "a test" });
  countObservation(observed, { kind: "snapshot-refused", problems: [], serving: "g" });
  countObservation(observed, { kind: "snapshot-refused", problems: [], serving: "g", changing: true });
  return {
    cells,
    observed,
    version: "1.2.3",
    isReady: () => true,
    problems: () => ({ "keys-refused": 1, "data-stale": 0 }),
    ageSeconds: () => 2.5,
    createdAt: () => 1_700_000_000.25,
    generation: () => ({ id: "g", loadedAt: 1_700_000_000.5, rows: { users: 1, worlds: 2, instances: 3 } }),
    keys: () => 4,
    sharedLimits: () => ({ asks: 9, failures: 2, waited: 5, alone: 3, refused: 1 }),
  };
}

describe("the text", () => {
  it("has every metric of the table, and the sums of all threads", async () => {
    const { text, contentType } = await createExposition(measured())(undefined);
    assert.equal(contentType, "text/plain; version=0.0.4; charset=utf-8");
    for (const { name, type } of Object.values(METRICS))
      assert.match(text, new RegExp(`^# TYPE ${name} ${type}$`, "m"));
    const route =
      'http_request_method="GET",http_route="/api/public/v1/worlds/:id",http_response_status_code="200"';
    for (const line of [
      `http_server_request_duration_seconds_bucket{le="0.005",${route}} 2`,
      `http_server_request_duration_seconds_bucket{le="0.05",${route}} 4`,
      `http_server_request_duration_seconds_bucket{le="+Inf",${route}} 4`,
      `http_server_request_duration_seconds_count{${route}} 4`,
      'http_server_request_duration_seconds_count{http_request_method="_OTHER"} 2',
      "http_server_active_requests 0",
      'orrery_thread_restarts_total{role="serving"} 1',
      'orrery_snapshot_loads_total{result="refused"} 1',
      'orrery_snapshot_loads_total{result="changing"} 1',
      'orrery_problems{kind="keys-refused"} 1',
      'orrery_problems{kind="data-stale"} 0',
      "orrery_generation_loaded_timestamp_seconds 1700000000.5",
      "orrery_snapshot_created_timestamp_seconds 1700000000.25",
      'orrery_snapshot_rows{table="worlds"} 2',
      'orrery_event_loop_delay_seconds_count{thread="main"} 1',
      'orrery_event_loop_delay_seconds_count{thread="serving"} 1',
      'orrery_shared_limits_asks_total{result="answered"} 7',
      'orrery_shared_limits_asks_total{result="failed"} 2',
      'orrery_shared_limits_requests_total{outcome="waited"} 5',
      'orrery_shared_limits_requests_total{outcome="alone"} 3',
      'orrery_shared_limits_requests_total{outcome="refused"} 1',
    ]) {
      assert.ok(text.includes(`\n${line}\n`), line);
    }
    assert.doesNotMatch(text, /NaN|undefined|BREW/i);
  });

  it("counts the CPU time of the process from its start, not from the first scrape", async () => {
    const { user, system } = process.cpuUsage();
    const { text } = await createExposition(measured())(undefined);
    const told = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    assert.ok(told("process_cpu_user_seconds_total") >= user / 1e6);
    assert.ok(told("process_cpu_system_seconds_total") >= system / 1e6);
    const sum = told("process_cpu_seconds_total");
    assert.ok(sum >= (user + system) / 1e6 && sum <= performance.now() / 100, `${sum} s`);
  });

  it("begins with the buckets of OpenTelemetry", async () => {
    const { text } = await createExposition(measured())(undefined);
    const ends = [...text.matchAll(/^http_server_request_duration_seconds_bucket\{le="([^"]+)"/gm)].map(
      ([, end]) => end,
    );
    const expected = "0.005 0.01 0.025 0.05 0.075 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 +Inf".split(" ");
    assert.deepEqual([...new Set(ends)], expected);
  });

  it("is OpenMetrics for those who ask for it, and stays right for the others", async () => {
    const expose = createExposition(measured());
    const before = (await expose("text/plain")).text;
    const { text, contentType } = await expose(OPEN_METRICS);
    assert.match(contentType, /^application\/openmetrics-text; version=1\.0\.0/);
    assert.match(text, /\n# TYPE orrery_searches counter\n/);
    assert.match(text, /\norrery_searches_total\{/);
    assert.match(text, /\n# EOF\n$/);
    const names = (from: string): string[] => [...from.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!);
    assert.deepEqual(names((await expose("*/*")).text), names(before));
    for (const accept of [
      "application/openmetrics-text;q=0, */*",
      "application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.5",
      "application/openmetrics-text;q=x",
    ]) {
      assert.match((await expose(accept)).contentType, /^text\/plain/, accept);
    }
  });

  it("says nothing yet of what is not known before the first load", async () => {
    const { text } = await createExposition({
      ...measured(),
      isReady: () => false,
      ageSeconds: () => undefined,
      generation: () => undefined,
    })(undefined);
    assert.match(text, /^orrery_ready 0$/m);
    assert.doesNotMatch(text, /^orrery_(generation_info|generation_loaded|snapshot_age|snapshot_rows)/m);
  });
});
