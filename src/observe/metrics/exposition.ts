/**
 * The text of `/metrics`, by prom-client, and what it tells of the process and
 * of Node. Only imported when somebody scrapes; the one importer of prom-client.
 */

import { type Counter, collectDefaultMetrics, Registry, type RegistryContentType } from "prom-client";
import { type Measured, readFamilies } from "./families.ts";
import type { Family } from "./samples.ts";

/**
 * What prom-client counts and we leave out: what takes time for each connection
 * there is; garbage collections, of which ours are those of all threads; the
 * event loop's lag, which each scrape resets for all others and whose standard
 * deviation alone takes as long as all else that is asked of Node.
 */
const LEFT_OUT = [
  "nodejs_active_handles",
  "nodejs_active_handles_total",
  "nodejs_active_requests",
  "nodejs_active_requests_total",
  "nodejs_active_resources",
  "nodejs_active_resources_total",
  "nodejs_gc_duration_seconds",
  "nodejs_eventloop_lag_seconds",
  "nodejs_eventloop_lag_min_seconds",
  "nodejs_eventloop_lag_max_seconds",
  "nodejs_eventloop_lag_mean_seconds",
  "nodejs_eventloop_lag_stddev_seconds",
  "nodejs_eventloop_lag_p50_seconds",
  "nodejs_eventloop_lag_p90_seconds",
  "nodejs_eventloop_lag_p99_seconds",
];

/** Milliseconds between looks at the event loop, which prom-client cannot be kept from: hardly ever. */
const LAG_PRECISION = 86_400_000;

/** The metrics as text, and their type. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/** Makes what is scraped. */
export type Expose = (accept: string | undefined) => Promise<Exposition>;

/** How welcome a type is, 0 to 1: the largest weight that a scraper gives it by its name, or undefined. */
function weightOf(accept: string, wanted: string): number | undefined {
  const weights = accept.split(",").flatMap((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (type !== wanted) return [];
    const weight = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1);
    return [weight >= 0 && weight <= 1 ? weight : 0];
  });
  return weights.length === 0 ? undefined : Math.max(...weights);
}

/** OpenMetrics where it is named and no less welcome than the older format, which all others get. */
function typeFor(accept = ""): RegistryContentType {
  const weight = weightOf(accept, "application/openmetrics-text") ?? 0;
  return weight > 0 && weight >= (weightOf(accept, "text/plain") ?? 0)
    ? Registry.OPENMETRICS_CONTENT_TYPE
    : Registry.PROMETHEUS_CONTENT_TYPE;
}

/** The CPU time of the process so far, which prom-client counts from its first moment on, is added to its counters. */
function addCpuTime(registry: Registry, { user, system }: NodeJS.CpuUsage): void {
  const add = (name: string, micros: number): void => {
    const counter = registry.getSingleMetric(name) as Counter | undefined;
    counter?.inc(micros / 1e6);
  };
  add("process_cpu_user_seconds_total", user);
  add("process_cpu_system_seconds_total", system);
  add("process_cpu_seconds_total", user + system);
}

/** The process and Node, as far as the runtime tells. */
function defaultMetrics(): Registry {
  const registry = new Registry();
  const spent = process.cpuUsage();
  try {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION });
  } catch {
    // Those that the runtime has are registered by now.
  }
  addCpuTime(registry, spent);
  for (const name of LEFT_OUT) registry.removeSingleMetric(name);
  return registry;
}

/**
 * Text of metrics. prom-client's way to it changes the names of what is
 * registered, so each text has a registry of its own.
 */
async function textOf(families: readonly Family[], type: RegistryContentType): Promise<string> {
  const registry = new Registry<RegistryContentType>();
  registry.setContentType(type);
  for (const family of families) {
    const metric = { name: family.name, get: () => ({ ...family, name: metric.name }) };
    registry.registerMetric(Object.assign(metric, { type: family.type }) as never);
  }
  return await registry.metrics();
}

/** Makes what tells of a server. */
export function createExposition(measured: Measured): Expose {
  const ofNode = defaultMetrics();
  return async (accept) => {
    const contentType = typeFor(accept);
    const node = (await ofNode.getMetricsAsJSON()) as unknown as readonly Family[];
    return { contentType, text: await textOf([...readFamilies(measured), ...node], contentType) };
  };
}
