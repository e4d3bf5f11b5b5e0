/** The query parameters. Reading never fails: the default replaces a value that cannot be used. */

import { MOST_ON_PAGE, PERIODS, type Period } from "../model/model.ts";
import type { Match, ParameterName, Parameters } from "./handlers/route.ts";

/** Page size when the request has none that can be used. */
const DEFAULT_LIMIT = 20;

interface ParameterRow {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly meaning: string;
  readonly required?: true;
}

export const PARAMETERS: Readonly<Record<ParameterName, ParameterRow>> = {
  limit: {
    schema: { type: "integer", minimum: 1, maximum: MOST_ON_PAGE, default: DEFAULT_LIMIT },
    meaning: `Items a page; above ${MOST_ON_PAGE} counts as ${MOST_ON_PAGE}, anything else as ${DEFAULT_LIMIT}.`,
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
  match: {
    schema: { type: "string", enum: ["exact", "similar"] satisfies Match[], default: "exact" },
    meaning:
      "`similar` finds names that may be misspelt, on servers that offer it; anything else counts as `exact`.",
  },
};

const DIGITS = /^\d+$/;

function readLimit(text: string): number {
  const limit = DIGITS.test(text) ? Number(text) : 0;
  return limit >= 1 ? Math.min(limit, MOST_ON_PAGE) : DEFAULT_LIMIT;
}

function readOffset(text: string): number {
  return DIGITS.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : 0;
}

function readPeriod(text: string): Period {
  return PERIODS.find((period) => period === text) ?? "all";
}

/** Queries of these characters need no decoding. */
const PLAIN = /^[A-Za-z0-9=&._~-]*$/;

/** The first value of a name in a query that needs no decoding, or "". */
function plainValue(query: string, name: string): string {
  for (let at = 0; ; ) {
    const next = query.indexOf("&", at);
    const end = next < 0 ? query.length : next;
    if (query.startsWith(name, at)) {
      const mark = at + name.length;
      if (mark < end && query.charCodeAt(mark) === EQUALS) return query.slice(mark + 1, end);
      if (mark === end) return "";
    }
    if (next < 0) return "";
    at = next + 1;
  }
}

const EQUALS = 0x3d;

/** The first value of each name, as `URLSearchParams` would decode it. */
function valuesOf(query: string): (name: ParameterName) => string {
  // Making a URLSearchParams takes longer than the rest of a page.
  if (PLAIN.test(query)) return (name) => plainValue(query, name);
  // The constructor would drop a "?" at the beginning; an empty parameter in front prevents that.
  const values = new URLSearchParams(`&${query}`);
  return (name) => values.get(name) ?? "";
}

const DEFAULTS: Readonly<Parameters> = Object.freeze({
  limit: DEFAULT_LIMIT,
  offset: 0,
  q: "",
  period: "all",
  worldId: "",
  match: "exact",
});

/** Reads the parameters that an operation takes. @param query the text after the first `?` */
export function readParameters(query: string, names: readonly ParameterName[]): Readonly<Parameters> {
  if (query === "" || names.length === 0) return DEFAULTS;
  const read = valuesOf(query);
  const parameters = { ...DEFAULTS };
  for (const name of names) {
    const text = read(name);
    if (name === "limit") parameters.limit = readLimit(text);
    else if (name === "offset") parameters.offset = readOffset(text);
    else if (name === "period") parameters.period = readPeriod(text);
    else if (name === "match") parameters.match = text === "similar" ? text : "exact";
    else parameters[name] = text;
  }
  return parameters;
}
