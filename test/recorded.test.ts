/** Texts that a refactoring must not change: help, the OpenAPI document, names and labels of metrics. */

import { it } from "node:test";
import { exposeMetrics } from "../src/admin/metrics/exposition.ts";
import { countEvents } from "../src/admin/metrics/observed.ts";
import { VERSION } from "../src/admin/status-reply.ts";
import { helpFor, overview } from "../src/cli/help.ts";
import { createOpenApi } from "../src/docs-page/openapi.ts";
import { PROGRAM } from "../src/features.ts";
import { createLog } from "../src/observe/log/log.ts";
import {
  BUCKETS,
  createRequestCells,
  DURATIONS,
  REQUESTS,
  SECONDS,
  SLICE,
  seriesOf,
} from "../src/observe/metrics/counters.ts";
import { Recording } from "./conformance/recorded.ts";
import { OBSERVATIONS } from "./support/observations.ts";
import { watchedServer } from "./support/watched.ts";

/** Method, route and status of the requests that the recorded metrics count. */
const COUNTED: readonly Parameters<typeof seriesOf>[] = [
  ["GET", "", 0],
  ["GET", "", 404],
  ["HEAD", "/stats", 200],
  ["BREW", "/worlds/:id", 405],
];

it("help texts are those recorded", () => {
  const recording = new Recording("help");
  recording.add("overview", overview(PROGRAM.commands));
  for (const row of PROGRAM.commands) recording.add(row.name, helpFor(row, PROGRAM.settings));
  recording.check(true);
});

it("the OpenAPI document is the one recorded", () => {
  const recording = new Recording("openapi");
  recording.add("document", JSON.stringify(createOpenApi(), null, 1));
  recording.check(true);
});

it("log lines of every event are those recorded, for machines and for people", () => {
  const recording = new Recording("log");
  for (const observation of OBSERVATIONS) {
    for (const isTTY of [false, true]) {
      const write = (line: string): void => {
        const same = line.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, "TIME").replace(String(process.pid), "PID");
        recording.add(observation.kind, same);
      };
      createLog(PROGRAM.tables.events, "info", { isPretty: isTTY, write })(observation);
    }
  }
  recording.check(true);
});

it("the text of metrics is the one recorded, in both formats", () => {
  const cells = createRequestCells(2);
  // Fills all cells of all threads, but only some of the series, which are found by name: a new path changes no value.
  for (let at = 0; at < cells.length; at++) if (at % SLICE < REQUESTS) cells[at] = (at % SLICE) % 97;
  for (const [at, asked] of COUNTED.entries()) {
    const series = seriesOf(...asked);
    cells[REQUESTS + series] = 1e6 + at;
    cells[SECONDS + series] = at / 3;
    for (let bucket = 0; bucket < BUCKETS; bucket++) cells[DURATIONS + series * BUCKETS + bucket] = bucket;
  }
  const recording = new Recording("metrics");
  for (const isLoaded of [false, true]) {
    const observed = countEvents(PROGRAM.tables);
    if (isLoaded) for (const observation of OBSERVATIONS) observed.observe(observation);
    const server = watchedServer(cells, observed, isLoaded);
    for (const accept of ["text/plain", "application/openmetrics-text"]) {
      const text = exposeMetrics(server, accept)
        .text.replace(`version="${VERSION}"`, 'version="1.2.3"')
        .replace(/(last_success_timestamp_seconds\{source="rounds"\}) \d+/, "$1 TIME");
      const ours = text.slice(0, text.indexOf("# HELP process_"));
      recording.add(accept, ours);
      // Of Node's own metrics only the comments: values and labels differ with its version.
      recording.add(accept, text.slice(ours.length).match(/^#.*$/gm)!.join("\n"));
    }
  }
  recording.check(true);
});
