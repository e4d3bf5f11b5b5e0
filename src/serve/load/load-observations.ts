/** What there is to say of a load that came to something. */

import type { Observation } from "../../observe.ts";
import type { LoadedSearchable } from "./loader.ts";
import { countsOf } from "./shrink.ts";

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
