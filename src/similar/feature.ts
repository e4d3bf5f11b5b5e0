/** Similar search as a feature: its setting, its events, and how it is opened. */

import { type EventRow, event } from "../observe/events.ts";
import type { SimilarGiven, SimilarSearching } from "../server/similar/similar.ts";
import type { Setting, Settings } from "../settings/settings.ts";

/** @internal The rows of the settings. */
export const SIMILAR_SETTINGS = [
  {
    flag: "similar",
    isOption: true,
    after: "search-cache-bytes",
    kind: "flag",
    choices: ["auto"],
    default: "auto",
    meaning:
      "Answer searches with `match=similar` by names that may be misspelt. Takes memory and a thread that indexes " +
      "the names after every load that changed any. `auto` is on up to 50,000 users and worlds together.",
  },
] as const satisfies readonly Setting[];

/** @internal Entry point of the thread. */
export const SIMILAR_THREAD = "similar/similar-thread";

/** The most users and worlds together with which `auto` is on: their index takes some 100 MB. */
const MOST_OF_AUTO = 50_000;

export const SIMILAR_EVENTS = {
  "similar-ready": event<{ generation: string; names: number; ms: number }>({
    level: "info",
    text: "similar search ready",
    meaning: "Similar search (`--similar`) has indexed the `names` of a generation.",
  }),
  "similar-failed": event<{
    generation: string;
    problem: string;
    /** Delay until it is tried again; with the next generation if absent. */
    retryMs?: number;
  }>({
    level: "error",
    text: "similar search cannot be indexed, answering as the exact search does",
    meaning:
      "Names cannot be indexed, and why; the exact search answers instead. The next attempt is after `retryMs`, or with the next generation.",
  }),
} as const satisfies Record<string, EventRow<never>>;

/** Options of the library for similar search. */
export interface SimilarOption {
  /**
   * Answer searches with `match=similar` by names that may be misspelt; they are indexed in the background
   * after every load. `"auto"`, which is the default, is on up to 50,000 users and worlds together.
   */
  readonly similar?: boolean | "auto";
}

/** @internal Opens similar search; undefined where it is turned off. */
export async function openSimilarSearching(
  { similar }: Pick<Settings, "similar">,
  given: SimilarGiven,
): Promise<SimilarSearching | undefined> {
  // Imported on demand, to start sooner without it.
  if (similar === false) return undefined;
  const { createSimilarSearching } = await import("./searching.ts");
  const most = similar === "auto" ? MOST_OF_AUTO : Number.POSITIVE_INFINITY;
  return createSimilarSearching(given, SIMILAR_THREAD, most);
}
