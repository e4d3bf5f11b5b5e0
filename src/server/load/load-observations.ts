/** What there is to say of a load that came to something, and of what it takes the place of. */

import type { Observation } from "../../observe/events.ts";
import type { Store } from "../../store/generation.ts";
import type { LoadedSearchable } from "./loader.ts";

/** Visible rows of each table. */
function countsOf(store: Store): { users: number; worlds: number; instances: number } {
  return { users: store.users.rows, worlds: store.worlds.rows, instances: store.instances.rows };
}

/** What there is to say of a store that follows another: the tables, however small, of which less than half is left. */
export function shrunkTables(before: Store, after: Store): Observation[] {
  const counts = countsOf(after);
  return Object.entries(countsOf(before)).flatMap(([table, from]) => {
    const to = counts[table as keyof typeof counts];
    return to < from / 2 ? [{ kind: "snapshot-shrunk", table, from, to } as const] : [];
  });
}

/** Tables that were read, and those that were kept from the generation before. */
function tablesOf({ reports }: LoadedSearchable): Record<"read" | "kept", string[]> {
  const named = (kept: boolean): string[] =>
    reports.filter(({ isKept }) => isKept === kept).map(({ table }) => table.replace(".ndjson", ""));
  return { read: named(false), kept: named(true) };
}

/** A generation is served. @param ms milliseconds that the load took */
export function loadedObservation(loaded: LoadedSearchable, ms: number): Observation {
  const { store, bytes, readMs, packMs, indexMs } = loaded;
  return {
    kind: "snapshot-loaded",
    generation: store.id,
    counts: countsOf(store),
    bytes,
    ms: Math.round(ms),
    readMs: Math.round(readMs),
    packMs: Math.round(packMs),
    indexMs: Math.round(indexMs),
    ...tablesOf(loaded),
  };
}

/** The same generation was loaded again. @param ms milliseconds that it took */
export function unchangedObservation(loaded: LoadedSearchable, ms: number): Observation {
  return {
    kind: "snapshot-unchanged",
    generation: loaded.store.id,
    ms: Math.round(ms),
    ...tablesOf(loaded),
  };
}
