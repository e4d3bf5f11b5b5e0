/** What two answers are compared by, and what is said of how they differ. */

import { isObject } from "../util/json.ts";

/** What can differ. */
export const KINDS = [
  "status",
  "error message",
  "header",
  "total",
  "missing row",
  "extra row",
  "order",
  "field",
] as const;

/** One of {@link KINDS}. */
export type DifferenceKind = (typeof KINDS)[number];

/** One difference, as it was found. */
export interface Finding {
  /** "note" is a header that the API's specification does not name: another server may well do without. */
  readonly kind: DifferenceKind | "note";
  /** The request. */
  readonly target: string;
  /** What differs: a field, a header or an id. */
  readonly what: string;
  /** Undefined where there is nothing. */
  readonly here: unknown;
  readonly there: unknown;
}

/** One difference, as it is told. */
export interface Difference extends Finding {
  /** As JSON, cut off where it is long. */
  readonly here: string | undefined;
  readonly there: string | undefined;
}

/** What many answers have in common that is no difference. */
export interface Note extends Pick<Difference, "target" | "what" | "here" | "there"> {
  /** How many answers; `target` is one of them. */
  readonly answers: number;
}

/** An answer. */
export interface ApiAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly body: unknown;
}

const LONGEST_SHOWN = 120;

function shown(value: unknown, hide: (text: string) => string): string | undefined {
  if (value === undefined) return undefined;
  const text = hide(JSON.stringify(value));
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

/** What differs within two values, by path. */
export function* fieldsThatDiffer(
  here: unknown,
  there: unknown,
  path = "",
): Generator<{ path: string; here: unknown; there: unknown }> {
  if (isObject(here) && isObject(there)) {
    for (const name of new Set([...Object.keys(here), ...Object.keys(there)])) {
      yield* fieldsThatDiffer(here[name], there[name], path === "" ? name : `${path}.${name}`);
    }
  } else if (JSON.stringify(here) !== JSON.stringify(there)) {
    yield { path, here, there };
  }
}

/** Makes a difference. */
export function difference(
  kind: Finding["kind"],
  target: string,
  what: string,
  here?: unknown,
  there?: unknown,
): Finding {
  return { kind, target, what, here, there };
}

/**
 * A difference for people.
 *
 * @param hide takes the other server's token out of a text: it may repeat it, also in names that are in the snapshot by now
 */
export function tellDifference(
  { kind, target, what, here, there }: Finding,
  hide: (text: string) => string,
): Difference {
  return { kind, target: hide(target), what: hide(what), here: shown(here, hide), there: shown(there, hide) };
}
