/** A loaded snapshot to a prepared one. */

import type { SearchIndex } from "../../search/search.ts";
import type { Loaded } from "../load.ts";
import type { PreparedContents } from "./layout.ts";
import { foldingOf, lettersOf } from "./letters.ts";
import { type Described, type WriteOptions, writePrepared } from "./write.ts";

function describe({ createdAt, reports }: Loaded): Described {
  const sources = reports.map(({ file, table, bytes, rows, hidden, dangling }) => ({
    file,
    table,
    bytes,
    rows,
    hidden: Object.fromEntries(hidden),
    dangling,
  }));
  return createdAt === undefined ? { sources } : { createdAt, sources };
}

/**
 * Writes what was loaded, with the ids of its hidden rows, as a prepared snapshot.
 *
 * @returns bytes of the file
 * @throws as {@link writePrepared} does
 */
export function writeLoaded(
  folder: string,
  loaded: Loaded,
  index: SearchIndex,
  options: WriteOptions,
): Promise<number> {
  const { store } = loaded;
  const letters = lettersOf([store.users.bytes, store.worlds.bytes]);
  const contents: PreparedContents = {
    store,
    index,
    hiddenWorlds: loaded.reports.find(({ table }) => table === "worlds.ndjson")!.hiddenIds!,
    letters,
    folding: foldingOf(letters),
  };
  return writePrepared(folder, contents, describe(loaded), options);
}
