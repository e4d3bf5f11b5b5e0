/** A real Prometheus scrapes a real server: its figures, its alert rules, and every query of the dashboard for Grafana. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { manifestOf, snapshotFiles } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { get as getOnce, type Program, type Served, serve, start, until } from "../support/process.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";
import { PROGRAM, startRedis } from "./support/redis.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy", import.meta.url));

/** Runs promtool, which must accept its input. */
function promtool(args: readonly string[], input = ""): void {
  const ran = spawnSync("promtool", args, { cwd: join(DEPLOY, "prometheus"), input, encoding: "utf8" });
  assert.equal(ran.status, 0, ran.stdout + ran.stderr);
  // `check metrics` gives advice with status 0, too.
  if (args[1] === "metrics") assert.equal(ran.stdout + ran.stderr, "");
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

function dashboardQueries(): Map<string, string> {
  const { panels, annotations } = JSON.parse(readFileSync(join(DEPLOY, "grafana/orrery.json"), "utf8")) as {
    panels: readonly Panel[];
    annotations: { list: readonly { name: string; expr: string }[] };
  };
  const all = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }, at) => [`${title} ${at}`, expr]),
  );
  all.push(...annotations.list.map(({ name, expr }) => [name, expr]));
  const filled = (expr: string): string =>
    expr.replaceAll("$__rate_interval", "1m").replaceAll('"$instance"', '".*"');
  return new Map(all.map(([name, expr]) => [name!, filled(expr!)]));
}

function metricsIn(expr: string): string[] {
  return [...new Set(expr.match(/\b(?:http_server|orrery|process|nodejs)_\w+/g))];
}

interface Result {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

// Serving threads need a Node on which they can share a port; the metrics of shared limits need the counter server.
const node = findNode(24);
const skip = need("prometheus", "promtool", PROGRAM) || lacking(node);

const { folder, snapshot, keys } = place({ after });

describe("a real Prometheus", { skip }, () => {
  let server: Served;
  let admin = "";
  let api = "";
  let prometheus: Program | undefined;
  const log = (): string => prometheus?.stderr() ?? "";

  async function get(path: string): Promise<unknown> {
    const response = await fetch(`${api}${path}`);
    const body = (await response.json()) as { status: string; data: unknown };
    assert.equal(body.status, "success", `${path}: ${JSON.stringify(body)}`);
    return body.data;
  }

  async function query(expr: string): Promise<readonly Result[]> {
    const { result } = (await get(`/api/v1/query?query=${encodeURIComponent(expr)}`)) as { result: Result[] };
    return result;
  }

  const numberOf = async (expr: string): Promise<number> => Number((await query(expr))[0]?.value[1]);

  /** Waits until a query has a value; on failure reports the last one. */
  async function becomes(expr: string, wanted: number): Promise<void> {
    let last = Number.NaN;
    await until(
      async () => {
        last = await numberOf(expr);
        return last === wanted;
      },
      () => `${expr} to be ${wanted}, which is ${last}; log of Prometheus:\n${log()}`,
    );
  }

  before(async () => {
    const manifest = { ...manifestOf(snapshotFiles(), "told"), createdAt: new Date().toISOString() };
    writeFileSync(join(snapshot, "manifest.json"), JSON.stringify(manifest));
    writeKeys(keys, keyRecord(TOKEN), keyRecord("svc_sk_few", { limit: 3 }));
    const [adminPort, port] = [await freePort(), await freePort()];
    admin = `http://127.0.0.1:${adminPort}`;
    const limits = ["--rate-window", "31536000", "--shared-limits", (await startRedis()).url];
    const args = ["--threads", "2", "--admin", String(adminPort), ...limits];
    server = await serve(snapshot, keys, args, {}, programOn(node));
    const config = readFileSync(join(DEPLOY, "prometheus/prometheus.yml"), "utf8")
      .replaceAll("15s", "500ms")
      .replaceAll("127.0.0.1:8788", `127.0.0.1:${adminPort}`)
      .replaceAll("rules.yml", join(DEPLOY, "prometheus/rules.yml"));
    writeFileSync(join(folder, "prometheus.yml"), config);
    mkdirSync(join(folder, "data"));
    const files = [`--config.file=${join(folder, "prometheus.yml")}`, `--storage.tsdb.path=${folder}/data`];
    const listens = [`--web.listen-address=127.0.0.1:${port}`, "--log.level=warn"];
    prometheus = start([...files, ...listens], {}, ["prometheus"]);
    api = `http://127.0.0.1:${port}`;
    await until(
      async () => {
        assert.equal(prometheus!.child.exitCode, null, log());
        return (await fetch(`${api}/-/ready`).catch(() => undefined))?.ok;
      },
      () => `Prometheus to be ready; it says:\n${log()}`,
    );
    await becomes('up{job="orrery"}', 1);
  });

  after(() => prometheus?.kill());

  /** Sends requests over so many connections, so that each thread gets some. */
  async function ask(path: string, token: string, count: number): Promise<void> {
    const url = `${server.url}${path}`;
    await Promise.all(Array.from({ length: count }, () => getOnce(url, { token })));
  }

  it("has the right figures of requests, whichever thread answered them", async () => {
    await ask("/worlds", TOKEN, 40);
    await ask("/users/search?q=a", TOKEN, 7);
    await ask("/stats", "svc_sk_nobodys", 5);
    await ask("/stats", "svc_sk_few", 10);
    const requests = "http_server_request_duration_seconds";
    const worlds =
      'http_request_method="GET",http_route="/api/public/v1/worlds",http_response_status_code="200"';
    for (const [expr, wanted] of [
      [`sum(${requests}_count{${worlds}})`, 40],
      [`sum by (http_response_status_code) (${requests}_count{http_response_status_code="429"})`, 7],
      [`sum(${requests}_bucket{le="+Inf"})`, 62],
      ['orrery_requests_rejected_total{reason="api_key_unknown"}', 5],
      ['orrery_requests_rejected_total{reason="rate_limited"}', 7],
      ['sum(orrery_searches_total{search="users"})', 7],
      ["http_server_active_requests", 0],
      ["orrery_keys", 2],
      ["orrery_ready", 1],
    ] as const)
      await becomes(expr, wanted);
    const [generation] = await query("orrery_generation_info");
    assert.equal(generation!.metric.generation, server.generation);
    assert.ok((await numberOf('orrery_heap_used_bytes{thread="serving"}')) > 0);
  });

  it("finds nothing wrong with the text, which holds no token", async () => {
    const text = await (await fetch(`${admin}/metrics`)).text();
    promtool(["check", "metrics"], text);
    assert.doesNotMatch(text, /svc_sk|svcx|[0-9a-f]{64}/);
  });

  it("scraped OpenMetrics without a warning", async () => {
    await becomes('up{job="orrery"}', 1);
    // Prometheus logs any text that it cannot accept.
    assert.doesNotMatch(log(), /append|ingest|duplicate|timestamp|pars/i);
    const response = await fetch(`${admin}/metrics`, { headers: { Accept: "application/openmetrics-text" } });
    assert.match(response.headers.get("content-type")!, /^application\/openmetrics-text; version=1\.0\.0/);
    assert.match(await response.text(), /\n# EOF\n$/);
  });

  it("took the alert rules, none of which fires", async () => {
    const { groups } = (await get("/api/v1/rules")) as {
      groups: readonly { rules: readonly { name: string; query: string; health: string; state: string }[] }[];
    };
    const names = await metricNames();
    let seen = 0;
    for (const { name, query: expr, state } of groups.flatMap(({ rules }) => rules)) {
      for (const metric of metricsIn(expr)) assert.ok(names.has(metric), `${name}: ${metric}`);
      assert.notEqual(state, "firing", name);
      seen++;
    }
    assert.ok(seen > 8, `${seen} rules`);
  });

  async function metricNames(): Promise<Set<string>> {
    return new Set((await get("/api/v1/label/__name__/values")) as string[]);
  }

  it("answers every query of the dashboard", async () => {
    const names = await metricNames();
    const queries = dashboardQueries();
    assert.ok(queries.size > 20, `${queries.size} queries`);
    for (const [title, expr] of queries) {
      assert.doesNotMatch(expr, /\$/, title);
      const metrics = metricsIn(expr);
      assert.ok(metrics.length > 0, title);
      for (const metric of metrics) assert.ok(names.has(metric), `${title}: ${metric}`);
      await query(expr);
    }
  });
});

it("promtool finds nothing wrong with the rules, and their tests pass", { skip: need("promtool") }, () => {
  promtool(["check", "rules", "rules.yml"]);
  promtool(["test", "rules", "rules.test.yml"]);
  promtool(["check", "config", "prometheus.yml"]);
});
