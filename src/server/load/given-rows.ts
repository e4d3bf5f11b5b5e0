/** The snapshot of a program that gives its rows itself: a source without files, and its loader. */

import { type GivenRows, loadGivenRows } from "../../snapshot/given-rows.ts";
import { indexReusing } from "../../snapshot/reuse.ts";
import { indexLoaded, type LoadedSearchable, type Loader } from "./loader.ts";
import { folderSource, type Source } from "./source.ts";
import { indexInThread } from "./threaded-loader.ts";

/** Up to so many users and worlds are indexed on the calling thread: it takes some milliseconds. */
const MOST_HERE = 2000;

export type RowsHolder = ReturnType<typeof createRowsHolder>;

/** @param threads whether other threads may index */
export function createRowsHolder(first: GivenRows, threads: boolean) {
  /** Not loaded yet. Rows are read once: their iterators may be of one pass. */
  let given: GivenRows | undefined = first;
  let newest: LoadedSearchable | undefined;
  /** The newest that was not refused after its load. */
  let served: LoadedSearchable | undefined;

  const load: Loader = async (folder, options) => {
    const { previous } = options;
    if (newest !== undefined && previous?.store === newest.store) served = newest;
    if (given === undefined && served !== undefined) return served;
    const rows = given ?? {};
    given = undefined;
    const loaded = await loadGivenRows(rows, options);
    if (!loaded.ok) return loaded;
    const { store } = loaded;
    const isMuch = store.users.rows + store.worlds.rows > MOST_HERE;
    const indexed = await indexLoaded(folder, loaded, () =>
      threads && isMuch ? indexInThread(loaded, previous?.index) : indexReusing(loaded, previous?.index),
    );
    if (indexed.ok) newest = indexed;
    return indexed;
  };
  const source: Source = { ...folderSource("rows"), fingerprint: async () => "" };
  return {
    source,
    load,
    /** Gives rows for the next load. */
    give(rows: GivenRows): void {
      given = rows;
    },
  };
}
