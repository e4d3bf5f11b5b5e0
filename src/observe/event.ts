/**
 * How an event is described: a row of a table, and the types that follow from a table. This file knows no event, so a
 * feature's table needs nothing else of this room.
 */

import type { METRICS } from "./metrics/table.ts";

/** How severe a line of the log is. */
export type Level = "info" | "warn" | "error";

type Metrics = typeof METRICS;

/** Metrics that count events. */
export type CountedMetric = {
  [Name in keyof Metrics]: Metrics[Name] extends { readonly counted: readonly string[] } ? Name : never;
}[keyof Metrics];

/**
 * By how much a metric changes: one more for a value of its label, another number for several values of it, or, of a
 * metric without labels, so many more.
 */
export type Change<Name extends CountedMetric> = [Metrics[Name]["counted"][number]] extends [never]
  ? number
  : Metrics[Name]["counted"][number] | Readonly<Record<Metrics[Name]["counted"][number], number>>;

/** One kind of event with its fields. */
export interface EventRow<Fields> {
  readonly level: Level;
  /** Another level in some cases, which `meaning` names. */
  readonly levelIf?: (fields: Fields) => Level | undefined;
  /** The message of its log line. */
  readonly text: string | ((fields: Fields) => string);
  /** The fields of its log line; when absent those of the event. */
  readonly line?: (fields: Fields) => Readonly<Record<string, unknown>>;
  /** Logged whatever level the log has. */
  readonly isAlwaysLogged?: true;
  /** Metrics that count it. */
  readonly counts?: { readonly [Name in CountedMetric]?: Change<Name> | ((fields: Fields) => Change<Name>) };
  /** What it tells an operator, for the documents. */
  readonly meaning: string;
}

/** Fields of a line that are no event's own. */
type Reserved = "level" | "time" | "pid" | "event" | "msg" | "kind";

/** Describes an event by its fields: `event<{ ms: number }>({ … })`, or `event<object>` without any. */
export function event<Fields>(
  row: Extract<keyof Fields, Reserved> extends never ? EventRow<Fields> : never,
): EventRow<Fields> {
  return row;
}

type FieldsOf<Row> = Row extends EventRow<infer Fields> ? Fields : never;

/** Shows a type by its properties. */
type Flat<Type> = { [Name in keyof Type]: Type[Name] };

/** The events of a table: each has the name of its row as `kind`, and the row's fields. */
export type ObservationOf<Table> = {
  [Kind in keyof Table]: Flat<{ kind: Kind } & FieldsOf<Table[Kind]>>;
}[keyof Table];
