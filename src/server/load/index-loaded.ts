/** From a loaded snapshot to one that can be searched. */

import type { SearchIndex } from "../../search/search.ts";
import type { Loaded, Refused } from "../../snapshot/load.ts";
import { LimitError } from "../../store/limits.ts";

/** An index and the milliseconds it took. */
export interface Indexed {
  readonly index: SearchIndex;
  readonly indexMs: number;
}

/**
 * Indexes what was loaded, unless its index was loaded, too. What is too large to be indexed is refused like what
 * cannot be read.
 */
export async function indexLoaded(
  folder: string,
  { fingerprint, index }: Pick<Loaded, "fingerprint" | "index">,
  makeIndex: () => SearchIndex | Promise<SearchIndex>,
): Promise<Indexed | Refused> {
  if (index !== undefined) return { index, indexMs: 0 };
  const began = performance.now();
  try {
    return { index: await makeIndex(), indexMs: performance.now() - began };
  } catch (error) {
    // Memory that is not there now may be there later; other limits stay.
    if (!(error instanceof RangeError)) throw error;
    const problems = [`${folder}: cannot be indexed for search: ${error.message}`];
    if (error instanceof LimitError) return { ok: false, problems, fingerprint };
    return { ok: false, problems, fingerprint: undefined, died: true };
  }
}
