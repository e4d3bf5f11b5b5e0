/**
 * The query parameters: what each means, and reading them. Nothing here fails:
 * a value that cannot be used is replaced by the default.
 */

import { PERIODS, type Period } from "../model.ts";
import type { ParameterName, Parameters } from "../routes/route.ts";

/** Largest page. */
export const MAX_LIMIT = 50;
/** Page size when none, or none that can be used, was asked for. */
export const DEFAULT_LIMIT = 20;

/** How one parameter is described and read. */
interface ParameterRow {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly meaning: string;
  readonly required?: true;
}

/** Every parameter. */
export const PARAMETERS: Readonly<Record<ParameterName, ParameterRow>> = {
  limit: {
    schema: { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    meaning: `Items a page; above ${MAX_LIMIT} counts as ${MAX_LIMIT}, anything else as ${DEFAULT_LIMIT}.`,
  },
  offset: {
    schema: { type: "integer", minimum: 0, default: 0 },
    meaning: "Items to skip; anything that is no whole number counts as 0.",
  },
  q: {
    schema: { type: "string", minLength: 1 },
    meaning: "What to search for; case, width and accents do not count.",
    required: true,
  },
  period: {
    schema: { type: "string", enum: [...PERIODS], default: "all" },
    meaning: "Whose visits count: of all time, of 7 days or of 30; anything else counts as `all`.",
  },
  worldId: { schema: { type: "string", format: "uuid" }, meaning: "Only instances of this world." },
};

const DIGITS = /^\d+$/;

function readLimit(text: string): number {
  const limit = DIGITS.test(text) ? Number(text) : 0;
  return limit >= 1 ? Math.min(limit, MAX_LIMIT) : DEFAULT_LIMIT;
}

function readOffset(text: string): number {
  return DIGITS.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : 0;
}

function readPeriod(text: string): Period {
  return PERIODS.find((period) => period === text) ?? "all";
}

/** Only these need no decoding. */
const PLAIN = /^[A-Za-z0-9=&._~-]*$/;

/** First value of each name, as `URLSearchParams` would decode them. */
function firstValues(query: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  if (PLAIN.test(query)) {
    for (const pair of query.split("&")) {
      const mark = pair.indexOf("=");
      const name = mark < 0 ? pair : pair.slice(0, mark);
      if (!values.has(name)) values.set(name, mark < 0 ? "" : pair.slice(mark + 1));
    }
    return values;
  }
  for (const [name, value] of new URLSearchParams(query)) if (!values.has(name)) values.set(name, value);
  return values;
}

const DEFAULTS: Readonly<Parameters> = Object.freeze({
  limit: DEFAULT_LIMIT,
  offset: 0,
  q: "",
  period: "all",
  worldId: "",
});

/**
 * Reads the parameters that an operation takes.
 *
 * @param query what stands behind the first `?`
 */
export function readParameters(query: string, names: readonly ParameterName[]): Readonly<Parameters> {
  if (query === "" || names.length === 0) return DEFAULTS;
  const values = firstValues(query);
  return {
    limit: readLimit(values.get("limit") ?? ""),
    offset: readOffset(values.get("offset") ?? ""),
    q: values.get("q") ?? "",
    period: readPeriod(values.get("period") ?? ""),
    worldId: values.get("worldId") ?? "",
  };
}
