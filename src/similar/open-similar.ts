/** Opening similar search, where it was asked for. */

import type { SimilarGiven, SimilarSearching } from "../server/search/similar.ts";
import type { Settings } from "../settings/settings.ts";

/** Makes it; undefined where it is turned off. */
export async function openSimilarSearching(
  { similar }: Pick<Settings, "similar">,
  given: SimilarGiven,
): Promise<SimilarSearching | undefined> {
  if (!similar) return undefined;
  // Imported when it is needed, as what loads.
  return await (await import("./searching.ts")).createSimilarSearching(given);
}
