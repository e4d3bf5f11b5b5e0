/**
 * The text of `/metrics`, by prom-client, and what it tells of the process and
 * of Node. Only imported when somebody scrapes; the one importer of prom-client.
 */

import { collectDefaultMetrics, Registry, type RegistryContentType } from "prom-client";
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

/** Whether a scraper takes OpenMetrics; the type of the older format is what all others get. */
function typeFor(accept: string | undefined): RegistryContentType {
  const takes = accept?.split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return type === "application/openmetrics-text" && !parameters.some((one) => /^q=0(\.0*)?$/.test(one));
  });
  return takes ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE;
}

/** The process and Node, as far as the runtime tells. */
function defaultMetrics(): Registry {
  const registry = new Registry();
  try {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION });
  } catch {
    // Those that the runtime has are registered by now.
  }
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
